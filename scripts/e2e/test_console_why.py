"""The console's page that says why a URL does not play."""

import contextlib
import signal

import pytest

from lib import media, page, publishing, rtmp
from lib.console_server import console, start, wait_text
from lib.server import default_vhost
from lib.timing import wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="needs chromium and the pages (make console)")

LOOKS = {"light": {}, "phone": {"size": page.PHONE, "dark": True}}


@pytest.fixture(scope="module")
def chromium():
    with page.browser() as browser:
        yield browser


@contextlib.contextmanager
def publishing_s(server):
    tags = media.from_keyframe(media.frequent_keyframes())
    with publishing.Steady(rtmp.publisher(server, "live", "s"), tags) as steady:
        wait_until(lambda: steady.sent, 5, "the publisher sends")
        yield


@pytest.mark.parametrize("look", LOOKS)
def test_the_line_that_is_missing(servers, chromium, look):
    server = start(servers)
    with publishing_s(server):
        with page.opened(chromium, console(server, "#/why"), **LOOKS[look]) as tab:
            tab.page.fill("input[name=url]", f"http://127.0.0.1:{server.http_port}/live/s.m3u8")
            tab.page.click("main form button")
            wait_text(tab, "[data-why=bad]", "HLS is not enabled in vhost")
            wait_text(tab, "[data-check='protocol of the vhost'] code",
                      r"^vhost __defaultVhost__ \{ hls \{ enabled on; \} \}$")  # fmt: skip
            tab.check_accessible()
            tab.check_width()
            tab.screenshot(f"console-why-{look}")
            tab.page.fill("input[name=url]", server.rtmp_url("live/s"))
            tab.page.click("main form button")
            wait_text(tab, "[data-check=playing]", r"[1-9]\d* video and [1-9]\d* audio frames")


def test_from_the_stream_to_the_line_that_mends_it(servers, chromium):
    """A person's way: the stream's page, its addresses, one that does not play, why, and again when it is mended."""
    rtc = "rtc_server { enabled on; listen RTC_PORT; candidate 127.0.0.1; }\n"
    server = start(servers, top=rtc, vhosts=default_vhost("rtc { enabled on; }"))
    with publishing_s(server):
        with page.opened(chromium, console(server, "#/streams")) as tab:
            tab.page.click(".vt-rows a:text-is('live/s')")
            tab.page.click(".stream-head button:has-text('Share')")
            tab.page.wait_for_selector("dialog .addresses")
            tab.check_accessible()
            tab.page.click("[data-address=whep] a")
            wait_text(tab, "[data-check=conversion]", "not converted")
            line = tab.page.inner_text("[data-check=conversion] code")
            assert line == "vhost __defaultVhost__ { rtc { rtmp_to_rtc on; } }", line
            server.conf_path.write_text(server.conf.replace("rtc { enabled on; }", "rtc { enabled on; } rtc { rtmp_to_rtc on; }"))
            mark = server.log_mark()
            server.signal(signal.SIGHUP)
            server.wait_log(r"reload: .* changes", 5, mark)
            tab.page.click("main form button")
            wait_text(tab, "[data-check=codecs]", "WebRTC")
            assert not tab.page.locator("[data-check=conversion]").count(), "the line should mend it"
