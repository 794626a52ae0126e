"""The estimator inside a model: behind the encoder of a table model, at the end of a pipeline, the best of a search."""

from dataclasses import dataclass
from typing import Any

from rankwise.table_model import TableModel


@dataclass(frozen=True, eq=False)
class Inner:
    """A fitted estimator, and what stands before it in the model that was handed in."""

    model: Any  # what was handed in
    final: Any  # the estimator inside
    before: Any  # transformer from rows of the model to rows of the estimator; None: they are the same

    def rows(self, X: Any) -> Any:
        return X if self.before is None else self.before.transform(X)

    @property
    def names(self) -> list[str]:
        """Names of the estimator's features, numbered where they have none; empty if their number is unknown."""
        return feature_names(self.final, self.before, getattr(self.final, "n_features_in_", 0))


def feature_names(final: Any, before: Any, n_features: int, X: Any = None) -> list[str]:
    """Names of the features of the estimator inside a model: the transformer's before it, its own, those of a table."""
    names = getattr(final, "feature_names_in_", None)
    if before is not None:
        try:
            names = before.get_feature_names_out()
        except (AttributeError, ValueError):
            names = None
    elif names is None:
        names = getattr(X, "columns", None) if hasattr(X, "iloc") else None
    return [f"x{j}" for j in range(n_features)] if names is None else [str(name) for name in names]


def inner(model: Any) -> Inner:
    """Find the estimator in a model; a model that is not fitted is its own."""
    best = getattr(model, "best_estimator_", model)
    if isinstance(best, TableModel) and hasattr(best, "estimator_"):
        return Inner(model, best.estimator_, best.encoder_)
    if hasattr(best, "steps"):
        return Inner(model, best[-1], best[:-1] if len(best) > 1 else None)
    return Inner(model, best, None)


def fitted(display: type, estimator: Any, kind: str, *attributes: str) -> Inner:
    """The estimator to draw, or an error that names what it lacks: every display takes estimators through this."""
    found = inner(estimator)
    missing = [name for name in attributes if not hasattr(found.final, name)]
    if missing:
        raise TypeError(
            f"{display.__name__} needs a fitted {kind}. {type(found.final).__name__} has no {' and no '.join(missing)}."
        )
    return found
