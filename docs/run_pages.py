"""Run the Python of the documentation's pages, and keep the pictures it draws.

The ``python`` blocks of a page run one after the other in one namespace, as a reader would
run them. Figures that a block leaves open are written to ``_pictures/<page>-<number>.png``,
which the page shows. A block that needs something from outside (a cluster, a file that is
not there) is marked ``{code-block} python`` and does not run.
"""

import contextlib
import io
import multiprocessing
import os
import re
import tempfile
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PICTURES = DOCS / "_pictures"


def blocks(page: Path) -> list[str]:
    """The code of a page, each block at the line where it stands."""
    text = page.read_text()
    return [
        "\n" * text[: match.start(1)].count("\n") + match[1]
        for match in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M)
    ]


def pages() -> list[Path]:
    """The pages that hold code."""
    return [page for page in sorted(DOCS.rglob("*.md")) if blocks(page)]


def picture(page: Path, number: int) -> Path:
    name = "-".join(page.relative_to(DOCS).with_suffix("").parts)
    return PICTURES / f"{name}-{number}.png"


def run(page: Path, *, keep_pictures: bool) -> dict:
    """Run a page in a folder of its own, since pages write files; its names at the end."""
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    names: dict = {"__name__": "__main__"}
    number, before = 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in blocks(page):
                exec(compile(block, str(page), "exec"), names)
                for figure in map(plt.figure, plt.get_fignums()):
                    number += 1
                    if keep_pictures:
                        PICTURES.mkdir(exist_ok=True)
                        figure.savefig(picture(page, number), dpi=110)
                    plt.close(figure)
        finally:
            plt.close("all")
            os.chdir(before)
    return names


def draw(page: Path) -> None:
    """Run a page for its pictures; what it prints does not matter, a warning is an error."""
    warnings.simplefilter("error")
    with contextlib.redirect_stdout(io.StringIO()):
        run(page, keep_pictures=True)


def draw_all() -> None:
    """Every page's pictures, a process for each core."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=fresh) as pool:
        list(pool.map(draw, pages()))


if __name__ == "__main__":
    draw_all()
