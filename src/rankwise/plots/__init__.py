"""Pictures in scikit-learn's Display style: ``from_estimator`` and its kin draw, ``ax_`` and ``figure_`` hold it.

Colours of ordered things come from an ordered map that is safe for colour-blind readers, those of models from the
palette of Okabe and Ito. Nothing here touches matplotlib's global settings or shows a window.
"""

from rankwise.plots._annotation_display import AnnotationDisplay
from rankwise.plots._confusion_display import ConfusionDisplay
from rankwise.plots._probability_displays import DistributionDisplay, ReliabilityDisplay, SetSizeDisplay
from rankwise.plots._progressive_display import ProgressiveDisplay
from rankwise.plots._ranking_display import RankingDisplay
from rankwise.plots._style import ordered_colors
from rankwise.plots._threshold_display import ThresholdDisplay
from rankwise.plots._weights_display import WeightsDisplay

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
