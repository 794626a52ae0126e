"""Inference for a cumulative link behind an encoder of tables: by raw columns, with the levels of categories.

A model of maximum likelihood whose encoder leaves out reference levels is a regression as others know it: each level
of a category is compared with the reference, and a column is tested by all of its features together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from rankwise._types import Floats
from rankwise.base.model import Model
from rankwise.base.probabilities import require_level
from rankwise.batch.average_effects import Effect, effects_table, feature_effects, level_effect, slope_effect
from rankwise.batch.cumulative_link import CumulativeLink
from rankwise.batch.link_inference import (
    LikelihoodRatio,
    chosen_columns,
    covariance,
    inference_table,
    likelihood_ratio,
)
from rankwise.batch.wald_test import wald
from rankwise.features import TableEncoder
from rankwise.features.moves import Owned, Slope, Step, moves
from rankwise.labels import check_weights


class TableInference:
    """What the rows of a fit tell about a :class:`rankwise.CumulativeLink` and the raw columns before its encoder."""

    def __init__(self, model: Model, X: Any, y: Any, sample_weight: Any) -> None:
        if model.final.alpha_ != 0.0:
            raise ValueError(
                f"tests and intervals need maximum likelihood, which has no penalty: fit "
                f"TableModel(CumulativeLink(alpha=0)). This model has alpha={model.final.alpha_:g}."
            )
        self.link, self.encoder, self.X = model.final._twin(), model.before, X
        self.evidence = model.rows(X), y, sample_weight
        if isinstance(self.encoder, TableEncoder):
            self.owned = Owned.of(self.encoder)
        else:
            names = model.feature_names()
            self.owned = Owned(names, names, [(name,) for name in names], {})
        self.link._name_columns = lambda: self.owned.names

    def table(self, level: float) -> Any:
        """Table of :meth:`rankwise.TableModel.inference`."""
        require_level("level", level)
        found = inference_table(self.link, *self.evidence, level)
        cov, coef, owned = covariance(self.link, *self.evidence), found["coef"].to_numpy(), self.owned
        columns = ["*".join(own) for own in owned.columns]
        found["column"] = columns + [""] * (len(found) - len(columns))
        found["df_column"], found["p_column"] = 0, np.nan
        for j, own in enumerate(owned.columns):
            at = owned.places(own[0]) if len(own) == 1 else np.array([j])
            test = wald(coef[at], cov[np.ix_(at, at)])
            found.iloc[j, found.columns.get_indexer(["df_column", "p_column"])] = test.df, test.p
        return _with_references(found, owned)

    def likelihood_ratio(self, without: Iterable[str] | None) -> LikelihoodRatio:
        """Test of :meth:`rankwise.TableModel.likelihood_ratio_test`."""
        named = chosen_columns([without] if isinstance(without, str) else without, self.owned.raw)
        dropped = np.unique(np.concatenate([self.owned.places(name) for name in named]))
        rows, y, sample_weight = self.evidence
        return likelihood_ratio(self.link, rows, y, dropped.tolist(), sample_weight)

    def marginal_effects(self, level: float) -> Any:
        """Table of :meth:`rankwise.TableModel.marginal_effects`."""
        require_level("level", level)
        rows, y, sample_weight = self.evidence
        cov = covariance(self.link, rows, y, sample_weight)
        matrix = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
        weight = np.ones(len(matrix)) if sample_weight is None else check_weights(sample_weight, len(matrix))
        if not isinstance(self.encoder, TableEncoder):
            effects = feature_effects(self.link, matrix, weight / weight.sum())
            return effects_table(self.owned.names, self.link, effects, cov, level)
        found = list(moves(self.encoder, self.X))
        if not found:
            raise ValueError("marginal_effects needs a column of numbers, booleans or categories. There is none.")
        effects = [self._effect(move, matrix, weight) for move in found]
        table = effects_table([move.name for move in found], self.link, effects, cov, level)
        table["reference"] = np.repeat([move.reference for move in found], len(self.link.classes_))
        return table

    def _effect(self, move: Slope | Step, matrix: Floats, weight: Floats) -> Effect:
        told = weight * move.told
        told = told / (told.sum() or 1.0)
        if isinstance(move, Slope):
            return slope_effect(self.link, matrix, told, move.places, move.slopes)
        return level_effect(self.link, told, move.before, move.after)


def _is_inferable(model: Any) -> bool:
    """Whether the estimator of a table model has standard errors; the error says which one has."""
    name = type(model._template()).__name__
    if not isinstance(model._template(), CumulativeLink):
        raise AttributeError(f"{name} has no standard errors, tests and intervals. CumulativeLink(alpha=0) has them.")
    return True


_if_inferable = available_if(_is_inferable)


class InfersByColumn:
    """Methods of a table model whose estimator is a :class:`rankwise.CumulativeLink` of maximum likelihood."""

    @_if_inferable
    def inference(self, X: Any, y: Any, sample_weight: Any = None, *, level: float = 0.95) -> Any:
        """Standard errors, tests and confidence intervals of features and thresholds, as a pandas table.

        For ``CumulativeLink(alpha=0)``: tests and intervals need maximum likelihood.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the fit, others are refused; exact and interval labels. A row of weight 2 counts as two rows.
        level : float, default 0.95
            Level of the confidence intervals.

        Returns
        -------
        pandas.DataFrame
            As :meth:`rankwise.CumulativeLink.inference`, with a row for the reference level of each category, and the
            columns ``column``, the raw column that a feature comes from, and ``df_column`` and ``p_column``, the joint
            Wald test that all features of this column are zero.
        """
        return self._inferred(X, y, sample_weight).table(level)

    @_if_inferable
    def likelihood_ratio_test(self, X: Any, y: Any, without: Any = None, sample_weight: Any = None) -> LikelihoodRatio:
        """Test whether some raw columns matter: twice the log-likelihood that they add, against chi-squared.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`inference`.
        without : column name or list of column names, optional
            Columns left out of the smaller model with all their features; all by default.

        Returns
        -------
        LikelihoodRatio
            ``statistic``, ``df`` (how many features that do not follow from others are left out) and ``p``.
        """
        return self._inferred(X, y, sample_weight).likelihood_ratio(without)

    @_if_inferable
    def marginal_effects(self, X: Any, y: Any, sample_weight: Any = None, *, level: float = 0.95) -> Any:
        """Average change of every class's probability with each raw column, as a pandas table.

        Parameters
        ----------
        X, y, sample_weight, level
            As in :meth:`inference`.

        Returns
        -------
        pandas.DataFrame
            One row for each number, or level of a category, and class: ``effect``, ``std_err``, ``z``, ``p``,
            ``lower``, ``upper`` and ``reference``. The effect of a number is the change for one unit of the raw column,
            that of a level the difference from the reference, if all rows had the one or the other. Rows whose number
            is missing do not count for it. Dates, texts and hashed categories are left out.
        """
        return self._inferred(X, y, sample_weight).marginal_effects(level)

    def _inferred(self, X: Any, y: Any, sample_weight: Any) -> TableInference:
        """What the rows tell about the model."""
        raise NotImplementedError  # the model reads itself, undisturbed by writers


def _with_references(found: Any, owned: Owned) -> Any:
    """The table with a row for each reference level, before the other levels of its category."""
    import pandas

    parts, last = [], 0
    for column, reference in owned.references.items():
        places = owned.places(column, alone=True)
        if places.size == 0:
            continue
        row = found.iloc[[places[0]]].copy()
        row.index = [f"{reference} (reference)"]
        numbers = [name for name in ("std_err", "robust_std_err", "z", "p", "lower", "upper") if name in row]
        row["coef"], row[numbers] = 0.0, np.nan
        row["odds_ratio"] = np.exp(row["coef"]).where(row["odds_ratio"].notna())
        parts += [found.iloc[last : places[0]], row]
        last = places[0]
    return pandas.concat([*parts, found.iloc[last:]])
