"""The search for hyperparameters: a list of steps, each a function that can stand alone."""
