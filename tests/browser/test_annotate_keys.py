"""What raters type: the class and not its place among numbers; ranges; how fast they type changes nothing."""

import pytest

pytest.importorskip("starlette")

from tests.browser.raters import item, rows, save

WORDS = "awful,bad,poor,fair,decent,good,fine,great,superb,perfect,unique"


@pytest.mark.parametrize(
    ("classes", "ways"),
    [
        ("0..4", {"0": "0", "3": "3", "4 3": "3", "1 Shift+Digit3": "1-3", "0 - 2": "0-2", "2 +": "2-4"}),
        ("0..10", {"1": "1", "1 0": "10", "5 3": "3", "1 0 2": "2", "2 - 1 0": "2-10", "8 +": "8-10",
                   "9 Shift+Digit1 Shift+Digit0": "9-10", "1 0 Backspace": "1", "1 Escape 0": "0"}),
        ("10,20,30", {"2 0": "20", "1 0 - 2 0": "10-20", "2 0 +": "20-30", "3 0 Escape 1 0": "10"}),
        ("=-2,-1,0,1,2", {"- 2": "-2", "2": "2", "- 1 - 1": "-1-1", "0 +": "0-2"}),
        (WORDS, {"1": "awful", "1 1": "unique", "3 - 5": "poor-decent", "1 0 +": "perfect-unique", "9": "superb"}),
    ],
)  # fmt: skip
def test_keys_type_the_class(project, enter, classes, ways):
    scale = ["--classes=" + classes.removeprefix("=")]
    served = project(rows(len(ways)), "--text", "remark", *scale, classes=None)
    page = enter(served)
    told = {}
    for keys, label in ways.items():
        for key in keys.split():
            page.keyboard.press(key)
        told[save(page, lambda: page.keyboard.press("Enter"))] = label
    answers = served.answers()
    assert dict(zip(answers["item"], answers["label"], strict=True)) == told


def test_what_is_typed_is_shown_and_nothing_unfinished_is_saved(project, enter):
    page = enter(project(rows(5), "--text", "remark", classes="0..10"))
    said, shown, status = page.locator("#said"), page.locator("#typed"), page.locator("#status")
    keys = page.keyboard.press
    keys("1")
    assert said.inner_text() == "Your answer: 1."
    assert shown.inner_text() == "Typed: 1 (go on for 10)"
    page.wait_for_timeout(2500)  # no clock: the same keys say the same, however slow
    keys("0")
    assert said.inner_text() == "Your answer: 10."
    assert shown.inner_text() == "Typed: 10"
    keys("-")
    assert said.inner_text() == "Nothing chosen yet."
    assert "type the other end" in shown.inner_text()
    before = item(page)
    keys("Enter")
    assert "10- is no class yet" in status.inner_text()
    page.locator("#save").click()
    assert item(page) == before
    keys("3")
    assert said.inner_text() == "Your answer: at least 3."
    page.locator("#scale button").nth(5).click()
    assert shown.inner_text() == ""
    keys("-")
    keys("7")
    assert said.inner_text() == "Your answer: 5 to 7."
    keys("Escape")
    assert said.inner_text() == "Nothing chosen yet."


def test_keys_that_are_no_class_change_nothing(project, enter):
    page = enter(project(rows(2), "--text", "remark", classes="0..4"))
    page.keyboard.press("3")
    page.keyboard.press("7")
    assert page.locator("#said").inner_text() == "Your answer: 3."
    assert page.locator("#status").inner_text() == "No class begins with 7."
    page.get_by_label("Note").fill("120")  # digits of a note are no answer
    assert page.locator("#said").inner_text() == "Your answer: 3."


def test_buttons_of_words_show_their_keys_and_the_help_says_how(project, enter):
    page = enter(project(rows(2), "--text", "remark", classes="low,medium,high"))
    assert page.locator("#scale kbd").all_inner_texts() == ["1", "2", "3"]
    page.locator("#keys summary").click()
    assert "number on its button" in page.locator("#keys").inner_text()
    page.keyboard.press("2")
    assert page.locator("#said").inner_text() == "Your answer: medium."
