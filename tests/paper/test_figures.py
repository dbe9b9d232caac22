"""The figures can be drawn, and show what they say."""

import numpy as np
import pytest

from vish.paper import figures
from vish.paper.command import PaperOptions, run


def test_figures_without_data_are_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("VISH_DATA", raising=False)
    result = run(PaperOptions("figures", out=str(tmp_path)))
    assert [name[-11:] for name in result["figures"]] == [f"figure{i}.png" for i in (1, 2, 3, 4)]
    assert all((tmp_path / f"figure{i}.png").stat().st_size > 10_000 for i in (1, 2, 3, 4))
    assert "figure5.png is not drawn: no data: give --data" in capsys.readouterr().out
    page = (tmp_path / "index.html").read_text()
    assert "figure4.png" in page
    assert "figure5.png" not in page


def test_the_harmonics_selected_are_those_of_largest_variance():
    import matplotlib.pyplot as plt

    picture = figures.variance_harmonics()
    title = picture.axes[0].get_title()
    plt.close(picture)
    assert title.startswith("VISH: the first 49 carry 9")


def test_products_of_fourier_features_are_compared_at_the_same_norm():
    """On the circle, by the spectral density of the Matérn-3/2, (3 + w²)^-2 at frequency w."""
    import matplotlib.pyplot as plt

    picture = figures.variance_fourier()
    title = picture.axes[0].get_title()
    plt.close(picture)
    frequencies = np.abs(np.arange(-59, 60))
    one = np.sort((3 + frequencies**2.0) ** -2)[::-1]
    share = (one[:7].sum() / one.sum()) ** 2
    assert f"the first 49 carry {100 * share:.1f} %" in title


def test_squares_have_the_area_of_their_variance():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    figures._squares(ax, np.array([0, 1]), np.array([0, 0]), np.array([4.0, 1.0]))
    corners = [path.vertices for path in ax.collections[0].get_paths()]
    sides = [np.ptp(corner[:, 0]) for corner in corners]
    assert sides[0] / sides[1] == pytest.approx(2)
    plt.close(ax.figure)


def test_the_banana(data_dir):
    import matplotlib.pyplot as plt

    run_ = {"data": "banana", "method": "vff-banana/3", "split": 0, "status": "done",
            "facts": {"M": 25}, "scores": {"bound": -281.0}}  # fmt: skip
    picture = figures.banana(str(data_dir), [run_])
    last = next(ax for ax in picture.axes if ax.get_title() == "bound on the log evidence")
    bounds = last.lines[0].get_ydata()
    plt.close(picture)
    assert list(last.lines[0].get_xdata()) == [9, 225, 784]
    assert np.all(np.diff(bounds) > 0)
    assert list(last.lines[1].get_ydata()) == [-281]
