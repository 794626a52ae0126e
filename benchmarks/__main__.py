"""Run every benchmark and print one table; ``python -m benchmarks dense kernels`` runs some of them."""

import platform
import sys

from benchmarks import command_line, cumulative_link, files, label_ranking, large_margin, missing, online, structured
from rankwise.evaluation import format_table


def main() -> int:
    modules = (online, label_ranking, large_margin, cumulative_link, missing, structured, files, command_line)
    known = {function.__name__: function for module in modules for function in module.ALL}
    wanted = sys.argv[1:] or list(known)
    unknown = set(wanted) - set(known)
    if unknown:
        print(f"unknown benchmark {sorted(unknown)}: choose among {list(known)}", file=sys.stderr)
        return 2
    results = []
    for name in wanted:
        for result in known[name]():
            results.append(result.row())
            print(f"{result.what}: {result.ours} vs {result.theirs or '-'}", file=sys.stderr)
    print(f"Python {platform.python_version()}, {platform.machine()}, best of several in one run\n")
    print(format_table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
