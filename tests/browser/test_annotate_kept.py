"""Answers that the server does not take yet: kept for each rater and project, shown to their rater, sent once."""

import signal
from collections import Counter

import pytest

pytest.importorskip("starlette")

from tests.browser.raters import changed, item, rows, save, sign_in

LOST = ["Failed to load", "net::ERR", "status of"]
NOTHING_STORED = """for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, { get() { throw new DOMException("no", "SecurityError"); } });"""
FULL = """Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };"""


def answer(page, key):
    page.keyboard.press(key)
    answered = item(page)
    page.keyboard.press("Enter")
    return answered


def given(served):
    """Labels by item and rater, each once."""
    answers = served.answers()
    pairs = list(zip(answers["item"], answers["rater"], strict=True))
    assert max(Counter(pairs).values(), default=1) == 1
    return dict(zip(pairs, answers["label"], strict=True))


def other_rater(page, name):
    page.get_by_role("button", name="Change name").click()
    page.locator("#name-form").wait_for(state="visible")
    sign_in(page, name)


def test_two_people_at_one_browser_lose_nothing(project, enter):
    served = project(rows(), "--text", "remark")
    page = enter(served, "ann", quiet=LOST)
    refused = ["|ann|"]
    is_refused = lambda route: any(name in route.request.post_data for name in refused)  # noqa: E731
    full = {"status": 503, "json": {"detail": "the disk is full"}}
    page.route("**/v1/answers", lambda route: route.fulfill(**full) if is_refused(route) else route.continue_())
    told = {}
    for key in "34":  # the server asks on, although it cannot write
        before = answer(page, key)
        changed(page, before)
        told[before, "ann"] = key
    assert "until the server takes them: 2" in page.locator("#kept-count").inner_text()
    page.locator("#kept summary").click()
    assert page.locator("#kept-list li").all_inner_texts() == [
        f"Item {name}: Your answer: {key}." for (name, _), key in told.items()
    ]
    other_rater(page, "bob")
    assert page.locator("#kept-count").inner_text() == "Kept for other people or projects: 2."
    assert page.locator("#kept-list li").count() == 0
    told[save(page, lambda: (page.keyboard.press("1"), page.keyboard.press("Enter"))), "bob"] = "1"
    assert given(served) == {key: label for key, label in told.items() if key[1] == "bob"}
    refused.clear()
    other_rater(page, "ann")
    page.locator("#kept").wait_for(state="hidden")
    assert given(served) == told


def test_work_goes_on_without_a_server_and_everything_arrives_in_order(project, enter):
    served = project(rows(90), "--text", "remark")
    page = enter(served, quiet=LOST)
    save(page, lambda: answer(page, "1"))
    served.stop(signal.SIGKILL)
    order = []
    for key in "2345":
        order.append(answer(page, key))
        changed(page, order[-1])
    page.locator("#kept-count", has_text="until the server takes them: 4").wait_for()
    page.get_by_role("button", name="Undo last answer").first.click()
    assert "must be sent before" in page.locator("#status").inner_text()
    served.start()
    page.locator("#kept").wait_for(state="hidden", timeout=60_000)
    answers = served.answers()
    assert answers["item"][1:] == order
    assert answers["label"] == ["1", "2", "3", "4", "5"]
    page.locator("#item-title").focus()  # the button still had it
    save(page, lambda: answer(page, "3"))
    assert len(served.answers()["item"]) == 6


def test_two_tabs_send_the_same_answers_once(project, enter):
    served = project(rows(90), "--text", "remark")
    page = enter(served, quiet=LOST)
    beside = enter(served, beside=page, quiet=LOST)
    assert item(beside) == item(page)
    served.stop(signal.SIGKILL)
    told = {}
    for tab, key in ((page, "2"), (page, "3"), (beside, "4")):
        before = answer(tab, key)
        told.setdefault((before, "ann"), key)
        changed(tab, before)
    page.locator("#kept-count", has_text=r"takes them: ").wait_for()
    served.start()
    for tab in (page, beside):
        tab.locator("#kept").wait_for(state="hidden", timeout=60_000)
    assert set(given(served)) == set(told)


@pytest.mark.parametrize("script", [NOTHING_STORED, FULL])
def test_a_browser_that_stores_nothing_says_so_and_sends(project, enter, script):
    served = project(rows(90), "--text", "remark")
    page = enter(served, script=script, quiet=LOST)
    save(page, lambda: answer(page, "1"))
    page.route("**/v1/answers", lambda route: route.abort())
    changed(page, answer(page, "2"))
    page.locator("#kept summary").click()
    assert "keep this page open" in page.locator("#kept-warning").inner_text()
    page.unroute("**/v1/answers")
    page.locator("#kept").wait_for(state="hidden")
    assert sorted(served.answers()["label"]) == ["1", "2"]


def test_another_project_at_the_same_address_gets_none_of_them(project, enter):
    first = project(rows(), "--text", "remark")
    page = enter(first, quiet=LOST)
    before = item(page)
    first.stop()
    second = project(rows(), "--text", "remark", folder="second", port=first.port)
    answer(page, "4")
    page.locator("#status", has_text="Another project is served here now").wait_for()
    assert item(page) == before
    page.reload()
    sign_in(page, "ann")
    assert page.locator("#kept-count").inner_text() == "Kept for other people or projects: 1."
    save(page, lambda: answer(page, "1"))
    assert list(given(second).values()) == ["1"]
    second.stop()
    first.start()
    page.reload()
    page.locator("#status", has_text="Saved").wait_for()
    assert given(first) == {(before, "ann"): "4"}


def test_what_the_server_refuses_is_shown_until_it_is_discarded(project, enter):
    served = project(rows(), "--text", "remark")
    page, elsewhere = enter(served, quiet=[*LOST, "409"]), enter(served)
    assert item(page) == item(elsewhere)
    shown = item(page)
    save(elsewhere, lambda: answer(elsewhere, "4"))
    answer(page, "2")
    page.locator("#status", has_text="answered in another window").wait_for()
    assert page.locator("#kept-count").inner_text() == "Not taken by the server: 1."
    page.reload()
    page.locator("#kept summary").click()
    line = page.locator("#kept-list li")
    assert f"Item {shown}: Your answer: 2." in line.inner_text()
    assert "Undo that answer to change it" in line.inner_text()
    line.get_by_role("button", name="Discard it").click()
    page.locator("#kept").wait_for(state="hidden")
    assert given(served) == {(shown, "ann"): "4"}


def test_what_an_earlier_version_kept_is_shown_to_its_rater(project, enter):
    served = project(rows(), "--text", "remark")
    page = enter(served)
    shown = item(page)
    page.evaluate(
        """() => localStorage.setItem("rankwise-pending", JSON.stringify(["ann",
             { id: question.id, item: question.item, admitted: [2], seconds: 1, note: "" }]))"""
    )
    page.reload()
    page.locator("#kept summary").click()
    assert "earlier version" in page.locator("#kept-list").inner_text()
    page.get_by_role("button", name="Send it").click()
    page.locator("#kept").wait_for(state="hidden")
    assert given(served) == {(shown, "ann"): "3"}
