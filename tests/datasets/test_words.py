import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from rankwise import datasets

DATA = Path(os.environ.get("RANKWISE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no directory of real data; name one in RANKWISE_DATA")


@needs_data
def test_words_are_whole():
    words = datasets.load_ocr(DATA)
    assert (len(words.X), len(words.y), words.fold.size) == (6877, 6877, 6877)
    assert [x.shape for x in words.X[:2]] == [(len(y), 128) for y in words.y[:2]]
    assert "".join(words.y[0]) == "ommanding"
    assert np.bincount(words.fold)[0] == 626
    assert set(np.unique(np.concatenate(words.X))) == {0.0, 1.0}


def test_nowhere(nowhere):
    with pytest.raises(datasets.DatasetNotFoundError, match=r"'ocr' was not found\. Give a directory that holds ocr"):
        datasets.load_ocr()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\ta\t-1\t1\t1\t0\t1\n", "a row does not have 134 columns"),
        (("1\ta\t-1\t1\t1\t0" + "\t1" * 128).encode(), "it has 1 letters in 1 words, not 52152 in 6877"),
        (b"", "it has 0 letters"),
        (("1\ta\t-1\t1\t1\t0" + "\tx" * 128).encode(), "is damaged: could not convert"),
    ],
)
def test_damaged(tmp_path, nowhere, content, message):
    (tmp_path / "ocr").mkdir()
    (tmp_path / "ocr" / "letter.data.gz").write_bytes(gzip.compress(content))
    with pytest.raises(datasets.DatasetDamagedError, match=message):
        datasets.load_ocr(tmp_path)
