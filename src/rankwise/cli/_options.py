"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args, get_type_hints

import typer

from rankwise._files import FORMATS
from rankwise.cli._exit import complain, suggestion
from rankwise.cli._outputs import INPUTS, MODEL, NEW_MODEL, NEW_QUARANTINE, Reads, Writes, check_files

if TYPE_CHECKING:
    from rankwise.io import LabelColumns, Table

_LABELS, _FILES, _ROWS = "Labels", "Files", "Rows"
_CLASSES = "All classes, lowest first: low,medium,high or 1..10. Without it the labels are read once more for them."
_LANGUAGE = "Language of words in labels, such as 'at least 4'; by default that of the model, or English."
_QUARANTINE = "With --on-error skip: JSON lines with file, row, reason and text of each skipped row."
_STRICT = "With --on-error skip: end with exit code 3 if more than a twentieth of the rows were skipped."
_SEPARATOR = "Separator of CSV columns. By default found in the header: , ; tab or |."
_DECIMAL = "Decimal mark of numbers in CSV and in labels, . or ,. By default found for each column of numbers."
_ENCODING = "Encoding of text files, as cp1252. By default UTF-8, or UTF-16 if marked so."
_BASE = "First index of svmlight files. By default that of the model, or 0 if any row has the index 0, else 1."
_MOST_FEATURES = "Most features of svmlight files; by default 10,000,000."

OnError = StrEnum("OnError", ["stop", "skip"])
Method = StrEnum("Method", ["holdout", "progressive", "cv"])
Language = StrEnum("Language", ["en", "de", "fr", "es"])
Format = StrEnum("Format", list(FORMATS))  # type: ignore[misc]
Written = StrEnum("Written", [name for name in FORMATS if name != "xlsx"])  # type: ignore[misc]


_MODEL = "A model file, from 'rankwise fit' or rankwise.save."
Model = Annotated[Path, typer.Argument(metavar="MODEL", help=_MODEL), MODEL]
_FORMATS = (
    "Files or directories: CSV, TSV, Parquet, Arrow, Excel, JSON lines or svmlight, plain or .gz or .zst; "
    "- is the standard input."
)
ModelOutput = Annotated[
    Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write."), NEW_MODEL
]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help=_FORMATS), INPUTS]
Folds = Annotated[int, typer.Option(min=2, help="Folds of --method cv; of --method holdout one of these is kept back.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing output of another kind.")]
AsJSON = Annotated[bool, typer.Option("--json", help="Print results as JSON, for machines.")]


def option(help: str, panel: str, metavar: str | None = "COL", *names: str, **settings: Any) -> Any:
    """Option in a panel of the help; most of them name a column."""
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **settings)


def _reading(help: str, metavar: str, *names: str, **settings: Any) -> Any:
    return option(help, _FILES, metavar, *names, show_default=False, **settings)


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """Where the labels are."""

    label: Annotated[str | None, option("Column of labels: 3, 3-5, >=4, <=2, 2|3|7 or ?.", _LABELS)] = None
    lower: Annotated[str | None, option("Column of lowest admissible classes.", _LABELS)] = None
    upper: Annotated[str | None, option("Column of highest admissible classes.", _LABELS)] = None
    weight: Annotated[str | None, option("Column of weights, >= 0.", _LABELS)] = None
    language: Annotated[Language | None, option(_LANGUAGE, _LABELS, None)] = None

    @property
    def are_given(self) -> bool:
        return any(name is not None for name in (self.label, self.lower, self.upper))

    def as_learnt(self, notes: Mapping[str, Any]) -> Self:
        """The same for files that a model predicts: words are in the language of those it learnt from."""
        learnt = notes.get("language")
        return self if self.language is not None or learnt is None else replace(self, language=Language(learnt))

    def columns_of(self, table: Table) -> LabelColumns:
        """The columns, which the files must have; those of an svmlight file are fixed."""
        from rankwise.io import LabelColumns
        from rankwise.io.table_errors import shown

        if table.format == "svmlight":
            if self.weight is not None:
                raise typer.BadParameter("an svmlight file has no column of weights: --weight cannot be used.")
            return LabelColumns(label="label")
        if not self.are_given:
            columns = f"The columns are {shown(table.schema.names)}."
            raise typer.BadParameter(
                f"where are the labels? Give --label COL, or --lower COL and --upper COL. {columns}"
            )
        if self.label is not None and (self.lower is not None or self.upper is not None):
            raise typer.BadParameter("labels are in one column (--label) or in two (--lower and --upper), not both.")
        if self.label is None and (self.lower is None or self.upper is None):
            given, other = ("--lower", "--upper") if self.upper is None else ("--upper", "--lower")
            raise typer.BadParameter(f"{given} needs {other}: an interval has two ends.")
        language = self.language or Language.en
        labels = LabelColumns(self.label, self.lower, self.upper, self.weight, language.value, table.decimal)
        for name in ("label", "lower", "upper", "weight"):
            if getattr(labels, name) is not None:
                require_column(getattr(labels, name), table.schema.names, f"--{name}")
        if len(set(labels.names)) < len(labels.names):
            raise typer.BadParameter("labels and weights must be in different columns.")
        return labels

    def ignored_of(self, table: Table) -> list[str]:
        """Columns that are not features, besides the labels."""
        return []


@dataclass(frozen=True, kw_only=True)
class ClassOptions(LabelOptions):
    """Where the labels are, and the order of the classes."""

    classes: Annotated[str | None, option(_CLASSES, _LABELS, "A,B,...")] = None

    @property
    def declared(self) -> list[Any] | None:
        return parse_classes(self.classes)


@dataclass(frozen=True, kw_only=True)
class LearningOptions(ClassOptions):
    """Where the labels are, the order of the classes, and which columns are not features."""

    ignore: Annotated[list[str] | None, option("Columns that are not features.", _ROWS, "COL,COL")] = None

    def ignored_of(self, table: Table) -> list[str]:
        """Columns that are not features, which the files must have."""
        if self.ignore and table.format == "svmlight":
            raise typer.BadParameter("an svmlight file has no named columns: --ignore cannot be used.")
        return parse_columns(self.ignore, table.schema.names, "--ignore") if self.ignore else []


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """How files and rows are read, and what happens to bad rows."""

    separator: Annotated[str | None, _reading(_SEPARATOR, "CHAR")] = None
    decimal: Annotated[str | None, _reading(_DECIMAL, "CHAR")] = None
    # not encoding, which is what commands call the options of features
    text_encoding: Annotated[str | None, _reading(_ENCODING, "NAME", "--encoding")] = None
    index_base: Annotated[int | None, _reading(_BASE, "0|1", min=0, max=1)] = None
    max_features: Annotated[int | None, _reading(_MOST_FEATURES, "N", min=1)] = None
    format: Annotated[Format | None, option("Format of the files; by default their names say it.", _ROWS, None)] = None
    on_error: Annotated[OnError, option("A bad row stops the run, or is skipped and counted.", _ROWS, None)] = (
        OnError.stop
    )
    quarantine: Annotated[Path | None, option(_QUARANTINE, _ROWS, "FILE"), NEW_QUARANTINE] = None
    overwrite: Overwrite = False
    strict: Annotated[bool, typer.Option("--strict", help=_STRICT, rich_help_panel=_ROWS)] = False

    def __post_init__(self) -> None:
        if self.quarantine is not None and not self.skips:
            raise typer.BadParameter("--quarantine needs --on-error skip.")

    @property
    def skips(self) -> bool:
        return self.on_error is OnError.skip

    @property
    def reading(self) -> dict[str, Any]:
        """The given options, as keywords of :func:`rankwise.io.open_table`."""
        keywords = {
            "separator": "\t" if self.separator in ("tab", "\\t") else self.separator, "decimal": self.decimal,
            "encoding": self.text_encoding, "index_base": self.index_base, "max_features": self.max_features,
        }  # fmt: skip
        return {name: value for name, value in keywords.items() if value is not None}

    def as_learnt(self, model: Any, notes: Mapping[str, Any], files: Sequence[Path]) -> Self:
        """The same for files that a model predicts: indices and decimals are as in the files it learnt from."""
        from rankwise.io.svmlight import MAX_FEATURES

        known = notes.get("index_base")
        if known is not None and self.index_base not in (None, known):
            raise typer.BadParameter(
                f"--index-base {self.index_base}: the model was learnt from rows whose indices begin at {known}."
            )
        # Not fewer than the model has already.
        most = max(self.max_features or MAX_FEATURES, int(getattr(model, "estimator_", model).n_features_in_))
        base = self.index_base if known is None else known
        return replace(self, index_base=base, max_features=most, decimal=self._learnt_decimal(notes, files))

    def _learnt_decimal(self, notes: Mapping[str, Any], files: Sequence[Path]) -> str | None:
        """The decimal mark that was given, or that of the training files unless it separates the columns of these."""
        learnt: str | None = notes.get("decimal")
        if self.decimal is not None or learnt is None:
            return self.decimal
        return learnt if list(files) == [Path("-")] or self._open(files).separator != learnt else None

    def look_at(self, files: Sequence[Path]) -> Table:
        """Open the files as a table, and print remarks about them."""
        table = self._open(files)
        for remark in table.remarks:
            complain(remark, "note")
        return table

    def _open(self, files: Sequence[Path]) -> Table:
        from rankwise.io import open_table

        format = None if self.format is None else self.format.value
        return open_table(list(files), format=format, on_error=self.on_error.value, **self.reading)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by one option per field.

    A field may be such a dataclass itself. Before the command runs, the files that it reads and writes are checked.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters = list(_flattened(signature(command).parameters.values(), hints))
    flat = Signature(parameters)
    roles = {
        parameter.name: role
        for parameter in parameters
        for role in get_args(parameter.annotation)[1:]
        if isinstance(role, (Reads, Writes))
    }

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        given = flat.bind(*args, **kwargs)
        given.apply_defaults()
        check_files(roles, given.arguments)
        command(**{name: _value(name, hint, given.arguments) for name, hint in hints.items() if name != "return"})

    run.__signature__ = flat  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _flattened(parameters: Iterable[Parameter], hints: Mapping[str, Any]) -> Iterator[Parameter]:
    """The parameters, with dataclasses replaced by their fields."""
    for parameter in parameters:
        hint = hints[parameter.name]
        if is_dataclass(hint):
            inside = signature(hint).parameters.values()  # type: ignore[arg-type]
            options = _flattened(inside, get_type_hints(hint, include_extras=True))
            yield from (option.replace(kind=Parameter.KEYWORD_ONLY) for option in options)
        else:
            yield parameter.replace(annotation=hint)


def _value(name: str, hint: Any, given: Mapping[str, Any]) -> Any:
    """Value of a parameter, which is an option or a dataclass of options."""
    if not is_dataclass(hint):
        return given[name]
    hints = get_type_hints(hint)
    return hint(**{field.name: _value(field.name, hints[field.name], given) for field in fields(hint)})  # type: ignore[operator]


def as_words(group: Any) -> list[str]:
    """The options of a dataclass that differ from their defaults, as words of a command line."""
    words: list[str] = []
    hints = get_type_hints(type(group), include_extras=True)
    for field in fields(group):
        value = getattr(group, field.name)
        if value != field.default:
            info = next(info for info in get_args(hints[field.name]) if hasattr(info, "param_decls"))
            # In annotations, typer stores the first name as the default.
            named = [str(name) for name in (info.default, *(info.param_decls or ())) if str(name).startswith("--")]
            words += [*named, f"--{field.name.replace('_', '-')}"][:1]
            words += [] if value is True else [str(value)]
    return words


def parse_classes(text: str | None) -> list[Any] | None:
    """Classes in their order: numbers if all are; ``1..5`` stands for a range of whole numbers."""
    if text is None:
        return None
    first, dots, last = text.partition("..")
    if dots and _is_whole(first) and _is_whole(last):
        if not 1 <= int(last) - int(first) < 100_000:
            raise typer.BadParameter(f"--classes {text} must go from a lower number to a higher one.")
        return list(range(int(first), int(last) + 1))
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise typer.BadParameter(f"--classes has a class without a name: {text!r}.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"--classes has {twice!r} twice.")
    if len(names) < 2:
        raise typer.BadParameter(f"--classes needs at least two classes, lowest first. Got {text!r}.")
    for kind in (int, float):
        try:
            return [kind(name) for name in names]
        except ValueError:
            continue
    return list(names)


def _is_whole(text: str) -> bool:
    return text.strip().removeprefix("-").isdecimal()


def parse_columns(given: Sequence[str] | None, present: Sequence[str], option: str) -> list[str]:
    """Columns of an option that may be repeated, and may hold several, separated by commas."""
    names: dict[str, None] = {}  # in order, each once
    for text in given or ():
        names |= dict.fromkeys([text] if text in present else split_columns([text]))
    for name in names:
        require_column(name, present, option)
    return list(names)


def split_columns(given: Sequence[str] | None) -> list[str]:
    """Names separated by commas, of an option that may be repeated."""
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]


def require_column(name: str, present: Sequence[str], option: str) -> None:
    if name not in present:
        raise typer.BadParameter(f"{option}: there is no column {name!r}. {suggestion(name, present)}")
