"""Several labels for every row, some of them missing."""

from rankwise.multilabel.missing_labels import MissingLabelClassifier

__all__ = ["MissingLabelClassifier"]
