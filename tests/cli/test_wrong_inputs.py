"""Wrong inputs of every command: each ends in one line, and leaves every file as it was and no new one."""

import gzip
import hashlib

import pytest

from tests.cli.commands import LINK, make_frame, run, succeed

COMMANDS = """
fit empty.csv --label grade -o new
fit header.csv --label grade -o new
fit twice.csv --label grade -o new
fit folder --label grade -o new
fit zero.csv --label grade -o new
fit one.csv --label grade -o new
fit latin.csv --label grade -o new
fit loop.csv --label grade -o new
fit cut.csv.gz --label grade -o new
fit plain.csv.gz --label grade -o new
fit damaged.parquet --label grade -o new
fit t.csv t.parquet --label grade -o new
fit t.csv --label grade --format parquet -o new
fit t.csv --label grade --encoding utf-32 -o new
fit t.csv --label grade --encoding base64 -o new
fit t.csv --label grade --decimal x -o new
fit t.csv --label grade --weight c -o new
fit t.csv --label a --estimator CumulativeLink -o new
fit t.csv --label grade --set alpha=-1 --estimator CumulativeLink -o new
fit t.csv --label grade --estimator PRIL --checkpoint m.rankwise -o new
fit t.csv --label grade -o t.csv
fit t.csv --label grade -o m.rankwise/new
predict cut.rankwise t.csv -o new.csv
predict m.rankwise t.csv -o m.rankwise
predict m.rankwise t.csv -o new.xlsx
predict m.rankwise t.csv -o new.parquet.gz
predict m.rankwise t.csv --decision costs.csv -o new.csv
predict m.rankwise cut.csv.gz -o new.csv
evaluate m.rankwise t.csv --label colour
evaluate m.rankwise one.csv --label grade
evaluate m.rankwise t.csv --label grade --method cv --folds 500
compare one.csv --label grade --estimator PRIL
compare t.csv --label grade --estimator PRIL:C=
convert t.csv -o new.svm
convert t.csv --label grade --to-label a -o new.csv
convert t.csv --answers-from label-studio -o new.csv
convert t.csv -o folder
explain m.rankwise t.csv --row 99999
explain m.rankwise t.csv --plot new.xyz
info t.csv
info cut.rankwise
report m.rankwise t.csv --label grade -o t.csv
tune t.csv --label grade --time-budget nan -o new
tune one.csv --label grade --time-budget 1 -o new
""".strip().splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("wrong")
    frame = make_frame(80)
    frame.to_csv(here / "t.csv", index=False)
    frame.to_parquet(here / "t.parquet")
    succeed("fit", here / "t.csv", "--label", "grade", *LINK, "-o", here / "m.rankwise")
    content, model, parquet = ((here / name).read_bytes() for name in ("t.csv", "m.rankwise", "t.parquet"))
    files = {
        "empty.csv": b"", "header.csv": b"a,b,grade\n", "twice.csv": b"a,a,grade\n1,2,3\n",
        "zero.csv": b"a,grade\n1\x002,3\n4,4\n", "one.csv": b"a,grade\n1,3\n2,3\n",
        "latin.csv": "a,größe,grade\n1,2,3\n".encode("cp1252"), "cut.csv.gz": gzip.compress(content)[:-20],
        "plain.csv.gz": content, "damaged.parquet": parquet[: len(parquet) // 2] + parquet[len(parquet) // 2 + 9 :],
        "cut.rankwise": model[:-100], "costs.csv": b",1,2\n1,0,1\n2,1,0\n",
    }  # fmt: skip
    for name, written in files.items():
        (here / name).write_bytes(written)
    (here / "loop.csv").symlink_to(here / "loop.csv")
    (here / "folder").mkdir()
    return here


def _digests(folder):
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", COMMANDS)
def test_one_line_and_nothing_lost(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    before = _digests(folder)
    result = run(*command.split())
    assert result.exit_code in (1, 2), result.output
    assert isinstance(result.exception, SystemExit)
    remarks = ("rankwise: warning: ", "rankwise: note: ")
    lines = [line for line in result.stderr.splitlines() if not line.startswith(remarks)]
    assert len(lines) == 1, result.output
    assert lines[0].startswith("rankwise: error: ")
    assert "n_splits" not in lines[0]
    assert _digests(folder) == before
