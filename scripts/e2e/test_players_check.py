"""The page that checks the connection between a browser and the server: its figures over a link of a known rate, and what it
says where it may not measure. A check takes 25 s."""

import contextlib
import re

import pytest

from lib import http, media, metrics, page, players, publishing, rtc, rtmp
from lib.players import address
from lib.timing import wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="scripts/test installs Chromium and bundles the pages")

CONF = players.TOP + "bandwidth_check { enabled on; %s }\n"
MEASURES = "document.querySelector('progress') !== null"
RTC = "Object.fromEntries([...document.querySelectorAll('[data-rtc]')].map((e) => [e.dataset.rtc, e.textContent]))"
RATES = "Object.fromEntries([...document.querySelectorAll('[data-kbps]')].map((e) => [e.dataset.figure, Number(e.dataset.kbps)]))"


@pytest.fixture(scope="module")
def chromium():
    with page.browser(*rtc.FLAGS.split()) as browser:
        yield browser


def start(servers, directives="", more=""):
    return servers(top=CONF % directives + more, vhosts=players.VHOST)


def begin(server):
    """The status: of a client that is no browser."""
    with http.Connection(server.http_port) as connection:
        connection.request("POST", "/api/v1/bandwidth")
        return connection.read_response("POST").status


def shown(opened):
    return opened.page.inner_text("main")


def measure(opened):
    opened.page.get_by_role("button", name="Measure", exact=True).click()
    wait_until(lambda: opened.page.evaluate(MEASURES), 5, lambda: f"it measures: {shown(opened)}")
    wait_until(lambda: opened.page.evaluate(RATES) or opened.page.query_selector(".problem"), 60, lambda: f"figures: {shown(opened)}")
    rates = opened.page.evaluate(RATES)
    assert len(rates) == 4, shown(opened)
    return rates


def test_up_to_the_ceiling_of_the_server(servers, chromium):
    """Loopback is faster than all checks together may be."""
    server = start(servers, "max_kbps 8000;")
    with page.opened(chromium, address(server, "players/check.html")) as opened:
        rates = measure(opened)
        for name, kbps in rates.items():
            assert 6800 < kbps < 9200, f"{name}: 8000 kbit/s are what the server gives: {rates}"
        assert "at least so much. The server gives 8.00 Mbit/s to all checks together" in shown(opened), shown(opened)
        assert opened.page.inner_text("[data-verdict=play]") == "up to 1080p", shown(opened)
        assert re.fullmatch(r"up to (4\.[7-9]|5\.\d|6\.[0-4])0 Mbit/s", opened.page.inner_text("[data-verdict=publish]")), shown(opened)
        fits = opened.page.evaluate("Object.fromEntries([...document.querySelectorAll('[data-rung]')].map((e) => [e.dataset.rung, e.dataset.fits]))")
        assert (fits["2160p"], fits["1080p60"], fits["1080p"]) == ("no", "tight", "yes"), fits
        opened.check_accessible()
        opened.screenshot("check")


def test_the_sizes_of_a_stream(servers, chromium):
    """Those of its variants, with the bitrates that they have."""
    vhost = players.VHOST.replace("hls { enabled on;", "hls { enabled on; hls_variants live/x_540p live/x_360p live/x_180p;")
    server = servers(top=CONF % "max_kbps 20000;", vhosts=vhost)
    with contextlib.ExitStack() as stack:
        for name in media.LADDER:
            client = stack.enter_context(rtmp.publisher(server, "live", f"x_{name}"))
            stack.enter_context(publishing.Steady(client, media.tags(media.ladder(name))))
        wait_until(lambda: http.get(server.http_port, "/live/x.m3u8").body.count(b"RESOLUTION=") == 3, 20, "a playlist of three")
        with page.opened(chromium, address(server, "players/check.html") + "?app=live&stream=x") as opened:
            measure(opened)
            rungs = opened.page.evaluate("[...document.querySelectorAll('[data-rung]')].map((e) => [e.dataset.rung, e.dataset.fits])")
            assert rungs == [["270p", "yes"], ["180p", "yes"], ["90p", "yes"]], shown(opened)
            assert "those that live/x has now" in shown(opened), shown(opened)
            assert opened.page.inner_text("[data-verdict=play]") == "up to 270p", shown(opened)
            opened.check_accessible()


LOOKS = {
    "phone": {"size": page.PHONE},
    "phone-chinese": {"size": page.PHONE, "dark": True, "language": "zh-CN"},
    "tablet": {"size": (768, 1024), "dark": True},
    "wide": {"size": (1600, 900)},
}


@pytest.mark.parametrize("look", LOOKS)
def test_looks(servers, chromium, look):
    server = start(servers, "max_kbps 20000;")
    with page.opened(chromium, address(server, "players/check.html"), **LOOKS[look]) as opened:
        opened.check_accessible()
        opened.check_width()
        button = opened.page.locator(".buttons button").first
        button.click()
        wait_until(lambda: "kbit/s" in shown(opened) or "Mbit/s" in shown(opened), 20, lambda: f"a rate: {shown(opened)}")
        opened.check_accessible()
        opened.check_width()
        opened.screenshot(f"check-runs-{look}")
        if look in ("phone-chinese", "wide"):
            wait_until(lambda: opened.page.evaluate(RATES), 60, lambda: f"figures: {shown(opened)}")
            opened.check_accessible()
            opened.check_width()
            opened.page.screenshot(path=page.SCREENSHOTS / f"check-done-{look}.png", full_page=True)
        else:
            opened.page.locator(".buttons button").nth(1).click()
            wait_until(lambda: not opened.page.evaluate(MEASURES), 5, lambda: f"it has stopped: {shown(opened)}")
            assert not opened.page.evaluate(RATES), shown(opened)


@pytest.mark.parametrize("why", ["off", "busy"])
def test_says_why_not(servers, chromium, why):
    server = start(servers, "in_all 1;") if why == "busy" else servers(top=players.TOP, vhosts=players.VHOST)
    if why == "busy":
        assert begin(server) == 200
    with page.opened(chromium, address(server, "players/check.html")) as opened:
        opened.page.get_by_role("button", name="Measure", exact=True).click()
        opened.page.wait_for_selector(".problem")
        wanted = {"off": "This server does not offer the check", "busy": "Too many checks are under way"}[why]
        assert wanted in shown(opened), shown(opened)
        opened.check_accessible()
        status = {"off": 404, "busy": 429}[why]
        opened.errors[:] = [one for one in opened.errors if f"status of {status}" not in one]


def test_leaving_the_page_ends_the_check(servers, chromium):
    server = start(servers, "in_all 1;")
    with page.opened(chromium, address(server, "players/check.html")) as opened:
        opened.page.get_by_role("button", name="Measure", exact=True).click()
        wait_until(lambda: "Down, one connection" in shown(opened), 10, lambda: f"it transfers: {shown(opened)}")
        assert begin(server) == 429, "another check is under way"
        opened.page.goto("about:blank")
        wait_until(lambda: begin(server) == 200, 10, "the check has ended")


def test_by_webrtc(servers, chromium):
    """Loopback: what the encoder makes gets through, and comes back."""
    server = start(servers)
    with page.opened(chromium, address(server, "players/check.html")) as opened:
        opened.page.get_by_role("button", name="Measure WebRTC").click()
        wait_until(lambda: opened.page.evaluate(RTC) or opened.page.query_selector(".problem"), 60, lambda: f"figures: {shown(opened)}")
        seen = opened.page.evaluate(RTC)
        print(seen)
        assert re.search(r"bit/s", seen["rtc-up"]) and re.search(r"[1-9].*bit/s, [\d.]+ % lost", seen["rtc-sent"]), seen
        assert re.search(r"[1-9].*bit/s, [\d.]+ % lost", seen["rtc-down"]), seen
        opened.check_accessible()
        opened.page.screenshot(path=page.SCREENSHOTS / "check-rtc.png", full_page=True)


def test_counters(servers):
    server = start(servers, "in_all 1;", metrics.EXPORTER % "")
    assert [begin(server), begin(server)] == [200, 429]
    seen = metrics.Metrics(server)
    assert seen.value("srs_bandwidth_checks") == 1
    assert seen.value("srs_bandwidth_checks_total") == 1
    assert seen.value("srs_bandwidth_checks_refused_total", limit="all") == 1
