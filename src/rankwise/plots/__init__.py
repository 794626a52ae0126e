"""Displays as in scikit-learn: ``from_estimator`` and similar methods draw; ``ax_`` and ``figure_`` hold the result.

Ordered things get colours from an ordered map that is safe for colour-blind readers, models from the palette of Okabe
and Ito. Nothing here changes matplotlib's global settings or opens a window.
"""

from rankwise._drawing import ordered_colors
from rankwise.plots._annotation_display import AnnotationDisplay
from rankwise.plots._probability_displays import DistributionDisplay, ReliabilityDisplay, SetSizeDisplay
from rankwise.plots._progressive_display import ProgressiveDisplay
from rankwise.plots._ranking_display import RankingDisplay
from rankwise.plots._threshold_display import ThresholdDisplay
from rankwise.plots.confusion_display import ConfusionDisplay
from rankwise.plots.weights_display import WeightsDisplay

__all__ = [
    "AnnotationDisplay",
    "ConfusionDisplay",
    "DistributionDisplay",
    "ProgressiveDisplay",
    "RankingDisplay",
    "ReliabilityDisplay",
    "SetSizeDisplay",
    "ThresholdDisplay",
    "WeightsDisplay",
    "ordered_colors",
]
