import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rankwise as rw
from tests.report.conftest import NAMES

EVIL = "<script>alert(1)</script>"
VOID = {"meta", "link", "input", "path", "rect", "br"}


class Outline(HTMLParser):
    """Checks that tags are balanced, and collects ids, links and the text of headings."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.scripts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs[name] for name in ("href", "src") if name in attrs]
        self.scripts += [attrs.get("type")] if tag == "script" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def read(page):
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    return outline


def fitted(name, X, y):
    options = {"KernelPRIL": {"budget": 50}, "KernelCuSumRank": {"budget": 50}}.get(name, {})
    return getattr(rw, name)(classes=NAMES, **options).fit(X, y)


@pytest.mark.parametrize(
    "name",
    [
        "PRank", "PRIL", "MultiplicativePRIL", "KernelPRIL", "CuSumRank", "KernelCuSumRank", "WidrowHoff",
        "ImportanceWeightedPerceptron", "MulticlassPerceptron",
        "SVOR", "VILMA", "MORD", "PiecewiseMORD", "RoundedRegression", "UnifiedClassifier",
    ],
)  # fmt: skip
def test_every_estimator_has_a_page(data, name):
    X, y, said = data
    model = fitted(name, X[:150], y[:150])
    for labels in (y, said):
        found = rw.report.write(model, X[300:], labels[300:])
        outline = read(found.page)
        assert len(outline.ids) == len(set(outline.ids))
        assert {link[1:] for link in outline.links if link.startswith("#")} <= set(outline.ids)
        has_axis = hasattr(model, "thresholds_")
        assert ("score-chart" in outline.ids) == has_axis
        assert ("weights-table" in outline.ids) == hasattr(model, "coef_")
        measured = [measure["name"] for measure in found.facts["quality"]]
        assert measured[0] == ("mean absolute error" if getattr(model, "ordered", True) else "exactly right")


def test_models_around_the_estimator(data):
    X, y, _ = data
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b", "c", EVIL])
    pipeline = make_pipeline(StandardScaler(), rw.PRIL(classes=NAMES, random_state=0))
    searched = GridSearchCV(pipeline, {"pril__n_epochs": [1, 2]}, cv=2).fit(frame[:300], y[:300])
    found = rw.report.write(searched, frame[300:], y[300:])
    assert found.facts["card"][0] == ["estimator", "StandardScaler → PRIL, chosen by GridSearchCV"]
    assert sorted(line["name"] for line in found.facts["weights"]["lines"]) == sorted(frame.columns)
    assert "score-chart" in read(found.page).ids
    foreign = LogisticRegression().fit(X[:300], y[:300])
    assert rw.report.write(foreign, X[300:], y[300:]).facts["quality"][0]["name"] == "exactly right"


@pytest.mark.parametrize("classes", [["one"], ["no", "yes"], [*range(30)], [*range(230)]])
def test_few_classes_and_many(rng, classes):
    X = rng.normal(size=(400, 2))
    codes = np.clip((X[:, 0] * len(classes) / 4 + len(classes) / 2).astype(int), 0, len(classes) - 1)
    model = rw.PRIL(classes=classes, random_state=0).fit(X, np.array(classes)[codes])
    outline = read(rw.report.write(model, X, np.array(classes)[codes], n_resamples=20).page)
    assert ("score-chart" in outline.ids) == (len(classes) > 1)


def test_a_single_row(data, model):
    X, y, _ = data
    read(rw.report.write(model, X[:1], y[:1]).page)


def test_nothing_is_fetched_and_only_the_pages_own_script_runs(data, model):
    X, _, said = data
    page = rw.report.write(model, X, said).page
    outline = read(page)
    assert all(link.startswith("#") or link == "data:," for link in outline.links)
    assert not re.search(r"https?:|@import|url\(", page)
    assert [kind for kind in outline.scripts if kind is None] == [None]
    assert "default-src 'none'" in page


def test_data_are_shown_and_never_markup(data):
    X, y, _ = data
    names = [EVIL, '"><img src=x onerror=alert(1)>', "</title>", "{{ 7 * 7 }}", "&amp;"]
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "'b", "-->", EVIL])
    exact = np.array(names, dtype=object)[[NAMES.tolist().index(label) for label in y]]
    model = rw.PRIL(classes=names, random_state=0).fit(frame[:300], exact[:300])
    plain = rw.report.write(model, frame, exact, title=EVIL, data=EVIL, command=f"rankwise {EVIL}").page
    read(plain)
    assert EVIL not in plain
    assert "<img" not in plain
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in plain
    assert "{{ 7 * 7 }}" in plain
    assert "&amp;amp;" in plain


def test_the_card_states_facts(data, model):
    X, y, _ = data
    card = dict(rw.report.write(model, X, y, data="ratings of last year").facts["card"])
    assert card["classes, lowest first"] == "awful, poor, fair, good, superb"
    assert card["judged on"] == "900 labelled rows of 900: ratings of last year"
    assert card["software"] == f"rankwise {rw.__version__}"
    assert f"{model.n_updates_:,}" in card["updates"]
    svor = rw.SVOR(classes=NAMES).fit(X[:100], y[:100])
    assert f"{svor.gap_:.2g}" in dict(rw.report.write(svor, X, y).facts["card"])["certificate"]


def test_the_command_is_the_call_unless_given(data, model, tmp_path):
    X, y, _ = data
    page = tmp_path / "page.html"
    call = rw.report.write(model, X, y, page, title="Hotels", random_state=3).facts["command"]
    assert call == f"rankwise.report.write(model, X, y, path={str(page)!r}, title='Hotels', random_state=3)"
    assert rw.report.write(model, [(X, y)]).facts["command"] == "rankwise.report.write(model, batches)"
    assert rw.report.write(model, X, y, command="rankwise report").facts["command"] == "rankwise report"


class TestFiles:
    def test_the_file_is_the_page(self, data, model, tmp_path):
        X, y, _ = data
        found = rw.report.write(model, X, y, tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text(encoding="utf-8") == found.page
        assert [path.name for path in tmp_path.iterdir()] == ["page.html"]

    def test_an_error_leaves_the_old_page(self, data, model, tmp_path):
        X, y, _ = data
        (tmp_path / "page.html").write_text("old")
        with pytest.raises(ValueError, match="batch 2"):
            rw.report.write(model, [(X[:5], y[:5]), (X[:5], ["odd"] * 5)], None, tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text() == "old"
        assert len(list(tmp_path.iterdir())) == 1

    def test_a_place_that_cannot_be_written_is_refused_before_the_work(self, tmp_path):
        for path, error in ((tmp_path / "no" / "page.html", FileNotFoundError), (tmp_path, IsADirectoryError)):
            with pytest.raises(error, match="cannot write"):
                rw.report.write(None, [], [], path)

    def test_notebooks_show_the_page_in_a_frame(self, data, model):
        X, y, _ = data
        frame = rw.report.write(model, X, y, title='a "b" <c>')._repr_html_()
        assert frame.startswith('<iframe title="a &quot;b&quot; &lt;c&gt;" sandbox="allow-scripts"')
        assert frame.count("<") == 2


def test_the_lowest_class_is_at_the_bottom_as_in_plots(data, model):
    X, y, _ = data
    made = rw.report.write(model, X, y)
    table = re.search(r'<table class="confusion">.*?</table>', made.page, re.DOTALL).group()
    assert re.findall(r'<th scope="row">(\w+)', table) == NAMES[::-1].tolist()
    assert re.findall(r'<th scope="col" class="num">(\w+)', table) == NAMES.tolist()
    cells = [float(value) for value in re.findall(r'data-value="([^"]+)"', table)]
    assert np.reshape(cells, (5, 5))[::-1].tolist() == made.facts["confusion"]["nearest"]
    diagonal = re.findall(r'class="num right".*?data-tip="[^"]* labelled (\w+) were predicted (\w+)', table)
    assert diagonal == [(name, name) for name in NAMES[::-1]]


class TestRefusals:
    def test_models_without_classes(self, data):
        X, y, _ = data
        ranker = rw.LabelRanker(random_state=0).fit(X[:20], [[label] for label in y[:20].tolist()])
        with pytest.raises(TypeError, match=r"LabelRanker ranks labels: see rankwise.metrics.ranking_loss"):
            rw.report.write(ranker, X, y)
        with pytest.raises(TypeError, match=r"LabelRanker ranks labels: see rankwise.metrics.ranking_loss"):
            rw.report.write(make_pipeline(StandardScaler(), ranker).fit(X[:20], [[label] for label in y[:20]]), X, y)
        with pytest.raises(TypeError, match="StandardScaler has no predict"):
            rw.report.write(StandardScaler().fit(X), X, y)
        with pytest.raises(ValueError, match="not fitted yet"):
            rw.report.write(rw.PRIL(), X, y)

    def test_rows(self, data, model):
        X, y, _ = data
        with pytest.raises(
            ValueError, match=r"at least one row with a label and a weight. Got 3 rows, 3 of them without"
        ):
            rw.report.write(model, X[:3], [None] * 3)
        with pytest.raises(ValueError, match="X has 3 rows, y has 2 labels"):
            rw.report.write(model, X[:3], y[:2])
        with pytest.raises(ValueError, match="row 0: the label 'odd' is not one of the classes"):
            rw.report.write(model, X[:1], ["odd"])

    def test_batches(self, data, model):
        X, y, _ = data
        with pytest.raises(ValueError, match="y must be given, or X must be an iterable of batches"):
            rw.report.write(model, X)
        with pytest.raises(ValueError, match=r"batch 1 must be a tuple \(X, y\).* Got a list instead"):
            rw.report.write(model, [[X, y]])
        with pytest.raises(ValueError, match="sample_weight cannot be given with batches"):
            rw.report.write(model, [(X, y)], sample_weight=np.ones(900))
        with pytest.raises(ValueError, match="batch 2, which begins at row 5: row 1: the label 'x'"):
            rw.report.write(model, [(X[:5], y[:5]), (X[:2], ["poor", "x"])])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"confidence": 1.0}, "confidence must lie between 0 and 1. Got 1.0"),
            ({"n_resamples": 0}, "n_resamples must be an integer >= 1. Got 0"),
            ({"sample_size": 2.5}, "sample_size must be an integer >= 1. Got 2.5"),
            ({"top": True}, "top must be an integer >= 1. Got True"),
            ({"random_state": None}, "random_state must be an integer >= 0. Got None"),
        ],
    )
    def test_options(self, data, model, options, message):
        X, y, _ = data
        with pytest.raises(ValueError, match=re.escape(message)):
            rw.report.write(model, X, y, **options)

    def test_without_jinja2(self, data, model, monkeypatch):
        monkeypatch.setitem(sys.modules, "jinja2", None)
        with pytest.raises(ImportError, match=r'^a report needs jinja2: pip install "rankwise\[report\]"$'):
            rw.report.write(model, *data[:2])


def test_there_is_one_way_to_write_a_report():
    import rankwise.report as package

    assert rw.report is package
    assert not callable(package)
    assert package.__all__ == ["Report", "write"]
    assert "random_state" in package.write.__doc__
