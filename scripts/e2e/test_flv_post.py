"""FLV by POST (stream_caster { caster flv; }): FFmpeg 5 and 9, curl and plain sockets as encoders."""

import json
import socket
import subprocess
import time

import pytest

from lib import api, ffmpeg, hooks
from lib.server import default_vhost
from lib.timing import scaled, wait_until

CASTER = "stream_caster { enabled on; caster flv; listen 127.0.0.1:RTC_PORT; output rtmp://127.0.0.1/[app]/[stream]; }\n"
SECONDS = 3


@pytest.fixture(scope="session")
def posted(tmp_path_factory):
    """An FLV with B-frames."""
    path = tmp_path_factory.mktemp("flv") / "posted.flv"
    words = ffmpeg.command(
        "-f", "lavfi", "-i", "testsrc=size=320x180:rate=25", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-t", SECONDS,
        "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "2", "-pix_fmt", "yuv420p", "-c:a", "aac", path,
    )  # fmt: skip
    subprocess.run(words, check=True, capture_output=True)
    return path


def make(servers, caster=CASTER, publish="normal_timeout 1500; firstpkt_timeout 1500;", vhost="", more=""):
    return servers(top=caster + api.ON, vhosts=default_vhost(publish=publish, vhost=vhost, play="mw_latency 0;") + more)


def url(server, path="live/s.flv"):
    return f"http://127.0.0.1:{server.rtc_port}/{path}"



class Player:
    """FFmpeg 9 as a player from before the publisher to its end."""

    def __init__(self, server, name="live/s.flv"):
        words = ffmpeg.command9("-i", server.http_url(name), "-map", "0", "-c", "copy", "-copyts", "-f", "framemd5", "-")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: "s" in api.streams(server), 10, "the player waits for its stream")

    def packets(self):
        try:
            out, errors = self.process.communicate(timeout=scaled(30))
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, errors = self.process.communicate()
            raise AssertionError(f"the player should end with the stream; it had:\n{out[-500:]}\n{errors[-2000:]}") from None
        return ffmpeg.framemd5(out)


def sent_packets(path):
    words = ffmpeg.command9("-i", path, "-map", "0", "-c", "copy", "-copyts", "-f", "framemd5", "-")
    return ffmpeg.framemd5(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


class Encoder:
    """A request whose body is sent in pieces."""

    def __init__(self, server, path="/live/s.flv", method="POST", head="Transfer-Encoding: chunked\r\n", ip="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", server.rtc_port), timeout=scaled(10), source_address=(ip, 0))
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n".encode())

    def chunk(self, data):
        self.socket.sendall(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self):
        self.socket.sendall(b"0\r\n\r\n")

    def response(self):
        text = b""
        while piece := self.socket.recv(65536):
            text += piece
        head, _, body = text.partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode()

    def refused(self, status, text=""):
        got, body = self.response()
        assert got == status and text in body, f"{status} with {text!r} was expected, {got} came: {body!r}"

    def close(self):
        self.socket.close()


def begin(server, posted, **options):
    """An encoder that has published half of its file."""
    data = posted.read_bytes()
    encoder = Encoder(server, **options)
    encoder.chunk(data[: len(data) // 2])
    api.wait_stream(server, "s", lambda stream: stream["publish"]["active"])
    return encoder, data[len(data) // 2 :]


@pytest.mark.parametrize("sender", ["5", "9"])
def test_ffmpeg_posts(servers, posted, sender):
    server = make(servers)
    player = Player(server)
    program = ffmpeg.command9 if sender == "9" else ffmpeg.command
    words = program("-re", "-i", posted, "-c", "copy", "-copyts", "-f", "flv", url(server))
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
    ffmpeg.assert_same_packets(sent_packets(posted), player.packets(), f"FFmpeg {sender}")
    server.wait_log("FLV publish: .*live/s, by HTTP, from 127.0.0.1")
    ended = api.ended(server, "has ended its FLV", type="flv-publish")
    assert ended["reason"] == "done", ended


@pytest.mark.parametrize("how", ["-T", "--data-binary"])
def test_curl_posts(servers, posted, how):
    """With a length, at three times the speed: PUT with an expectation, or POST."""
    server = make(servers)
    player = Player(server)
    words = ["curl", "-s", "-S", "--limit-rate", str(posted.stat().st_size // SECONDS * 3), how, str(posted) if how == "-T" else f"@{posted}", url(server)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "published\n", f"{' '.join(words)}: {done.stdout}{done.stderr}"
    # It begins with as much as its buffer has, before the player is woken: that gets the last GOP of it.
    came = player.packets()
    sent = {number: packets[-len(came.get(number, [])) :] for number, packets in sent_packets(posted).items()}
    ffmpeg.assert_same_packets(sent, came, f"curl {how}")
    assert len(came[0]) >= 25, f"the last second of video should have come, there are {len(came[0])} frames"


@pytest.mark.parametrize("size", [1, 37, 1000])
def test_chunks_of_any_size(servers, posted, size):
    server = make(servers)
    player = Player(server)
    data = posted.read_bytes()
    encoder = Encoder(server)
    begin = time.monotonic()
    for at in range(0, len(data), 8192):
        piece = data[at : at + 8192]
        time.sleep(max(0.0, at * SECONDS / 2 / len(data) - (time.monotonic() - begin)))
        encoder.socket.sendall(b"".join(b"%x;x=y\r\n%s\r\n" % (len(part), part) for part in (piece[i : i + size] for i in range(0, len(piece), size))))
    encoder.end()
    encoder.refused(200, "published")
    ffmpeg.assert_same_packets(sent_packets(posted), player.packets(), f"chunks of {size} bytes")


def test_names_and_vhosts(servers, posted):
    """Each URL has a stream; the vhost is the output's, or the client's where the output says so."""
    caster = CASTER.replace("127.0.0.1/[app]", "[vhost]/[app]")
    server = make(servers, caster, more="vhost other.example { }\n")
    data = posted.read_bytes()
    encoders = [Encoder(server, path) for path in ("/live/s.flv", "/live/deep/t.flv?token=1", "/live/u?vhost=other.example")]
    for encoder in encoders:
        encoder.chunk(data)
    wait_until(lambda: len(api.streams(server)) == 3, 10, "three streams")
    clients = {one["url"]: one for one in api.clients(server) if one["type"] == "flv-publish"}
    assert sorted(clients) == ["/live/deep/t", "/live/s", "other.example/live/u"], clients
    vhosts = {one["id"]: one["name"] for one in api.ask(server, "/api/v1/vhosts")["vhosts"]}
    assert vhosts[clients["other.example/live/u"]["vhost"]] == "other.example", clients
    for encoder in encoders:
        encoder.end()
        encoder.refused(200)


REFUSALS = {
    "get": (dict(method="GET", head=""), 405, "POST"),
    "without-a-body": (dict(head=""), 411, "no body"),
    "without-a-name": (dict(path="/live/"), 400, "stream"),
    "without-an-app": (dict(path="/s.flv"), 400, "[app]"),
    "a-query-in-the-name": (dict(path="/live/s%3fvhost=x.flv"), 400, "forbidden character"),
    "up": (dict(path="/live/%2e%2e/%2e%2e/etc/s.flv"), 400, ""),
    "a-long-name": (dict(path=f"/live/{'s' * 300}.flv"), 400, "at most 256"),
    "a-long-url": (dict(path=f"/live/{'s' * 9000}.flv"), 414, ""),
    "two-lengths": (dict(head="Content-Length: 5\r\nContent-Length: 6\r\n"), 400, ""),
    "both-framings": (dict(head="Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400, ""),
    "gzip": (dict(head="Transfer-Encoding: gzip, chunked\r\n"), 501, ""),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refused_requests(servers, what):
    server = make(servers)
    options, status, text = REFUSALS[what]
    Encoder(server, **options).refused(status, text)
    assert not api.streams(server), "a refused request should begin nothing"


BODIES = {
    "no-flv": (b"\x47" * 1000, "no FLV file"),
    "version": (b"FLV\x02\x05\x00\x00\x00\x09\x00\x00\x00\x00", "version 2"),
    "tag-type": (b"FLV\x01\x05\x00\x00\x00\x09\x00\x00\x00\x00" + b"\xe9" * 11, "encrypted or broken"),
}


@pytest.mark.parametrize("what", BODIES)
def test_bodies_that_are_no_flv(servers, what):
    server = make(servers)
    data, text = BODIES[what]
    encoder = Encoder(server)
    encoder.chunk(data)
    encoder.refused(400, text)
    api.ended(server, text, type="flv-publish", reason="protocol-error")


def test_broken_chunks(servers):
    server = make(servers)
    encoder = Encoder(server)
    encoder.socket.sendall(b"xyz\r\n")
    encoder.refused(400)


def test_bad_tags_cost_themselves(servers, posted):
    """Tags whose bodies are not valid are counted; the others go on."""
    server = make(servers)
    player = Player(server)
    data = posted.read_bytes()
    encoder = Encoder(server)
    encoder.chunk(data[:13])
    for _ in range(5):
        encoder.chunk(b"\x09\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00" + b"\x17\x09\x00" + b"\x00\x00\x00\x0e")
    begin = time.monotonic()
    for at in range(13, len(data), 4096):
        time.sleep(max(0.0, at * SECONDS / 2 / len(data) - (time.monotonic() - begin)))
        encoder.chunk(data[at : at + 4096])
    encoder.end()
    encoder.refused(200)
    ffmpeg.assert_same_packets(sent_packets(posted), player.packets(), "a file with bad tags")


def test_a_name_in_use(servers, posted):
    server = make(servers)
    encoder, rest = begin(server, posted)
    Encoder(server).refused(409, "live/s")
    encoder.chunk(rest)
    encoder.end()
    encoder.refused(200)


def test_silence(servers, posted):
    server = make(servers)
    encoder, _ = begin(server, posted)
    encoder.refused(408, "normal_timeout")
    api.ended(server, "no usable audio or video for", type="flv-publish", reason="peer-timeout")
    Encoder(server).refused(408, "firstpkt_timeout")


def test_a_connection_that_breaks(servers, posted):
    server = make(servers)
    encoder, _ = begin(server, posted)
    encoder.close()
    api.ended(server, "closed by the peer", type="flv-publish")
    wait_until(lambda: not any(stream["publish"]["active"] for stream in api.streams(server).values()), 5, "the name is free")


def test_hooks_decide(servers, posted):
    with hooks.HookServer(publish=hooks.answer('{"code":1}')) as hook:
        hook_url = f"http://127.0.0.1:{hook.port}"
        server = make(servers, vhost=f"http_hooks {{ enabled on; on_publish {hook_url}/publish; on_unpublish {hook_url}/unpublish; }}")
        Encoder(server, "/live/s.flv?token=abc").refused(403)
        asked = [call for call in hook.calls if call.target.startswith("/publish")]
        assert len(asked) == 1, f"one question was expected, {len(asked)} came"
        body = json.loads(asked[0].body)
        assert (body["app"], body["stream"], body["param"]) == ("live", "s", "?token=abc"), body
        hook.answers.clear()
        encoder, rest = begin(server, posted)
        encoder.chunk(rest)
        encoder.end()
        encoder.refused(200)
        wait_until(lambda: any(call.target.startswith("/unpublish") for call in hook.calls), 10, "on_unpublish")


def test_access_rules(servers, posted):
    server = make(servers, vhost="security { enabled on; deny publish 127.0.0.2; allow publish all; }")
    Encoder(server, ip="127.0.0.2").refused(403)
    encoder, _ = begin(server, posted)
    encoder.close()


def test_kick_and_reload(servers, posted):
    """An operator ends it; a reload with another output is for the next one, and one without the port closes that."""
    server = make(servers)
    encoder, rest = begin(server, posted)
    other = server.conf.replace("[app]/[stream]", "other/[stream]")
    api.reload(server, other)
    encoder.chunk(rest)
    assert [one["url"] for one in api.clients(server) if one["publish"]] == ["/live/s"]
    second = Encoder(server)
    second.chunk(posted.read_bytes())
    wait_until(lambda: any(one["url"] == "/other/s" for one in api.clients(server)), 10, "a stream of the new output")
    second.end()
    second.refused(200)
    client = next(one for one in api.clients(server) if one["publish"])
    api.ask(server, f"/api/v1/clients/{client['id']}", method="DELETE")
    api.ended(server, type="flv-publish", reason="kicked")
    api.reload(server, other.replace("enabled on; caster", "enabled off; caster"))

    def closed():
        try:
            Encoder(server).close()
        except ConnectionRefusedError:
            return True
        return False

    wait_until(closed, 5, "the port is closed")


def test_a_slow_head_and_no_head(servers):
    """Connections without a request are closed in time, whatever they send."""
    server = make(servers)
    connection = socket.create_connection(("127.0.0.1", server.rtc_port), timeout=scaled(20))
    connection.sendall(b"POST /live/s.flv HT")
    begin = time.monotonic()
    text = b""
    while piece := connection.recv(4096):
        text += piece
    took = time.monotonic() - begin
    assert took < scaled(13), f"the server should give up after 10 s, it took {took:.1f} s"
    assert text.startswith(b"HTTP/1.1 408"), text
