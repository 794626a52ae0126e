"""The page of raters in a real browser: mouse, touch, keys, reloads, undo, killed servers, hostile items, axe-core."""

import base64
import os
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from rankwise.annotate.project import project_of
from rankwise.serve.store import Store
from rankwise.serve.verify import verify
from tests.browser.raters import Project, button, changed, item, rows, save

EVIL = "<script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def drag(page, start, end):
    a, b = (button(page, name).bounding_box() for name in (start, end))
    page.mouse.move(a["x"] + a["width"] / 2, a["y"] + a["height"] / 2)
    page.mouse.down()
    page.mouse.move(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2, steps=4)
    page.mouse.up()


def drag_handle(page, name, to):
    handle, line = page.get_by_role("slider", name=name).bounding_box(), page.locator("#line").bounding_box()
    page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + 8)
    page.mouse.down()
    page.mouse.move(line["x"] + line["width"] * to, handle["y"] + 8, steps=4)
    page.mouse.up()


def swipe(page, start, end):
    """A finger that goes from one class to another, as chromium's own protocol sends it."""
    touch = page.context.new_cdp_session(page)
    a, b = (button(page, name).bounding_box() for name in (start, end))
    points = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in (a, b)]
    touch.send(
        "Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [dict(zip("xy", points[0], strict=True))]}
    )
    for part in (0.25, 0.5, 0.75, 1.0):
        at = {axis: p + part * (q - p) for axis, p, q in zip("xy", *points, strict=True)}
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_thirty_items_with_mouse_touch_and_keys(project, enter):
    served = project(rows(), "--text", "remark")
    page = enter(served, has_touch=True)
    told, keys = {}, page.keyboard.press

    def click_save():
        page.get_by_role("button", name="Save and go on").click()

    ways = [
        ("3", lambda: button(page, "3").click(), click_save),
        ("2-4", lambda: drag(page, "2", "4"), click_save),
        ("2-4", lambda: (button(page, "4").click(), button(page, "2").click(modifiers=["Shift"])), click_save),
        ("1|4", lambda: (page.locator("#several").click(), button(page, "1").click(), button(page, "4").click()),
         click_save),
        ("2|5", lambda: (button(page, "2").click(), button(page, "5").click(modifiers=["Control"])), click_save),
        ("?", lambda: page.get_by_role("button", name="Can't tell").click(), click_save),
        ("3-5", lambda: drag_handle(page, "At least", 0.5), click_save),
        ("1-2", lambda: drag_handle(page, "At most", 0.25), click_save),
        ("4", lambda: button(page, "4").tap(), lambda: page.locator("#save").tap()),
        ("1-3", lambda: swipe(page, "3", "1"), click_save),
        ("5", lambda: keys("5"), lambda: keys("Enter")),
        ("2-4", lambda: (keys("2"), keys("Shift+Digit4")), lambda: keys("Enter")),
        ("2", lambda: (keys("3"), keys("ArrowLeft")), lambda: keys("Enter")),
        ("3-5", lambda: (keys("3"), keys("Shift+ArrowRight"), keys("Shift+ArrowRight")), lambda: keys("Enter")),
        ("2-5", lambda: (keys("2"), keys("[")), lambda: keys("Enter")),
        ("1-3", lambda: (keys("3"), keys("]")), lambda: keys("Enter")),
        ("?", lambda: keys("?"), lambda: keys("Enter")),
        ("2-5", lambda: (page.locator("#low").focus(), keys("ArrowRight")), lambda: keys("Enter")),
        ("1", lambda: (button(page, "1").focus(), keys("Space")), lambda: keys("Enter")),
        ("4", lambda: (keys("4"), page.get_by_label("Note").fill("a note")), lambda: keys("Control+Enter")),
    ]  # fmt: skip
    for k in range(30):
        label, choose, send = ways[k % len(ways)]
        if k in (7, 19):
            shown = item(page)
            page.reload()
            page.locator("#work").wait_for(state="visible")
            assert item(page) == shown
        choose()
        told[save(page, send)] = label
        if k in (4, 15):
            page.get_by_role("button", name="Undo last answer").first.click() if k == 4 else keys("u")
            page.locator("#status", has_text="Undone").wait_for()
            assert item(page) in told
            assert "Nothing" not in page.locator("#said").inner_text()  # the answer before is chosen
            keys("1")
            told[save(page, lambda: keys("Enter"))] = "1"
    page.locator("#done").wait_for(state="visible")
    assert "Thank you" in page.locator("#done").inner_text()
    answers = served.answers()
    assert dict(zip(answers["item"], answers["label"], strict=True)) == told
    assert len(told) == 30
    assert Counter(answers["note"])["a note"] >= 1
    assert all(0 < seconds < 300 for seconds in answers["seconds"])


def test_two_raters_beside_each_other_and_another_browser(project, enter):
    served = project(rows(12), "--text", "remark", "--raters", "2", "--shared", "1")
    ann, bob = enter(served, "ann"), enter(served, "bob", width=360, height=740)
    for _ in range(4):
        for page in (ann, bob):
            page.keyboard.press("2")
            save(page, lambda page=page: page.keyboard.press("Enter"))
    ann.locator("#all", has_text="8 of 24").wait_for()  # what bob did is seen by ann
    elsewhere = enter(served, "ann")
    assert item(elsewhere) == item(ann)
    elsewhere.keyboard.press("3")
    save(elsewhere, lambda: elsewhere.keyboard.press("Enter"))
    stale = enter(served, "ann", quiet=["409"])
    shown = item(stale)
    elsewhere.keyboard.press("4")
    save(elsewhere, lambda: elsewhere.keyboard.press("Enter"))
    assert item(stale) == shown
    stale.keyboard.press("5")
    stale.keyboard.press("Enter")
    stale.locator("#status", has_text="answered in another window").wait_for()
    assert item(stale) == item(elsewhere)
    answers = served.answers()
    assert len(answers["item"]) == 10
    assert max(Counter(zip(answers["item"], answers["rater"], strict=True)).values()) == 1


def test_a_killed_server_loses_nothing(project, enter):
    served = project(rows(), "--text", "remark")
    page = enter(served, quiet=["Failed to load", "net::ERR"])
    told = {}
    for k in range(12):
        page.keyboard.press(str(1 + k % 5))
        if k % 5 == 3:
            served.stop(signal.SIGKILL)
            answered = item(page)
            page.keyboard.press("Enter")
            page.locator("#status", has_text="kept here and sent again").wait_for()
            served.start()
            changed(page, answered)
            told[answered] = str(1 + k % 5)
        else:
            told[save(page, lambda: page.keyboard.press("Enter"))] = str(1 + k % 5)
        if k % 5 == 4:  # right after the answer came back
            served.stop(signal.SIGKILL)
            served.start()
    answers = served.answers()
    assert dict(zip(answers["item"], answers["label"], strict=True)) == told
    assert len(answers["item"]) == 12
    served.stop()
    with Store(served.store) as store:
        assert project_of(store) is not None
        assert all(check.is_equal for check in verify(store))


def hostile(tmp_path):
    media = tmp_path / "media"
    media.mkdir()
    (media / "ok.png").write_bytes(PIXEL)
    (media / "broken.png").write_bytes(b"no picture at all")
    script = "document.title = 'run'"
    (media / "evil.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="9" onload="{script}"><script>{script}</script></svg>'
    )
    (tmp_path / "secret.png").write_bytes(PIXEL)
    (media / "link.png").symlink_to(tmp_path / "secret.png")
    files = {"ok.png": None, "broken.png": "damaged", "evil.svg": None, "../secret.png": "leads out",
             "link.png": "link", str(tmp_path / "secret.png"): "leads out", "none.png": "not in the folder",
             "": None}  # fmt: skip
    texts = [
        EVIL,
        "x" * 300_000,
        "many\nlines\n" * 2000,
        "",
        "{rater} {{title}}",
        "\u202egnp.exe",
        "word " * 40_000,
        "é" * 50,
    ]
    made = [{"id": f"{k} {EVIL}" if k == 0 else f"i{k}", "remark": text, "photo": name, EVIL: EVIL}
            for k, (text, name) in enumerate(zip(texts, files, strict=True))]  # fmt: skip
    return made, list(files.values())


@pytest.mark.parametrize("width", [1280, 360])
def test_hostile_items_are_shown_and_not_run(project, enter, tmp_path, width):
    made, wanted = hostile(tmp_path)
    (tmp_path / "scale.csv").write_text(f'class,name,description\n1,"{EVIL.replace(chr(34), chr(34) * 2)}",bad\n2,b,\n')
    options = ["--text", "remark", "--image", "photo", "--media", "media", "--scale", "scale.csv", "--show", EVIL]
    served = project(made, *options, "--strategy", "random", "--title", EVIL, classes=None)
    page = enter(served, EVIL[:90], width=width, quiet=["Failed to load resource"])
    numbers = {row["id"]: k for k, row in enumerate(made)}
    for _ in made:
        k = numbers[item(page)]
        if made[k]["photo"]:
            shown = page.locator("#shown .bad" if wanted[k] else "#shown img")
            shown.wait_for()
            if wanted[k]:
                assert wanted[k] in shown.inner_text()
        text = page.locator("#shown p.text, #shown p.empty").inner_text()
        assert text.startswith(made[k]["remark"].strip()[:40])
        assert page.locator("#shown td").inner_text() == EVIL
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.title().startswith("<script>")
        assert page.locator("main script, #shown img[onerror]").count() == 0
        page.keyboard.press("2")
        save(page, lambda: page.keyboard.press("Enter"))
    assert page.locator("#done").is_visible()
    assert len(served.answers()["item"]) == len(made)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("annotate")
    (folder / "scale.csv").write_text(
        "class,name,description\n1,poor,I would never go there again\n2,fair,\n3,good,gladly\n"
    )
    served = Project(folder, rows(200), "--text", "remark", "--show", "size,price", "--scale", "scale.csv",
                     "--control", "1", "--show-guess", "--strategy", "information", classes=None).start()  # fmt: skip
    yield served
    served.stop()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_fits_every_width(shared, enter, width, scheme):
    page = enter(shared, f"{scheme} {width}", width=width, height=740, color_scheme=scheme)
    page.keyboard.press("1")
    for summary in page.locator("summary:visible").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for control in page.locator("button:visible, textarea:visible, select:visible, [role=slider]").all():
        box = control.bounding_box()
        assert box["height"] >= 24
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_the_guess_comes_after_the_answer_and_the_error_is_drawn(shared, enter):
    page = enter(shared, "gus")
    assert "guess" not in page.locator("body").inner_text()
    for k in range(12):
        page.keyboard.press("123"[k % 3])
        save(page, lambda: page.keyboard.press("Enter"))
        page.locator("#status", has_text="The model had guessed").wait_for()
    page.locator("#advice", has_text=re.compile(r"minutes are worth \d")).wait_for()
    assert page.locator("#advice").inner_text().endswith(("you may stop.", "go on."))
    page.locator("#error summary").click()
    assert page.evaluate("document.querySelector('#curve polygon').getBoundingClientRect().width") > 300
    assert "control answers" in page.locator("#curve title").text_content()
    assert "min" in page.locator("#curve-axis").inner_text()
    page.get_by_label("by answers").check()
    assert "answers" in page.locator("#curve-axis").inner_text()


def test_it_speaks_german(shared, enter):
    page = enter(shared, "greta")
    page.locator("#language").select_option("de")
    assert page.get_by_role("button", name="Speichern und weiter").is_visible()
    assert page.evaluate("document.documentElement.lang") == "de"
    page.keyboard.press("2")
    assert page.locator("#said").inner_text() == "Ihre Antwort: fair."
    save(page, lambda: page.keyboard.press("Enter"))
    page.reload()
    page.get_by_text("Sie sind greta.").wait_for()


def test_an_answer_that_did_not_get_through_survives_a_reload(shared, enter):
    page = enter(shared, "rita", quiet=["Failed to load", "net::ERR"])
    answered = item(page)
    page.route("**/v1/answers", lambda route: route.abort())
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    page.locator("#status", has_text="kept here and sent again").wait_for()
    page.unroute("**/v1/answers")
    page.reload()
    page.locator("#status", has_text="Saved").wait_for()
    answers = shared.answers()
    assert (answered, "rita", "3") in zip(*(answers[name] for name in ("item", "rater", "label")), strict=True)
    assert item(page) != answered


def test_the_clock_stands_still_in_a_pause(shared, enter):
    page = enter(shared, "paula")
    page.keyboard.press("p")
    assert not page.locator("#work").is_visible()
    page.wait_for_timeout(3000)
    page.keyboard.press("Enter")  # the button has the focus
    page.locator("#work").wait_for(state="visible")
    page.keyboard.press("2")
    page.locator("#item-title").wait_for()
    answered = page.evaluate("seconds()")
    save(page, lambda: page.keyboard.press("Enter"))
    assert answered < 3
    mine = [
        s
        for s, rater in zip(*(shared.answers()[name] for name in ("seconds", "rater")), strict=True)
        if rater == "paula"
    ]
    assert len(mine) == 1
    assert mine[0] == pytest.approx(answered, abs=1.5)


def test_the_keyboard_reaches_everything(shared, enter):
    page = enter(shared, "kay")
    page.evaluate("document.activeElement.blur()")
    page.evaluate("scrollTo(0, 0)")
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("button:not(:disabled), textarea, select, summary, [role=slider]")]
             .filter((e) => e.checkVisibility()).map((e, i) => { e.dataset.stop = i; return i; })"""
    )
    reached, unmarked = [], []
    for _ in range(2 * len(wanted) + 12):
        page.keyboard.press("Tab")
        stop, outline, tag = page.evaluate(
            "(e => [e.dataset.stop, getComputedStyle(e).outlineStyle, e.tagName])(document.activeElement)"
        )
        reached += [] if stop is None else [int(stop)]
        unmarked += [stop] if outline == "none" and tag != "BODY" else []
    assert set(reached) == set(wanted)
    assert unmarked == []


def test_a_screen_reader_is_told(shared, enter):
    page = enter(shared, "sam")
    assert page.get_by_role("group", name="Classes, lowest first").is_visible()
    assert page.get_by_role("button", name="poor I would never go there again").is_visible()
    low = page.get_by_role("slider", name="At least")
    assert [low.get_attribute(f"aria-value{part}") for part in ("min", "max", "now", "text")] == ["1", "3", "1", "poor"]
    assert page.evaluate("document.activeElement.id") == "item-title"
    page.keyboard.press("3")
    assert page.get_by_role("button", name="good gladly", pressed=True).is_visible()
    assert page.locator("#said[role=status]").inner_text() == "Your answer: good."
    page.keyboard.press("Shift+Digit2")
    assert page.locator("#said").inner_text() == "Your answer: at least fair."
    page.keyboard.press("?")
    page.keyboard.press("?")
    page.keyboard.press("Enter")
    assert "Choose a class first" in page.locator("#status[role=status]").inner_text()


@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing(shared, enter, width):
    """axe-core is no dependency: RANKWISE_AXE names its file, axe.min.js of the npm package axe-core."""
    path = Path(os.environ.get("RANKWISE_AXE", "node_modules/axe-core/axe.min.js"))
    if not path.is_file():
        pytest.skip("needs axe-core: npm install axe-core, or RANKWISE_AXE=.../axe.min.js")
    page = enter(shared, "axe", width=width, bypass_csp=True)
    page.keyboard.press("2")
    page.add_script_tag(content=path.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document).then((results) => results.violations)")
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []
