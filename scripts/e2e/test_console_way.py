"""A person's way at a real server with 300 streams, from the first screen to a stream that is healthy, played, and
shared: which one is sick and why, why its address does not play, the line of configuration, and its QR code."""

import re
import signal

import pytest

from lib import api, http, page
from lib.console_server import assert_on_screen, console, start, wait_text
from lib.many import Many, name
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="needs chromium and the pages (make console)")

STREAMS, SICK = 300, 207
STREAM = f"live/{name(SICK)}"
BAD = f".attention li[data-stream='{STREAM}']"


@pytest.fixture(scope="module")
def chromium():
    with page.browser() as browser:
        yield browser


def find(chromium, server, look, **options):
    """On the first screen: the stream's name, what it has and what to do."""
    with page.opened(chromium, console(server), **options) as tab:
        assert_on_screen(tab, f"{BAD} .mark.bad")
        assert_on_screen(tab, f"{BAD} a")
        words = tab.page.inner_text(BAD)
        assert "keyframe age" in words and re.search(r"\d\d s", words) and "every 2 s" in words, words
        assert "Broken: 1" in tab.page.inner_text(".attention-links"), "no other one is"
        tab.screenshot(f"console-way-{look}")
        tab.check_width()


def open_sick(tab):
    tab.page.click(f"{BAD} a")
    wait_text(tab, ".stream-name", STREAM)
    wait_text(tab, "[data-check=keyframe_age]", r"keyframe age\s+\d\d(\.\d)? s")
    assert tab.page.get_attribute(".stream-head .verdict", "data-verdict") == "bad"


def ask_why(tab, url):
    page.go(tab, "why")
    tab.page.fill("input[name=url]", url)
    tab.page.click("main form button")


def put_into_vhost(server, line):
    """What is within the vhost's braces of that line."""
    inner = re.fullmatch(r"vhost __defaultVhost__ \{ (.*) \}", line)
    assert inner, line
    server.conf_path.write_text(server.conf.replace("vhost __defaultVhost__ {", f"vhost __defaultVhost__ {{ {inner[1]}"))
    mark = server.log_mark()
    server.signal(signal.SIGHUP)
    server.wait_log(r"reload: .* 1 changes, 1 of them in force", 10, mark)


def test_from_300_streams_to_the_one_that_plays(servers, chromium):
    server = start(servers, vhosts="vhost __defaultVhost__ { play { mw_latency 100; } }\n")
    with Many(server, STREAMS, SICK) as many:
        url = f"http://127.0.0.1:{server.http_port}/{STREAM}.flv"

        def counts():
            assert many.error is None, f"the publishers were disturbed: {many.error}"
            return api.ask(server, "/api/v1/overview")["overview"]["verdicts"]

        wait_until(lambda: counts()["sick"] == 1 and sum(counts().values()) == STREAMS, 40, lambda: f"one of {STREAMS} is sick: {counts()}")
        find(chromium, server, "phone", size=page.PHONE)
        find(chromium, server, "desktop")
        with page.opened(chromium, console(server)) as tab:
            open_sick(tab)
            ask_why(tab, url)
            wait_text(tab, "[data-why=bad]", "HTTP-FLV is not enabled in vhost")
            line = tab.page.inner_text("[data-check='protocol of the vhost'] code")
            assert http.get_status(server.http_port, f"/{STREAM}.flv") == 404
            put_into_vhost(server, line)
            tab.page.click("main form button")
            wait_text(tab, "[data-check=playing]", r"[1-9]\d* video and 0 audio frames")
            assert not tab.page.locator("[data-why=bad]").count(), tab.page.inner_text("[data-why]")
            with http.Live(server.http_port, f"/{STREAM}.flv", timeout=scaled(20)) as player:
                wait_until(player.tags, 10, "it plays")
            page.go(tab, "streams")
            tab.page.fill("input[type=search]", name(SICK))
            tab.page.click(f".vt-rows a:text-is('{STREAM}')")
            tab.page.click(".stream-head button:has-text('Share')")
            wait_text(tab, "[data-address=flv] code", re.escape(url))
            wait_until(lambda: tab.page.locator("svg.qr path").count(), 10, "the code is shown")
            tab.check_accessible()
