"""Run every benchmark and print one table; ``python -m benchmarks dense kernels`` runs some of them.

What lacks its data or a package is skipped. The table is printed at the end, whatever happened on the way.
"""

from __future__ import annotations

import platform
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

from benchmarks._timing import Result
from rankwise.datasets import DatasetNotFoundError
from rankwise.evaluation import format_table

MODULES = (
    "online",
    "label_ranking",
    "large_margin",
    "cumulative_link",
    "choosing",
    "trees",
    "online_link",
    "tables",
    "missing",
    "structured",
    "files",
    "command_line",
    "serve",
)


def main() -> int:
    known: dict[str, Callable[[], Iterable[Result]]] = {}
    for name in MODULES:
        try:
            known |= {function.__name__: function for function in import_module(f"benchmarks.{name}").ALL}
        except ImportError as error:
            print(f"skipped all of {name}: {error}", file=sys.stderr)
    wanted = sys.argv[1:] or list(known)
    unknown = set(wanted) - set(known)
    if unknown:
        print(f"unknown benchmark {sorted(unknown)}: choose among {list(known)}", file=sys.stderr)
        return 2
    return run({name: known[name] for name in wanted})


def run(benchmarks: Mapping[str, Callable[[], Iterable[Result]]]) -> int:
    """Print the table of all results there are, and what is missing from it; return the exit code."""
    rows: list[dict[str, object]] = []
    remarks: list[str] = []
    code = 0
    for name, benchmark in benchmarks.items():
        try:
            for result in benchmark():
                rows.append(result.row())
                print(f"{result.what}: {result.ours} vs {result.theirs or '-'}", file=sys.stderr)
        except DatasetNotFoundError as error:
            remarks.append(f"skipped {name}: {error}")
        except KeyboardInterrupt:
            remarks.append(f"stopped in {name}: nothing after it has run")
            code = 130
            break
        except Exception as error:
            traceback.print_exc()
            remarks.append(f"failed {name}: {type(error).__name__}: {error}")
            code = 1
    print(f"Python {platform.python_version()}, {platform.machine()}, best of several in one run\n")
    print("\n".join([format_table(rows) if rows else "no results", *remarks]))
    return code


if __name__ == "__main__":
    sys.exit(main())
