"""HTTP/2 over TLS: curl, Node.js and Chromium get by it what HTTP/1.1 gives: files, the API, HLS, live streams, WHEP; many
requests at once on one connection; and attacks by frames of our own end the connection, and nothing else."""

import json
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest

from lib import browser, certificates, dash, flv, http, media, metrics, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until
from lib.upgrades import Upgrades

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HLS = "hls { enabled on; hls_storage memory; hls_fragment 1; hls_window 6; hls_ctx off; }"
LOW_LATENCY = HLS.replace("hls_ctx", "hls_low_latency on; hls_use_fmp4 on; hls_ctx")


DASH = (
    "hls { hls_storage memory; hls_fragment 2; hls_low_latency on; hls_ctx off; } "
    "dash { enabled on; dash_fragment 2; dash_window_size 100; dash_timeshift 300; }"
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("pair"))


@pytest.fixture
def make(servers, pair):
    def start(https="", **options):
        tls = f"enabled on; key {pair[0]}; cert {pair[1]}; {https}"
        top = f"http_api {{ enabled on; listen 127.0.0.1:API_PORT; }}\n{options.pop('top', '')}"
        server = servers(
            top=top,
            http=f"{options.pop('limits', '')} https {{ listen 127.0.0.1:HTTPS_PORT; {tls} }}",
            vhosts=default_vhost(vhost=options.pop("hls", HLS), play="mw_latency 50;"),
            **options,
        )
        (server.dir / "html" / "file.txt").write_text("what is in it\n" * 5000)
        return server

    return start


def url(server, path):
    return f"https://127.0.0.1:{server.https_port}/{path}"


def curl(*words, seconds=10):
    """Status, version of HTTP, and the body."""
    done = subprocess.run(
        ["curl", "-sk", "--max-time", str(scaled(seconds)), "-w", "\n%{http_code} %{http_version}", *words],
        capture_output=True,
        check=False,
    )
    body, _, last = done.stdout.rpartition(b"\n")
    status, version = last.decode().split()
    return int(status), version, body


def test_curl_gets_files(make):
    server = make()
    content = (server.dir / "html" / "file.txt").read_bytes()
    assert curl("--http2", url(server, "file.txt")) == (200, "2", content)
    assert curl("--http1.1", url(server, "file.txt")) == (200, "1.1", content)
    assert curl("--http2", "-r", "5-9", url(server, "file.txt")) == (206, "2", content[5:10])
    status, version, body = curl("--http2", "-I", url(server, "file.txt"))
    assert (status, version) == (200, "2") and f"content-length: {len(content)}".encode() in body
    assert curl("--http2", url(server, "nothing"))[:2] == (404, "2")
    assert curl("--http2", "-X", "DELETE", url(server, "file.txt"))[:2] == (405, "2")
    assert curl("--http2", "-d", "x" * 100, url(server, "rtc/v1/whep/?app=live&stream=none"))[1] == "2"


def test_without_http2(make):
    server = make(https="http2 off;")
    assert curl("--http2", url(server, "file.txt"))[:2] == (200, "1.1")


def test_the_api(servers, pair):
    tls = f"https {{ enabled on; listen 127.0.0.1:RTC_PORT; key {pair[0]}; cert {pair[1]}; }}"
    server = servers(top=f"http_api {{ enabled on; listen 127.0.0.1:API_PORT; {tls} }}\n{metrics.EXPORTER % ''}")
    at = f"https://127.0.0.1:{server.rtc_port}/api/v1/"
    status, version, body = curl("--http2", at + "versions")
    assert (status, version, json.loads(body)["code"]) == (200, "2", 0)
    status, version, body = curl("--http2", at + "versions?callback=f")
    assert version == "2" and body.startswith(b"/**/f(") and body.endswith(b");\n")
    assert curl("--http2", at + "streams")[:2] == (200, "2")
    told = metrics.Metrics(server)
    assert told.value("srs_http2_requests_total") == 3
    assert told.value("srs_http2_connections_total") == 3


def test_times_are_those_of_http1(make):
    """Who sends nothing, and who asks no more."""
    server = make(limits="request_timeout 400; idle_timeout 600;")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    started = time.monotonic()
    with context.wrap_socket(socket.create_connection(("127.0.0.1", server.https_port), scaled(10))) as silent:
        frames_until_the_end(silent)
    server.wait_log("no complete request within 400 ms")
    with connect(server) as idle:
        idle.sendall(frame(1, 5, 1, b"\x82\x87\x41\x01a\x04\x08/nothing"))
        found = frames_until_the_end(idle)
    assert time.monotonic() - started < scaled(6)
    assert [payload[4:8] for kind, _, payload in found if kind == 7] == [bytes(4)], "a regular end"
    assert b"404" in b"".join(payload for kind, _, payload in found if kind == 0)
    server.wait_log("idle for 600 ms")


def test_a_live_stream_comes_whole(make, tmp_path):
    """By one stream of HTTP/2, to its end: the tags of one that came by HTTP/1.1."""
    server = make()
    tags = list(flv.read_file(media.plain()))
    with rtmp.publisher(server, "live", "two") as client:
        publishing.send_all(client, [tag for tag in tags if not flv.is_frame(tag)])
        wait_until(lambda: http.get(server.http_port, "/live/two.flv", "HEAD").status == 200, 10, "the stream")
        outs = {"--http2": tmp_path / "two.flv", "--http1.1": tmp_path / "one.flv"}
        readers = [
            subprocess.Popen(["curl", "-sk", "--fail", how, "-o", out, url(server, "live/two.flv")])
            for how, out in outs.items()
        ]
        wait_until(lambda: server.log().count("flv-play started") == 2, 10, "both readers")
        clients = json.loads(http.get(server.api_port, "/api/v1/clients").body)["clients"]
        assert {one.get("transport") for one in clients if one["type"] == "flv-play"} == {"h2", "http/1.1"}
        publishing.send_all(client, [tag for tag in tags if flv.is_frame(tag)], 8)
    for reader in readers:
        assert reader.wait(scaled(20)) == 0, "the end of the stream is a regular one"
    by_two, by_one = (list(flv.read_file(out)) for out in outs.values())
    assert len(flv.frames(by_two)) > 50
    flv.assert_same(flv.frames(by_one), flv.frames(by_two), "HTTP/2")


def test_hls(make):
    server = make()
    tags = list(flv.read_file(media.plain()))
    with rtmp.publisher(server, "live", "hls") as client:
        steady = publishing.Steady(client, tags)
        wait_until(lambda: curl("--http2", url(server, "live/hls.m3u8"))[0] == 200, 15, "the playlist")
        status, version, text = curl("--http2", url(server, "live/hls.m3u8"))
        segment = [line for line in text.decode().splitlines() if line and not line.startswith("#")][0]
        path = segment if segment.startswith("/") else f"live/{segment}"
        got = curl("--http2", url(server, path.lstrip("/")))
        assert got[:2] == (200, "2")
        assert got[2] == curl("--http1.1", url(server, path.lstrip("/")))[2]
        assert len(got[2]) % 188 == 0 and len(got[2]) > 188 * 20
        steady.stop()


NODE = """
const http2 = require('http2');
const client = http2.connect('https://127.0.0.1:%d', {rejectUnauthorized: false});
const ask = (path, headers = {}) => new Promise((done) => {
    const stream = client.request({':path': path, ...headers});
    let size = 0, status = 0;
    stream.on('response', (fields) => { status = fields[':status']; });
    stream.on('data', (bytes) => { size += bytes.length; });
    stream.on('error', (error) => done({path, error: error.code}));
    stream.on('close', () => done({path, status, size}));
    stream.end();
});
(async () => {
    const all = [];
    for (let round = 0; round < 5; ++round)
        for (let i = 0; i < 100; ++i) all.push(ask(i %% 2 ? '/file.txt' : '/nothing', {priority: `u=${i %% 8}`}));
    const answers = await Promise.all(all);
    const reset = client.request({':path': '/file.txt'});
    reset.on('error', () => {});
    reset.close(http2.constants.NGHTTP2_CANCEL);
    const after = await ask('/file.txt');
    const peer = client.remoteSettings;
    client.close();
    console.log(JSON.stringify({answers, after, streams: peer.maxConcurrentStreams}));
})();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
def test_node_asks_for_much_at_once(make, tmp_path):
    server = make()
    script = tmp_path / "ask.js"
    script.write_text(NODE % server.https_port)
    done = subprocess.run(["node", script], capture_output=True, text=True, check=True, timeout=scaled(60))
    told = json.loads(done.stdout)
    size = (server.dir / "html" / "file.txt").stat().st_size
    assert len(told["answers"]) == 500
    for answer in [*told["answers"], told["after"]]:
        assert "error" not in answer, answer
        assert answer["status"] == (200 if answer["path"] == "/file.txt" else 404), answer
        assert answer["path"] != "/file.txt" or answer["size"] == size
    assert told["streams"] == 128


# Rounds of: a reload that waits, of which there are several, the hinted part, and one for later that is given up.
RELOADS = """
const http2 = require('http2');
const client = http2.connect('https://127.0.0.1:%d', {rejectUnauthorized: false});
const ask = (path) => new Promise((done) => {
    const stream = client.request({':path': '/live/' + path});
    let status = 0, chunks = [];
    stream.on('response', (fields) => { status = fields[':status']; });
    stream.on('data', (bytes) => chunks.push(bytes));
    stream.on('error', (error) => done({error: error.code}));
    stream.on('close', () => done({status, body: Buffer.concat(chunks)}));
    stream.end();
});
const hint = (text) => /PRELOAD-HINT:TYPE=PART,URI="([^"]+)"/.exec(text)[1];
(async () => {
    let text = String((await ask('low.m3u8')).body);
    const rounds = [];
    for (let round = 0; round < 5; ++round) {
        const number = Number(/MEDIA-SEQUENCE:([0-9]+)/.exec(text)[1]) + text.match(/#EXTINF/g).length;
        const open = text.slice(text.lastIndexOf('#EXTINF'));
        const part = (open.match(/EXT-X-PART:/g) ?? []).length;
        const later = client.request({':path': `/live/low.m3u8?_HLS_msn=${number + 1}`});
        later.on('error', () => {});
        const reload = `low.m3u8?_HLS_msn=${number}&_HLS_part=${part}`, name = hint(text);
        const [hinted, ...reloads] = await Promise.all([ask(name), ask(reload), ask(reload), ask(reload)]);
        later.close(http2.constants.NGHTTP2_CANCEL);
        const same = reloads.every((one) => one.status === 200 && one.body.equals(reloads[0].body));
        text = String(reloads[0].body);
        rounds.push({name, status: hinted.status, size: hinted.body?.length, same, listed: text.includes(`URI="${name}"`) && hint(text) !== name});
    }
    client.close();
    console.log(JSON.stringify(rounds));
})();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node.js")
def test_a_segment_of_dash_comes_as_it_grows(make):
    server = make(hls=DASH)
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.from_keyframe(media.frequent_keyframes())):
        manifest = dash.wait(server, lambda one: len(one.numbers()) >= 2, what="two segments")
        now = dash.wait(server, lambda one: one.numbers()[-1] > manifest.numbers()[-1], what="one that begins")
        uris = [now.track(id).segments[-1].uri.lstrip("/") for id in ("video", "audio")]
        began = time.monotonic()
        grown = curl("--http2", url(server, uris[0]))
        assert time.monotonic() - began > 0.3 and grown[:2] == (200, "2"), "it has come as it was made"
        assert grown[2] == curl("--http1.1", url(server, uris[0]))[2], "the bytes of the complete one"
        assert curl("--http2", url(server, uris[1]))[:2] == (200, "2")


def test_low_latency_hls(make, tmp_path):
    """Requests that wait are streams of one connection; one that is given up is no longer there."""
    server = make(hls=LOW_LATENCY, top=metrics.EXPORTER % "")
    with publishing.Steady(rtmp.publisher(server, "live", "low", timeout=scaled(10)), media.from_keyframe(media.frequent_keyframes())):
        wait_until(lambda: curl("--http2", url(server, "live/low.m3u8"))[0] == 200, 15, "the playlist")
        script = tmp_path / "reload.js"
        script.write_text(RELOADS % server.https_port)
        done = subprocess.run(["node", script], capture_output=True, text=True, check=True, timeout=scaled(60))
        rounds = json.loads(done.stdout)
        assert len(rounds) == 5 and len({one["name"] for one in rounds}) == 5, rounds
        for one in rounds:
            assert one["status"] == 200 and one["same"] and one["listed"], one
            status, version, part = curl("--http2", url(server, f"live/{one['name']}"))
            assert (status, version, len(part)) == (200, "2", one["size"]), one
        wait_until(lambda: metrics.Metrics(server).value("srs_waiting_requests") == 0, 5, "nothing waits")
        text = curl("--http2", url(server, "live/low.m3u8"))[2].decode()
        number = int(text.partition("MEDIA-SEQUENCE:")[2].split()[0]) + text.count("#EXTINF")
        status, version, reload = curl("--http2", url(server, f"live/low.m3u8?_HLS_msn={number + 1}"))
        assert (status, version) == (200, "2") and reload.decode().count("#EXTINF") + int(reload.decode().partition("MEDIA-SEQUENCE:")[2].split()[0]) >= number + 1


PAGE = """async () => {
    const file = await fetch('/file.txt');
    const text = await file.text();
    const live = await fetch('/live/page.flv');
    const reader = live.body.getReader();
    let size = 0;
    while (size < 100000) {
        const {done, value} = await reader.read();
        if (done) break;
        size += value.length;
    }
    await reader.cancel();
    const protocols = performance.getEntriesByType('resource').map((entry) => entry.nextHopProtocol);
    return {text: text.length, size, protocols};
}"""


def test_chromium(make):
    playwright = pytest.importorskip("playwright.sync_api")
    server = make()
    (server.dir / "html" / "page.html").write_text("<!doctype html><title>page</title>")
    with rtmp.publisher(server, "live", "page") as client:
        steady = publishing.Steady(client, list(flv.read_file(media.plain())), speed=4)
        with playwright.sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=browser.program(), args=browser.FLAGS.split())
            page = chromium.new_context(ignore_https_errors=True).new_page()
            page.goto(url(server, "page.html"))
            told = page.evaluate(PAGE)
            chromium.close()
        steady.stop()
    assert told["text"] == (server.dir / "html" / "file.txt").stat().st_size
    assert told["size"] >= 100000
    assert "h2" in told["protocols"] and set(told["protocols"]) == {"h2"}


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


REQUEST = b"\x82\x87\x41\x01a\x04\x09/file.txt"
FLOODS = {
    "rapid-reset": lambda i: frame(1, 5, 2 * i + 1, REQUEST) + frame(3, 0, 2 * i + 1, b"\0\0\0\x08"),
    "made-you-reset": lambda i: frame(1, 5, 2 * i + 1, REQUEST) + frame(8, 0, 2 * i + 1, b"\0\0\0\0"),
    "ping": lambda i: frame(6, 0, 0, b"12345678"),
    "settings": lambda i: frame(4, 0, 0, b"\0\4\0\0\xff\xff"),
    "priority": lambda i: frame(2, 0, 2 * i + 1, b"\0\0\0\0\x10"),
    "continuation": lambda i: frame(1, 1, 1, REQUEST) if i == 0 else frame(9, 0, 1),
    "window-update": lambda i: frame(8, 0, 0, b"\0\0\0\1"),
    "unknown": lambda i: frame(200, 0, 0, b"x" * 100),
}


def open_socket(server):
    return socket.create_connection(("127.0.0.1", server.https_port), scaled(10))


def connect(server, opened=None):
    """A connection after its preface, by a socket that is open."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    peer = context.wrap_socket(opened or open_socket(server))
    assert peer.selected_alpn_protocol() == "h2"
    peer.sendall(PREFACE + frame(4, 0, 0))
    return peer


def frames_until_the_end(peer):
    """(type, stream, payload) of each."""
    data, found = b"", []
    while got := peer.recv(65536):
        data += got
        while len(data) >= 9 and len(data) >= (size := 9 + int.from_bytes(data[:3], "big")):
            found.append((data[3], int.from_bytes(data[5:9], "big"), data[9:size]))
            data = data[size:]
    return found


def test_a_connection_that_an_upgrade_overtakes_is_told_so(make):
    """Its handshake comes to the process before, whose playlists are gone."""
    server = make()
    with Upgrades(server) as upgrades, open_socket(server) as opened:
        time.sleep(scaled(0.2))
        upgrades.upgrade()
        with connect(server, opened) as peer:
            goaways = [payload[:8] for kind, _, payload in frames_until_the_end(peer) if kind == 7]
        assert goaways[-1:] == [bytes(8)], f"GOAWAY, before any request: {goaways}"


def test_the_end_of_the_server_is_told_twice(make):
    """What is under way ends first: a live stream, when its publisher leaves."""
    server = make(top="grace_start_wait 100; grace_limit 60000; grace_final_wait 100;")
    with connect(server) as idle, connect(server) as busy:
        with rtmp.publisher(server, "live", "end") as client:
            publishing.send_all(client, [tag for tag in flv.read_file(media.plain())][:60])
            wait_until(lambda: http.get(server.http_port, "/live/end.flv", "HEAD").status == 200, 10, "the stream")
            busy.sendall(frame(1, 5, 1, b"\x82\x87\x41\x01a\x04\x0d/live/end.flv"))
            server.wait_log("flv-play started", 10)
            server.signal(signal.SIGQUIT)
            goaways = [payload[:8] for kind, _, payload in frames_until_the_end(idle) if kind == 7]
            assert goaways[0] == b"\x7f\xff\xff\xff\0\0\0\0", "no request under way is lost"
            assert goaways[1] == bytes(8)
        of_busy = frames_until_the_end(busy)
    assert [payload[:8] for kind, _, payload in of_busy if kind == 7][:2] == [goaways[0], b"\0\0\0\1\0\0\0\0"]
    assert sum(len(payload) for kind, stream, payload in of_busy if kind == 0 and stream == 1) > 1000
    assert server.wait_exit(20) == 0


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_ends_its_connection_alone(make, name):
    server = make()
    with connect(server) as peer:
        ended = False
        sent = 0
        started = time.monotonic()
        try:
            while not ended and sent < 20_000 and time.monotonic() - started < scaled(20):
                peer.sendall(b"".join(FLOODS[name](i) for i in range(sent, sent + 20)))
                sent += 20
                peer.settimeout(0.002)
                try:
                    while data := peer.recv(65536):
                        pass
                    ended = data == b""
                except TimeoutError:
                    pass
                peer.settimeout(scaled(10))
        except (OSError, ssl.SSLError):
            ended = True
        assert ended, f"{sent} of {name}"
        assert sent <= 6_000
    assert curl("--http2", url(server, "file.txt"))[:2] == (200, "2")
