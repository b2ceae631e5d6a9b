"""The players and the start page, as `make console` bundles them, in Chromium: moving pictures of a real stream by each
protocol, shared addresses, a reverse proxy, publishing by WHIP, and the comparison of latencies. The published video
carries the wall clock as scripts/run has ffmpeg write it, so the latencies are measured."""

import re

import pytest

from conftest import Servers
from lib import api, nginx, page, players, rtc
from lib.players import (
    PROTOCOLS, STATE, USUAL, address, assert_moving, describe, figures, milliseconds, pattern, player, session_ids, start_server,
    wait_gone, wait_measured, wait_problem, wait_state, watch_problems, words,
)  # fmt: skip
from lib.server import ROOT
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="scripts/test installs Chromium and bundles the pages")

NAMES = {"flv": "HTTP-FLV", "ws-flv": "WS-FLV", "hls": "HLS", "ll-hls": "LL-HLS", "dash": "DASH", "whep": "WebRTC (WHEP)"}
VIEWS = (*PROTOCOLS, "compare", "whip")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("players")
    with players.site(Servers(directory), directory) as server:
        yield server


@pytest.fixture(scope="module")
def chromium():
    with page.browser(*rtc.FLAGS.split()) as browser:
        yield browser


@pytest.mark.parametrize("ms", [0, 1, 2**21, 2**22 - 1, 2**22, 3 * 2**21 - 1, 3 * 2**21, 2**23 + 5, 1_795_571_640_123])
def test_frames_say_the_time(ms):
    """The code repeats after 2^22 ms, in every one of these periods alike."""
    assert players.time_in_frame(ms) == ms % 2**22


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plays(site, chromium, protocol):
    before = session_ids(site)
    with page.opened(chromium, player(site, protocol)) as opened:
        # By the keyboard: the button in the form has the focus, Enter starts it.
        opened.page.get_by_role("button", name="Play", exact=True).first.focus()
        opened.page.keyboard.press("Enter")
        assert_moving(opened)
        assert wait_measured(opened, 15_000 if protocol == "hls" else 4000) >= 0
        wait_until(lambda: figures(opened)["fps"] != "–" and 15 < float(figures(opened)["fps"]) < 40, 15, lambda: f"25 frames per second: {figures(opened)}")
        seen = figures(opened)
        assert seen["resolution"] == f"{players.WIDTH} × {players.HEIGHT}", seen
        assert re.search(r"avc1|H264", seen["codecs"]) and re.search(r"mp4a|opus", seen["codecs"]), seen
        wait_until(lambda: re.fullmatch(r"[2-9]\d\d kbit/s|1\.\d+ Mbit/s", figures(opened)["bitrate"]), 10, lambda: f"the bitrate: {figures(opened)}")
        assert int(seen["dropped"]) >= 0 and milliseconds(seen["start"]) < scaled(20_000), seen
        opened.screenshot(f"player-{protocol}")
        opened.check_accessible()
        opened.page.get_by_role("button", name="Stop", exact=True).click()
        wait_state(opened, "idle")
        wait_gone(site, before)


@pytest.mark.long
def test_shared_links(site, chromium):
    """The page writes them, and what they open starts without audio, for browsers demand a click for that."""
    with page.opened(chromium, player(site, "flv", stream="other", vhost="v.example")) as opened:
        opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        assert opened.page.get_by_label("Address").input_value() == site.http_url("live/other.flv?vhost=v.example")
        opened.page.get_by_label("Stream", exact=True).fill("one")
        opened.page.get_by_label("Vhost").fill("")
        opened.page.get_by_role("button", name="Copy a link").click()
        opened.page.get_by_text("Copied").first.wait_for()
        link = opened.page.evaluate("navigator.clipboard.readText()")
        assert link == player(site, "flv", autostart="true"), link
        assert opened.page.url == player(site, "flv"), "a reload must not start it"
        for shared in (
            link,
            address(site, "players/", url=site.http_url("live/one.flv"), autostart=None),
            address(site, "players/", url=site.http_url("live/one.flv").replace("http", "ws"), autostart="true"),
            address(site, "players/", url=site.http_url("live/one.m3u8"), autostart="1"),
            address(site, "players/", url=site.http_url("live/one.mpd"), autostart="1"),
        ):
            opened.page.goto(shared)
            wait_state(opened, "playing")
            assert opened.page.evaluate("document.querySelector('video').muted"), shared
        opened.page.get_by_role("button", name="Unmute").click()
        assert not opened.page.evaluate("document.querySelector('video').muted"), "it should be audible after the click"
        opened.page.goto(player(site, "flv", autostart="false"))
        assert opened.page.evaluate(STATE) == "idle", "autostart=false should start nothing"


@pytest.mark.long
def test_whip_publishes_and_waiting_players_play(site, chromium):
    """Players by WHEP and HTTP-FLV come first; the pattern of the page carries the wall clock, too."""
    place = {"stream": "pattern"}
    with (
        page.opened(chromium, player(site, "whep", autostart="true", **place)) as whep,
        page.opened(chromium, player(site, "flv", autostart="true", **place)) as flv,
        page.opened(chromium, player(site, "whip", **place)) as whip,
    ):
        for one in (whep, flv):
            one.page.locator(".state", has_text="Nobody publishes this stream yet").wait_for()
        whip.page.get_by_role("button", name="Publish", exact=True).click()
        wait_state(whip, "publishing")
        assert_moving(whep)
        assert_moving(flv)
        wait_measured(whep, 1000)
        wait_measured(flv, 2000)
        wait_until(lambda: figures(whip)["resolution"] == "640 × 360" and "H264" in figures(whip)["codecs"], 10, lambda: figures(whip), 0.2)
        whip.screenshot("publish")
        whip.check_accessible()
        watch_problems(flv)
        whip.page.get_by_role("button", name="Stop", exact=True).click()
        rtc.wait_sessions(site, "rtc-publish", 0, 5)
        problem = wait_problem(flv)
        assert "has ended" in problem or "Nobody publishes" in problem, problem


@pytest.mark.long
def test_busy_name_and_camera(site, chromium):
    """A name that is taken, then the browser's camera under another one."""
    with page.opened(chromium, player(site, "whip")) as opened:
        opened.page.get_by_role("button", name="Publish", exact=True).click()
        opened.page.locator(".problem").wait_for()
        assert "Somebody else publishes this stream" in words(opened), words(opened)
        opened.errors = [one for one in opened.errors if "409" not in one]
        opened.page.get_by_label("Stream", exact=True).fill("camera")
        opened.page.get_by_label("Source").select_option("camera")
        opened.page.get_by_role("button", name="Publish", exact=True).click()
        wait_state(opened, "publishing")
        api.wait_stream(site, "camera", lambda stream: stream["publish"]["active"] and stream["video_frames"] > 10)
        opened.page.goto(player(site, "whep"))
        rtc.wait_sessions(site, "rtc-publish", 0, 5)


def latencies_of(opened):
    rows = "[...document.querySelectorAll('tr[data-protocol]')].map((row) => ({...row.dataset}))"
    return {row["protocol"]: float(row["latency"]) for row in opened.page.evaluate(rows) if row["measured"] == "true" and row["latency"]}


def test_comparison(site, chromium):
    with page.opened(chromium, player(site, "compare", autostart="true")) as opened:

        def in_order():
            ms = latencies_of(opened)
            is_complete = set(ms) == set(USUAL) and 0 < ms["whep"] < 1000 < ms["hls"]
            return is_complete and ms["whep"] < ms["flv"] < ms["hls"] and ms["whep"] < ms["ws-flv"] < ms["hls"] and ms["whep"] < ms["ll-hls"] < ms["hls"] and ms

        seen = wait_until(in_order, 40, lambda: f"WebRTC before FLV before HLS: {latencies_of(opened)}; {describe(opened)}", 0.3)
        print(f"latencies in ms: {seen}")
        opened.screenshot("compare")
        opened.check_accessible()
        opened.check_width()


@pytest.mark.long
def test_behind_a_proxy_below_a_path(site, chromium, tmp_path):
    before = session_ids(site)
    with nginx.in_front_of(site, tmp_path) as port, page.opened(chromium, address(site, port=port, below="media/")) as opened:
        opened.page.get_by_role("heading", name="Watch live/one").wait_for()  # before the list of streams it is another
        opened.page.get_by_role("button", name="HTTP-FLV").click()
        assert_moving(opened)
        for protocol in ("ws-flv", "hls", "whep"):
            opened.page.goto(address(site, "players/", port, "media/", protocol=protocol, stream="one", autostart=None))
            assert_moving(opened)
            assert f"127.0.0.1:{port}/media/" in opened.page.get_by_label("Address").input_value()
        opened.page.get_by_role("button", name="Stop", exact=True).click()
        wait_gone(site, before)


def test_start_page(site, chromium):
    with page.opened(chromium, address(site)) as opened:
        opened.page.get_by_role("heading", name="Watch live/one").wait_for()
        for protocol in USUAL:
            opened.page.get_by_role("button", name=f"▶ {NAMES[protocol]}", exact=True).click()
            assert_moving(opened)
        text = opened.page.inner_text("main")
        for wanted in ("rtmp://127.0.0.1/live/livestream", "OBS", f"http://127.0.0.1:{site.http_port}/rtc/v1/whip/?app=live&stream=livestream"):
            assert wanted in text, f"{wanted!r} should be in {text!r}"
        opened.screenshot("start")
        links = opened.page.evaluate("[...document.querySelectorAll('main a, header a')].map((a) => a.href)")
        for path in ("console/", "players/", "players/?protocol=whip&app=live&stream=livestream"):
            assert address(site, path) in links, f"{path} should be among {links}"
        opened.page.get_by_role("link", name="Open it in the players").click()
        assert_moving(opened)


def test_the_start_page_proposes_a_free_name(servers, chromium, tool):
    """Its first command must not be refused because the name is being published."""
    server = start_server(servers)
    tool(pattern(server, "live/livestream"))
    with page.opened(chromium, address(server)) as opened:
        opened.page.get_by_role("heading", name="Watch live/livestream").wait_for()
        opened.page.get_by_text("rtmp://127.0.0.1/live/livestream2").wait_for()
        assert "stream=livestream2" in opened.page.inner_text("main"), "WHIP, too"


def test_start_page_without_a_stream(servers, chromium, tool):
    """It says so, and offers the stream when there is one."""
    server = start_server(servers)
    with page.opened(chromium, address(server)) as opened:
        opened.page.get_by_text("No stream is published now.").wait_for()
        opened.check_accessible()
        opened.screenshot("start-empty")
        tool(pattern(server, "live/new"))
        opened.page.get_by_role("heading", name="Watch live/new").wait_for()
        opened.page.get_by_role("button", name="WebRTC").click()
        assert_moving(opened)
        opened.page.get_by_role("button", name="Stop", exact=True).click()


# Colours do not depend on the size, and what fits not on colours.
LOOKS = {
    "light": {},
    "phone": {"size": page.PHONE, "dark": True},
    "phone-chinese": {"size": page.PHONE, "dark": True, "language": "zh-CN"},
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.long
def test_everybody_can_use_it(site, chromium, look):
    with page.opened(chromium, address(site), **LOOKS[look]) as opened:
        for view in ("", *VIEWS):
            opened.page.goto(player(site, view) if view else address(site))
            opened.page.locator("main h1").wait_for()
            if "chinese" not in look:
                opened.check_accessible()
            opened.check_width()
            opened.screenshot(f"{view or 'start'}-{look}")


# ---- Languages

SOURCES = ROOT / "src/web"


def test_each_text_is_translated():
    texts = set()
    for folder in ("players", "start"):
        for source in (SOURCES / folder).glob("*.js"):
            texts |= set(re.findall(r'\bt\(\s*"((?:[^"\\]|\\.)*)"', source.read_text()))
    assert len(texts) > 100, "the texts should be found"
    chinese = (SOURCES / "players/chinese.js").read_text() + (SOURCES / "shared/chinese.js").read_text()
    keys = {quoted or plain for quoted, plain in re.findall(r'^    (?:"((?:[^"\\]|\\.)*)"|(\w+)):', chinese, re.MULTILINE)}
    assert not texts - keys, f"without a translation: {sorted(texts - keys)}"
    own = {quoted or plain for quoted, plain in re.findall(r'^    (?:"((?:[^"\\]|\\.)*)"|(\w+)):', (SOURCES / "players/chinese.js").read_text(), re.MULTILINE)}
    assert not own - texts, f"translated, and not used: {sorted(own - texts)}"


@pytest.mark.long
def test_chinese(site, chromium):
    with page.opened(chromium, player(site, "flv", autostart="true"), language="zh-CN") as opened:
        assert_moving(opened)
        assert opened.page.inner_text("h1") == "播放器" and opened.page.inner_text(".state") == "正在播放"
        assert opened.page.evaluate("document.documentElement.lang") == "zh-CN"
        opened.page.locator("header select").select_option("en")
        assert opened.page.inner_text(".state") == "Playing", "it should go on playing, in English"
        opened.page.reload()
        assert opened.page.inner_text("h1") == "Players", "the choice should be kept"
