import re
from itertools import chain

import pytest

from tests.browser.conftest import EVIL, NAMES

STYLES = [("light", 1280), ("light", 360), ("dark", 1280), ("dark", 360)]


def values(page, table, column):
    """Numbers behind a column of a table, as the page has them."""
    cells = page.locator(f"{table} tbody tr > :nth-child({column})")
    return [float(cell.get_attribute("data-value")) for cell in cells.all()]


@pytest.mark.parametrize(("scheme", "width"), STYLES)
def test_it_renders_at_every_width_without_sideways_scrolling(visit, scheme, width):
    page = visit(width=width, color_scheme=scheme)
    assert page.locator("h1").inner_text() == f"Ratings {EVIL}"
    headings = [
        "Labels", "Quality", "What may be claimed", "Classes", "Scores and thresholds", "Reasons", "Along the rows",
        "Weights", "Model card", "Make it again",
    ]  # fmt: skip
    assert page.locator("h2").all_inner_texts() == headings
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for picture in page.locator(".plot > svg").all():
        box = picture.bounding_box()
        assert box["width"] > 0.6 * (width - 60 if width < 1000 else 900)
        assert box["height"] > 200
    tallest = page.locator(".chart svg .running").evaluate("line => line.getBoundingClientRect().height")
    assert tallest > 10  # a curve, not a line of no height


@pytest.mark.parametrize(("scheme", "width"), STYLES)
def test_text_has_contrast(visit, scheme, width):
    page = visit(width=width, color_scheme=scheme)
    found = page.evaluate(
        """() => {
          const light = (text) => {
            const scale = text.startsWith("color(") ? 1 : 255;
            const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / scale)
              .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          const ground = light(getComputedStyle(document.body).backgroundColor);
          const names = ["h1", ".lede", "p", "nav a", "td", ".limits", "th", "dt", ".x-axis span", ".help", "summary"];
          const ratios = names.map((name) =>
            [name, contrast(light(getComputedStyle(document.querySelector(name)).color), ground)]);
          for (const cell of document.querySelectorAll(".matrix:not([hidden]) td")) {
            const style = getComputedStyle(cell);
            ratios.push([cell.textContent, contrast(light(style.color), light(style.backgroundColor))]);
          }
          return ratios;
        }"""
    )
    assert len(found) == 11 + 25
    assert [(name, ratio) for name, ratio in found if ratio < 4.5] == []


def test_tables_hold_the_numbers_of_the_report(visit, made):
    report, _, model = made
    page, facts = visit(), report.facts
    assert values(page, "#kinds", 2) == list(facts["labels"].values())
    assert values(page, "#quality-table", 2) == [measure["best"]["value"] for measure in facts["quality"]]
    assert values(page, "#quality-table", 3) == [measure["worst"]["value"] for measure in facts["quality"]]
    assert values(page, "#claims-table", 2) == [claim["range"]["lower"] for claim in facts["claims"]]
    assert values(page, "#claims-table", 3) == [claim["range"]["lower_limit"] for claim in facts["claims"]]
    assert values(page, "#classes-table", 2) == [line["exact"] for line in facts["classes"]]
    assert values(page, "#thresholds-table", 2) == model.thresholds_.tolist()
    assert values(page, "#weights-table", 2) == sorted(model.coef_.tolist(), key=abs, reverse=True)
    # What is read is what is behind it, to the digits shown.
    shown = page.locator("#quality-table tbody tr:first-child .value").all_inner_texts()
    first = facts["quality"][0]
    assert [float(text) for text in shown] == pytest.approx(
        [first[end]["value"] for end in ("best", "worst")], rel=5e-3
    )
    for row, name in enumerate(NAMES):  # the lowest class is at the bottom, as in ConfusionDisplay
        line = page.locator(".matrix:not([hidden]) tbody tr").nth(-1 - row)
        assert line.locator("th").inner_text() == name
        cells = [float(cell.get_attribute("data-value")) for cell in line.locator("td").all()]
        assert cells == facts["confusion"]["nearest"][row]


def test_data_are_shown_and_not_run(visit):
    page = visit()
    assert page.title() == f"Ratings {EVIL} – report"
    assert page.locator("#classes-table tbody th").nth(2).inner_text() == EVIL
    assert EVIL in page.locator("#weights-table tbody th").all_inner_texts()
    assert page.locator(".bands span").nth(2).inner_text() == EVIL
    assert page.locator("main script:not([type])").count() == 0  # a dialog would fail the fixture


def test_the_policy_stops_what_escaping_might_miss(browser, made, tmp_path):
    _, path, _ = made
    altered = path.read_text(encoding="utf-8").replace("<main", "<script>document.title = 'run'</script><main", 1)
    (tmp_path / "page.html").write_text(altered, encoding="utf-8")
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    assert page.title() != "run"
    assert "Content Security Policy" in said[0]
    page.close()


class TestKeyboard:
    def test_the_first_stop_skips_to_the_content(self, visit):
        page = visit()
        page.keyboard.press("Tab")
        skip = page.locator(":focus")
        assert skip.inner_text() == "Skip to the content"
        assert skip.bounding_box()["x"] >= 0  # visible once it has the focus
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"

    def test_every_control_is_reached_in_order_and_its_focus_shows(self, visit):
        page = visit()
        wanted = page.evaluate(
            """() => [...document.querySelectorAll("a[href], button:not(:disabled), input, summary, [tabindex='0']")]
                 .filter((e) => e.checkVisibility() && !(e.type === "radio" && !e.checked)
                                || e.className === "skip")
                 .map((e, i) => { e.dataset.stop = i; return i; })"""
        )
        reached, unmarked = [], []
        for _ in wanted:
            page.keyboard.press("Tab")
            stop, outline, what = page.evaluate(
                """() => { const e = document.activeElement;
                           return [e.dataset.stop, getComputedStyle(e).outlineStyle, e.outerHTML.slice(0, 60)]; }"""
            )
            reached.append(int(stop))
            unmarked += [what] if outline == "none" else []
        assert len(wanted) > 25
        assert reached == wanted
        assert unmarked == []

    def test_headings_sort_their_table(self, visit):
        page = visit()
        button = page.locator("#classes-table th button", has_text="exact labels")
        in_order = values(page, "#classes-table", 2)
        button.focus()
        page.keyboard.press("Enter")
        assert values(page, "#classes-table", 2) == sorted(in_order, reverse=True)
        assert page.locator("#classes-table th[aria-sort]").get_attribute("aria-sort") == "descending"
        page.keyboard.press("Space")
        assert values(page, "#classes-table", 2) == sorted(in_order)
        page.locator("#classes-table th button", has_text="class").first.press("Enter")
        assert (
            page.locator("#classes-table tbody th").all_inner_texts() == NAMES.tolist()
        )  # their own order, not letters

    def test_arrows_choose_how_intervals_count(self, visit, made):
        page, confusion = visit(), made[0].facts["confusion"]
        page.locator("input[value=nearest]").focus()
        for counting in ("shared", "farthest"):
            page.keyboard.press("ArrowRight")
            cells = page.locator(".matrix:not([hidden]) td").all()
            assert [float(cell.get_attribute("data-value")) for cell in cells] == list(
                chain(*confusion[counting][::-1])
            )

    @pytest.mark.parametrize("chart", ["score-chart", "loss-chart"])
    def test_keys_and_buttons_zoom(self, visit, chart):
        page = visit()
        svg, whole = page.locator(f"#{chart} .plot > svg"), "0 0 1000 1000"
        assert svg.get_attribute("viewBox") == whole
        page.locator(f"#{chart} .plot").focus()
        page.keyboard.press("+")
        assert svg.get_attribute("viewBox") == "250 0 500 1000"
        page.keyboard.press("ArrowRight")
        assert svg.get_attribute("viewBox") == "375 0 500 1000"
        assert re.fullmatch(r"(score|row) -?[\d.,]+ to [\d.,]+", page.locator(f"#{chart} .range").inner_text())
        page.keyboard.press("0")
        assert svg.get_attribute("viewBox") == whole
        page.locator(f"#{chart} button", has_text="Zoom in").press("Enter")
        page.locator(f"#{chart} button", has_text="Zoom out").press("Space")
        assert svg.get_attribute("viewBox") == whole
        assert page.evaluate("document.activeElement.className") == "plot"  # not lost with the disabled button


class TestPointer:
    @pytest.mark.parametrize("width", [1280, 360])
    def test_dragging_zooms_and_a_double_click_shows_all(self, visit, made, width):
        page = visit(width=width)
        plot = page.locator("#score-chart .plot")
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        low, high = (float(page.locator("#score-chart").get_attribute(f"data-{end}")) for end in ("low", "high"))
        page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 50)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.75 * box["width"], box["y"] + 60, steps=3)
        assert page.locator("#score-chart .brush").is_visible()
        page.mouse.up()
        left, _, span, _ = map(float, page.locator("#score-chart .plot > svg").get_attribute("viewBox").split())
        assert (left, span) == pytest.approx((250, 500), abs=5)
        ticks = [float(t.replace(",", "")) for t in page.locator("#score-chart .x-axis span").all_inner_texts()]
        assert len(ticks) >= 2
        assert low + 0.24 * (high - low) < min(ticks)
        assert max(ticks) < low + 0.76 * (high - low)
        page.mouse.dblclick(box["x"] + 100, box["y"] + 50)
        assert page.locator("#score-chart .plot > svg").get_attribute("viewBox") == "0 0 1000 1000"

    def test_a_tick_stands_where_its_number_is(self, visit, made):
        model, page = made[2], visit()
        box = page.locator("#score-chart .plot").bounding_box()
        lines = [line.bounding_box()["x"] for line in page.locator("#score-chart .threshold").all()]
        low, high = (float(page.locator("#score-chart").get_attribute(f"data-{end}")) for end in ("low", "high"))
        expected = [box["x"] + box["width"] * (t - low) / (high - low) for t in model.thresholds_]
        assert lines == pytest.approx(expected, abs=2)
        spans = page.locator("#score-chart .x-axis span").all()
        for span in spans:
            middle = span.bounding_box()["x"] + span.bounding_box()["width"] / 2
            value = float(span.inner_text())
            assert middle == pytest.approx(box["x"] + box["width"] * (value - low) / (high - low), abs=2)

    def test_values_show_under_the_pointer(self, visit, made):
        page, tip = visit(), "#tip"
        bar = page.locator("#score-chart .bar").first
        bar.scroll_into_view_if_needed()
        bar.hover(force=True)
        assert re.match(r"label .* to .*; score .*, predicted ", page.locator(tip).inner_text())
        plot = page.locator("#loss-chart .plot")
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 20)
        said = page.locator(tip).inner_text()
        final = made[0].facts["quality"][0]["best"]["value"]
        assert float(re.search(r"mean so far ([\d.]+)", said)[1]) == pytest.approx(final, rel=1e-3)
        page.keyboard.press("Escape")
        assert not page.locator(tip).is_visible()


def test_it_prints_whole_and_without_controls(visit):
    page = visit()
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#score-chart .controls").is_visible()
    box = page.locator("#classes-table").evaluate("t => [t.parentElement.clientHeight, t.parentElement.scrollHeight]")
    assert box[0] == box[1]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 20_000


def test_without_scripts_everything_can_be_read(visit):
    page = visit(java_script_enabled=False)
    assert page.locator("#quality-table tbody tr").count() == 4
    assert page.locator(".matrix").first.is_visible()
    assert not page.locator(".controls").first.is_visible()
    assert page.locator(".x-axis span").first.is_visible()
