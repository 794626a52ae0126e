"""Target losses, their interval-insensitive forms, and convex surrogates of these."""

from rankwise.losses._surrogates import explicit_surrogate, implicit_surrogate
from rankwise.losses.target_losses import Loss, check_v_shaped, interval_insensitive, interval_pessimistic, loss_matrix

__all__ = [
    "Loss", "check_v_shaped", "explicit_surrogate", "implicit_surrogate", "interval_insensitive",
    "interval_pessimistic", "loss_matrix",
]  # fmt: skip
