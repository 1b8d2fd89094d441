"""A real Chromium, real servers, and the promise that every page keeps: no error in its console,
and no request beyond its own host."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

from boards import ROOT, Board
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AXE = "4.14.1"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.fail("no Chromium: the pages are tested in a real one; apt-get install chromium")
    with sync_playwright() as playwright:
        # Playwright gives it an empty user-data-dir of its own.
        launched = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield launched
        launched.close()


class Watch:
    """What a page's console said, and whom the page asked."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self.dialogs: list[str] = []
        # Texts that are allowed in errors: a test that ends the service expects some.
        self.expected: list[str] = []

    def follow(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(f"page: {error}"))
        page.on("request", self._asked)
        page.on("dialog", self._dialog)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            where = (message.location or {}).get("url", "")
            self.errors.append(f"{message.text} ({where})")

    def _asked(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != self.host:
            self.strangers.append(request.url)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def check(self) -> None:
        left = [each for each in self.errors if not any(text in each for text in self.expected)]
        assert left == []
        assert self.strangers == []
        assert self.dialogs == []


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens addresses, each in a context of its own; checks the promise at the end."""
    opened: list[tuple[BrowserContext, Watch]] = []

    def make(address: str, **options: Any) -> Page:
        options = {"viewport": {"width": 1440, "height": 900}, "locale": "en-GB"} | options
        context = browser.new_context(**options)
        context.set_default_timeout(15_000)
        page = context.new_page()
        watch = Watch(urlsplit(address).netloc)
        watch.follow(page)
        page.watch = watch  # type: ignore[attr-defined]
        opened.append((context, watch))
        page.goto(address)
        return page

    yield make
    for context, _ in opened:
        context.close()
    for _, watch in opened:
        watch.check()


@pytest.fixture
def start_board(tmp_path: Path) -> Iterator[Callable[..., Board]]:
    started: list[Board] = []

    def start(*words: str) -> Board:
        folder = tmp_path / f"board-{len(started)}"
        folder.mkdir()
        started.append(Board(folder, *words))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def board(start_board: Callable[..., Board]) -> Board:
    return start_board()


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core's script, from npm, kept in build/."""
    folder = ROOT / "build" / "axe"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        if shutil.which("npm") is None:
            pytest.fail("no npm: accessibility is tested with axe-core; apt-get install npm")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts"]
        done = subprocess.run(
            [*command, "--prefix", str(folder), f"axe-core@{AXE}"], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    return script.read_text()
