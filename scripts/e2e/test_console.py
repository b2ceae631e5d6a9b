"""The console in a browser: its pages beside a real server with a real publisher, login, kick, recordings, languages,
accessibility; and lists longer than a test can publish, by lib/console_api.py."""

import contextlib
import json
import re
import subprocess

import pytest

from lib import api, ffmpeg, page, ports, rtmp
from lib.console_api import ConsoleApi
from lib.server import ROOT
from lib.timing import scaled, wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="needs chromium and the pages (make console)")

PAGES = ["", "streams", "clients", "sessions", "recordings", "config", "ends", "edges", "vhosts", "why", "hooks", "log", "profile", "relays", "cluster", "tools", "threads"]
SOURCES = ROOT / "src/web"


@pytest.fixture(scope="module")
def chromium():
    with page.browser() as browser:
        yield browser


@pytest.fixture
def many():
    made = ConsoleApi()
    yield made
    made.close()


# Colours do not depend on the size, and what fits not on colours.
LOOKS = {"light": {}, "phone": {"size": page.PHONE, "dark": True}}


def start(servers, more="", top="", vhost=""):
    """A server with API and pages on one port, as in conf/srs.conf."""
    server = servers.make(top=api.CONF % f"debug on; {more}" + top)
    listen = f"listen 127.0.0.1:{server.api_port}"
    server.conf = server.conf.replace(listen, f"{listen} 127.0.0.1:{server.http_port}")
    recordings = f"dvr {{ dvr_path {server.dir}/rec/[app]/[stream].[timestamp].mp4; }}"
    server.conf = server.conf.replace("vhost __defaultVhost__ {", f"vhost __defaultVhost__ {{ {recordings} {vhost}")
    server.conf += f"console {{ dir {page.OBJS}/nginx/pages; }}\n"
    server.conf_path.write_text(server.conf)
    return server.start()


def console(server):
    return f"http://127.0.0.1:{server.http_port}/console/"


def publish(tool, server, name="camera", seconds=300, size="640x360"):
    """Until the test's end, by ffmpeg."""
    inputs = ["-re", "-f", "lavfi", "-i", f"testsrc2=size={size}:rate=25", "-f", "lavfi", "-i", "sine", "-t", seconds]
    codecs = "-c:v libx264 -preset ultrafast -tune zerolatency -g 25 -b:v 800k -pix_fmt yuv420p -c:a aac".split()
    return tool(ffmpeg.command(*inputs, *codecs, "-f", "flv", f"rtmp://127.0.0.1:{server.rtmp_port}/live/{name}"))


def play(tool, server, protocol="flv", name="camera"):
    url = f"http://127.0.0.1:{server.http_port}/live/{name}.flv"
    if protocol == "rtmp":
        url = f"rtmp://127.0.0.1:{server.rtmp_port}/live/{name}"
    return tool(ffmpeg.command("-i", url, "-c", "copy", "-f", "null", "-"))


def text(tab, selector):
    return tab.page.locator(selector).first.inner_text()


def wait_text(tab, selector, pattern, seconds=15):
    tab.page.wait_for_selector(selector)
    return wait_until(
        lambda: re.search(pattern, text(tab, selector)),
        seconds,
        lambda: f"{selector} should match {pattern}, it is {text(tab, selector)!r}",
        step=0.1,
    )


def open_stream(tab, name="live/camera"):
    page.go(tab, "streams")
    tab.page.click(f".vt-rows a:text-is('{name}')")
    tab.page.wait_for_selector(".stream-name")


# For each chart whether something is drawn on it.
DRAWN = """[...document.querySelectorAll(".plot canvas")].map((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.some((value) => value);
})"""


@pytest.mark.long
def test_figures_move_with_a_publisher_and_players(servers, tool, chromium):
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    players = [play(tool, server), play(tool, server), play(tool, server, "rtmp")]
    with page.opened(chromium, console(server)) as tab:
        wait_text(tab, "[data-tile=streams] .tile-value", "^1$")
        wait_text(tab, "[data-tile=players] .tile-value", "^3$")
        wait_text(tab, "[data-tile=in] .tile-value", r"[1-9][\d.]* [kM]bit/s")
        wait_text(tab, "[data-chart=traffic] [data-value=out]", r"[1-9][\d.]* [kM]bit/s")
        wait_text(tab, "[data-chart=players] [data-value=flv]", "^2$")
        wait_text(tab, "[data-chart=players] [data-value=rtmp]", "^1$")
        wait_text(tab, "[data-chart=memory] [data-value=memory]", "MB")
        before = text(tab, "[data-tile=in] .small")
        wait_until(lambda: text(tab, "[data-tile=in] .small") != before, 10, f"the bytes received stay at {before}")
        assert tab.page.evaluate(DRAWN) == [True] * 5, "every chart should be drawn"
        assert tab.page.locator(".senders").count() == 0, "there are no sender threads"
        tab.page.wait_for_timeout(6000)
        tab.screenshot("console-overview")
        tab.check_accessible()
        for player in players:
            player.kill()
        wait_text(tab, "[data-tile=players] .tile-value", "^0$")
        wait_text(tab, "li[data-reason]", "peer-closed")


@pytest.mark.parametrize("look", LOOKS)
def test_sender_threads(servers, tool, chromium, look):
    """A row for each, where there are any."""
    server = start(servers, top="sender_threads 2; sender_min_batch 0;")
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    players = [play(tool, server) for _ in range(12)]
    with page.opened(chromium, console(server), **LOOKS[look]) as tab:
        for i in range(2):
            wait_text(tab, f"[data-sender='{i}'] [data-value=busy]", r"^\d+(\.\d)? %$")
        wait_text(tab, "[data-sender] [data-value=calls]", r"^[1-9]\d* calls/s$")
        wait_text(tab, "[data-sender] [data-value=awaited]", r"^[\d,]+ awaited by the loop$")
        tab.check_accessible()
        tab.check_width()
        tab.page.locator(".senders").scroll_into_view_if_needed()
        tab.screenshot(f"console-senders-{look}")
    for player in players:
        player.kill()


@pytest.mark.parametrize("look", LOOKS)
def test_a_hook_server_that_is_down(servers, chromium, look):
    (port,) = ports.take(1)
    server = start(servers, vhost=f"http_hooks {{ enabled on; on_unpublish http://127.0.0.1:{port}/hook; }}")
    for _ in range(3):
        rtmp.publisher(server, "live", "one").close()
    with page.opened(chromium, console(server) + "#/hooks", **LOOKS[look]) as tab:
        wait_text(tab, ".vt-rows [data-column=host]", f"^http://127.0.0.1:{port}$")
        wait_text(tab, ".vt-rows [data-column=state]", "^is down$")
        wait_text(tab, ".vt-rows [data-column=waiting]", "^3$")
        tab.check_accessible()
        tab.check_width()
        tab.screenshot(f"console-hooks-{look}")
    ports.release([port])


@pytest.mark.parametrize("look", LOOKS | {"tablet": {"size": (768, 900)}})
def test_sessions_of_a_stream_and_of_an_address(servers, tool, chromium, look):
    """Those that are there, and those that have ended, with both directions and the reason."""
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    play(tool, server).kill()
    rtmp.publisher(server, "live", "other").close()
    rows = ".vt-sessions .vt-rows .vt-row:not(.vt-missing)"
    with page.opened(chromium, console(server) + "#/sessions", **(LOOKS | {"tablet": {"size": (768, 900)}})[look]) as tab:
        wait_until(lambda: tab.page.get_attribute(".bar-count", "data-total") == "3", 10, lambda: tab.page.locator(rows).all_inner_texts())
        tab.page.fill("input[name=stream]", "live/other")
        tab.page.keyboard.press("Enter")
        wait_until(lambda: tab.page.get_attribute(".bar-count", "data-total") == "1", 10, lambda: tab.page.locator(rows).all_inner_texts())
        assert "#/sessions/live%2Fother" in tab.page.url, tab.page.url
        tab.page.click("a:text-is('Show all')")
        wait_until(lambda: tab.page.get_attribute(".bar-count", "data-total") == "3", 10, "all are listed again")
        tab.check_accessible()
        tab.check_width()
        tab.screenshot(f"console-sessions-{look}")
        tab.page.goto(console(server) + "#/sessions//192.0.2.1")
        wait_text(tab, ".vt-empty", "No session is known")
        tab.page.goto(console(server) + "#/ends")
        wait_text(tab, ".vt-ends .vt-rows", "peer-closed")
        tab.page.locator(".vt-ends").scroll_into_view_if_needed()
        tab.screenshot(f"console-ends-{look}")
        if look == "tablet":
            for column in ("ended", "reason", "received", "sent"):
                cell = tab.page.locator(f".vt-ends .vt-rows .vt-row [data-column={column}]").first
                assert cell.is_visible() and cell.inner_text(), f"{column} is shown at 768 px"
                wide, room = cell.evaluate("(one) => [one.scrollWidth, one.clientWidth]")
                assert wide <= room, f"{column} is cut: {wide} px in {room}"


def test_vhosts_and_edges(servers, chromium):
    (port,) = ports.take(1)
    server = start(servers, vhost=f"cluster {{ mode remote; origin 127.0.0.1:{port}; }}")
    with page.opened(chromium, console(server) + "#/vhosts") as tab:
        wait_text(tab, ".vt-vhosts .vt-rows", "__defaultVhost__")
        tab.check_accessible()
        page.go(tab, "edges")
        wait_text(tab, "main", "No stream is pulled|127.0.0.1")
        tab.check_accessible()
        tab.check_width()
        tab.screenshot("console-edges")
    ports.release([port])


@pytest.mark.parametrize("look", LOOKS)
def test_relays_programs_cluster_and_threads(servers, tool, chromium, look):
    """Streams that are passed on and fetched, with and without success; a program; a Redis that is not there."""
    dead, redis = ports.take(2)
    other = servers()
    vhost = f"""forward {{ enabled on; destination 127.0.0.1:{other.rtmp_port} 127.0.0.1:{dead}; }}
        ingest door {{ enabled on; input {{ type rtsp; url rtsp://user:hidden-word@127.0.0.1:{dead}/door; }} }}
        exec {{ enabled on; publish /bin/sleep 1000; }}
        cluster {{ registry on; }}"""
    server = start(servers, vhost=vhost, top=f"redis {{ enabled on; server 127.0.0.1:{redis}; }}")
    publish(tool, server, "one")
    api.wait_stream(server, "one", lambda one: one["video"])
    relays = lambda: {(one["kind"], one["stream"], one["state"]) for one in api.ask(server, "/api/v1/relays?count=100")["relays"]}  # noqa: E731
    wanted = {("forward", "one", "works"), ("forward", "one", "fails"), ("ingest", "door", "fails")}
    wait_until(lambda: relays() == wanted, 15, lambda: f"{wanted} are expected, there are {relays()}")
    for query, total in (("kind=forward", 2), ("kind=pull", 0), (f"search={other.rtmp_port}", 1), ("search=DOOR", 1)):
        answer = api.ask(server, f"/api/v1/relays?{query}")
        assert (answer["total"], answer["failing"]) == (total, 2), f"{query}: {answer}"
    assert "hidden-word" not in str(api.ask(server, "/api/v1/relays")), "no password is shown"
    works = lambda: next(one for one in api.ask(server, "/api/v1/relays")["relays"] if one["state"] == "works")  # noqa: E731
    wait_until(lambda: works()["bytes"] > 1000, 15, lambda: f"media are sent to the other server: {works()}")
    assert not works()["problem"], works()
    api.ask(server, "/api/v1/relays?kind=none", status=400)
    with page.opened(chromium, console(server) + "#/relays", **LOOKS[look]) as tab:
        for name, selector, pattern in (
            ("relays", ".vt-relays .vt-rows", f"127.0.0.1:{dead}"),
            ("tools", "table.plain", r"exec[\s\S]*live/one[\s\S]*/bin/sleep"),
            ("cluster", "main .facts", f"127.0.0.1:{redis}"),
            ("threads", "[data-fact=level] dd", "^normal$"),
        ):
            page.go(tab, name)
            wait_text(tab, selector, pattern)
            tab.check_accessible()
            tab.check_width()
            tab.screenshot(f"console-{name}-{look}")
        page.go(tab, "relays")
        wait_text(tab, ".bar-count", "^total: 3$")
        tab.page.select_option("select[aria-label=Type]", "ingest")
        wait_text(tab, ".bar-count", "^total: 1$")
    ports.release([dead, redis])


def test_empty_pages_say_what_turns_them_on(servers, chromium):
    server = start(servers, top="sender_threads 0;")
    with page.opened(chromium, console(server)) as tab:
        for name, selector, directive in (
            ("relays", ".vt-empty", "forward, ingest and cluster"),
            ("edges", "[data-empty=edges]", "mode remote"),
            ("cluster", "[data-empty=cluster]", "registry on"),
            ("tools", "[data-empty=tools]", "transcode, ingest and exec"),
            ("threads", "[data-empty=senders]", "sender_threads 2"),
        ):
            page.go(tab, name)
            wait_text(tab, selector, directive)


def test_the_menu_of_a_narrow_window(many, chromium):
    """The pages are behind a button, in groups, and by the keyboard; the button says where one is."""
    with page.opened(chromium, many.url + "#/clients", size=page.PHONE) as tab:
        wait_text(tab, ".side-button", "Clients")
        assert tab.page.locator(".side a").count() == 0, "the menu begins closed"
        tab.page.focus(".side-button")
        tab.page.keyboard.press("Enter")
        wait_until(lambda: tab.page.locator(".side a").count() >= 16, 5, "the menu has all pages")
        tab.check_accessible()
        tab.check_width()
        bottom = tab.page.evaluate("document.querySelector('.side a[href=\"#/profile\"]').getBoundingClientRect().bottom")
        tab.screenshot("console-menu-phone")
        assert bottom <= page.PHONE[1], f"all pages are seen at once: the last one ends at {bottom} px"
        tab.page.click(".side a[href='#/streams']")
        wait_text(tab, ".side-button", "Streams")
        assert tab.page.locator(".side a").count() == 0, "a choice closes it"


def test_the_content_by_the_keyboard(many, chromium):
    """The first stop of the tab key leads past the navigation, and leaves the page's address as it is."""
    with page.opened(chromium, many.url + "#/clients") as tab:
        tab.page.wait_for_selector(".vt-clients .vt-rows .vt-row")
        tab.page.evaluate("document.activeElement.blur()")
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.innerText") == "Skip to the content"
        tab.page.keyboard.press("Enter")
        assert tab.page.evaluate("document.activeElement.tagName") == "MAIN" and tab.page.url.endswith("#/clients")


def test_colours_of_the_system(many, chromium):
    """What only a colour says is there in high contrast, too."""
    with page.opened(chromium, many.url + "#/streams", forced_colors="active") as tab:
        tab.page.wait_for_selector(".vt-streams .vt-rows .vt-row .dot")
        assert tab.page.evaluate("getComputedStyle(document.querySelector('.side [aria-current]')).outlineStyle") == "solid"
        assert tab.page.evaluate("getComputedStyle(document.querySelector('.vt .dot')).forcedColorAdjust") == "none"
        tab.screenshot("console-forced-colours")


HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.mark.long
def test_one_request_every_two_seconds_and_none_while_hidden(many, chromium):
    with page.opened(chromium, many.url) as tab:
        wait_text(tab, "[data-tile=players] .tile-value", "^10,000$")
        many.asked.clear()
        tab.page.wait_for_timeout(8200)
        assert set(many.asked) == {"/api/v1/overview"}, f"the overview alone should be requested: {many.asked}"
        assert 3 <= len(many.asked) <= 5, f"4 requests in 8 s were expected: {many.asked}"
        tab.page.evaluate(HIDE, True)
        tab.page.wait_for_timeout(300)
        many.asked.clear()
        tab.page.wait_for_timeout(4500)
        assert not many.asked, f"a hidden tab should request nothing: {many.asked}"
        tab.page.evaluate(HIDE, False)
        wait_until(lambda: many.asked, 5, "a visible tab goes on")


@pytest.mark.long
def test_preview_and_health_of_a_stream(servers, tool, chromium):
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    with page.opened(chromium, console(server)) as tab:
        open_stream(tab)
        wait_text(tab, "[data-fact=video] dd", "H264 640×360")
        wait_text(tab, "[data-fact=audio] dd", "AAC 44.1 kHz")
        wait_text(tab, "[data-fact=fps] dd", r"2[3-7]\.\d fps")
        wait_text(tab, "[data-fact=in] dd", r"[1-9][\d.]* [kM]bit/s")
        wait_text(tab, "[data-fact=gop] dd", r"^(0\.9\d|1|1\.0\d) s$")
        wait_text(tab, "[data-fact=tracks] dd", "^2$")
        wait_text(tab, "[data-fact=dropped] dd", "^0$")
        wait_text(tab, "[data-fact=memory]", "[kM]B of ")
        assert tab.page.locator("[data-check]").count() > 10, "the health has its checks"
        tab.page.click(".preview-start")
        frames = "document.querySelector('video')?.getVideoPlaybackQuality().totalVideoFrames ?? 0"
        decoded = lambda: tab.page.evaluate(frames)  # noqa: E731
        wait_until(lambda: decoded() > 25, 20, lambda: f"the preview has decoded {decoded()} frames, more than 25 are wanted")
        bright = """() => {
            const video = document.querySelector("video"), canvas = document.createElement("canvas");
            canvas.width = canvas.height = 32;
            const pen = canvas.getContext("2d");
            pen.drawImage(video, 0, 0, 32, 32);
            const data = pen.getImageData(0, 0, 32, 32).data;
            return new Set(data.filter((_, i) => i % 4 < 3).map((v) => v >> 5)).size;
        }"""
        assert tab.page.evaluate(bright) >= 4, "the preview should show the test pattern, not one colour"
        wait_text(tab, ".list-title + .bar .bar-count", "^total: 2")
        tab.screenshot("console-stream")
        tab.check_accessible()
        tab.page.click(".preview-stop")
        wait_text(tab, ".list-title + .bar .bar-count", "^total: 1")


def test_kick_ends_a_player(servers, tool, chromium):
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    player = play(tool, server)
    with page.opened(chromium, console(server) + "#/clients") as tab:
        row = tab.page.locator(".vt-rows [role=row]", has_text="flv-play")
        row.get_by_role("button").click()
        tab.page.wait_for_selector("dialog[open]")
        assert tab.page.evaluate("document.activeElement.textContent") == "Cancel", "the dialog begins at what changes nothing"
        tab.check_accessible()
        tab.page.keyboard.press("Escape")
        tab.page.wait_for_selector("dialog", state="detached")
        assert player.alive(), "Escape is no"
        assert "Kick" in tab.page.evaluate("document.activeElement.textContent"), "the focus is back at the button"
        row.get_by_role("button").click()
        tab.page.click("dialog .danger")
        wait_text(tab, ".notice", "was kicked")
        player.finish(15, codes=None)
        page.go(tab, "ends")
        wait_text(tab, ".ends li[data-reason=kicked] .number", "^1$")
        wait_text(tab, ".vt-ends .vt-rows", "kicked")
    closed = api.ask(server, "/api/v1/clients?closed=true")["clients"]
    assert [one["reason"] for one in closed if one["type"] == "flv-play"] == ["kicked"], closed


def packets(file):
    """Their number by codec, by ffprobe."""
    entries = ["-count_packets", "-show_entries", "stream=codec_name,nb_read_packets"]
    found = json.loads(subprocess.check_output(["ffprobe", "-v", "error", *entries, "-of", "json", file]))
    return {one["codec_name"]: int(one["nb_read_packets"]) for one in found["streams"]}


HLS = "hls { enabled on; hls_use_fmp4 on; hls_storage memory; hls_fragment 1; }"


def wait_picture(tab, but=""):
    """The address of the stream's picture, once it is shown and another one than that."""
    shown = "(() => { const one = document.querySelector('.snapshot img'); return one?.naturalWidth === 640 ? one.src : ''; })()"
    return wait_until(lambda: (src := tab.page.evaluate(shown)) != but and src, 20, "the picture is shown", step=0.2)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.long
def test_picture_and_clip_of_a_stream(servers, tool, chromium, tmp_path, look):
    server = start(servers, vhost=HLS)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    with page.opened(chromium, console(server), **LOOKS[look]) as tab:
        open_stream(tab)
        first = wait_picture(tab)
        tab.screenshot(f"console-picture-{look}")
        tab.check_accessible()
        tab.check_width()
        wait_picture(tab, first)
        asked = server.log_count("snapshot.jpg")
        tab.page.click(".preview-start")
        tab.page.wait_for_selector("video")
        assert tab.page.locator(".snapshot").count() == 0, "the video is in its place"
        tab.page.wait_for_timeout(6000)
        assert server.log_count("snapshot.jpg") <= asked + 1, "nobody asks for pictures that nobody sees"
        tab.page.fill(".clip input[name=from]", "5")
        with tab.page.expect_download() as found:
            tab.page.click("button:has-text('Save as MP4')")
        file = tmp_path / "clip.mp4"
        found.value.save_as(file)
        probed = packets(file)
        assert probed.keys() == {"h264", "aac"} and 75 <= probed["h264"] <= 175, f"the last seconds: {probed}"
        tab.page.fill(".clip input[name=from]", "86400")
        tab.page.fill(".clip input[name=to]", "80000")
        tab.page.click("button:has-text('Save as MP4')")
        wait_text(tab, ".notice", "no segment of that time")
        tab.errors[:] = [one for one in tab.errors if "404 (Not Found)" not in one]


@pytest.mark.long
def test_record_play_and_download(servers, tool, chromium, tmp_path):
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    with page.opened(chromium, console(server)) as tab:
        open_stream(tab)
        tab.page.click("button:has-text('Record')")
        tab.page.wait_for_selector("button:has-text('Stop the recording')")
        tab.page.wait_for_timeout(4000)
        tab.page.click("button:has-text('Stop the recording')")
        wait_text(tab, ".notice", "was stopped")
        page.go(tab, "recordings")
        wait_text(tab, ".vt-rows [data-column=path]", r"^live/camera\.\d+\.mp4$")
        wait_until(lambda: "recording" not in text(tab, ".vt-rows [data-column=modified]"), 10, "the file is finished")
        tab.check_accessible()
        with tab.page.expect_download() as found:
            tab.page.click("[aria-label^='Download']")
        file = tmp_path / "downloaded.mp4"
        found.value.save_as(file)
        probed = packets(file)
        assert probed.keys() == {"h264", "aac"} and probed["h264"] > 50, f"ffprobe should read seconds of both: {probed}"
        tab.page.click("[aria-label^='Play']")
        position = "document.querySelector('dialog video').currentTime"
        wait_until(lambda: tab.page.evaluate(position) > 0.3, 15, "the file plays in the page")
        tab.page.keyboard.press("Escape")
        tab.page.wait_for_selector("dialog", state="detached")


@pytest.mark.long
def test_config_log_and_profile(servers, tool, chromium):
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    with page.opened(chromium, console(server) + "#/config") as tab:
        wait_text(tab, ".vt-rows", r"http_api/debug")
        assert server.conf_path.name in text(tab, ".vt-rows"), "the origin of a value is its file"
        directives = lambda: int(tab.page.get_attribute(".bar-count", "data-total"))  # noqa: E731
        few = directives()
        tab.page.uncheck("input[type=checkbox]")
        wait_until(lambda: directives() > few, 5, "all directives are more than those that are set")
        tab.page.fill("input[type=search]", "hls_fragment")
        wait_text(tab, ".vt-rows", "hls_fragment")
        assert "max_connections" not in text(tab, ".vt-rows"), "the search leaves others out"

        page.go(tab, "log")
        wait_text(tab, ".log", "fmle-publish")
        tab.page.fill("input[type=search]", "RTMP listens")
        wait_until(lambda: tab.page.locator(".log li").count() == 1, 10, "one line has that text")
        tab.page.fill("input[type=search]", "")
        wait_text(tab, ".log", "fmle-publish")
        tab.page.click("button:has-text('Pause')")
        tab.page.wait_for_timeout(400)
        lines = tab.page.locator(".log li").count()
        play(tool, server)
        tab.page.wait_for_timeout(3000)
        assert tab.page.locator(".log li").count() == lines, "a log that is paused does not grow"
        tab.page.click("button:has-text('Go on')")
        wait_text(tab, ".log", "flv-play")
        tab.page.select_option("select[aria-label=Level]", "error")
        wait_text(tab, ".log-box", "No line matches")

        page.go(tab, "profile")
        tab.page.select_option("select[aria-label=Duration]", "2")
        tab.page.click("button:has-text('Measure')")
        tab.page.wait_for_selector("canvas, p:has-text('No sample')", timeout=scaled(20) * 1000)


@pytest.mark.parametrize("look", LOOKS)
def test_the_log_of_a_stream_and_of_a_client(servers, tool, chromium, look):
    """Lines of clients that are there, that have left, and that come; a link leads there from the stream and clients."""
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    other = rtmp.publisher(server, "live", "camera2")
    player = play(tool, server)
    wait_until(lambda: server.log_count("flv-play started") == 1, 10, "the player has come")
    player.kill()
    wait_until(lambda: server.log_count("flv-play ended") == 1, 10, "the player has left")
    with page.opened(chromium, console(server), **LOOKS[look]) as tab:
        open_stream(tab)
        tab.page.click(".list-title a:text-is('Log')")
        assert tab.page.url.endswith("#/log/live%2Fcamera"), tab.page.url
        wait_text(tab, ".log", "RTMP publish: __defaultVhost__/live/camera, fmle-publish")
        wait_text(tab, ".log", "flv-play ended: __defaultVhost__/live/camera")
        assert not re.search("camera2|RTMP listens", text(tab, ".log")), text(tab, ".log")
        player = play(tool, server)
        wait_until(lambda: tab.page.locator(".log li", has_text="flv-play started").count() == 2, 10, "a line that comes is shown")
        assert "camera2" not in text(tab, ".log"), text(tab, ".log")
        tab.check_accessible()
        tab.check_width()
        tab.screenshot(f"console-log-{look}")
        tab.page.locator(".log li", has_text="flv-play started").last.locator("a").click()
        wait_until(lambda: tab.page.locator(".log li").count() == 1, 10, lambda: f"the one line of that client: {text(tab, '.log')}")
        player.kill()
        wait_text(tab, ".log", "flv-play ended")
        page.go(tab, "clients")
        tab.page.locator(".vt-rows .vt-row", has_text="camera2").locator("[data-column=type] a").click()
        wait_text(tab, ".log", "RTMP publish: __defaultVhost__/live/camera2")
        tab.page.click("a:text-is('Show all')")
        wait_text(tab, ".log", "RTMP listens")
    other.close()


def rewrite(server, *changes):
    """Another text of the configuration's file, which the server has not read."""
    text = server.conf
    for old, new in changes:
        assert old in text, f"{old!r} should be in {text}"
        text = text.replace(old, new, 1)
    server.conf_path.write_text(text)


@pytest.mark.parametrize("look", LOOKS)
def test_reload_shows_the_difference_first(servers, chromium, look):
    server = start(servers, "raw_api { enabled on; allow_reload on; }", top="max_connections 100;")
    in_force = lambda: {one["name"]: one["value"] for one in api.ask(server, "/api/v1/config?name=max_connections")["directives"]}["max_connections"]  # noqa: E731
    reloads = lambda: api.ask(server, "/api/v1/operations")["data"]["reloads"]["total"]  # noqa: E731
    listen = f"listen 127.0.0.1:{server.rtmp_port};" if f"listen 127.0.0.1:{server.rtmp_port};" in server.conf else None
    with page.opened(chromium, console(server) + "#/config", **LOOKS[look]) as tab:
        tab.page.wait_for_selector(".vt-rows .vt-row:not(.vt-missing)")
        tab.screenshot(f"console-config-{look}")
        width = tab.page.locator(".vt-rows [data-column=name]").first.evaluate("(one) => one.clientWidth")
        assert width > 120, f"a long path of the file leaves {width} px for the directive's name"
        tab.page.click(".bar button:text-is('Reload')")
        wait_text(tab, "[data-plan=valid]", "is the one in force")
        changes = [("max_connections 100;", "max_connections 321;"), ("console {", "vhost added.example { }\nconsole {")]
        if listen:
            changes.append((listen, "listen 127.0.0.1:1;"))
        rewrite(server, *changes)
        tab.page.click("dialog button:text-is('Refresh')")
        wait_text(tab, "[data-directive=max_connections]", r"100 → 321\s+on reload")
        wait_text(tab, "[data-directive='']", r"Vhost added.example\s+is added\s+on reload")
        if listen:
            wait_text(tab, "[data-directive='rtmp/listen']", "on restart")
        tab.check_accessible()
        tab.check_width()
        tab.screenshot(f"console-reload-{look}")
        tab.page.click("dialog button:text-is('Cancel')")
        tab.page.wait_for_selector("dialog", state="detached")
        assert (in_force(), reloads()) == ("100", 0), "nothing was changed"

        rewrite(server, ("max_connections 100;", "max_connections many;"), ("console {", "bogus 1;\nconsole {"))
        tab.page.click(".bar button:text-is('Reload')")
        wait_text(tab, "[data-plan=invalid]", "Nothing can be changed: .* has 2 errors")
        wait_text(tab, "dialog .problems", rf"{server.conf_path.name}:\d+: error: max_connections.*\n.*:\d+: error: unknown directive 'bogus'")
        assert tab.page.is_disabled("dialog button:text-is('Reload')"), "what has errors is not to be put in force"
        tab.check_accessible()
        tab.screenshot(f"console-reload-errors-{look}")
        assert (in_force(), reloads()) == ("100", 0), "nothing was changed"

        rewrite(server, *changes)
        tab.page.click("dialog button:text-is('Refresh')")
        wait_text(tab, "[data-plan=valid]", "differs")
        tab.page.click("dialog button:text-is('Reload')")
        wait_text(tab, "[data-report=taken]", r"was reloaded, in \d+ ms")
        wait_text(tab, "[data-directive=max_connections]", r"100 → 321\s+in force")
        tab.check_accessible()
        tab.screenshot(f"console-reload-report-{look}")
        assert (in_force(), reloads()) == ("321", 1), "it is in force"
        tab.page.click("dialog button:text-is('Close')")
        wait_text(tab, ".vt-rows", "321")
        tab.page.click(".bar button:text-is('Reload')")
        wait_text(tab, "dialog", r"The last reload: .*, API, \d changes")

        rewrite(server, *changes, ("allow_reload on;", "allow_reload off;"))
        tab.page.click("dialog button:text-is('Refresh')")
        wait_text(tab, "[data-directive='http_api/raw_api/allow_reload']", "on → off")
        tab.page.click("dialog button:text-is('Reload')")
        wait_text(tab, "[data-report=taken]", "was reloaded")
        tab.page.click("dialog button:text-is('Close')")
        tab.page.click(".bar button:text-is('Reload')")
        wait_text(tab, "dialog", "raw_api { enabled on; allow_reload on; } } switches it on")
        assert tab.page.is_disabled("dialog button:text-is('Reload')"), "it is not allowed from here"


def test_flame_graph_by_keyboard(many, chromium):
    with page.opened(chromium, many.url + "#/profile") as tab:
        tab.page.click("button:has-text('Measure')")
        tab.page.focus("canvas")
        state = lambda: [tab.page.get_attribute(".flame", f"data-{name}") for name in ("top", "chosen")]  # noqa: E731
        for key in ("ArrowDown", "ArrowDown", "ArrowDown"):
            tab.page.keyboard.press(key)
        assert state() == ["all", "live::pump"], state()
        tab.page.keyboard.press("ArrowRight")
        assert state() == ["all", "rtc::Session::send"], state()
        tab.page.keyboard.press("Enter")
        assert state() == ["rtc::Session::send"] * 2, state()
        wait_text(tab, ".flame-line", "rtc::Session::send: 90 samples, 18 % of all; 0 in itself")
        tab.page.keyboard.press("Escape")
        assert state()[0] == "st::run", state()
        tab.page.click("button:has-text('Show all')")
        assert state()[0] == "all", state()
        first = tab.page.locator("table tbody tr").first.inner_text()
        assert re.match(r"__libc_writev\s+43 %\s+43 %", first), first
        tab.screenshot("console-flame")
        tab.check_accessible()



@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.long
def test_every_page_is_accessible(servers, tool, chromium, look):
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    play(tool, server)
    with page.opened(chromium, console(server), **LOOKS[look]) as tab:
        for name in PAGES:
            tab.page.evaluate("(name) => { location.hash = `#/${name}`; }", name)
            tab.page.wait_for_selector(f"main[data-page='{name}'] h1")
            assert tab.page.evaluate("document.activeElement.tagName") in ("H1", "BODY"), "the focus is at the new page"
            tab.page.wait_for_timeout(700)
            tab.check_accessible()
            tab.check_width()
        open_stream(tab)
        tab.check_accessible()
        tab.check_width()
        page.go(tab, "")
        wait_text(tab, "[data-tile=in] .tile-value", "bit/s")
        tab.page.wait_for_timeout(6000)
        tab.screenshot(f"console-{look}")


def test_chinese(servers, tool, chromium):
    server = start(servers)
    publish(tool, server)
    api.wait_stream(server, "camera", lambda one: one["video"])
    with page.opened(chromium, console(server), language="zh-CN") as tab:
        wait_text(tab, "main h1", "^概览$")
        for name, title in (("streams", "流"), ("clients", "客户端"), ("config", "配置"), ("log", "日志")):
            page.go(tab, f"{name}")
            wait_text(tab, "main h1", f"^{title}$")
        open_stream(tab)
        wait_text(tab, "[data-fact=fps] dt", "^帧率$")
        tab.page.select_option(".page-header select", "en")
        wait_text(tab, "[data-fact=fps] dt", "^Frame rate$")
        assert tab.page.evaluate("document.documentElement.lang") == "en"


def test_every_text_has_a_translation():
    """Texts in t("..."), and those of the tables that are translated where they are shown."""
    translated = "".join((SOURCES / name).read_text() for name in ("shared/chinese.js", "console/chinese.js"))
    keys = {quoted or bare for quoted, bare in re.findall(r'^    (?:"((?:[^"\\]|\\.)*)"|(\w+)):', translated, re.MULTILINE)}
    used = set()
    for file in [*(SOURCES / "console").rglob("*.js"), SOURCES / "shared/page_header.js"]:
        used |= set(re.findall(r'\bt\(\s*"((?:[^"\\]|\\.)*)"', file.read_text()))
        used |= set(re.findall(r'\bt\([^"()]*\? "([^"]*)"', file.read_text()))
    for name in ("reasons.js", "parts/health.js"):
        table = re.search(r"const (?:TEXTS|NAMES) = \{(.*?)\};", (SOURCES / "console" / name).read_text(), re.DOTALL).group(1)
        used |= set(re.findall(r': "([^"]*)"', table))
    assert len(used) > 150, f"the texts are found in the sources: {len(used)}"
    assert used <= keys, f"texts without a translation: {sorted(used - keys)}"


AUTH = "auth { enabled on; username admin; password secret; tokens writer-0f3c9a1b7d2e; read_tokens reader-5e8d7c6b4a39; }"


@contextlib.contextmanager
def opened_with_auth(chromium, server, path=""):
    """Chromium itself notes each 401 on the console; that is no error of the page."""
    with page.opened(chromium, console(server) + path) as tab:
        tab.page.wait_for_selector("dialog[open]")
        yield tab
        tab.errors[:] = [text for text in tab.errors if "401 (Unauthorized)" not in text]


def test_login(servers, tool, chromium):
    server = start(servers, AUTH)
    publish(tool, server)
    with opened_with_auth(chromium, server) as tab:
        tab.check_accessible()
        tab.page.fill("input[name=user]", "admin")
        tab.page.fill("input[name=password]", "wrong")
        tab.page.click("dialog button.primary")
        wait_text(tab, "dialog [role=alert]", "did not accept")
        assert tab.page.input_value("input[name=user]") == "admin", "the name stays"
        tab.page.fill("input[name=password]", "secret")
        tab.page.keyboard.press("Enter")
        wait_text(tab, "[data-tile=streams] .tile-value", "^1$")
        assert "secret" not in tab.page.evaluate("JSON.stringify(localStorage)"), "nothing of it is kept beyond the tab"
        tab.page.reload()
        wait_text(tab, "[data-tile=streams] .tile-value", "^1$")
        tab.page.click("button:has-text('Log out')")
        tab.page.wait_for_selector("dialog[open]")
        assert tab.page.evaluate("sessionStorage.length") == 0, "logging out forgets the credentials"


def test_who_may_only_read(servers, tool, chromium):
    server = start(servers, AUTH)
    publish(tool, server)
    with opened_with_auth(chromium, server, "#/clients") as tab:
        tab.page.check("label:has-text('Token') input[type=radio]")
        tab.page.fill("input[name=token]", "reader-5e8d7c6b4a39")
        tab.page.click("dialog button.primary")
        wait_text(tab, ".vt-rows", "fmle-publish")
        wait_text(tab, ".bar", "Kicking is for callers who may change something")
        assert tab.page.locator("button:text-is('Kick')").count() == 0, "who may not kick has no button for it"
        for name in ("log", "profile"):
            page.go(tab, f"{name}")
            wait_text(tab, "main", "for callers who may change something")
        open_stream(tab)
        wait_text(tab, ".stream-head", "Recording is for callers who may change something")
        assert tab.page.locator(".clip, .snapshot").count() == 0, "pictures and clips are content"


# In the page: frames per second while a list scrolls through many screens.
SCROLL = """(seconds) => new Promise((done) => {
    const list = document.querySelector(".vt"), began = performance.now();
    let frames = 0, worst = 0, last = began;
    const step = (now) => {
        worst = Math.max(worst, now - last);
        last = now;
        ++frames;
        list.scrollTop += 130;
        if (now - began < seconds * 1000) requestAnimationFrame(step);
        else done({ rate: frames * 1000 / (now - began), worst, top: list.scrollTop });
    };
    requestAnimationFrame(step);
})"""

# For the failure's text.
WHERE = """(() => {
    const list = document.querySelector(".vt");
    return `the list is at ${list.scrollTop + list.clientHeight} of ${list.scrollHeight} px`;
})()"""


@pytest.mark.quiet
@pytest.mark.parametrize(
    "name, total, column, end", [("streams", 2000, "name", "cam01999"), ("clients", 10000, "id", "c0009999")]
)
def test_long_lists(many, chromium, name, total, column, end):
    with page.opened(chromium, many.url + f"#/{name}") as tab:
        wait_text(tab, ".bar-count", f"^total: {total:,}")
        paint = tab.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        rows = tab.page.locator(".vt-rows [role=row]").count()
        assert rows < 60, f"{rows} rows are in the document, those that are visible were expected"
        found = tab.page.evaluate(SCROLL, 3)
        print(f"{name}: first paint after {paint:.0f} ms; scrolling {found['rate']:.0f}/s, longest {found['worst']:.0f} ms")
        assert paint < scaled(1) * 1000, f"the first paint should be within 1 s: {paint:.0f} ms"
        assert found["rate"] > 30 / scaled(1), f"scrolling should have 30 frames a second: {found}"
        # The end of the list, by the keyboard.
        tab.page.focus(".vt")
        tab.page.keyboard.press("End")
        last = f".vt-rows [aria-rowindex='{total + 1}'] [data-column={column}]"
        wait_until(
            lambda: tab.page.locator(last).all_inner_texts() and re.search(f"{end}$", text(tab, last)),
            15,
            lambda: f"row {total} should be {end}; {tab.page.evaluate(WHERE)}; the last requests: {many.asked[-5:]}",
            step=0.1,
        )
        counts = [int(asked.partition("count=")[2].partition("&")[0]) for asked in many.asked if f"/{name}?" in asked]
        assert max(counts) <= 100, f"ranges are fetched, not the list: {counts}"


# The widths of the columns that grow, by title, and by how much rows are wider than the list.
GROWN = """[Object.fromEntries([...document.querySelectorAll(".vt-head .grow")].map((one) => [one.innerText, one.clientWidth])),
    Math.max(...[...document.querySelectorAll(".vt-rows .vt-row")].map((row) => row.scrollWidth - row.clientWidth))]"""


@pytest.mark.parametrize("width", [1280, 1000, 780])
def test_lists_have_room_for_what_matters(many, chromium, width):
    """A column that grows is not what is left when all others have their widths."""
    pages = {"streams": "streams", "clients": "clients", "ends": "ends", "streams/vid-00004": "stream-clients"}
    for name, kind in pages.items():
        with page.opened(chromium, many.url + f"#/{name}", size=(width, 800)) as tab:
            tab.page.wait_for_selector(f".vt-{kind} .vt-rows .vt-row:not(.vt-missing)")
            if width == 1000:
                tab.page.locator(f".vt-{kind}").scroll_into_view_if_needed()
                tab.screenshot(f"console-1000-{kind}")
            widths, wider = tab.page.evaluate(GROWN)
            assert min(widths.values()) >= 100, f"{kind} in a window of {width} px: {widths}"
            assert wider <= 0, f"{kind} in a window of {width} px: a row is {wider} px too wide"
            tab.check_width()


def test_search_and_order_of_a_long_list(many, chromium):
    with page.opened(chromium, many.url + "#/streams") as tab:
        wait_text(tab, ".bar-count", "^total: 2,000")
        tab.page.click("[role=columnheader] button:has-text('In')")
        wait_text(tab, ".vt-rows [aria-rowindex='2']", "cam01999")
        assert tab.page.get_attribute("[role=columnheader]:has-text('In')", "aria-sort") == "descending"
        tab.page.fill("input[type=search]", "CAM0012")
        wait_text(tab, ".bar-count", "^10 of 2,000$")
        wait_text(tab, ".vt-rows [aria-rowindex='2']", "cam00129")
        tab.page.fill("input[type=search]", "nothing")
        wait_text(tab, ".vt-empty", "Nothing matches")


@pytest.mark.long
def test_below_another_path(chromium):
    """As behind a proxy: nothing is requested that is not below it, or the page has an error."""
    with contextlib.closing(ConsoleApi(20, 20, prefix="/media/server")) as made, page.opened(chromium, made.url) as tab:
        wait_text(tab, "[data-tile=players] .tile-value", "^10,000$")
        page.go(tab, "streams")
        wait_text(tab, ".bar-count", "^total: 20")
        loaded = tab.page.evaluate("performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)")
        assert loaded and all(path.startswith("/media/server/") for path in loaded), loaded
