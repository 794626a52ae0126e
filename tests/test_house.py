"""How large and how entangled the library is: counts that may fall, and must not grow.

``python -m tests.test_house`` prints them. A change that lowers one lowers its ceiling here.
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import rankwise

PACKAGE = Path(rankwise.__file__).parent
_INSIDE = ("_kernels",)  # compiled rows, below everything

CEILINGS = {
    "private names imported from another package": 0,
    "hasattr, or getattr with a fixed name": 200,
    "arguments and results annotated Any": 2_150,
    "fmt: skip": 212,
    "lines of code": 40_500,
}


def counts() -> Counter[str]:
    """Every count, over all modules of the library."""
    found: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                found["private names imported from another package"] += len(list(_private_names(node, here)))
            elif isinstance(node, ast.Call) and path.name != "model.py":
                found["hasattr, or getattr with a fixed name"] += _asks_for_an_attribute(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found["arguments and results annotated Any"] += _annotated_any(node)
        found["fmt: skip"] += text.count("# fmt: skip")
        found["lines of code"] += _lines_of_code(text, tree)
    return found


def _private_names(node: ast.ImportFrom, here: str) -> Iterator[str]:
    """Names that reach into another package: from a module with an underscore, or with one themselves."""
    path = (node.module or "").split(".")
    if path[0] != "rankwise" or len(path) < 2 or path[1] in (here, *_INSIDE):
        return
    hidden = any(part.startswith("_") for part in path[2:])
    names = [name.name for name in node.names]
    yield from (name for name in names if hidden or (name.startswith("_") and not name.startswith("__")))


def _asks_for_an_attribute(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Name) or node.func.id not in ("hasattr", "getattr") or len(node.args) < 2:
        return False
    return node.func.id == "hasattr" or isinstance(node.args[1], ast.Constant)


def _annotated_any(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    a = node.args
    given = [one for one in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg] if one is not None]
    annotations = [*(one.annotation for one in given), node.returns]
    return sum(isinstance(one, ast.Name) and one.id == "Any" for one in annotations)


def _lines_of_code(text: str, tree: ast.Module) -> int:
    """Lines with code: not blank, and neither comment nor docstring."""
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        for line in range(token.start[0], token.end[0] + 1)
        if token.type != tokenize.ENDMARKER
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def test_nothing_grows_beyond_its_ceiling():
    found = counts()
    assert {name: found[name] for name in CEILINGS if found[name] > CEILINGS[name]} == {}


def test_the_counters_count():
    source = (
        'def f(a: Any, *b: Any) -> Any:\n    """Doc."""\n\n    return hasattr(a, "x"), getattr(a, "y"), getattr(a, b)\n'
    )
    tree = ast.parse(source)
    assert _annotated_any(tree.body[0]) == 3
    assert sum(_asks_for_an_attribute(node) for node in ast.walk(tree) if isinstance(node, ast.Call)) == 2
    assert _lines_of_code(source, tree) == 2
    crossing = ast.parse("from rankwise.labels._lookup import a, b\nfrom rankwise.labels import _c, d").body
    assert [list(_private_names(node, "cli")) for node in crossing] == [["a", "b"], ["_c"]]
    assert not any(list(_private_names(node, "labels")) for node in crossing)


if __name__ == "__main__":
    for name, number in counts().items():
        print(f"{number:7,}  {name} (at most {CEILINGS[name]:,})")
