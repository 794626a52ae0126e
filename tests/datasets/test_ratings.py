import numpy as np
import pytest

from rankwise.datasets import RATING_NAMES, DatasetDamagedError, DatasetNotFoundError, load_ratings


@pytest.mark.parametrize("name", RATING_NAMES)
def test_real_sets(name):
    try:
        found = load_ratings(name)
    except DatasetNotFoundError as error:
        pytest.skip(str(error))
    assert found.item.size == found.rater.size == found.label.size
    assert set(found.true_item.tolist()) <= set(found.item.tolist())
    assert set(np.unique(found.true_label.astype(str))) <= set(np.unique(found.label.astype(str))) or name == "emotion"


def test_a_missing_rater_is_refused(tmp_path):
    (tmp_path / "raters").mkdir()
    lines = ["item,rater,label", *(f"{i},1,5" for i in range(6999)), "6999,,5", ""]
    (tmp_path / "raters" / "emotion.csv").write_text("\n".join(lines))
    lines = ["item,label", *(f"{i},5" for i in range(700)), ""]
    (tmp_path / "raters" / "emotion_truth.csv").write_text("\n".join(lines))
    with pytest.raises(DatasetDamagedError, match="an item or a rater is missing"):
        load_ratings("emotion", tmp_path)


def test_a_file_with_something_else_is_refused(tmp_path):
    (tmp_path / "raters").mkdir()
    (tmp_path / "raters" / "emotion.csv").write_text("item,rater,label\n1,1,5\n")
    (tmp_path / "raters" / "emotion_truth.csv").write_text("item,label\n1,5\n")
    with pytest.raises(DatasetDamagedError, match="7000 answers and 700 known labels, found 1 and 1"):
        load_ratings("emotion", tmp_path)
