"""Multi-label classification with missing labels."""

from rankwise.multilabel.missing_labels import MissingLabelClassifier

__all__ = ["MissingLabelClassifier"]
