"""Data sets: generators, scikit-learn's bundled diabetes data, and the real sets of the papers.

Generators (``make_*``) return ``(X, y)``; loaders (``load*``) return a :class:`Dataset`. Grades are counted from 1.

The real sets are not part of the package: :func:`load` searches for them in several places or downloads them.
"""

from rankwise.datasets._cuts import cut_equal_frequency, cut_equal_width
from rankwise.datasets._find import DatasetDamagedError, DatasetNotFoundError
from rankwise.datasets._generators import make_ordinal, make_pril_synthetic, make_sparse_ordinal
from rankwise.datasets._load import Dataset, load, load_abalone, load_diabetes_grades, load_parkinsons, names
from rankwise.datasets._mail import ENRON_USERS, MailFolders, load_enron_folders
from rankwise.datasets._offline import (
    CHU_NAMES,
    MULTILABEL_NAMES,
    RATING_NAMES,
    MultilabelDataset,
    Ratings,
    Words,
    load_chu_partitions,
    load_multilabel,
    load_ocr,
    load_ratings,
)

__all__ = [
    "CHU_NAMES",
    "ENRON_USERS",
    "MULTILABEL_NAMES",
    "RATING_NAMES",
    "Dataset",
    "DatasetDamagedError",
    "DatasetNotFoundError",
    "MailFolders",
    "MultilabelDataset",
    "Ratings",
    "Words",
    "cut_equal_frequency",
    "cut_equal_width",
    "load",
    "load_abalone",
    "load_chu_partitions",
    "load_diabetes_grades",
    "load_enron_folders",
    "load_multilabel",
    "load_ocr",
    "load_parkinsons",
    "load_ratings",
    "make_ordinal",
    "make_pril_synthetic",
    "make_sparse_ordinal",
    "names",
]
