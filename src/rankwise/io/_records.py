"""Positions of the records of a text; compiled, since it inspects every byte."""

import numpy as np
from numpy.typing import NDArray

from rankwise._kernels.compile import kernel

_NEWLINE, _RETURN, _BLANKS = 10, 13, (9, 32)
_QUOTE, _BACKSLASH, _OPENING, _CLOSING = ord('"'), ord("\\"), (ord("["), ord("{")), (ord("]"), ord("}"))


@kernel
def _find_records(content, delimiter, quote, spaces_are_blank, comment, at_end, starts, lines):
    """Fill ``starts`` and ``lines`` with the first byte and the line (from 0) of every record that is not blank.

    A record ends with its line, except inside quotes, which open at the start of a field only and close at the
    next quote that is not doubled. ``quote``, ``comment`` and ``delimiter`` are bytes, 0 for none. A last record
    without a line end counts if ``at_end``, unless it is inside quotes. Return the number of records, the first
    byte behind the last complete one, and the lines up to there.
    """
    n_records, end, lines_to_end = 0, 0, 0
    line, start, start_line = 0, 0, 0
    blank, quoted, just_closed, field_start, skipping = True, False, False, True, False
    n = content.size
    for i in range(n):
        c = content[i]
        is_end = c == _NEWLINE or (c == _RETURN and (i + 1 == n or content[i + 1] != _NEWLINE))
        if is_end:
            line += 1
        if quoted:
            quoted = c != quote
            just_closed = not quoted
            continue
        if is_end:
            if not blank:
                starts[n_records] = start
                lines[n_records] = start_line
                n_records += 1
            start, start_line, end, lines_to_end = i + 1, line, i + 1, line
            blank, just_closed, field_start, skipping = True, False, True, False
            continue
        if c == comment and comment != 0 and blank:
            skipping = True
        quoted = quote != 0 and c == quote and (field_start or just_closed)
        just_closed = False
        field_start = c == delimiter
        is_space = c == _RETURN or (spaces_are_blank and c in _BLANKS)
        blank = blank and (is_space or skipping)
    if at_end and start < n and not quoted:
        if not blank:
            starts[n_records] = start
            lines[n_records] = start_line
            n_records += 1
        end, lines_to_end = n, line + 1
    return n_records, end, lines_to_end


def find_records(
    content: bytes,
    *,
    delimiter: int = 0,
    quote: int = 0,
    spaces_are_blank: bool = False,
    comment: int = 0,
    at_end: bool = True,
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """First bytes and lines (from 0) of the records of a text, the end of the last complete one, and its lines."""
    codes = np.frombuffer(content, dtype=np.uint8)
    most = content.count(b"\n") + content.count(b"\r") + 1
    starts, lines = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    n, end, n_lines = _find_records(codes, delimiter, quote, spaces_are_blank, comment, at_end, starts, lines)
    return starts[:n], lines[:n], int(end), int(n_lines)


@kernel
def _nesting(content):
    """Most brackets that are open at once; quotes end with their line."""
    deepest, depth, quoted, escaped = 0, 0, False, False
    for c in content:
        if c == _NEWLINE:
            depth, quoted, escaped = 0, False, False
        elif quoted:
            quoted = escaped or c != _QUOTE
            escaped = c == _BACKSLASH and not escaped
        elif c == _QUOTE:
            quoted = True
        elif c in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif c in _CLOSING:
            depth -= 1
    return deepest


def nesting(content: bytes) -> int:
    """How deep the values of JSON lines are nested, valid or not."""
    return int(_nesting(np.frombuffer(content, dtype=np.uint8)))
