"""The page of a served model in a real browser: prediction, feedback, live update, roll-back, phone, axe-core."""

import os
import signal
from pathlib import Path

import pandas as pd
import pytest

import rankwise as rw
from rankwise.datasets import make_ordinal
from rankwise.persistence import to_bytes

pytest.importorskip("starlette")

from tests.serve.killing import Nursery, Servers

COLUMNS = ["age", "height", "a rather long name of a column", "<b>bold</b>"]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    X, y = make_ordinal(500, 4, 5, noise=0.4, random_state=0)
    frame = pd.DataFrame(X, columns=COLUMNS)
    content = to_bytes(rw.TableModel(rw.PRIL(classes=[1, 2, 3, 4, 5], random_state=0)).fit(frame[:100], y[:100]))
    folder = tmp_path_factory.mktemp("service")
    (folder / "warm").write_bytes(content)
    nursery = Nursery(folder / "warm")
    with Servers(nursery, folder, content) as servers:
        url = servers.start()
        with rw.Client(url) as client:
            rows = frame.to_dict("records")
            client.learn(rows[100:160], y[100:160])
            client.predict(rows[:5])
            yield url, client, rows, y.tolist()
        servers.kill(signal.SIGTERM)
    nursery.close()


@pytest.fixture
def visit(browser, service):
    """Open the page and watch it: it may ask its own service only, and nothing may be thrown."""
    contexts, trouble, fetched = [], [], []

    def open_page(width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("request", lambda request: fetched.append(request.url))
        page.goto(service[0])
        page.locator("#content").wait_for(state="visible")
        return page

    yield open_page, trouble
    for context in contexts:
        context.close()
    assert [message for message in trouble if "422" not in message] == []
    assert [address for address in fetched if not address.startswith((service[0], "data:"))] == []


def test_a_row_is_predicted_and_told(visit, service):
    page = visit[0]()
    client = service[1]
    before = client.model()["log"]
    fields = page.locator("#fields input")
    assert fields.count() == 4
    for k in range(4):
        fields.nth(k).fill(str(0.5 * k))
    page.get_by_role("button", name="Predict").click()
    page.locator("#answer", has_text="Class").wait_for()
    row = dict(zip(COLUMNS, [0.0, 0.5, 1.0, 1.5], strict=True))
    assert f"Class {client.predict_one(row)}" in page.locator("#answer").inner_text()
    page.get_by_label("What was it?").fill("2-4")
    page.get_by_role("button", name="Send feedback").click()
    page.locator("#status", has_text="Feedback is in the log").wait_for()
    assert client.model()["log"] == before + 1
    page.locator("#feedback tbody tr", has_text="2-4").first.wait_for()
    fields.nth(0).fill("much")
    page.get_by_role("button", name="Predict").click()
    page.locator("#answer", has_text="a number is needed").wait_for()


def test_it_is_live(visit, service):
    page = visit[0]()
    _, client, rows, y = service
    shown = page.locator("#lede").inner_text()
    client.learn(rows[200:230], y[200:230])
    page.locator("#lede", has_text=client.model()["version"]).wait_for()
    assert page.locator("#lede").inner_text() != shown
    assert "Progressive error from event" in page.locator("#curve title").text_content()
    assert page.locator("#curve polygon").evaluate("band => band.getBoundingClientRect().width") > 300
    assert page.locator("#thresholds line").count() == 4
    assert page.locator("#classes tbody tr").count() == 5


def test_a_rollback_asks_first(visit, service):
    page = visit[0]()
    _, client, rows, y = service
    client.learn(rows[300:310], y[300:310])
    client.roll_back(1, 60)
    button = page.get_by_role("button", name="Roll back to 1")
    button.wait_for()
    button.click()
    dialog = page.locator("#ask")
    assert dialog.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "Cancel"
    page.keyboard.press("Enter")
    assert not dialog.is_visible()
    current = client.versions()["versions"][0]["version"]
    page.get_by_role("button", name="Roll back to 1").click()
    page.get_by_role("button", name="Roll back", exact=True).click()
    page.locator("#status", has_text=f"Version {current + 1} serves the model of version 1").wait_for()
    assert client.versions()["versions"][0]["version"] == current + 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_it_fits_every_width(visit, width, scheme):
    page = visit[0](width=width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for control in page.locator("button:visible, input:visible").all():
        box = control.bounding_box()
        assert box["height"] >= 24
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_the_keyboard_reaches_everything(visit):
    page = visit[0]()
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    names = []
    for _ in range(25):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate(
                "[document.activeElement.tagName, document.activeElement.id || document.activeElement.textContent,"
                " getComputedStyle(document.activeElement).outlineStyle]"
            )
        )
    reached = {name for _, name, _ in names}
    assert {"predict", "openapi.json"} <= reached
    assert sum(tag == "INPUT" for tag, _, _ in names) >= 4
    assert {outline for tag, _, outline in names if tag != "BODY"} <= {"solid", "auto"}


def test_names_are_shown_and_not_run(visit):
    page = visit[0]()
    assert "<b>bold</b>" in page.locator("#fields").inner_text()
    assert page.locator("#fields b").count() == 0


@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing(visit, width):
    """axe-core is no dependency: RANKWISE_AXE names its file, axe.min.js of the npm package axe-core."""
    path = Path(os.environ.get("RANKWISE_AXE", "node_modules/axe-core/axe.min.js"))
    if not path.is_file():
        pytest.skip("needs axe-core: npm install axe-core, or RANKWISE_AXE=.../axe.min.js")
    page = visit[0](width=width, bypass_csp=True)
    page.add_script_tag(content=path.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document).then((results) => results.violations)")
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []
    assert page.evaluate("axe.run(document).then((results) => results.passes.length)") > 15
