"""A real browser, and pages under watch in it."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NoReturn

import pytest

from upto.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Page

    from upto.core import Result

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LOCAL = ("file:", "about:", "data:")


class Tab:
    """A page under watch: what it asked for, complained of and popped up."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: object) -> None:
        self.dialogs.append(dialog.message)  # type: ignore[attr-defined]
        dialog.dismiss()  # type: ignore[attr-defined]


def do_without(what: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"no {what}: continuous integration must have it")
    pytest.skip(f"no {what} on this machine")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        do_without("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        do_without("playwright")
    with sync_playwright() as started:
        context = started.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=executable,
            headless=True,
            args=list(ARGUMENTS),
            viewport={"width": 1280, "height": 900},
        )
        context.set_default_timeout(5_000)
        yield context
        context.close()


@pytest.fixture
def show(browser: BrowserContext, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    """Write results, open them, and check at the end that the page stayed quiet and at home."""
    tabs: list[Tab] = []

    def open_page(*results: Result, scheme: str = "light", width: int = 1280) -> Tab:
        path = Report(results).write(tmp_path / "report.html")
        tab = Tab(browser.new_page())
        tabs.append(tab)
        tab.page.set_viewport_size({"width": width, "height": 900})
        tab.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        tab.page.goto(path.as_uri())
        return tab

    yield open_page
    for tab in tabs:
        tab.page.close()
    for tab in tabs:
        assert tab.requests
        assert [url for url in tab.requests if not url.startswith(LOCAL)] == []
        assert tab.complaints == []
        assert tab.dialogs == []
