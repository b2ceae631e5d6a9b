"""What the console's page of a stream shares: each address is played or published to by a program, codes are read, and
addresses of a vhost with signed URLs are signed by the server."""

import json
import re
import subprocess

import pytest

from lib import api, ffmpeg, page, players, ports, rtc
from lib.page import OBJS
from lib.timing import wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="needs chromium and the pages (make console)")

LOOKS = {"light": {}, "dark": {"dark": True, "size": (768, 900)}, "phone": {"size": page.PHONE, "dark": True}, "wide": {"size": (1600, 1000)}}
STREAMS = "http_remux { enabled on; } dash { enabled on; } rtsp { enabled on; } srt { enabled on; } rtc { enabled on; rtmp_to_rtc on; } "
HLS = "hls { enabled on; hls_fragment 1; hls_storage memory; hls_low_latency on; hls_ctx on; hls_ts_ctx on; } "
SIGNED = "signed_urls { enabled on; secret correct-horse; } "


@pytest.fixture(scope="module")
def chromium():
    with page.browser(*rtc.FLAGS.split()) as browser:
        yield browser


@pytest.fixture
def start(servers):
    taken = ports.take(2)

    def make(vhost="", of_api=""):
        srt, rtsp = taken
        top = f"rtc_server {{ enabled on; listen RTC_PORT; candidate 127.0.0.1; }}\nsrt_server {{ enabled on; listen 127.0.0.1:{srt}; }}\n"
        top += f"rtsp_server {{ enabled on; listen 127.0.0.1:{rtsp}; }}\nconsole {{ dir {OBJS}/nginx/pages; }}\n" + api.CONF % of_api
        server = servers.make(top=top, vhosts=f"vhost __defaultVhost__ {{ {STREAMS}{HLS}{vhost} }}\n")
        listen = f"listen 127.0.0.1:{server.api_port}"
        server.conf_path.write_text(server.conf.replace(listen, f"{listen} 127.0.0.1:{server.http_port}"))
        return server.start()

    yield make
    ports.release(taken)


def open_share(tab, name="live/one"):
    page.go(tab, "streams")
    tab.page.click(f".vt-rows a:text-is('{name}')")
    tab.page.click(".stream-head button:has-text('Share')")
    tab.page.wait_for_selector("dialog .addresses")


def addresses(tab):
    lines = "[...document.querySelectorAll('[data-address]')].map((one) => [one.dataset.address, one.querySelector('code').innerText])"
    return dict(tab.page.evaluate(lines))


def console(server):
    return f"http://127.0.0.1:{server.http_port}/console/"


def plays(url):
    """The codecs that ffprobe finds at the address."""
    options = ["-rtsp_transport", "tcp"] if url.startswith("rtsp") else []
    words = ["ffprobe", "-v", "error", *options, "-show_entries", "stream=codec_name", "-of", "json", url]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return {one["codec_name"] for one in json.loads(done.stdout or "{}").get("streams", [])}, done.stderr


def check_playable(shown):
    for name in ("rtmp", "rtsp", "srt", "hls", "flv", "dash"):
        found, said = plays(shown[name])
        assert found == {"h264", "aac"}, f"{name} {shown[name]}: {found} {said}"


def read_code(tab, tmp_path):
    """The text of the QR code in the page, by the decoder of its library: of the path's modules, drawn eight times as large."""
    size = int(tab.page.get_attribute("svg.qr", "viewBox").split()[2])
    modules = {tuple(map(int, one)) for one in re.findall(r"M(\d+) (\d+)h1v1h-1z", tab.page.get_attribute("svg.qr path", "d"))}
    script = tmp_path / "read.mjs"
    script.write_text(
        f"import decode from '{OBJS}/console/node_modules/qr/decode.js';\n"
        "const { size, modules } = JSON.parse(process.argv[2]), side = size * 8;\n"
        "const data = new Uint8Array(side * side * 4).fill(255);\n"
        "for (const [x, y] of modules) for (let i = 0; i < 64; ++i)\n"
        "    data.fill(0, ((y * 8 + (i >> 3)) * side + x * 8 + (i & 7)) * 4, ((y * 8 + (i >> 3)) * side + x * 8 + (i & 7)) * 4 + 3);\n"
        "console.log(decode({ width: side, height: side, data }));\n"
    )
    words = ["node", script, json.dumps({"size": size, "modules": sorted(modules)})]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def test_every_address_works(start, tool, chromium, tmp_path):
    server = start()
    tool(players.pattern(server))
    api.wait_stream(server, "one", lambda one: one["video_frames"] > 50)
    with page.opened(chromium, console(server)) as tab:
        open_share(tab)
        shown = addresses(tab)
        assert shown.keys() == {"page", "embed", "whep", "hls", "dash", "flv", "ws-flv", "rtmp", "rtsp", "srt"}, shown
        check_playable(shown)
        wait_until(lambda: tab.page.locator("svg.qr path").count(), 10, "the code is shown")
        assert read_code(tab, tmp_path) == shown["page"]
        tab.page.click("[data-address=hls] button[aria-pressed]")
        wait_until(lambda: read_code(tab, tmp_path) == shown["hls"], 5, lambda: read_code(tab, tmp_path))
        tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        tab.page.click("[data-address=rtmp] button:text-is('Copy')")
        wait_until(lambda: tab.page.evaluate("navigator.clipboard.readText()") == shown["rtmp"], 5, "the address is copied")
        snippet = re.fullmatch(r'<iframe src="([^"]+)" style="[^"]+" allow="autoplay; fullscreen"></iframe>', shown["embed"])
        assert snippet, shown["embed"]
        tab.page.check("label:has-text('Publish') input")
        published = addresses(tab)
        assert published.keys() == {"whip", "rtmp", "rtsp", "srt"}, published
    # The same with another name: the stream has a publisher.
    inputs = ["-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", 25]
    for name, container in (("rtsp", "rtsp"), ("srt", "mpegts")):
        tool(ffmpeg.command(*inputs, "-f", container, published[name].replace("live/one", f"live/by-{name}")))
        api.wait_stream(server, f"by-{name}", lambda one: one["video_frames"] > 10)
    for url in (shown["page"], snippet.group(1).replace("&amp;", "&")):
        with page.opened(chromium, url) as tab:
            wait_until(lambda: tab.page.evaluate("document.querySelector('.screen')?.dataset.state") == "playing", 20, url)  # noqa: B023


def test_addresses_that_the_server_signs(start, tool, chromium):
    server = start(SIGNED)
    with page.opened(chromium, console(server)) as tab:
        body = json.dumps({"app": "live", "stream": "one", "action": "publish"}).encode()
        query = api.ask(server, "/api/v1/signed_urls", "POST", body=body)["query"]
        tool(players.pattern(server, f"live/one?{query}"))
        api.wait_stream(server, "one", lambda one: one["video_frames"] > 50)
        open_share(tab)
        assert "need a signature" in tab.page.inner_text("[data-signed=false]")
        assert not plays(addresses(tab)["rtmp"])[0], "what is not signed is refused"
        tab.page.fill("input[name=for]", "a customer")
        tab.page.click("button:text-is('Sign')")
        tab.page.wait_for_selector("[data-signed=true]")
        shown = addresses(tab)
        assert "sign_name=a%20customer" in shown["flv"] or "sign_name=a+customer" in shown["flv"], shown
        check_playable(shown)
        embed = re.search(r'src="([^"]+)"', shown["embed"]).group(1).replace("&amp;", "&")
        for url in (shown["page"], embed):
            with page.opened(chromium, url) as other:
                wait_until(lambda: other.page.evaluate("document.querySelector('.screen')?.dataset.state") == "playing", 20, url)  # noqa: B023
        assert "correct-horse" not in tab.page.content(), "the page never has the secret"
        tab.page.check("label:has-text('Publish') input")
        tab.page.wait_for_selector("[data-signed=false]")


@pytest.mark.parametrize("look", LOOKS)
def test_looks(start, tool, chromium, look):
    server = start(SIGNED.replace("enabled on;", "enabled on; publish off;"))
    tool(players.pattern(server))
    api.wait_stream(server, "one", lambda one: one["video_frames"] > 50)
    with page.opened(chromium, console(server), **LOOKS[look]) as tab:
        open_share(tab)
        wait_until(lambda: tab.page.locator("svg.qr path").count(), 10, "the code is shown")
        tab.screenshot(f"console-share-{look}")
        tab.check_accessible()
        tab.check_width()
        inside = "(() => { const one = document.querySelector('dialog[open]'); return [one.scrollWidth, one.clientWidth]; })()"
        wide, room = tab.page.evaluate(inside)
        assert wide <= room, f"the dialog's contents are {wide} px wide, it has {room}"
        tab.page.keyboard.press("Escape")
        tab.page.wait_for_selector("dialog", state="detached")


def test_who_may_not_read_the_configuration(start, tool, chromium):
    server = start(of_api="auth { enabled on; username admin; password secret; read_tokens reader-5e8d7c6b4a39; }")
    tool(players.pattern(server))
    with page.opened(chromium, console(server)) as tab:
        tab.page.wait_for_selector("dialog[open]")
        tab.page.check("label:has-text('Token') input[type=radio]")
        tab.page.fill("input[name=token]", "reader-5e8d7c6b4a39")
        tab.page.click("dialog button.primary")
        open_share(tab)
        assert addresses(tab).keys() == {"page", "embed"}
        assert "callers who may read the configuration" in tab.page.inner_text("dialog")
        tab.errors[:] = [text for text in tab.errors if "401 (Unauthorized)" not in text]
