"""The pages are for everybody: accessibility, languages, small screens, a token at the door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests
from boards import Board, points, until
from playwright.sync_api import Page, expect

Open = Callable[..., Page]
TOKEN = "a token that is long enough"

SERIOUS = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(" | ")}`);
}"""


def faults(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    return page.evaluate(SERIOUS)


@pytest.fixture
def full_run(shared: Board, run: str) -> str:
    event = {"step": 20, "time": 1e9, "rule": "oscillation", "severity": "warning", "sentence": "!"}
    odd = {"grad_norm/dead.weight": 1e-6, "bleu": 0.2, "cpu_percent": 20.0}
    shared.push(run, 1, points(0, 60, **odd), [event])
    return f"{shared.address}/training#run={run}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_training_page_has_no_serious_fault(
    full_run: str, open_page: Open, axe: str, scheme: str
) -> None:
    page = open_page(full_run, color_scheme=scheme)
    expect(page.locator('[data-metric="loss"] .values')).to_contain_text("0.9")
    assert faults(page, axe) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_drift_page_has_no_serious_fault(
    drifted: Any, open_page: Open, axe: str, scheme: str
) -> None:
    page = open_page(drifted.server.address + "/", color_scheme=scheme)
    page.locator("#signals button.name").first.click()
    expect(page.locator("tr.detail .said")).not_to_be_empty()
    expect(page.locator("#alerts li").first).to_contain_text("a2")
    assert faults(page, axe) == []


@pytest.mark.parametrize("size", [{"width": 360, "height": 740}, {"width": 1440, "height": 900}])
def test_the_drift_page_is_not_wider_than_the_screen(
    drifted: Any, open_page: Open, size: dict[str, int]
) -> None:
    page = open_page(drifted.server.address + "/", viewport=size)
    expect(page.locator("#state")).to_have_text("Drift")
    page.locator("#signals button.name").first.click()
    expect(page.locator("tr.detail .said")).not_to_be_empty()
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_one_switch_changes_the_language_and_it_stays(
    drifted: Any, full_run: str, open_page: Open
) -> None:
    page = open_page(drifted.server.address + "/", locale="en-GB")
    expect(page.locator("#state")).to_have_text("Drift")
    page.get_by_role("link", name="中文").click()
    expect(page.locator("#state")).to_have_text("漂移")
    expect(page.locator("#sentence")).to_contain_text("出现漂移")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.locator("#signals")).to_contain_text("稳定")
    page.goto(drifted.server.address + "/training#run=a")
    expect(page.get_by_role("heading", name="尚无训练上报")).to_be_visible()
    page.get_by_role("link", name="English").click()
    expect(page.get_by_role("heading", name="No training has reported yet")).to_be_visible()
    assert page.url.endswith("#run=a")


def test_the_browser_s_language_is_the_first_one_tried(full_run: str, open_page: Open) -> None:
    page = open_page(full_run, locale="zh-CN")
    expect(page.locator('[data-metric="loss"] h3')).to_have_text("损失")


def test_times_are_the_viewer_s_own_with_utc_on_hover(drifted: Any, open_page: Open) -> None:
    here = open_page(drifted.server.address + "/", timezone_id="UTC")
    there = open_page(drifted.server.address + "/", timezone_id="Asia/Kolkata")
    since = [page.locator("#since time") for page in (here, there)]
    assert since[0].get_attribute("title") == since[1].get_attribute("title")
    assert str(since[0].get_attribute("title")).endswith(" UTC")
    assert since[0].inner_text() != since[1].inner_text()


def test_colours_are_chosen_by_a_button_and_kept(full_run: str, open_page: Open) -> None:
    page = open_page(full_run, color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    for _ in range(2):
        page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_attribute("aria-label", "Colours: dark")
    assert page.evaluate(background) != light
    page.reload()
    assert page.evaluate(background) != light


# A token at the door ------------------------------------------------------------------------


@pytest.fixture
def closed(start_board: Callable[..., Board]) -> Board:
    board = start_board("--token", TOKEN)
    board.token = TOKEN
    return board


def test_a_token_is_given_once_in_a_form(closed: Board, open_page: Open, axe: str) -> None:
    closed.push("secret-run", 1, points(0, 30))
    page = open_page(f"{closed.address}/training", locale="en-GB")
    page.watch.expected += ["401"]
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert "secret-run" not in page.content()
    assert faults(page, axe) == []
    page.get_by_label("Access token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").filter(has_text="not the token")).to_be_visible()
    page.get_by_label("Access token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.locator("#run-name")).to_have_text("secret-run")
    expect(page.locator("#link")).to_have_text("Live")
    cookie = next(each for each in page.context.cookies() if each["httpOnly"])
    assert cookie["sameSite"] == "Strict"
    assert TOKEN not in cookie["value"]
    page.goto(f"{closed.address}/sign-in?next=//elsewhere.example/")
    expect(page.locator("#run-name")).to_have_text("secret-run")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{closed.address}/training")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_cookie_is_good_for_our_own_pages_only(closed: Board) -> None:
    """Another page, on another port of the same host, is not ours; and no cookie can be guessed."""
    own = {"Origin": closed.address}
    session = requests.Session()
    form = {"token": TOKEN, "next": "/training"}
    assert session.post(f"{closed.address}/sign-in", data=form).status_code == 400
    signed = session.post(f"{closed.address}/sign-in", data=form, headers=own)
    assert signed.url == f"{closed.address}/training"
    push = {"sequence": 1, "points": points(0, 3)}
    url = f"{closed.address}/runs/a/points"
    assert session.get(f"{closed.address}/runs").ok
    assert session.post(url, json=push).status_code == 401
    for strange in ({"Origin": "http://127.0.0.1:1"}, {"Sec-Fetch-Site": "same-site"} | own):
        assert session.post(url, json=push, headers=strange).status_code == 401
    assert session.post(url, json=push, headers=own).ok
    (name,) = session.cookies.keys()
    for value in ("", "0" * 64, TOKEN):
        cookies = {name: value}
        assert requests.get(f"{closed.address}/runs", cookies=cookies).status_code == 401
        page = requests.get(f"{closed.address}/training", cookies=cookies, allow_redirects=False)
        assert page.status_code == 302


def test_pages_allow_nothing_that_is_not_ours(shared: Board) -> None:
    """A strict policy, no inline script or style; files are kept by the browser, pages are not."""
    page = requests.get(f"{shared.address}/training")
    policy = page.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert page.headers["Cache-Control"] == "no-store"
    assert " style=" not in page.text
    assert "onclick" not in page.text
    script = next(part for part in page.text.split('"') if part.endswith("plotly.min.js"))
    answer = requests.get(shared.address + script)
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(answer.content) > 1_000_000
    for name in ("..%2f__init__.py", "%2e%2e/__init__.py", "nothing.js"):
        assert requests.get(f"{shared.address}/static/x/{name}").status_code == 404


def test_every_file_of_the_pages_is_served(shared: Board) -> None:
    from driftline.serving.pages.assets import FOLDER

    for path in FOLDER.iterdir():
        answer = requests.get(f"{shared.address}/static/x/{path.name}")
        assert answer.ok
        assert answer.content == path.read_bytes()


def test_both_languages_have_all_words() -> None:
    from driftline.serving.pages.words import PAGES

    for texts in PAGES.values():
        for key, (en, zh) in texts.items():
            assert en.strip(), key
            assert zh.strip(), key
            assert en.count("{}") == zh.count("{}"), key


def test_words_that_modules_ask_for_are_there() -> None:
    import re

    from driftline.serving.pages.assets import FOLDER
    from driftline.serving.pages.words import PAGES

    known = {key for texts in PAGES.values() for key in texts}
    for path in FOLDER.glob("*.js"):
        for key in re.findall(r'\bsay\("(\w+)"', path.read_text()):
            assert key in known, f"{path.name}: {key}"


def test_pages_answer_for_people_whose_training_is_over(
    shared: Board, run: str, open_page: Open
) -> None:
    """The report that a training left is one click away."""
    shared.push(run, 1, points(0, 30))
    page = open_page(f"{shared.address}/training#run={run}")
    expect(page.locator("#run-name")).to_have_text(run)
    expect(page.locator("#report")).to_be_hidden()
    requests.put(f"{shared.address}/runs/{run}/report", data=b"# All went well").raise_for_status()
    page.reload()
    expect(page.locator("#report")).to_be_visible()
    page.locator("#report").click()
    until(lambda: "All went well" in page.content(), 10, "the report")


def test_an_ended_run_says_so_and_its_report_appears_by_itself(
    shared: Board, run: str, open_page: Open
) -> None:
    """The report is written after the training said that it ended."""
    shared.push(run, 1, points(0, 30))
    page = open_page(f"{shared.address}/training#run={run}")
    expect(page.locator("#run-state")).to_have_text("live")
    over = {"step": 29, "time": 1e9, "rule": "ended", "severity": "info", "sentence": "Finished."}
    shared.push(run, 2, [], [over])
    expect(page.locator("#run-state")).to_have_text("ended", timeout=15_000)
    requests.put(f"{shared.address}/runs/{run}/report", data=b"# All went well").raise_for_status()
    expect(page.locator("#report")).to_be_visible(timeout=15_000)
