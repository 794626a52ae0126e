"""The estimator inside a model: in a table model, at the end of a pipeline, or the best of a search."""

from dataclasses import dataclass
from typing import Any

from rankwise.table_model import TableModel


@dataclass(frozen=True, eq=False)
class Inner:
    """The estimator inside a model, and the transformer before it."""

    model: Any
    final: Any  # the estimator inside
    before: Any  # transformer from rows of the model to rows of the estimator; None: they are the same

    def rows(self, X: Any) -> Any:
        return X if self.before is None else self.before.transform(X)

    @property
    def names(self) -> list[str]:
        """Names of the estimator's features, numbered where they have none; empty if their number is unknown."""
        return feature_names(self.final, self.before, getattr(self.final, "n_features_in_", 0))


def feature_names(final: Any, before: Any, n_features: int, X: Any = None) -> list[str]:
    """Names of the features of the estimator inside a model: from the transformer before it, its own, or of a table."""
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
    """Find the estimator in a model; a search or table model that is not fitted is returned itself."""
    best = getattr(model, "best_estimator_", model)
    if isinstance(best, TableModel) and hasattr(best, "estimator_"):
        return Inner(model, best.estimator_, best.encoder_)
    if hasattr(best, "steps"):
        return Inner(model, best[-1], best[:-1] if len(best) > 1 else None)
    return Inner(model, best, None)


def fitted(display: type, estimator: Any, kind: str, *attributes: str) -> Inner:
    """The estimator to draw; an error names the attributes that it lacks."""
    inside = inner(estimator)
    missing = [name for name in attributes if not hasattr(inside.final, name)]
    if missing:
        name = type(inside.final).__name__
        raise TypeError(f"{display.__name__} needs a fitted {kind}. {name} has no {' and no '.join(missing)}.")
    return inside
