"""Pictures of models and of their predictions.

In scikit-learn's manner: `SomethingDisplay.from_estimator(...)` computes, keeps the numbers
as attributes and draws; `.plot(ax=...)` draws them again. Matplotlib is loaded when the
first picture is made. Colours are those of Okabe and Ito, which readers with any colour
vision can tell apart; maps grow darker with what they show, also in print.
"""

from vish.plots.classes import DecisionMapDisplay, ReliabilityDisplay
from vish.plots.coverage import CoverageDisplay
from vish.plots.effects import EffectDisplay, PairEffectDisplay
from vish.plots.fit import FitDisplay
from vish.plots.globe import HarmonicsDisplay
from vish.plots.maps import SurfaceDisplay
from vish.plots.model import EvidenceTraceDisplay, RelevanceDisplay, SpectrumDisplay
from vish.plots.predictions import CalibrationDisplay, PredictedActualDisplay

__all__ = [
    "CalibrationDisplay",
    "CoverageDisplay",
    "DecisionMapDisplay",
    "EffectDisplay",
    "EvidenceTraceDisplay",
    "FitDisplay",
    "HarmonicsDisplay",
    "PairEffectDisplay",
    "PredictedActualDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "SpectrumDisplay",
    "SurfaceDisplay",
]
