"""Labels of every form as tensors."""

import numpy as np
import pytest
from hypothesis import given

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")

from rankwise.labels import OrderWarning, encode
from rankwise.torch import labels_to_tensors
from tests.strategies import annotated


@given(annotated())
def test_tensors_say_what_the_encoder_says(rows):
    labels = labels_to_tensors(rows.y, rows.classes)
    encoded = rows.encoded()
    assert labels.lower.dtype == labels.upper.dtype == torch.int64
    assert labels.lower.tolist() == [admitted[0] for admitted in rows.codes]
    assert labels.upper.tolist() == [admitted[-1] for admitted in rows.codes]
    if encoded.mask is None:
        assert labels.mask is None
    else:
        assert [torch.nonzero(row)[:, 0].tolist() for row in labels.mask] == rows.codes
    assert len(labels) == len(rows.y)
    assert labels.n_classes == len(rows.classes)
    assert labels.decode(torch.tensor(rows.predicted)).tolist() == rows.y_pred
    again = labels_to_tensors(encoded)
    assert torch.equal(again.lower, labels.lower)
    assert again.classes is encoded.classes


def test_tensors_are_copies_of_their_own():
    encoded = encode([1, 2, 3])
    labels = labels_to_tensors(encoded)
    labels.lower.add_(1)
    assert encoded.lower.tolist() == labels.upper.tolist() == [0, 1, 2]


def test_device():
    labels = labels_to_tensors([{1, 3}, 2], device="meta")
    assert {t.device.type for t in (labels.lower, labels.upper, labels.mask)} == {"meta"}


def test_order_and_errors_are_the_encoders():
    assert labels_to_tensors(np.array([[1, 3], [np.nan, 2]])).upper.tolist() == [2, 1]
    with pytest.raises(ValueError, match="row 1: the label 9 is not one of the classes"):
        labels_to_tensors([1, 9], classes=[1, 2])
    with pytest.warns(OrderWarning):
        assert labels_to_tensors(["b", "a"]).lower.tolist() == [1, 0]
