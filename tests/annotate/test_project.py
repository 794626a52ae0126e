import json
import re
from importlib.resources import files

import numpy as np
import pytest

pytest.importorskip("starlette")

from rankwise.annotate.control import ControlAnswer, error_facts
from rankwise.annotate.items import Items, Shown
from rankwise.annotate.media import MediaFolder
from rankwise.annotate.project import Scale, as_table, label_of, new_model, open_project
from rankwise.annotate.rater_app import Look
from rankwise.io import TableError
from rankwise.labels import ClassOrder, encode
from rankwise.online import OnlineCumulativeLink
from rankwise.persistence import to_bytes
from rankwise.serve.service import Service
from rankwise.serve.store import Store, StoreError
from rankwise.serve.tokens import Tokens
from tests.annotate.conftest import CLASSES, Rater, make_items


def test_a_scale_has_names_and_descriptions(tmp_path):
    (tmp_path / "scale.csv").write_text("class,name,description\n1,poor,never again\n2,,\n3,good,gladly\n")
    scale = Scale.read(tmp_path / "scale.csv")
    assert scale.classes == [1, 2, 3]
    assert scale.names == ["poor", "2", "good"]
    assert scale.descriptions == ["never again", "", "gladly"]
    (tmp_path / "scale.csv").write_text("name\npoor\n")
    with pytest.raises(TableError, match="a column 'class'"):
        Scale.read(tmp_path / "scale.csv")


@pytest.mark.parametrize(
    ("classes", "names", "keys"),
    [
        (range(5), None, ["0", "1", "2", "3", "4"]),
        ([1, 2, 3], ["poor", "fair", "good"], ["1", "2", "3"]),
        ([1, 2, 3], ["0 stars", "2 stars", "4 stars"], ["0", "2", "4"]),  # what raters see
        ([-1.0, 0.0, 0.5], None, ["-1.0", "0.0", "0.5"]),
        (["low", "medium", "high"], None, ["1", "2", "3"]),
        (["0 - not at all", "1", "(2) some", "10 = very much"], None, ["0", "1", "2", "10"]),
        (["18-25", "26-35", "36+"], None, ["1", "2", "3"]),  # ranges are no numbers
        (["1 a", "1 b", "2 c"], None, ["1", "2", "3"]),
    ],
)
def test_what_is_typed_for_a_class(classes, names, keys):
    scale = Scale.of(list(classes))
    assert Scale(scale.classes, names or scale.names, scale.descriptions).keys == keys


@pytest.mark.parametrize("classes", [[1, 2, 3], ["very bad", "so-so", "fine"], [0.5, 1.0, 2.5]])
def test_labels_are_read_back(classes):
    order = Scale.of(classes).order
    for mask in ([0], [1], [0, 1], [0, 2], [1, 2]):
        admitted = encode([label_of(mask, order)], order).admissible()[0]
        assert np.flatnonzero(admitted).tolist() == mask


def test_the_page_has_room_for_so_many_classes():
    with pytest.raises(ValueError, match=r"2 to 50 classes\. Got 51"):
        _ = Scale.of(range(51)).order
    with pytest.raises(ValueError, match="names hold signs that mean something"):
        _ = Scale.of(["a", "b", "a|b", "c"]).order
    assert label_of([], ClassOrder([1, 2])) == "?"


def test_a_model_before_the_first_answer_knows_nothing():
    items = make_items()
    model = new_model(items, CLASSES)
    assert model.predict_proba(as_table(items)) == pytest.approx(np.full((40, 5), 0.2))
    assert to_bytes(model) == to_bytes(new_model(make_items(), CLASSES))


def test_columns_without_a_value_are_as_good_as_none():
    items = Items({"id": list("abcd"), "remark": [None] * 4}, Shown(text="remark"))
    assert items.features == ["remark"]
    assert new_model(items, CLASSES).encoder == "none"
    assert not items.features


def test_items_without_columns_are_asked_at_random(annotated):
    items = Items({"id": ["a", "b", "c"], "photo": ["1.png", "2.png", "3.png"]}, Shown(image="photo"))

    async def test(client):
        assert not (await client.get("/v1/project")).json()["learns"]
        ann = Rater(client, "ann")
        await ann.next()
        await ann.answer([4])
        return (await ann.answer([4]))["all"]["answers"]

    assert annotated(test, items=items) == 2
    assert annotated(lambda client: Rater(client, "bob").next(), items=items)["question"]["item"] in "abc"


class TestStoresOfOthers:
    @pytest.fixture
    def path(self, annotated, tmp_path):
        async def test(client):
            ann = Rater(client, "ann")
            await ann.next()
            for _ in range(40):
                await ann.answer()

        annotated(test)
        return tmp_path / "labels.sqlite"

    def refused(self, path, words, items=None, classes=CLASSES, estimator=None):
        with pytest.raises(StoreError, match=words):
            open_project(path, items or make_items(), Scale.of(classes), estimator or OnlineCumulativeLink())
        Store(path, write=True).close()  # the lock was given back

    def test_what_differs_is_told(self, path):
        self.refused(path, "another project: classes '1, 2, 3, 4, 5' there, and '1, 2, 3' here", classes=[1, 2, 3])
        self.refused(path, "another project: estimator", estimator=OnlineCumulativeLink(alpha=2.0))
        self.refused(path, "answer for 'i3[0-9]', no item here", make_items(30))
        changed = make_items()
        changed.rows[3]["size"] = 77.0
        self.refused(path, "'i3' has an answer, and its columns have changed", changed)
        self.refused(path, "another project: features", make_items(colour=["red", "blue"] * 20))

    def test_items_may_be_added(self, path):
        open_project(path, make_items(50), Scale.of(CLASSES), OnlineCumulativeLink()).stop()

    def test_one_that_ended_before_its_model_was_written_begins_again(self, tmp_path, monkeypatch):
        def killed(*_):
            raise KeyboardInterrupt

        path = tmp_path / "killed.sqlite"
        with monkeypatch.context() as context:
            context.setattr("rankwise.annotate.project.Service", killed)
            with pytest.raises(KeyboardInterrupt):
                open_project(path, make_items(), Scale.of(CLASSES), OnlineCumulativeLink())
        open_project(path, make_items(), Scale.of(CLASSES), OnlineCumulativeLink()).stop()
        self.refused(path, "another project: classes", classes=[1, 2, 3])

    def test_the_store_of_a_service(self, tmp_path):
        model = to_bytes(new_model(make_items(), CLASSES))
        Service("model", Store(tmp_path / "served.sqlite", write=True), model).stop()
        self.refused(tmp_path / "served.sqlite", "store of a service, not of annotations")


class TestControl:
    def test_without_answers_nothing_is_known(self):
        assert error_facts([], 0.01) == {
            "controls": 0, "enough": 10, "ahead": 10.0, "stop_at": 0.01, "curve": [], "stop": False,
        }  # fmt: skip

    def test_one_answer_has_no_range(self):
        facts = error_facts([ControlAnswer(0.5, 3, 1.0, 2.0)], 0.01)
        assert facts["error"] == [1.5, None, None]
        assert facts["curve"] == [[0.5, 3.0, 1.5, None, None]]

    def test_ranges_widen_and_the_rule_stops(self):
        rng = np.random.default_rng(0)
        exact = [
            ControlAnswer(m, 6 * m, e, e) for m, e in zip(range(1, 61), rng.integers(0, 3, 60).tolist(), strict=True)
        ]
        wide = [ControlAnswer(a.minutes, a.labels, a.nearest, a.nearest + 1) for a in exact]
        facts, wider = error_facts(exact, 0.01), error_facts(wide, 0.01)
        assert facts["error"][2] - facts["error"][1] < wider["error"][2] - wider["error"][1]
        assert wider["error"][0] == pytest.approx(facts["error"][0] + 0.5, abs=0.1)
        assert facts["worth"][0] < 0.1
        assert error_facts(exact, 0.5)["stop"]
        assert not error_facts(exact, 0.0)["stop"]
        assert not error_facts(exact[:9], 0.5)["stop"]


class TestApplication:
    def test_files_of_items_are_served_without_their_names(self, annotated, tmp_path):
        (tmp_path / "media").mkdir()
        (tmp_path / "media" / "a.png").write_bytes(b"picture")
        (tmp_path / "secret.png").write_bytes(b"secret")
        items = Items({"photo": ["a.png", "../secret.png", None, "a.mp3"]}, Shown(image="photo"))

        async def test(client):
            found = await client.get("/v1/items/0/image")
            assert (found.content, found.headers["content-type"]) == (b"picture", "image/png")
            assert "sandbox" in found.headers["content-security-policy"]
            wrong = {"1/image": 403, "2/image": 404, "3/image": 404, "4/image": 404, "0/audio": 404, "0/photo": 404,
                     "-1/image": 404, "0/../image": 404, "x/image": 404}  # fmt: skip
            for path, status in wrong.items():
                answer = await client.get(f"/v1/items/{path}")
                assert answer.status_code == status, path
                assert b"secret" not in answer.content

        annotated(test, items=items, media=MediaFolder(tmp_path / "media"))

    def test_the_page_is_locked_up_and_in_a_language(self, annotated):
        async def test(client):
            page = await client.get("/")
            assert '<html lang="de">' in page.text
            assert "<h1>A &lt;b&gt; title</h1>" in page.text
            policy = page.headers["content-security-policy"]
            assert (
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; media-src blob:"
                in policy
            )
            for path in (
                "/annotate.js",
                "/typing.js",
                "/kept.js",
                "/agreement.js",
                "/annotate.css",
                "/common.js",
                "/page.css",
                "/texts.json",
            ):
                assert (await client.get(path)).status_code == 200
                assert f'"{path}"' in page.text + '"/texts.json"'
            for path in ("/healthz", "/readyz", "/metrics", "/v1/model", "/v1/progress"):
                assert (await client.get(path)).status_code == 200
            for path in ("/v1/feedback", "/v1/predict"):
                assert (await client.post(path, json={})).status_code == 404

        annotated(test, look=Look(title="A <b> title", language="de"))

    def test_tokens_say_who_the_rater_is(self, annotated, tmp_path):
        (tmp_path / "tokens").write_text(
            "learn 0123456789abcdef ann\nread fedcba9876543210 eve\nlearn aaaaaaaaaaaaaaaaaaaa\n"
        )
        ann, eve, nobody = ({"Authorization": f"Bearer {token}"} for token in (
            "0123456789abcdef", "fedcba9876543210", "aaaaaaaaaaaaaaaaaaaa"))  # fmt: skip

        async def test(client):
            assert (await client.get("/v1/project")).status_code == 401
            assert (await client.get("/v1/project", headers=ann)).json()["name"] == "ann"
            assert (await client.get("/v1/items/0/image")).status_code == 401
            rater = Rater(client, "bob", **ann)  # the page cannot choose
            await rater.next()
            assert "|ann|" in (await rater.answer())["saved"]
            assert (await client.get("/v1/progress", headers=eve)).status_code == 200
            assert (await client.post("/v1/next", json={}, headers=eve)).status_code == 403
            said = (await client.post("/v1/next", json={}, headers=nobody)).json()
            assert "no name" in said["detail"]

        annotated(test, tokens=Tokens(tmp_path / "tokens"))


def test_both_languages_say_the_same_things():
    texts = json.loads(files("rankwise.annotate").joinpath("static/texts.json").read_text(encoding="utf-8"))
    assert set(texts) == {"en", "de"}
    assert list(texts["en"]) == list(texts["de"])
    static = files("rankwise.annotate").joinpath("static")
    page = "".join(file.read_text("utf-8") for file in static.iterdir() if file.name.endswith((".html", ".js")))
    for key, text in texts["en"].items():
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", texts["de"][key])), key
    used = set(re.findall(r'data-text="([\w-]+)"', page)) | set(re.findall(r'\bt\("([\w-]+)"', page))
    assert used <= set(texts["en"])
    built = (
        "question-",
        "typed",
        "said-",
        "guess-",
        "axis-",
        "image-",
        "audio-",
        "language",
        "stop",
        "no-stop",
        "hint",
        "worth",
        "noscript",
        "wait",
        "done",
        "by-",
        "key",
        "preparing",
        "pair-",
        "decide",
        "undo-decision",
    )
    assert [key for key in texts["en"] if key not in used and not key.startswith(built)] == []
