"""Which method runs on which data: the list of runs of each experiment.

A data set has a name that says where its rows come from: `uci/yacht`, `flights/10000` (the
stand-in), `airline2008/10000` (the real table), `synthetic/5929413`, `susy-10k`, `banana`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vish.paper import airline, published, splits, synthetic
from vish.paper.methods import METHODS
from vish.paper.methods.base import Training

UCI_METHODS = (
    "vish", "vish-fixed", "vish-paper", "a-vff", "svgp", "a-gpr", "gpr", "gpr-ard", "lightgbm",
    "nn", "nn-dropout", "linear",
)  # fmt: skip
AIRLINE_METHODS = (
    "vish", "vish-warped", "vish-paper", "a-vff", "svgp", "lightgbm", "nn", "nn-dropout", "linear",
)  # fmt: skip
TIMING_METHODS = ("vish-fixed", "a-vff", "svgp", "linear")
SUSY_METHODS = ("vish", "vish-paper", "svgp", "lightgbm", "nn", "nn-dropout", "linear")
BANANA_METHODS = ("vish-banana", "vff-banana")
EXPERIMENTS = ("uci", "airline", "timing", "susy", "banana")

AIRLINE_DEGREES = (3, 4)  # 210 and 660 harmonics
AIRLINE_INDUCING = 500
BANANA_DEGREES = (1, 2, 4, 6, 8, 10, 12, 14, 17, 20, 23, 27)  # the paper's: 2, 14, 27
BANANA_FREQUENCIES = (2, 3, 5, 7, 9, 11, 13, 15)  # per input; 29 x 29 features at most
SPLITS = {"uci": 5, "airline": 10, "timing": 1, "susy": 5, "banana": 1}
TASKS = {"susy": "classes", "banana": "banana"}  # the others are regression
EXACT_METHODS, MOST_ROWS_OF_EXACT = ("gpr", "gpr-ard", "a-gpr"), 20_000


@dataclass(frozen=True)
class Job:
    """One run: a method on one split of a data set."""

    experiment: str
    data: str
    method: str
    split: int
    degree: int | None = None
    budget: float = 600.0

    @property
    def key(self) -> tuple:
        """What a run is known by: never run twice."""
        return (self.data, self.label, self.split)

    @property
    def label(self) -> str:
        """The method, with its degree where several are compared."""
        several = self.experiment != "uci" and self.degree is not None
        return f"{self.method}/{self.degree}" if several else self.method

    @property
    def seed(self) -> int:
        return self.split

    @property
    def unsuited(self) -> str | None:
        """Why the method cannot be run on these rows, or None."""
        task = TASKS.get(self.experiment, "regression")
        if task not in METHODS[self.method].tasks:
            return f"not for {task}"
        if self.method == "vff":  # all tables have more
            return "for one or two inputs; see the banana"
        flights = self.experiment in ("airline", "timing")
        n = int(self.data.partition("/")[2]) if flights else 0
        if self.method in EXACT_METHODS and n > MOST_ROWS_OF_EXACT:
            return f"exact: for {MOST_ROWS_OF_EXACT:,} rows at most"
        return None

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Place:
    """Where data are, and where files that are made go."""

    data: Path
    out: Path


def jobs(
    experiment: str, place: Place, methods: Sequence[str] | None, n_splits: int | None,
    sizes: Sequence[int] | None, budget: float,
) -> Iterator[Job]:  # fmt: skip
    """The runs of an experiment, cheapest data first."""
    default = {
        "uci": UCI_METHODS, "airline": AIRLINE_METHODS, "timing": TIMING_METHODS,
        "susy": SUSY_METHODS, "banana": BANANA_METHODS,
    }[experiment]  # fmt: skip
    names = list(methods or default)
    if experiment == "banana":  # with a kernel that is given
        names = [f"{name}-banana" if name in ("vish", "vff") else name for name in names]
    count = n_splits or SPLITS[experiment]
    for data in dict.fromkeys(data_sets(experiment, place, sizes)):
        for split in range(count):
            for name in dict.fromkeys(names):
                for degree in _degrees(experiment, data, name):
                    yield Job(experiment, data, name, split, degree, budget)


def data_sets(experiment: str, place: Place, sizes: Sequence[int] | None) -> list[str]:
    """Names of the data sets of an experiment; an error if their files are not there."""
    if experiment == "uci":
        splits.uci_test_file(place.data)
        return [f"uci/{name}" for name in splits.UCI if splits.uci_file(place.data, name)]
    if experiment == "airline":
        source, path = airline.prepared(place.data, place.out)
        n = _rows(path)
        wanted = sizes or [*(size for size in airline.SIZES if size < n), n]
        return [_of_size(source, size or n, n) for size in wanted]
    if experiment == "timing":
        n = airline.PAPER_ROWS
        return [_of_size("synthetic", size or n, max(size, n)) for size in sizes or [n]]
    if experiment == "susy":
        return [splits.susy_source(place.data)]
    return [splits.banana_file(place.data).stem]


def _of_size(source: str, n: int, most: int) -> str:
    airline.check_size(n, most)
    return f"{source}/{n}"


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).metadata.num_rows


def _degrees(experiment: str, data: str, name: str) -> Sequence[int | None]:
    if experiment == "uci":
        return [published.UCI_DEGREES[data.removeprefix("uci/")]]
    if name in ("vish-paper", "vish-fixed") and experiment in ("airline", "timing"):
        return AIRLINE_DEGREES
    if experiment == "banana":
        features = {"vish-banana": BANANA_DEGREES, "vff-banana": BANANA_FREQUENCIES}
        return features.get(name, [None])
    return [None]


def load(job: Job, place: Place) -> splits.Split:
    """The rows of a run."""
    kind, _, rest = job.data.partition("/")
    if kind == "uci":
        return splits.uci(place.data, rest, job.split)
    if kind in ("airline2008", "flights"):
        found, path = airline.prepared(place.data, place.out)
        if found != kind:
            raise FileNotFoundError(f"{job.data} is not in {place.data}: there is {found}")
        return airline.split(*airline.read(path), int(rest), job.split, kind)
    if kind == "synthetic":
        return airline.split(*synthetic.flights(int(rest)), int(rest), job.split, kind)
    if kind == "banana":
        return splits.banana(place.data)
    return splits.susy(place.data)


def training(job: Job, rows: splits.Split) -> Training:
    """What the method is given."""
    task = "classes" if job.experiment in TASKS else "regression"
    inducing = AIRLINE_INDUCING
    if job.experiment == "uci":
        inducing = published.UCI_FEATURES[job.data.removeprefix("uci/")]
    return Training(rows.X, rows.y, job.seed, task, job.degree, inducing, job.budget)
