"""Ordered classes and imprecise labels in PyTorch: heads for any network, and losses that take intervals.

Labels are two integer tensors of codes 0..K-1, ``lower`` and ``upper``, both ends included: an exact label has equal
ends, a missing one 0 and K-1, and costs nothing. :func:`labels_to_tensors` makes them from every form of ``y`` that
the estimators take. Every loss is a function and a module, and computes on the device and in the type of its input.

==================  ===============================  ==========================================================
head                losses                           which bound, for the predicted class
==================  ===============================  ==========================================================
CuSumHead           CuSumMarginLoss, VILMAMAELoss    the distance to the nearest admissible class
any K scores        the same                         the same
any K scores        VILMALoss                        any V-shaped loss, the cheapest admissible class true
ThresholdHead       ImplicitLoss                     the distance to the interval
ThresholdHead       ExplicitLoss                     whether the interval is missed
one output          IntervalMAELoss                  half the distance of the rounded output to the interval
==================  ===============================  ==========================================================

No other package of rankwise imports torch. Without it: ``pip install 'rankwise[torch]'``.
"""

from rankwise._extras import require

require("torch", "rankwise.torch needs PyTorch: pip install 'rankwise[torch]'")

from rankwise.torch._cusum import CuSumHead, CuSumMarginLoss, cusum_margin_loss
from rankwise.torch._interval_losses import (
    IntervalMAELoss,
    VILMALoss,
    VILMAMAELoss,
    interval_mae_loss,
    vilma_loss,
    vilma_mae_loss,
)
from rankwise.torch._label_tensors import LabelTensors, labels_to_tensors
from rankwise.torch._threshold_head import (
    ExplicitLoss,
    ImplicitLoss,
    OrderedThresholds,
    ThresholdHead,
    explicit_loss,
    implicit_loss,
)

__all__ = [
    "CuSumHead",
    "CuSumMarginLoss",
    "ExplicitLoss",
    "ImplicitLoss",
    "IntervalMAELoss",
    "LabelTensors",
    "OrderedThresholds",
    "ThresholdHead",
    "VILMALoss",
    "VILMAMAELoss",
    "cusum_margin_loss",
    "explicit_loss",
    "implicit_loss",
    "interval_mae_loss",
    "labels_to_tensors",
    "vilma_loss",
    "vilma_mae_loss",
]
