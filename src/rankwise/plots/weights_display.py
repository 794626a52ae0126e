"""Weights of the features, the largest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise._drawing import INK, OKABE_ITO, QUIET, SMALL, axes, plain, quiet_frame, ticks
from rankwise._types import Floats
from rankwise.base.model import Model


def largest(weights: Floats, top: int) -> tuple[NDArray[np.intp], Floats]:
    """The features with the largest weights, and the size of every feature: the norm of its weights."""
    sizes = np.abs(weights) if weights.ndim == 1 else np.linalg.norm(weights, axis=0)
    return np.argsort(-sizes, kind="stable")[:top], sizes


@dataclass(kw_only=True, eq=False, repr=False)
class WeightsDisplay:
    """The largest weights of the features: bars for one weight per feature, a heat map for several.

    The size of several weights, such as one for each class, is their Euclidean norm. Weights are comparable where the
    features have similar scales. Negative weights are hatched, so that signs can be told apart in grey.

    Make it with :meth:`from_estimator` or :meth:`from_weights`.

    Parameters
    ----------
    weights : ndarray of shape (d,) or (m, d)
        Weights, or m of them for each feature.
    names : sequence of d str
        Names of the features.
    parts : sequence of m str, optional
        What the m weights belong to.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    shown_ : ndarray of int
        Features that are shown, largest first.
    bars_ : BarContainer or None
        The weights, if there is one a feature.
    image_ : AxesImage or None
        The weights, if there are several.
    """

    weights: Floats
    names: Sequence[str]
    parts: Sequence[str] | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: Any = None, **options: Any) -> Self:
        """Draw ``coef_`` of a fitted linear estimator.

        Parameters
        ----------
        estimator : fitted estimator, pipeline or TableModel
            With ``coef_`` of shape (d,), one row of ``classes_`` each (K, d), or (m, d).
        feature_names : sequence of str, optional
            By default those that the estimator, or the step before it, knows; or x0, x1, ...
        **options
            For :meth:`plot`, such as ``ax``.

        Examples
        --------
        >>> import rankwise as rw
        >>> X, y = rw.datasets.make_ordinal(500, 3, 4, random_state=0)
        >>> model = rw.PRIL(random_state=0).fit(X, y)
        >>> display = rw.plots.WeightsDisplay.from_estimator(model, feature_names=["a", "b", "c"])
        >>> len(display.bars_)
        3
        """
        inside = Model.of(estimator).require(cls.__name__, "linear estimator", "coef_")
        coef, classes = inside.final.coef_, inside.learnt("classes_", ())
        if feature_names is None and inside.weights is not None:
            feature_names = inside.feature_names()
        by_class = np.ndim(coef) == 2 and len(coef) == len(classes)
        parts = [str(c) for c in classes] if by_class else None
        return cls.from_weights(coef, feature_names=feature_names, parts=parts, **options)

    @classmethod
    def from_weights(cls, weights: Any, *, feature_names: Any = None, parts: Any = None, **options: Any) -> Self:
        """Draw given weights.

        Parameters
        ----------
        weights : array-like of shape (d,) or (m, d)
            The weights.
        parts : sequence of m str, optional
            What the m weights of a feature belong to; by default counted from 1.
        feature_names, **options
            As in :meth:`from_estimator`.
        """
        weights = np.asarray(weights, dtype=np.float64)
        d = weights.shape[-1] if weights.ndim else 0
        names = [f"x{j}" for j in range(d)] if feature_names is None else [str(name) for name in feature_names]
        if weights.ndim not in (1, 2) or len(names) != d:
            raise ValueError(
                f"weights must have the shape (d,) or (m, d), with one name for each of the d features. "
                f"Got {weights.shape} and {len(names)} names."
            )
        if weights.ndim == 2:
            parts = [str(i + 1) for i in range(len(weights))] if parts is None else parts
            if len(parts) != len(weights):
                raise ValueError(
                    f"parts must name each of the {len(weights)} weights of a feature. Got {len(parts)} names."
                )
        return cls(weights=weights, names=names, parts=parts).plot(**options)

    def plot(self, *, ax: Any = None, top: int = 20, cmap: str = "RdBu_r") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        top : int, default 20
            Number of features to show, those with the largest weights.
        cmap : str, default "RdBu_r"
            Diverging colour map, for several weights a feature.
        """
        if top < 1:
            raise ValueError(f"top must be a number of features >= 1. Got {top!r} instead.")
        self.shown_ = largest(self.weights, top)[0]
        n = self.shown_.size
        self.figure_, self.ax_ = axes(ax, (7.2, 0.9 + 0.27 * n))
        self.bars_: Any = None
        self.image_: Any = None
        if self.weights.ndim == 1:
            self._draw_bars(self.weights[self.shown_])
        else:
            self._draw_shades(self.weights[:, self.shown_].T, cmap)
        self.ax_.set_yticks(range(n), [plain(self.names[j]) for j in self.shown_])
        self.ax_.set_ylim(n - 0.5, -0.5)
        self.ax_.tick_params(axis="y", length=0)
        hidden = self.weights.shape[-1] - n
        what = "weight" if self.weights.ndim == 1 else "weights"
        if hidden:
            what += f"; {hidden:,} features with smaller weights are not shown"
        quiet_frame(self.ax_, keep=("bottom",) if self.bars_ else (), x=what)
        return self

    def _draw_bars(self, values: Floats) -> None:
        negative = values < 0
        self.bars_ = self.ax_.barh(
            range(values.size), values, height=0.7, color=[OKABE_ITO[1] if n else OKABE_ITO[0] for n in negative]
        )
        for bar, value in zip(self.bars_, values, strict=True):
            if value < 0:
                bar.set(hatch="////", edgecolor="white", lw=0)
            self.ax_.annotate(
                f"{value:.3g}", (value, bar.get_y() + bar.get_height() / 2), xytext=(-4 if value < 0 else 4, 0),
                textcoords="offset points", ha="right" if value < 0 else "left", va="center", fontsize=SMALL,
                color=QUIET,
            )  # fmt: skip
        self.ax_.margins(x=0.12)
        self.ax_.axvline(0.0, color=QUIET, lw=0.8)

    def _draw_shades(self, values: Floats, cmap: str) -> None:
        largest = float(np.abs(values).max()) or 1.0
        self.image_ = self.ax_.imshow(values, cmap=cmap, vmin=-largest, vmax=largest, aspect="auto")
        self.ax_.set_xticks(*ticks(self.parts or range(1, values.shape[1] + 1)))
        if values.size <= 300:
            for (row, column), value in np.ndenumerate(values):
                color = "white" if abs(value) > 0.6 * largest else INK
                self.ax_.text(column, row, f"{value:.2g}", ha="center", va="center", fontsize=SMALL, color=color)
        bar = self.figure_.colorbar(self.image_, ax=self.ax_, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=SMALL, colors=QUIET)
        self.ax_.tick_params(length=0)
