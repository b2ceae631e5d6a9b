"""The player for pages of other sites, in a frame of one: by the first protocol that plays, with what it waits for, and who
may show which page of the server in a frame."""

import contextlib
import re

import pytest

from lib import api, page, players, rtc, signed_urls
from lib.page import OBJS
from lib.players import READBACK, address
from lib.timing import wait_until
from lib.web import Web

pytestmark = pytest.mark.skipif(not page.is_there(), reason="scripts/test installs Chromium and bundles the pages")

FLV = "http_remux { enabled on; } "
HLS = "hls { enabled on; hls_fragment 1; hls_window 10; hls_storage memory; %s hls_master_m3u8_path_relative on; } "
RTC = "rtc { enabled on; rtmp_to_rtc on; } "
ALL = FLV + HLS % "hls_low_latency on;" + RTC
TOP = "rtc_server { enabled on; listen RTC_PORT; candidate 127.0.0.1; }\nconsole { dir %s; %%s }\n" % (OBJS / "nginx/pages")


@pytest.fixture(scope="module")
def chromium():
    with page.browser(*rtc.FLAGS.split()) as browser:
        yield browser


def start(servers, vhost, console=""):
    server = servers.make(top=TOP % console + api.CONF % "", vhosts="vhost __defaultVhost__ { %s play { rejoin_timeout 500; } }\n" % vhost)
    listen = f"listen 127.0.0.1:{server.api_port}"
    server.conf_path.write_text(server.conf.replace(listen, f"{listen} 127.0.0.1:{server.http_port}"))
    return server.start()


class Frame:
    """A page of another site that shows one of the server's in a frame."""

    def __init__(self, opened):
        self.opened = opened
        self.frame = opened.page.frames[1]

    def ask(self, text):
        return self.frame.evaluate(text)

    def describe(self):
        return f"the frame says {self.frame.evaluate('document.body?.innerText')!r}, {self.protocol()}, {self.ask('document.querySelector(`.screen`)?.dataset.state')}"

    def protocol(self):
        return self.ask("document.querySelector('.embed')?.dataset.protocol")

    def wait_moving(self, seconds=20):
        wait_until(lambda: self.ask("document.querySelector('.screen')?.dataset.state") == "playing", seconds, self.describe, 0.1)
        first = self.ask(READBACK)
        wait_until(lambda: self.ask(READBACK)["frames"] > first["frames"] + 10, 20, lambda: f"10 more frames; {self.describe()}", 0.1)


def other_site(url):
    """Its page is another origin than the server's, by its name."""
    html = f'<!doctype html><html lang="en"><title>Other site</title><body style="margin:0"><iframe title="player" src="{url}" style="width:100%;aspect-ratio:16/9;border:0"></iframe>'
    return Web(lambda request: (200, html.encode() if request.path == "/" else b"", {"Content-Type": "text/html"}))


@pytest.fixture
def embedded(chromium):
    stack = contextlib.ExitStack()

    def opened(url, size=page.DESKTOP, dark=False):
        site = stack.enter_context(other_site(url))
        tab = stack.enter_context(page.opened(chromium, f"http://localhost:{site.port}/", size=size, dark=dark))
        return Frame(tab)

    with stack:
        yield opened


def ignore(frame, *statuses):
    """What the browser itself notes of refused requests."""
    frame.opened.errors[:] = [one for one in frame.opened.errors if not any(f"status of {status}" in one for status in statuses)]


# The vhost, the protocol by which it plays then, and the refusals on the way there.
CASES = {
    "all": (ALL, "whep", []),
    "without-webrtc": (FLV + HLS % "hls_low_latency on;", "ll-hls", [404]),
    "plain-hls": (HLS % "", "ll-hls", [404]),
    "flv-alone": (FLV, "flv", [404]),
}


@pytest.mark.parametrize("case", CASES)
def test_plays_by_what_there_is(servers, tool, embedded, case):
    vhost, protocol, refusals = CASES[case]
    server = start(servers, vhost)
    tool(players.pattern(server))
    api.wait_stream(server, "one", lambda one: one["video_frames"] > 50)
    frame = embedded(address(server, "players/embed.html", stream="one"))
    frame.wait_moving(30)
    assert frame.protocol() == protocol, frame.describe()
    assert frame.ask("document.querySelector('video').muted"), "without a click there is no audio"
    assert frame.ask("document.title") == "live/one"
    wide, high = frame.ask("[document.querySelector('video').clientWidth, document.querySelector('video').clientHeight]")
    assert [wide, high] == frame.ask("[innerWidth, innerHeight]"), "the video has the whole frame"
    frame.opened.screenshot(f"embed-{case}")
    frame.frame.click(".screen-unmute")
    assert not frame.ask("document.querySelector('video').muted")
    ignore(frame, *refusals)


@pytest.mark.parametrize("size", [page.PHONE, page.DESKTOP])
def test_poster_and_accessibility(servers, tool, embedded, size):
    """The newest keyframe, while nothing plays: here as no protocol is tried that the vhost has."""
    server = start(servers, HLS % "")
    tool(players.pattern(server))
    api.wait_stream(server, "one", lambda one: one["video_frames"] > 50)
    frame = embedded(address(server, "players/embed.html", stream="one", protocol="whep"), size=size)
    frame.frame.wait_for_selector(".problem")
    wait_until(lambda: frame.ask("document.querySelector('video').poster").startswith("blob:"), 10, frame.describe)
    assert "There is no such stream" in frame.ask("document.body.innerText"), frame.describe()
    frame.opened.screenshot(f"embed-problem-{size[0]}")
    frame.opened.check_accessible()
    ignore(frame, 404)


@pytest.mark.parametrize("vhost, protocol", [(ALL, "whep"), (HLS % "", "ll-hls")], ids=["all", "hls-alone"])
def test_waits_for_its_publisher(servers, tool, embedded, vhost, protocol):
    server = start(servers, vhost)
    frame = embedded(address(server, "players/embed.html", stream="one"))
    frame.frame.wait_for_selector(".screen-busy")
    frame.opened.page.wait_for_timeout(3000)
    tool(players.pattern(server))
    frame.wait_moving(40)
    assert frame.protocol() == protocol, frame.describe()
    ignore(frame, 404)


@pytest.mark.long
def test_goes_on_when_the_publisher_comes_back(servers, tool, embedded):
    server = start(servers, ALL)
    publisher = tool(players.pattern(server))
    frame = embedded(address(server, "players/embed.html", stream="one"))
    frame.wait_moving()
    publisher.kill()
    wait_until(lambda: frame.ask("document.querySelector('.screen').dataset.state") != "playing", 20, frame.describe, 0.1)
    tool(players.pattern(server))
    frame.wait_moving(30)
    ignore(frame, 404)


def test_parameters_of_the_stream(servers, tool, embedded):
    """Those that are not the page's own are the stream's: here the signature."""
    server = start(servers, ALL.replace("hls_low_latency on;", "hls_low_latency on; hls_ctx on; hls_ts_ctx on;") + f"signed_urls {{ enabled on; publish off; secret {signed_urls.SECRET}; }}")
    tool(players.pattern(server))
    api.wait_stream(server, "one", lambda one: one["video_frames"] > 50)
    plain = address(server, "players/embed.html", app="live", stream="one")
    for protocol in ("whep", "ll-hls", "flv"):
        frame = embedded(f"{plain}&protocol={protocol}&{signed_urls.query('play')}")
        frame.wait_moving(30)
        assert frame.protocol() == protocol
    refused = embedded(plain)
    refused.frame.wait_for_selector(".problem")
    assert "The server refuses this stream" in refused.ask("document.body.innerText"), refused.describe()
    ignore(refused, 401, 403)


def test_which_sites_may_show_which_page(servers, chromium):
    """By the policy of each page, as the browser reads it: what it blocks has no document of ours."""

    def shown(url):
        said = []
        with other_site(url) as site, contextlib.closing(chromium.new_context()) as context:
            tab = context.new_page()
            tab.on("console", lambda message: said.append(message.text))
            tab.goto(f"http://localhost:{site.port}/")
            tab.wait_for_timeout(500)
            return tab.frames[1].url == url, said

    server = start(servers, ALL)
    base = f"http://127.0.0.1:{server.http_port}"
    assert shown(f"{base}/players/embed.html?stream=none")[0], "the player is for all sites by default"
    for path in ("/console/", "/players/", "/players/?protocol=whip", "/start.html"):
        is_shown, said = shown(base + path)
        assert not is_shown and any(re.search("frame-ancestors", text) for text in said), f"{path}: {said}"
    for sites, wanted in (("none", False), ("https://a.example", False), ("https://a.example http://localhost:*", True)):
        some = start(servers, ALL, f"embed_sites {sites};")
        assert shown(f"http://127.0.0.1:{some.http_port}/players/embed.html")[0] == wanted, sites
