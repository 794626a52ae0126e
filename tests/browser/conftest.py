"""The report in a real browser: Debian's chromium, driven by playwright (`make test-browser`).

Without chromium the tests are skipped, unless RANKWISE_BROWSER=required: `make test-browser` sets it when it has found
one, so that nothing is skipped there by mistake.
"""

import os
import shutil
from contextlib import suppress

import numpy as np
import pytest

import rankwise as rw
from rankwise.annotation import partial_labels
from rankwise.datasets import make_ordinal

with suppress(ImportError):  # without the extra "serve" only the report is tested
    from tests.browser.raters import enter, project  # noqa: F401

EVIL = "<script>alert(1)</script>"
NAMES = np.array(["awful", "poor", EVIL, "good", "superb"], dtype=object)


@pytest.fixture(scope="session")
def browser():
    sync_playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        assert os.environ.get("RANKWISE_BROWSER") != "required", "there is no chromium"
        pytest.skip("needs chromium: make test-browser installs it")
    with sync_playwright() as playwright:
        # The page is ours; as root, in a container, the sandbox cannot be set up.
        running = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A report on labels of all kinds, its file, and the model."""
    X, y = make_ordinal(900, 4, 5, noise=0.4, random_state=0)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["age", "height", "a rather long name", EVIL])
    said = [tuple(ends) for ends in partial_labels(NAMES[y - 1], 0.5, 2, classes=NAMES, random_state=0).tolist()]
    said[400:420] = [None] * 20
    model = rw.PRIL(classes=NAMES, random_state=0).fit(frame[:300], NAMES[y - 1][:300])
    path = tmp_path_factory.mktemp("report") / "page.html"
    return rw.report.write(model, frame, said, path, title=f"Ratings {EVIL}"), path, model


@pytest.fixture
def visit(browser, made):
    """Open the page and watch it: nothing may be fetched, logged, thrown or asked."""
    contexts, trouble, opened, fetched = [], [], [], []

    def open_page(path=made[1], width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: fetched.append(request.url))
        page.goto(path.as_uri())
        opened.append(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []
    assert fetched == opened
