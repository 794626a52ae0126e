"""Labels of every accepted form as tensors, and codes back to classes."""

from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from rankwise.labels import Labels, decode, encode


@dataclass(frozen=True, eq=False)
class LabelTensors:
    """Encoded labels as tensors: row i admits the class codes ``lower[i] .. upper[i]``, both included.

    Attributes
    ----------
    lower, upper : int64 tensor of shape (n,)
        Lowest and highest admissible code. Exact: equal. Missing: 0 and K-1.
    mask : bool tensor of shape (n, K) or None
        Admissible codes, where some candidate set has a hole; ``None`` when every row is an interval. A loss that
        takes no mask learns from the interval that spans the set.
    classes : ndarray of shape (K,)
        The classes, lowest first.
    """

    lower: Tensor
    upper: Tensor
    mask: Tensor | None
    classes: NDArray[Any]

    def __len__(self) -> int:
        return int(self.lower.shape[0])

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    def decode(self, codes: Tensor) -> NDArray[Any]:
        """Class label of every code, as an array in the host's memory."""
        return decode(codes.detach().cpu().numpy(), self.classes)


def labels_to_tensors(y: Any, classes: Any = None, device: Any = None) -> LabelTensors:
    """Turn annotations of any accepted form into tensors of codes.

    Parameters
    ----------
    y : array-like or Labels
        Exact labels, intervals, candidate sets, missing ones: see :func:`rankwise.labels.encode`.
    classes : sequence, optional
        The classes, lowest first; by default as in :func:`rankwise.labels.encode`. Labels that are encoded already
        bring their own.
    device : torch.device or str, optional
        Where the tensors are to be.

    Examples
    --------
    >>> labels = labels_to_tensors(["low", ("low", "mid"), {"low", "high"}, None], classes=["low", "mid", "high"])
    >>> labels.lower, labels.upper
    (tensor([0, 0, 0, 0]), tensor([0, 1, 2, 2]))
    >>> labels.mask[2]
    tensor([ True, False,  True])
    >>> labels.decode(torch.tensor([2, 0]))
    array(['high', 'low'], dtype='<U4')
    """
    labels = y if isinstance(y, Labels) else encode(y, classes)
    return LabelTensors(
        lower=torch.tensor(labels.lower, dtype=torch.int64, device=device),
        upper=torch.tensor(labels.upper, dtype=torch.int64, device=device),
        mask=None if labels.mask is None else torch.tensor(labels.mask, device=device),
        classes=labels.classes,
    )
