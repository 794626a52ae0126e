"""On a phone the item, all classes and Save are seen at once; nothing covers them, and no word is broken."""

from itertools import pairwise

import pytest

pytest.importorskip("starlette")

from playwright.sync_api import expect

from tests.browser.raters import rows

PHONES = [(360, 640), (390, 844)]
WORDS = "awful,unsatisfactory,poor,fair,decent,good,fine,great,superb,extraordinary,unique"
#: Controls that are not seen whole, or that something else covers at one of their corners or in the middle.
COVERED = """() => [...document.querySelectorAll("#scale button, #save, #cannot, #yes, #no")]
  .filter((one) => one.checkVisibility()).filter((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    const points = [[left + 6, top + 6], [right - 6, top + 6], [left + 6, bottom - 6], [right - 6, bottom - 6],
                    [(left + right) / 2, (top + bottom) / 2]];
    return top < 0 || bottom > innerHeight || left < 0 || right > innerWidth
      || !points.every(([x, y]) => one.contains(document.elementFromPoint(x, y)));
  }).map((one) => one.textContent)"""
BROKEN_WORDS = """() => [...document.querySelectorAll("#scale button span")].flatMap((one) => {
    const words = [...one.textContent.matchAll(/\\S+/g)];
    return words.filter((word) => {
      const range = document.createRange();
      range.setStart(one.firstChild, word.index);
      range.setEnd(one.firstChild, word.index + word[0].length);
      return range.getClientRects().length > 1;
    }).map((word) => word[0]);
  })"""


@pytest.mark.parametrize(
    ("classes", "options"),
    [
        ("1..5", ["--image", "photo", "--media", "media"]),
        ("0..10", ["--text", "remark", "--image", "photo", "--media", "media"]),
        (WORDS, ["--text", "remark"]),
        ("very dissatisfied,dissatisfied,neither,satisfied,extraordinarily satisfied", ["--text", "remark"]),
        ("no,yes", ["--text", "remark", "--strategy", "information"]),
    ],
)
def test_classes_and_save_are_seen_without_scrolling(project, enter, tmp_path, classes, options):
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "tall.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="1600"><rect width="800" height="1600"/></svg>'
    )
    made = [{**row, "remark": "a remark that goes on. " * 40, "photo": "tall.svg"} for row in rows(12)]
    served = project(made, *options, "--show-guess", "--ignore", "remark", classes=classes)
    for width, height in [*PHONES, (1280, 720)]:
        page = enter(served, f"ann {width}", width=width, height=height)
        for _ in range(2):  # first without a message, then with the guess
            if "--image" in options:
                page.locator("#shown img").wait_for()
            assert page.evaluate(COVERED) == []
            assert page.evaluate(BROKEN_WORDS) == []
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.locator("#shown").bounding_box()["height"] >= 88
            page.locator("#scale button").first.click()
            page.locator("#save").click()
            page.locator("#status", has_text="The model had guessed").wait_for()


def test_more_than_fits_is_reached_by_scrolling(project, enter):
    """Save stays in sight, and nothing stays under it."""
    page = enter(project(rows(12), "--text", "remark", "--show-guess", classes="1..50"), width=360, height=640)
    page.keyboard.press("1")
    last = page.locator("#scale button").last
    last.scroll_into_view_if_needed()
    last.click()
    assert page.locator("#said").inner_text() == "Your answer: 50."
    save, under = page.locator("#save").bounding_box(), last.bounding_box()
    assert under["y"] + under["height"] <= save["y"] or under["y"] >= save["y"] + save["height"]
    assert save["y"] + save["height"] <= 640


def test_a_long_title_takes_one_line_of_a_phone(project, enter, tmp_path):
    """Otherwise the last of five described classes goes out of sight once what was typed shows."""
    (tmp_path / "scale.csv").write_text(
        "class,name,description\n1,very poor,hard to read and wrong\n2,poor,wrong in most places\n"
        "3,fair,right and wrong in equal parts\n4,good,right in most places\n5,very good,right and well said\n"
    )
    title = "Umfrage <2026> unter allen Kundinnen und Kunden"
    served = project(rows(6), "--text", "remark", "--scale", str(tmp_path / "scale.csv"), "--title", title,
                     "--language", "de", classes=None)  # fmt: skip
    for width, height in PHONES:
        page = enter(served, f"ann {width}", width=width, height=height)
        for key in "4+":
            page.keyboard.press(key)
        page.locator("#typed", has_text="4+").wait_for()
        assert page.evaluate(COVERED) == []
        fifth, below = (page.locator(one).bounding_box() for one in ("#scale button:last-child", "#bar-below"))
        assert fifth["y"] + fifth["height"] <= below["y"]
        heading = page.locator("h1")
        assert heading.inner_text() == title
        line = heading.evaluate("one => parseFloat(getComputedStyle(one).lineHeight)")
        assert heading.bounding_box()["height"] < 1.5 * line
        assert page.locator(".head").bounding_box()["height"] < 50
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_name_page_has_room_between_label_field_and_button(project, enter):
    page = enter(project(rows(3), "--text", "remark"), rater=None, width=360, height=640)
    page.locator("#name").wait_for()
    boxes = [page.locator(one).bounding_box() for one in ("#name-form label", "#name", "#name-form button")]
    for one, other in pairwise(boxes):
        gaps = (other["x"] - one["x"] - one["width"], other["y"] - one["y"] - one["height"])
        assert max(gaps) >= 6


def test_a_wrong_token_is_answered_in_the_language_of_the_page(project, enter, tmp_path):
    (tmp_path / "tokens").write_text("learn 0123456789abcdef ann\nread 9876543210fedcba bo\n")
    served = project(rows(3), "--text", "remark", "--token-file", "tokens", "--language", "de")
    page = enter(served, rater=None, quiet=["401", "403"], width=360, height=640)
    page.locator("#token").fill("no such token at all")
    page.locator("#token-form button").click()
    said = page.locator("#status")
    expect(said).to_have_text("Dieses Token ist hier nicht bekannt. Fragen Sie die Person, von der Sie es haben.")
    page.locator("#language").select_option("en")
    page.locator("#token").fill("no such token either")
    page.locator("#token-form button").click()
    expect(said).to_have_text("This token is not known here. Ask the person who gave it to you.")
    page.locator("#token").fill("9876543210fedcba")  # that of a dashboard
    page.locator("#token-form button").click()
    expect(said).to_have_text("This token does not let you answer. Ask the person who gave it to you for another.")
    page.locator("#token").fill("0123456789abcdef")
    page.locator("#token-form button").click()
    page.locator("#work").wait_for()
    expect(said).to_have_text("")
