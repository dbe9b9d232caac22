"""`python -m vish` is the command `vish`."""

if __name__ == "__main__":
    from vish.cli import main

    main()
