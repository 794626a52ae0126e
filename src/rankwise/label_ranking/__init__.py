"""Label ranking: which labels fit an example better than others."""

from rankwise.label_ranking.ranker import LabelRanker

__all__ = ["LabelRanker"]
