"""The charts of the console begin full from the server's memory, of ten minutes, an hour and a day."""

import contextlib
import json
import re

import pytest

from lib import api, http, page, rtmp
from lib.console_api import ConsoleApi
from lib.timing import wait_until
from test_console import DRAWN, LOOKS, console, start, wait_text

pytestmark = pytest.mark.skipif(not page.is_there(), reason="needs chromium and the pages (make console)")


@pytest.fixture(scope="module")
def chromium():
    with page.browser() as browser:
        yield browser


@pytest.fixture
def many():
    with contextlib.closing(ConsoleApi(30, 30)) as made:
        yield made


def asked(many, step):
    return [path for path in many.asked if "/history?" in path and re.search(rf"step={step}\b", path)]


@pytest.mark.parametrize("look", LOOKS)
def test_the_overview_begins_full(many, chromium, look):
    with page.opened(chromium, many.url, **LOOKS[look]) as tab:
        wait_text(tab, "[data-tile=out] .tile-value", r"^[1-9][\d.]* [kMG]bit/s")
        wait_text(tab, "[data-chart=traffic] [data-value=out]", r"^[1-9][\d.]* [kMG]bit/s")
        assert tab.page.locator("[data-chart=players] [data-value=rtmp]").count() == 1, "players of the past have a line"
        assert len(asked(many, 2)) == 1, f"ten minutes are requested once: {many.asked}"
        for period, step in (("hour", 10), ("day", 300)):
            tab.page.click(f"[data-period={period}]")
            wait_until(lambda step=step: asked(many, step), 5, f"{period}: {many.asked}")
            wait_text(tab, "[data-chart=traffic] [data-value=out]", r"^[1-9][\d.]* [kMG]bit/s")
            assert tab.page.get_attribute(f"[data-period={period}]", "aria-pressed") == "true"
            assert tab.page.get_attribute("[data-period=minutes]", "aria-pressed") == "false"
            assert tab.page.evaluate(DRAWN) == [True] * 5, f"{period}: every chart should be drawn"
        tab.check_accessible()
        tab.check_width()
        tab.screenshot(f"console-history-{look}")
        tab.page.click("[data-period=minutes]")
        assert len(asked(many, 2)) == 1, "they are there already"


@pytest.mark.parametrize("look", LOOKS)
def test_a_stream_has_its_own(many, chromium, look):
    with page.opened(chromium, many.url + "#/streams/vid-00004", **LOOKS[look]) as tab:
        wait_text(tab, "[data-chart=stream-traffic] [data-value=in]", r"^[1-9][\d.]* [kMG]bit/s")
        wait_text(tab, "[data-chart=stream-fps] [data-value=fps]", r"^[1-9][\d.]*$")
        wait_text(tab, "[data-chart=stream-lag] [data-value=lag]", r"^\d+ ms$")
        assert all("stream=vid-00004" in path for path in asked(many, 2)[1:]), many.asked
        first = [path for path in asked(many, 2) if "stream=" in path]
        wait_until(lambda: len([path for path in asked(many, 2) if "stream=" in path]) > len(first), 8, "it goes on")
        latest = [path for path in asked(many, 2) if "stream=" in path][-1]
        assert re.search(r"from=\d{13}", latest), f"only what is new is requested: {latest}"
        tab.page.click("[data-period=day]")
        wait_until(lambda: asked(many, 300), 5, f"the day: {many.asked}")
        wait_text(tab, "[data-chart=stream-traffic] [data-value=in]", r"^[1-9][\d.]* [kMG]bit/s")
        tab.page.locator(".past").scroll_into_view_if_needed()
        tab.check_accessible()
        tab.check_width()
        tab.screenshot(f"console-stream-history-{look}")


def test_of_a_stream_that_ended(servers, chromium):
    server = start(servers)
    with contextlib.closing(rtmp.publisher(server, "live", "one")):
        api.wait_stream(server, "one", lambda one: one["publish"]["active"])
        own = api.streams(server)["one"]["id"]
        wait_until(lambda: has_points(server, own), 10, "no second of the stream is known")
    wait_until(lambda: "one" not in api.streams(server), 10, "the stream is gone")
    incident = api.ask(server, f"/api/v1/incidents?stream={own}")["incidents"][0]
    assert (incident["kind"], incident["to_ms"]) == ("publisher_gone", None), incident
    known = lambda: [(one["id"], one["published"]) for one in api.ask(server, "/api/v1/history/streams?search=one")["streams"]]  # noqa: E731
    wait_until(lambda: known() == [(own, False)], 5, lambda: f"it has ended: {known()}")
    with page.opened(chromium, console(server) + f"#/streams/{own}") as tab:
        wait_text(tab, "[role=alert]", "no such stream")
        wait_text(tab, "[data-chart=stream-traffic] h2", "Bitrate")
    api.ask(server, "/api/v1/history?stream=vid-none", code=2048)


def has_points(server, own):
    with http.Connection(server.api_port) as connection:
        connection.request("GET", f"/api/v1/history?stream={own}")
        return json.loads(connection.read_response("GET").body).get("points", 0) > 0
