"""What a model has learned: relevances, the spectrum, and the way there."""

from dataclasses import dataclass, field

import numpy as np

from vish.plots import asking, style
from vish.plots.display import Display


@dataclass
class RelevanceDisplay(Display):
    """How strongly each input is used: the learned relevances as bars.

    For a linear map, an input's bar is the length of its column. Relevances are factors of
    inputs scaled to unit variance, so that they can be compared; an input at 0 is not used.

    Parameters
    ----------
    names : list of str
    relevances : array of shape (D,)
    max_inputs : int
        Most bars drawn, largest first.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
    bars_ : what was drawn

    Examples
    --------
    >>> from vish.plots import RelevanceDisplay
    >>> display = RelevanceDisplay(["age", "height"], [0.5, 0.1]).plot()
    >>> len(display.bars_)
    2
    """

    names: list[str]
    relevances: np.ndarray
    max_inputs: int = 25

    def __post_init__(self):
        self.size = (6.0, 1.2 + 0.32 * min(len(self.names), self.max_inputs))

    @classmethod
    def from_estimator(cls, estimator, *, names=None, max_inputs=25, ax=None):
        """Read a fitted model, and draw.

        Parameters
        ----------
        estimator : fitted VISHRegressor or VISHClassifier
        names : list of str, optional
            Of the inputs; those of the fit by default.
        max_inputs : int, default=25
            Most bars drawn, largest first.
        ax : Axes, optional

        Returns
        -------
        RelevanceDisplay
        """
        relevance = np.asarray(estimator.relevance_)
        lengths = np.abs(relevance) if relevance.ndim == 1 else np.linalg.norm(relevance, axis=0)
        if names is None:
            names = asking.input_names(estimator, n_inputs=len(lengths))
        if len(names) != len(lengths):
            raise ValueError(f"{len(names)} names for {len(lengths)} inputs: give one each")
        return cls(list(names), lengths, max_inputs).plot(ax)

    def _draw(self, ax):
        relevances = np.asarray(self.relevances, dtype=float)
        order = np.argsort(-relevances, kind="stable")[: self.max_inputs]
        self.bars_ = ax.barh(range(len(order)), relevances[order], color=style.BLUE, height=0.7)
        ax.set_yticks(range(len(order)), [style.short(self.names[i]) for i in order])
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
        ax.tick_params(axis="y", length=0)
        left_out = len(relevances) - len(order)
        ax.set_xlabel("relevance" + (f" ({left_out} smaller ones not shown)" * (left_out > 0)))


@dataclass
class SpectrumDisplay(Display):
    """The spectrum by degree: is the degree enough?

    Three shares for every degree l: of the prior's variance, a_l N(d, l); of the posterior
    mean's energy, the sum of mu_m^2; and the share of the degree's harmonics that the data
    determine, 1 - mean(Sigma_mm / a_l). If the last degree still has much energy and is well
    determined, a larger degree may pay; if it is hardly determined, the data cannot tell
    more.

    Parameters
    ----------
    prior, energy : array of shape (L + 1,)
        Variance of the prior and energy of the posterior mean.
    determined : array of shape (L + 1,)
        Between 0 and 1; nan for a degree without variance.
    tail : float
        Variance of the prior beyond the degree (0 for a truncated kernel).

    Attributes
    ----------
    prior_share, energy_share, tail_share : the same, with sum 1
    ax_, figure_ : Axes and Figure
    prior_bars_, energy_bars_, determined_ : what was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.plots import SpectrumDisplay
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = VISHRegressor(degree=6).fit(X, np.sin(X[:, 0]))
    >>> display = SpectrumDisplay.from_estimator(model)
    >>> display.energy_share.shape
    (7,)
    """

    prior: np.ndarray
    energy: np.ndarray
    determined: np.ndarray
    tail: float = 0.0

    def __post_init__(self):
        variance, energy = np.sum(self.prior) + self.tail, np.sum(self.energy)
        self.prior_share = np.asarray(self.prior) / (variance if variance > 0 else 1.0)
        self.tail_share = float(self.tail / (variance if variance > 0 else 1.0))
        self.energy_share = np.asarray(self.energy) / (energy if energy > 0 else 1.0)

    @classmethod
    def from_estimator(cls, estimator, *, target=0, ax=None):
        """Read a fitted model, and draw.

        Parameters
        ----------
        estimator : fitted VISHRegressor or VISHClassifier
        target : int, default=0
            Which of several targets or classes.
        ax : Axes, optional

        Returns
        -------
        SpectrumDisplay
        """
        description = estimator.description_
        return cls(**description.levels(target)._asdict(), tail=description.tail).plot(ax)

    def _draw(self, ax):
        degrees = np.arange(len(self.prior))
        positions, prior = degrees, self.prior_share
        if self.tail_share:
            positions, prior = np.append(degrees, len(degrees)), [*prior, self.tail_share]
        self.prior_bars_ = ax.bar(
            positions - 0.2, prior, width=0.38, color=style.SKY, label="prior variance"
        )
        self.energy_bars_ = ax.bar(
            degrees + 0.2, self.energy_share, width=0.38, color=style.BLUE,
            label="energy of the fit",
        )  # fmt: skip
        (self.determined_,) = ax.plot(
            degrees, self.determined, color=style.VERMILLION, marker="D", markersize=5,
            linewidth=1, linestyle=":", label="determined by the data",
        )  # fmt: skip
        labels = [str(l) for l in degrees] + [f"> {degrees[-1]}"] * bool(self.tail_share)
        step = -(-len(labels) // 16)
        ax.set_xticks(positions[::step], labels[::step])
        ax.grid(visible=False, axis="x")
        ax.set(xlabel="degree", ylabel="share", ylim=(0, 1.05))
        handles = [self.prior_bars_, self.energy_bars_, self.determined_]
        ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


@dataclass
class EvidenceTraceDisplay(Display):
    """How the hyperparameters were learned: the evidence after every stage of the search.

    Evidence is per row of the subset, in units of the standardised target: higher is
    better. First stages use fewer rows, so that the evidence may fall between kinds of stages.

    Parameters
    ----------
    names : list of str
        Of the stages.
    degrees : array of shape (n_stages,)
    log_evidence : array of shape (n_stages,)
        Per row.
    seconds : array of shape (n_stages,)
        That each stage took.

    Attributes
    ----------
    ax_, figure_ : Axes and Figure
    best_, stages_ : what was drawn

    Examples
    --------
    >>> import numpy as np
    >>> from vish import VISHRegressor
    >>> from vish.plots import EvidenceTraceDisplay
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> model = VISHRegressor(degree=3).fit(X, np.sin(X[:, 0]))
    >>> display = EvidenceTraceDisplay.from_estimator(model)
    >>> len(display.names) == len(model.fit_trace_)
    True
    """

    size = (6.6, 4.2)

    names: list[str]
    degrees: np.ndarray
    log_evidence: np.ndarray
    seconds: np.ndarray = field(repr=False)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Read the trace of a fit, and draw.

        Parameters
        ----------
        estimator : fitted VISHRegressor or VISHClassifier
        ax : Axes, optional

        Returns
        -------
        EvidenceTraceDisplay
        """
        trace = list(getattr(estimator, "fit_trace_", []))
        if not trace:
            raise ValueError("nothing was learned in this fit: there is no trace to draw")
        return cls(
            names=[stage.name for stage in trace],
            degrees=np.array([stage.degree for stage in trace]),
            log_evidence=np.array([float(stage.log_evidence) for stage in trace]),
            seconds=np.array([stage.seconds for stage in trace]),
        ).plot(ax)

    def _draw(self, ax):
        numbers = np.arange(1, len(self.names) + 1)
        (self.best_,) = ax.step(
            numbers, np.maximum.accumulate(self.log_evidence), where="post",
            color=style.GREY, linewidth=1.2, label="best so far",
        )  # fmt: skip
        self.stages_ = []
        for k, name in enumerate(dict.fromkeys(self.names)):
            which = np.array([other == name for other in self.names])
            drawn = ax.plot(
                numbers[which], self.log_evidence[which], linestyle="none",
                marker=style.MARKERS[k % 7], color=style.CYCLE[k % 7], markersize=7, label=name,
            )  # fmt: skip
            self.stages_.extend(drawn)
        # One number where the degree changes: more would overlap.
        numbered = len(numbers) <= 20
        if numbered:
            for i in np.flatnonzero(np.diff(self.degrees, prepend=-1)):
                ax.annotate(
                    f"{self.degrees[i]}", (numbers[i], self.log_evidence[i]), (0, 8),
                    textcoords="offset points", ha="center", fontsize=8, color=style.BLACK,
                )  # fmt: skip
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.margins(y=0.12)
        ax.set(
            xlabel="stage of the search" + (" (numbers: its degree)" if numbered else ""),
            ylabel="log evidence per row",
        )
        style.legend_below(ax, 5)
