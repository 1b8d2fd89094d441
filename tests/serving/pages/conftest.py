"""A real Chromium, real servers, and the promise that every page keeps: no error in its console,
and no request beyond its own host."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import requests
import served
from boards import ROOT, Board, until
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from driftline.drift.reliability import fit_reliability
from driftline.drift.sensitivity import sensitivity
from driftline.metadata.extract import Classification
from driftline.metadata.package import ModelPackage
from driftline.metadata.quality import Quality

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
DESKTOP = {"width": 1440, "height": 900}
PATIENCE = 20_000  # ms; the machine may have other work to do
_NUMBERS = itertools.count()


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


@pytest.fixture(scope="session")
def everyday(browser: Browser) -> Iterator[BrowserContext]:
    """One for all tests that leave no cookie behind: it reads plotly once."""
    context = browser.new_context(viewport=DESKTOP, locale="en-GB", color_scheme="light")
    yield context
    context.close()


@pytest.fixture
def open_page(browser: Browser, everyday: BrowserContext) -> Iterator[Callable[..., Page]]:
    """Opens addresses, with options in a context of its own; checks the promise at the end.

    `first` is called with the page before it goes there.
    """
    opened: list[tuple[BrowserContext | Page, Watch]] = []
    expect.set_options(timeout=PATIENCE)

    def make(address: str, first: Callable[[Page], None] | None = None, **options: Any) -> Page:
        context = everyday
        if options:
            context = browser.new_context(**{"viewport": DESKTOP, "locale": "en-GB"} | options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        watch = Watch(urlsplit(address).netloc)
        watch.follow(page)
        page.watch = watch  # type: ignore[attr-defined]
        opened.append((context if options else page, watch))
        if first is not None:
            first(page)
        page.goto(address)
        return page

    yield make
    for each, _ in opened:
        each.close()
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


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """One board for all tests that leave it running; each has runs of its own."""
    board = Board(tmp_path_factory.mktemp("shared"))
    yield board
    board.stop()


@pytest.fixture
def run(request: pytest.FixtureRequest) -> str:
    """A run's name that no other test uses."""
    return f"{request.node.name[5:60]}-{next(_NUMBERS)}".replace("[", "-").replace("]", "")


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


NAUGHTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def naughty_package(tmp_path_factory: pytest.TempPathFactory) -> ModelPackage:
    """A package whose first class is called what no class should be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(served, "CLASSES", (NAUGHTY, "green", "blue"))
        return served.package(tmp_path_factory.mktemp("naughty") / "package", **measured())


def measured() -> dict[str, Any]:
    """What a real package knows beside: how right the model is, and what would be seen."""
    reference = served.metadata().reference
    p = Classification(served.CLASSES).probabilities(served.rows(4_000, 5) @ served.weights())
    right = np.random.default_rng(6).random(len(p)) < p.max(axis=1)
    top = next(each for each in reference.signals if each.name == "top_probability")
    quality = Quality(
        rows=len(p),
        accuracy=float(right.mean()),
        reliability=fit_reliability(top, p.max(axis=1), right),
    )
    return {"quality": quality, "sensitivity": sensitivity(reference)}


class Traffic:
    """Requests to a served model, clean or with the column ``a2`` shifted."""

    def __init__(self, server: served.Server) -> None:
        self.server = server
        self.sent = 0

    def send(self, requests: int, shift: float = 0.0) -> None:
        for _ in range(requests):
            self.sent += 1
            rows = served.rows(50, self.sent)
            rows[:, 2] += np.float32(shift)
            assert self.server.predict(rows.tolist()).ok


@pytest.fixture(scope="session")
def start_service(
    naughty_package: ModelPackage, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Traffic]]:
    """Starts services of that package, with buckets of one second."""
    started: list[served.Server] = []

    def start(*words: str) -> Traffic:
        folder = tmp_path_factory.mktemp("service")
        words = ("--bucket", "1s", "--state", str(folder / "state.db"), *words)
        if "--threads" not in words:
            words = (*words, "--threads", "8")
        server = served.Server(naughty_package.path, folder / "log", *words)
        started.append(server)
        return Traffic(server.ready())

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def drifted(start_service: Callable[..., Traffic]) -> Traffic:
    """A service that has seen drift in ``a2``, and whose window is longer than the session."""
    traffic = start_service("--bucket", "60s")
    traffic.send(60)
    traffic.send(60, shift=0.8)
    server = traffic.server
    until(lambda: server.drift()["state"] == "drift", 60, "the drift")
    until(lambda: requests.get(server.address + "/alerts").json()["open"], 60, "the alert")
    return traffic
