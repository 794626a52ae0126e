"""Servers of `rankwise annotate` for the tests of their page, and how raters use it."""

import csv
import json
import re
import signal
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from rankwise.annotate.export import answers_in
from rankwise.serve.store import Store
from tests.serve.killing import free_port

expect.set_options(timeout=60_000)  # a busy machine takes its time


class Project:
    """A server of `rankwise annotate` that may be killed and started again."""

    def __init__(self, folder, rows, *options, classes="1..5", port=None):
        folder.mkdir(exist_ok=True)
        self.folder, self.store, self.port = folder, folder / "labels.sqlite", port or free_port()
        with open(folder / "items.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        scale = ["--classes", classes] if classes else []
        self.command = [sys.executable, "-m", "rankwise", "annotate", "items.csv", "--labels", "labels.sqlite",
                        "--json", "--port", str(self.port), *scale, *options]  # fmt: skip
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        assert json.loads(self.process.stdout.readline())["url"] == self.url
        return self

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(60)
        self.process.stdout.close()

    def answers(self):
        with Store(self.store) as store:
            return answers_in(store)


@pytest.fixture
def project(tmp_path):
    made = []

    def start(rows, *options, folder="", **more):
        made.append(Project(tmp_path / folder, rows, *options, **more).start())
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.stop()


@pytest.fixture
def enter(browser):
    """Open the page as a rater, and watch it: it may ask its own server only, and nothing may be thrown."""
    contexts, trouble, fetched, allowed = [], [], [], ["blob:", "data:"]

    def open_page(project, rater="ann", width=1280, height=900, quiet=(), beside=None, script=None, **options):
        if beside is None:
            contexts.append(browser.new_context(viewport={"width": width, "height": height}, **options))
        page = (contexts[-1] if beside is None else beside.context).new_page()
        if script is not None:
            page.add_init_script(script)
        watched = lambda text: None if any(word in text for word in quiet) else trouble.append(text)  # noqa: E731
        page.on("console", lambda message: watched(f"console: {message.text}"))
        page.on("pageerror", lambda error: watched(f"error: {error}"))
        page.on("request", lambda request: fetched.append(request.url))
        page.on("dialog", lambda dialog: (trouble.append("dialog"), dialog.dismiss()))
        allowed.append(project.url)
        page.goto(project.url)
        if rater is not None:
            sign_in(page, rater)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []
    assert [address for address in fetched if not address.startswith(tuple(allowed))] == []


def sign_in(page, rater):
    page.locator("#name").or_(page.locator("#work, #done")).locator("visible=true").first.wait_for()
    if page.locator("#name").is_visible():
        page.get_by_label("Name", exact=True).fill(rater)
        page.keyboard.press("Enter")
    page.locator("#work, #done").locator("visible=true").first.wait_for()


def rows(n=30):
    return [{"id": f"i{k}", "remark": f"remark {k}", "size": k % 7, "price": (k * 13) % 5} for k in range(n)]


def item(page):
    return page.locator("#item-title").inner_text().removeprefix("Item ").removeprefix("Eintrag ")


def changed(page, before):
    """Wait until another item shows, or none."""
    expect(page.locator("#item-title")).not_to_have_text(
        re.compile(rf"(Item|Eintrag) {re.escape(before)}$"), timeout=60_000
    )


def save(page, how):
    """Save by ``how`` and wait for the next item; return the item that was answered."""
    answered = item(page)
    how()
    changed(page, answered)
    return answered


def button(page, name):
    return page.locator("#scale button", has_text=name)
