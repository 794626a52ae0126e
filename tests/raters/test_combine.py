import pytest

from rankwise import PRIL
from rankwise.labels import Labels
from rankwise.raters import combine

ANSWERS = {
    "item": ["a", "a", "a", "b", "b", "c", "c", "d", "e", "e"],
    "rater": [1, 2, 3, 1, 2, 1, 2, 1, 1, 2],
    "label": ["3-5", "4", ">=4", "1-2", "4-5", {1, 4}, {2, 4}, None, 1, 3],
}
CLASSES = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("intersection", [4, (2, 4), 4, None, (1, 3)]),
        ("union", [(3, 5), frozenset({1, 2, 4, 5}), frozenset({1, 2, 4}), None, frozenset({1, 3})]),
        ("majority", [4, frozenset({1, 2, 4, 5}), 4, None, frozenset({1, 3})]),
    ],
)
def test_each_way_says_what_its_description_says(how, expected):
    combined = combine(ANSWERS, how, classes=CLASSES)
    assert combined.items.tolist() == ["a", "b", "c", "d", "e"]
    assert combined.labels.tolist() == expected


def test_shares_that_add_up_to_a_whole_vote_are_one():
    """Ten tenths, added one after the other, are a little less than one."""
    labels = [*[(1, 10)] * 10, 11]
    answers = {"item": ["a"] * 11, "rater": list(range(11)), "label": labels}
    assert combine(answers, "majority", classes=range(1, 13)).labels.tolist() == [(1, 11)]


def test_labels_of_the_model_are_intervals_that_estimators_take():
    labels = combine(ANSWERS, "model", classes=CLASSES, level=0.5).labels
    assert isinstance(labels, Labels)
    assert labels.mask is None
    PRIL(random_state=0).fit([[0.0], [1.0], [2.0], [3.0], [4.0]], labels)


@pytest.mark.parametrize(("options", "message"), [({"how": "vote"}, "how must be"), ({"level": 1.0}, "level must be")])
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        combine(ANSWERS, classes=CLASSES, **options)
