"""The players and the start page, as `make console` bundles them, in Chromium: moving pictures of a real stream by each
protocol, shared addresses, a reverse proxy, publishing by WHIP, the comparison of latencies, and words for what goes
wrong. The published video carries the wall clock as scripts/run has ffmpeg write it, so the latencies are measured."""

import functools
import itertools
import re
import subprocess
import urllib.parse

import pytest

from conftest import Servers
from lib import api, page, ports, rtc
from lib.ffmpeg import Process, command
from lib.server import OBJS, ROOT, can_connect
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="scripts/test installs Chromium and bundles the pages")

PROTOCOLS = ("flv", "ws-flv", "hls", "whep")
NAMES = {"flv": "HTTP-FLV", "ws-flv": "WS-FLV", "hls": "HLS", "whep": "WebRTC (WHEP)"}
VIEWS = (*PROTOCOLS, "compare", "whip")
WIDTH, HEIGHT = 320, 180
TOP = "rtc_server { enabled on; listen RTC_PORT; candidate 127.0.0.1; }\nconsole { dir %s; }\n" % (OBJS / "nginx/html")
VHOST = """vhost __defaultVhost__ {
    http_remux { enabled on; mount [vhost]/[app]/[stream].flv; }
    hls { enabled on; hls_fragment 1; hls_window 10; hls_storage memory; hls_master_m3u8_path_relative on; }
    rtc { enabled on; rtmp_to_rtc on; rtc_to_rtmp on; }
    play { rejoin_timeout 500; }
}
"""


def start_server(servers):
    """API, pages and streams at one origin, as in conf/srs.conf."""
    server = servers.make(top=TOP + api.CONF % "", vhosts=VHOST)
    listen = f"listen 127.0.0.1:{server.api_port}"
    server.conf_path.write_text(server.conf.replace(listen, f"{listen} 127.0.0.1:{server.http_port}"))
    return server.start()


def pattern(server, path="live/one"):
    """Words of an ffmpeg that publishes H.264 and AAC with the time code of scripts/run."""
    function = re.search(r"^time_code\(\) \{.*?^\}", (ROOT / "scripts/run").read_text(), re.MULTILINE | re.DOTALL).group(0)
    code = subprocess.run(["bash", "-c", f"{function}\ntime_code"], capture_output=True, text=True, check=True).stdout.strip()
    code = code.replace("scale=1280:48", f"scale={WIDTH}:{HEIGHT // 15}")
    return command(
        "-re", "-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}:rate=25", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100",
        "-filter_complex", code, "-map", "[video]", "-map", "1:a", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency",
        "-pix_fmt", "yuv420p", "-g", 25, "-b:v", "600k", "-c:a", "aac", "-b:a", "64k", "-f", "flv", server.rtmp_url(path),
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A server with a stream, live/one, for all tests of this module."""
    directory = tmp_path_factory.mktemp("players")
    servers = Servers(directory)
    publisher = None
    try:
        server = start_server(servers)
        publisher = Process(pattern(server), directory / "publisher.txt")
        api.wait_stream(server, "one", lambda stream: stream["video_frames"] > 50)
        yield server
        assert publisher.alive(), publisher.describe()
    finally:
        if publisher:
            publisher.kill()
        servers.finish()


@pytest.fixture(scope="module")
def chromium():
    with page.browser(*rtc.FLAGS.split()) as browser:
        yield browser


def address(server, path="", port=None, below="", **query):
    """Of a page; autostart=None for a parameter without a value."""
    text = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
    text += "".join(f"&{name}" for name, value in query.items() if value is None)
    return f"http://127.0.0.1:{port or server.http_port}/{below}{path}{'?' + text if text else ''}"


def player(server, protocol, **query):
    return address(server, "players/", protocol=protocol, **{"app": "live", "stream": "one", **query})


STATE = "document.querySelector('.state')?.dataset.state"
# The frame as colours: 16 by 9 samples; and whether these frames were decoded by then.
READBACK = """() => {
    const video = document.querySelector("video");
    const canvas = new OffscreenCanvas(16, 9), context = canvas.getContext("2d");
    context.drawImage(video, 0, 0, 16, 9);
    return {frames: video.getVideoPlaybackQuality().totalVideoFrames, pixels: [...context.getImageData(0, 0, 16, 9).data]};
}"""


def figures(opened):
    """{"resolution": "320 × 180", ...}"""
    return opened.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-figure]')].map((e) => [e.dataset.figure, e.textContent]))"
    )


def milliseconds(text):
    """Of "≥ 1.23 s" or "45 ms"."""
    value, unit = re.search(r"([\d.]+) (s|ms)$", text).groups()
    return float(value) * (1000 if unit == "s" else 1)


def describe(opened):
    return f"the page says {opened.page.inner_text('main')[:1500]!r}"


def wait_state(opened, wanted, seconds=20):
    wait_until(lambda: opened.page.evaluate(STATE) == wanted, seconds, lambda: f"state {wanted!r}; {describe(opened)}", 0.1)


def assert_moving(opened, seconds=20):
    """Decoded frames rise, and what is seen is not black and changes."""
    wait_state(opened, "playing", seconds)
    first = opened.page.evaluate(READBACK)

    def moved():
        now = opened.page.evaluate(READBACK)
        differs = sum(abs(a - b) > 8 for a, b in zip(first["pixels"], now["pixels"]))
        return now if now["frames"] >= first["frames"] + 15 and differs > 4 else None

    seen = wait_until(moved, 20, lambda: f"15 more frames than {first['frames']}, and another picture; {describe(opened)}", 0.1)
    colours = {tuple(seen["pixels"][i : i + 3]) for i in range(0, len(seen["pixels"]), 4)}
    assert max(map(max, colours)) > 150 and len(colours) > 8, f"the picture should not be black: {sorted(colours)}"


def wait_measured(opened):
    """The latency in ms, once it is read from the frames."""
    text = wait_until(
        lambda: (latency := figures(opened).get("latency", "≥")) and latency[0].isdigit() and latency,
        15, lambda: f"a latency read from the frames; {figures(opened)}", 0.2,
    )  # fmt: skip
    return milliseconds(text)


def session_ids(server):
    """Without those of HLS, which have no end of their own."""
    return {client["id"] for client in api.clients(server) if client["type"] != "hls-play"}


def wait_gone(server, before):
    """Until none is there but those before. A WebRTC session is ended by DELETE: its time limit is far longer."""
    wait_until(lambda: session_ids(server) <= before, 5, lambda: f"no other session than {before}: {api.clients(server)}", 0.1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plays(site, chromium, protocol):
    before = session_ids(site)
    with page.opened(chromium, player(site, protocol)) as opened:
        # By the keyboard: the button in the form has the focus, Enter starts it.
        opened.page.get_by_role("button", name="Play", exact=True).first.focus()
        opened.page.keyboard.press("Enter")
        assert_moving(opened)
        latency = wait_measured(opened)
        assert 0 <= latency < scaled(15_000 if protocol == "hls" else 4000), f"{protocol}: {latency} ms"
        wait_until(lambda: figures(opened)["fps"] != "–" and 15 < float(figures(opened)["fps"]) < 40, 15, lambda: f"25 frames per second: {figures(opened)}")
        seen = figures(opened)
        assert seen["resolution"] == f"{WIDTH} × {HEIGHT}", seen
        assert re.search(r"avc1|H264", seen["codecs"]) and re.search(r"mp4a|opus", seen["codecs"]), seen
        wait_until(lambda: figures(opened)["bitrate"] != "–", 10, "a bitrate")
        assert int(seen["dropped"]) >= 0 and milliseconds(seen["start"]) < scaled(20_000), seen
        opened.screenshot(f"player-{protocol}")
        opened.check_accessible()
        opened.page.get_by_role("button", name="Stop", exact=True).click()
        wait_state(opened, "idle")
        wait_gone(site, before)


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
        ):
            opened.page.goto(shared)
            wait_state(opened, "playing")
            assert opened.page.evaluate("document.querySelector('video').muted"), shared
        opened.page.get_by_role("button", name="Turn the sound on").click()
        assert not opened.page.evaluate("document.querySelector('video').muted"), "it should be audible after the click"
        opened.page.goto(player(site, "flv", autostart="false"))
        assert opened.page.evaluate(STATE) == "idle", "autostart=false should start nothing"


def words(opened):
    return opened.page.locator(".problem").inner_text()


BAD_ADDRESSES = {
    "javascript:window.hacked=1": "Addresses of javascript: are not played",
    "data:text/html,<script>window.hacked=1</script>": "Addresses of data: are not played",
    "file:///etc/passwd": "Addresses of file: are not played",
    "rtmp://127.0.0.1/live/one": "Addresses of rtmp: are not played",
    "//127.0.0.1/live/one.flv": "This is not an address",
    "<img src=x onerror=window.hacked=1>": "This is not an address",
    "http://a:b@127.0.0.1/live/one.flv": "has a user name or password",
}


def test_addresses_that_are_refused(site, chromium):
    with page.opened(chromium, address(site, "players/")) as opened:
        for (bad, wanted), protocol in zip(BAD_ADDRESSES.items(), itertools.cycle(("flv", "hls", "whep"))):
            opened.page.goto(address(site, "players/", url=bad, protocol=protocol, autostart=None))
            wait_state(opened, "failed", 10)
            assert wanted in words(opened), f"{bad}: {words(opened)!r} should have {wanted!r}"
            assert opened.page.evaluate("[window.hacked, document.querySelectorAll('main img').length]") == [None, 0], bad
            if bad.startswith("<"):
                assert bad in words(opened), "the address should be shown as text"
        opened.page.goto(address(site, "players/", url="ws://127.0.0.1/live/one.flv", protocol="hls", autostart=None))
        wait_state(opened, "failed", 10)
        assert "Choose WS-FLV" in words(opened)
        opened.check_accessible()
        opened.page.goto(address(site, "players/", url="https://elsewhere.example/whip", protocol="whip", autostart=None))
        opened.page.get_by_label("Address").wait_for()
        assert opened.page.locator(".state").inner_text() == "Stopped", "publishing should never start by itself"


EVIL = "<img src=x onerror=window.hacked=1>"
ANSWERS = {403: "The server refuses this stream", 404: "There is no such stream", 400: "This browser does not play the codec",
           500: "The server answered with status 500", 503: "The server has too many clients"}  # fmt: skip


def test_what_a_server_says_is_text(site, chromium):
    """Its answers to WHEP, as this test writes them: each has its words, and the body is shown as text."""

    def answer(route, status, body):
        route.fulfill(status=status, body=body)

    with page.opened(chromium, address(site, "players/")) as opened:
        for status, wanted in ANSWERS.items():
            body = f"no common codec {EVIL}" if status == 400 else EVIL
            opened.page.route("**/rtc/v1/whep/**", functools.partial(answer, status=status, body=body))
            opened.page.goto(player(site, "whep", autostart="true"))
            opened.page.locator(".problem").wait_for()
            assert wanted in words(opened) and EVIL in words(opened), f"{status}: {words(opened)!r} should have {wanted!r}"
            assert opened.page.evaluate("[window.hacked, document.querySelectorAll('main img').length]") == [None, 0], status
            opened.page.unroute("**/rtc/v1/whep/**")
        opened.check_accessible()
        opened.errors = [one for one in opened.errors if "Failed to load resource" not in one]


def test_no_candidate(site, chromium):
    """Answers without candidates, and with one that nothing listens at: the words say CANDIDATE."""
    (dead,) = ports.take()
    with page.opened(chromium, address(site, "players/")) as opened:

        def answer(route, change):
            response = route.fetch()
            route.fulfill(response=response, body=change(response.text()))

        for change, wanted in (
            (lambda sdp: re.sub(r"a=candidate:.*\r\n", "", sdp), "The server named no address"),
            (lambda sdp: re.sub(r"(a=candidate:\S+ \d+ udp \d+ \S+ )\d+", rf"\g<1>{dead}", sdp), f"named 127.0.0.1:{dead}/udp"),
        ):
            opened.page.route("**/rtc/v1/whep/?*app*", functools.partial(answer, change=change))
            opened.page.goto(player(site, "whep", autostart="true"))
            opened.page.locator(".problem").wait_for(timeout=scaled(20) * 1000)
            assert wanted in words(opened) and "CANDIDATE" in words(opened), words(opened)
            opened.page.unroute("**/rtc/v1/whep/?*app*")
        opened.page.get_by_role("button", name="Try again").click()
        assert_moving(opened)
    ports.release([dead])


def test_nothing_of_that_name(site, chromium):
    """By HLS the server says so at once, by WebSocket it waits: the page asks the API."""
    with page.opened(chromium, player(site, "hls", stream="none", autostart="true")) as opened:
        opened.page.locator(".problem").wait_for()
        assert "Nobody publishes this stream" in words(opened) and "404" in words(opened), words(opened)
        assert re.search(r"Next attempt in \d+ s \(\d+ of 10\)", opened.page.locator(".state").inner_text())
        opened.screenshot("player-unpublished")
        opened.check_accessible()
        opened.page.goto(player(site, "ws-flv", stream="none", autostart="true"))
        opened.page.locator(".state", has_text="Nobody publishes this stream yet").wait_for()
        opened.page.get_by_role("button", name="Stop", exact=True).click()
        # Chromium writes so of each 404, and when a page closes a WebSocket that is not open yet.
        expected = "none.m3u8|before the connection is established"
        opened.errors = [one for one in opened.errors if not re.search(expected, one)]


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
        latencies = wait_measured(whep), wait_measured(flv)
        assert latencies[0] < scaled(1000) and latencies[1] < scaled(4000), f"WHEP and HTTP-FLV: {latencies} ms"
        wait_until(lambda: figures(whip)["resolution"] == "640 × 360" and "H264" in figures(whip)["codecs"], 10, lambda: figures(whip), 0.2)
        whip.screenshot("publish")
        whip.check_accessible()
        whip.page.get_by_role("button", name="Stop", exact=True).click()
        rtc.wait_sessions(site, "rtc-publish", 0, 5)
        flv.page.locator(".problem").wait_for()
        assert "has ended" in words(flv) or "Nobody publishes" in words(flv), words(flv)


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


@pytest.mark.parametrize("protocol", ["flv", "ws-flv"])
def test_plays_again_after_a_loss(site, chromium, protocol):
    """The API ends its connection; the page says so and begins again by itself."""
    name = protocol.replace("-", "")
    with page.opened(chromium, player(site, protocol, app="live", stream="one", vhost="", autostart="true", who=name)) as opened:
        assert_moving(opened)
        before = opened.page.evaluate("document.querySelector('video').currentTime")
        for client in api.clients(site):
            if client["type"] == "flv-play" and not client["publish"]:
                api.ask(site, f"/api/v1/clients/{client['id']}", "DELETE")
        opened.page.locator(".problem").wait_for()
        assert before > 0 and re.search("has ended|cannot be reached", words(opened)), words(opened)
        assert_moving(opened)
        assert opened.page.locator(".problem").count() == 0, "the problem is over"


def latencies_of(opened):
    rows = "[...document.querySelectorAll('tr[data-protocol]')].map((row) => ({...row.dataset}))"
    return {row["protocol"]: float(row["latency"]) for row in opened.page.evaluate(rows) if row["measured"] == "true" and row["latency"]}


def test_comparison(site, chromium):
    with page.opened(chromium, player(site, "compare", autostart="true")) as opened:

        def in_order():
            ms = latencies_of(opened)
            return set(ms) == set(PROTOCOLS) and ms["whep"] < ms["flv"] < ms["hls"] and ms["whep"] < ms["ws-flv"] < ms["hls"] and ms

        seen = wait_until(in_order, 40, lambda: f"WebRTC before FLV before HLS: {latencies_of(opened)}; {describe(opened)}", 0.3)
        print(f"latencies in ms: {seen}")
        assert 0 < seen["whep"] < scaled(1000) and seen["hls"] > 1000, seen
        opened.screenshot("compare")
        opened.check_accessible()
        opened.check_width()


NGINX = """
daemon off; master_process off; worker_processes 1; error_log {dir}/error.log; pid {dir}/nginx.pid;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
    server {{
        listen 127.0.0.1:{port};
{snippet}
    }}
}}
"""


@pytest.fixture
def proxied(site, tool, tmp_path):
    """The port of an nginx that serves the site below /media/, by what doc/console.md says."""
    (port,) = ports.take()
    document = (ROOT / "doc/console.md").read_text()
    snippet = re.search(r"^    location /media/ \{.*?^    \}", document, re.MULTILINE | re.DOTALL).group(0)
    conf = tmp_path / "nginx.conf"
    conf.write_text(NGINX.format(dir=tmp_path, port=port, snippet=snippet.replace("127.0.0.1:8080", f"127.0.0.1:{site.http_port}")))
    tool(["nginx", "-e", tmp_path / "error.log", "-c", conf])
    wait_until(lambda: can_connect(port), 10, "nginx listens")
    yield port
    ports.release([port])


def test_behind_a_proxy_below_a_path(site, chromium, proxied):
    below = {"port": proxied, "below": "media/"}
    before = session_ids(site)
    with page.opened(chromium, address(site, **below)) as opened:
        opened.page.get_by_role("button", name="HTTP-FLV").click()
        assert_moving(opened)
        for protocol in PROTOCOLS:
            opened.page.goto(address(site, "players/", protocol=protocol, stream="one", autostart=None, **below))
            assert_moving(opened)
            assert f"127.0.0.1:{proxied}/media/" in opened.page.get_by_label("Address").input_value()
        opened.page.get_by_role("button", name="Stop", exact=True).click()
        wait_gone(site, before)


def test_start_page(site, chromium):
    with page.opened(chromium, address(site)) as opened:
        opened.page.get_by_role("heading", name="Watch live/one").wait_for()
        for protocol in PROTOCOLS:
            opened.page.get_by_role("button", name=NAMES[protocol]).click()
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


LOOKS = {
    "light": {},
    "dark": {"dark": True},
    "phone": {"size": page.PHONE},
    "phone-chinese": {"size": page.PHONE, "dark": True, "language": "zh-CN"},
}


@pytest.mark.parametrize("look", LOOKS)
def test_everybody_can_use_it(site, chromium, look):
    with page.opened(chromium, address(site), **LOOKS[look]) as opened:
        for view in ("", *VIEWS):
            opened.page.goto(player(site, view) if view else address(site))
            opened.page.locator("main h1").wait_for()
            opened.check_accessible()
            opened.check_width()
            opened.screenshot(f"{view or 'start'}-{look}")


def test_without_autoplay(site, chromium):
    """Nobody has clicked: a browser that refuses to play with audio is asked to play without."""
    with page.another(chromium, "--autoplay-policy=document-user-activation-required") as browser:
        with page.opened(browser, address(site)) as opened:
            # A click by script is no gesture of a person. Playwright's own calls count as one, so the page clicks itself.
            opened.page.add_init_script("setInterval(() => document.querySelector('.buttons .primary:enabled')?.click(), 100)")
            opened.page.goto(player(site, "flv"))
            opened.page.get_by_role("button", name="Turn the sound on").wait_for()
            assert_moving(opened)
            assert opened.page.evaluate("document.querySelector('video').muted"), "it should play without audio"


# ---- Languages

SOURCES = ROOT / "research/console/src"


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


def test_chinese(site, chromium):
    with page.opened(chromium, player(site, "flv", autostart="true"), language="zh-CN") as opened:
        assert_moving(opened)
        assert opened.page.inner_text("h1") == "播放器" and opened.page.inner_text(".state") == "正在播放"
        assert opened.page.evaluate("document.documentElement.lang") == "zh-CN"
        opened.page.locator("header select").select_option("en")
        assert opened.page.inner_text(".state") == "Playing", "it should go on playing, in English"
        opened.page.reload()
        assert opened.page.inner_text("h1") == "Players", "the choice should be kept"
