"""Agreement on the project's page: who differs from whom on what, decisions about it, and undoing them."""

import re

import pytest

pytest.importorskip("starlette")

from playwright.sync_api import expect

from tests.browser.raters import item, rows, save


def two_answers(project, enter, **options):
    """Two raters who differ about two of three items."""
    served = project(rows(3), "--text", "remark", "--raters", "2", "--shared", "1")
    said = {}
    for name, keys in (("ann", "123"), ("bob", "145")):
        page = enter(served, name, **options)
        shown = sorted(("i0", "i1", "i2"))
        for _ in shown:
            page.keyboard.press(keys[int(item(page)[1])])
            save(page, lambda page=page: page.keyboard.press("Enter"))
        said[name] = keys
    return served, page


def learnt(served):
    answers = served.answers()
    rows = zip(*(answers[name] for name in ("item", "kind", "rater", "label", "learnt")), strict=True)
    return sorted(rows)


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (360, 640)])
def test_items_on_which_raters_differ_are_decided_on_the_page(project, enter, width, height):
    served, page = two_answers(project, enter, width=width, height=height)
    page.locator("#agreement summary").click()
    now = page.locator("#agreement-now")
    expect(now).to_have_text(re.compile(r"33 % of the pairs of answers agree. Items to decide: 2; decided: 0."))
    assert page.locator("#pairs tbody tr").all_inner_texts()[0].split()[:4] in (
        ["ann", "·", "bob", "3"], ["bob", "·", "ann", "3"])  # fmt: skip
    lines = page.locator("#differences li")
    assert sorted(text.partition(" Decide")[0] for text in lines.all_inner_texts()) == [
        "Item i1 ann: 2, bob: 4.", "Item i2 ann: 3, bob: 5."]  # fmt: skip
    lines.first.get_by_role("button").click()
    page.locator("#given").wait_for(state="visible")
    assert page.locator("#given li").all_inner_texts() in (["ann: 2", "bob: 4"], ["ann: 3", "bob: 5"])
    decided = item(page)
    page.keyboard.press("4")
    save(page, lambda: page.keyboard.press("Enter"))
    assert page.locator("#given").is_visible()  # the other one
    expect(page.locator("#status")).to_have_text(re.compile("Decided"))
    page.get_by_role("button", name="Back to my items").click()
    page.locator("#done").wait_for(state="visible")
    expect(now).to_have_text(re.compile(r"to decide: 1; decided: 1"))
    assert (decided, "decision", "bob", "4", "4") in learnt(served)
    assert [row[4] for row in learnt(served) if row[:2] == (decided, "answer")] == ["?", "?"]
    page.get_by_role("button", name=f"Undo the decision: Item {decided}").click()
    expect(now).to_have_text(re.compile(r"to decide: 2; decided: 0"))
    assert all(row[1] == "answer" and row[3] == row[4] for row in learnt(served))
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_decision_waits_for_the_server_like_an_answer(project, enter):
    served, page = two_answers(project, enter, quiet=["Failed to load", "net::ERR"])
    page.locator("#agreement summary").click()
    page.locator("#differences button").first.click()
    page.locator("#given").wait_for(state="visible")
    decided = item(page)
    page.route("**/v1/decisions", lambda route: route.abort())
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.locator("#kept-count", has_text="takes them: 1").wait_for()
    page.unroute("**/v1/decisions")
    page.locator("#kept").wait_for(state="hidden")
    assert (decided, "decision", "bob", "1", "1") in learnt(served)


def test_raters_without_the_role_see_nothing_of_it(project, enter, tmp_path):
    (tmp_path / "tokens").write_text("learn 0123456789abcdef ann\nadmin fedcba9876543210 cleo\n")
    served = project(rows(3), "--text", "remark", "--token-file", "tokens")
    for token, sees in (("0123456789abcdef", False), ("fedcba9876543210", True)):
        page = enter(served, None, quiet=["401"])
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        page.locator("#work").wait_for(state="visible")
        assert page.locator("#agreement").is_visible() is sees
