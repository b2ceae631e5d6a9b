"""SRT: what is published by it comes by the other protocols, and every stream can be played by it; by FFmpeg 5 and 9,
srt-live-transmit and GStreamer. Stream ids, refusals, encryption, and networks that lose packets."""

import random
import socket
import struct
import subprocess
import threading
import time

import pytest

from lib import api, ffmpeg, flv, hooks, http, media, publishing, relay, rtmp, rtsp, srt, ts
from lib.server import default_vhost
from lib.timing import scaled, wait_until


@pytest.fixture
def server(servers):
    return srt.make(servers)


def decoded(framemd5):
    return [line.split(",")[-1].strip() for line in framemd5.splitlines() if not line.startswith("#")]


def is_part(part, whole):
    twice = whole + whole
    return any(twice[at : at + len(part)] == part for at in range(len(whole)))


def without_end(tags, ms=600):
    return [tag for tag in tags if tag.timestamp < tags[-1].timestamp - ms]


def first(tags, video, audio):
    """The first frames of both kinds, as many of each."""
    left = {flv.VIDEO: video, flv.AUDIO: audio}
    kept = []
    for tag in tags:
        if flv.is_frame(tag) and tag.type in left:
            left[tag.type] -= 1
            if left[tag.type] < 0:
                continue
        kept.append(tag)
    return kept


def published(server, start, name="s"):
    """What an HTTP-FLV player gets, from before the publisher to its end. start: starts it."""
    collected = publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv", wait=False))
    start().finish(30)
    server.wait_log("srt-publish ended", 5)
    return collected.finish(20, "HTTP-FLV")


@pytest.mark.parametrize("make", [ffmpeg.command, ffmpeg.command9], ids=["ffmpeg5", "ffmpeg9"])
def test_what_is_published_comes(servers, tool, make):
    """With the times of its frames. FFmpeg closes its connection while its last packets are under way."""
    server = srt.make(servers, play="mw_latency 0; rejoin_timeout 500;")
    received = published(server, lambda: srt.publisher(tool, server, media.with_b_frames(), make=make))
    want = without_end(media.from_keyframe(media.with_b_frames()))
    count = [len([tag for tag in want if tag.type == kind and flv.is_frame(tag)]) for kind in (flv.VIDEO, flv.AUDIO)]
    rtsp.assert_arrived(want, first(received, *count), "SRT to HTTP-FLV")


PLAYERS = {"ffmpeg5": ffmpeg.command, "ffmpeg9": ffmpeg.command9}


@pytest.mark.parametrize("play", ["mw_latency 0;", "mw_latency 350;"], ids=["at-once", "merged"])
@pytest.mark.parametrize("name", PLAYERS)
def test_ffmpeg_plays(servers, tool, tmp_path, name, play):
    server = srt.make(servers, play=play)
    sums = tmp_path / "sums"
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, media.tags(media.with_b_frames())):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 10)
        words = ["-i", srt.url(server, "live/s"), "-t", "3", "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", sums]
        tool(PLAYERS[name](*words) if name == "ffmpeg9" else ffmpeg.command(*words)).finish(20)
    got = decoded(sums.read_text())
    assert len(got) > 40, f"{name}: more than 40 frames should be decoded, {len(got)} were"
    words = ["-i", media.with_b_frames(), "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-"]
    whole = decoded(subprocess.run(ffmpeg.command9(*words), check=True, capture_output=True, text=True).stdout)
    assert is_part(got[:40], whole), f"{name}: the decoded frames should be a run of the published ones"


REFUSALS = {
    "no such vhost": ("#!::h=other.example,r=live/s,m=publish", 2404, "vhost"),
    "no such mode": ("#!::r=live/s,m=both", 2405, "mode"),
    "a name that is none": ("#!::r=live/../s,m=publish", 2400, ""),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(servers, tool, name):
    stream_id, code, text = REFUSALS[name]
    server = servers(
        top=srt.CONF % "" + srt.API, vhosts="vhost only.example { srt { enabled on; } }" + default_vhost(vhost="srt { enabled off; }")
        if "vhost" in name
        else default_vhost(vhost="srt { enabled on; }"),
    )  # fmt: skip
    address = f"srt://127.0.0.1:{server.rtc_port}?streamid={stream_id}"
    tool(ffmpeg.command("-i", media.plain(), "-c", "copy", "-f", "mpegts", address)).finish(20, codes=None)
    line = server.wait_log(rf"SRT caller .* refused by {code}")
    assert text in line, f"the log should say why: {line}"
    assert not [one for one in api.clients(server) if one["type"].startswith("srt")], "nobody should be admitted"


@pytest.mark.parametrize("size", [16, 24, 32])
def test_encryption(servers, tool, tmp_path, size):
    server = srt.make(servers, "passphrase a-long-secret;")
    query = {"passphrase": "a-long-secret", "pbkeylen": size}
    tool(ffmpeg.command("-re", "-stream_loop", "-1", "-i", media.plain(), "-c", "copy", "-f", "mpegts",
                        srt.url(server, "live/s", "publish", **query)))  # fmt: skip
    server.wait_log("srt-publish began: .*encrypted")
    out = tmp_path / "out.ts"
    tool(ffmpeg.command("-i", srt.url(server, "live/s", **query), "-t", "3", "-c", "copy", out)).finish(30)
    got = subprocess.run(["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=codec_name,nb_read_packets",
                          "-of", "csv=p=0", out], check=True, capture_output=True, text=True).stdout.split()  # fmt: skip
    got = sorted(set(got))  # of the program, and of all
    assert len(got) == 2 and all(int(line.split(",")[1]) > 40 for line in got), f"3 s of both tracks should come: {got}"
    tool(ffmpeg.command("-i", srt.url(server, "live/s", passphrase="another-secret"), "-t", "1", "-f", "null", "-")).finish(20, codes=None)
    server.wait_log("refused by 1010: its passphrase is wrong")
    tool(ffmpeg.command("-i", srt.url(server, "live/s"), "-t", "1", "-f", "null", "-")).finish(20, codes=None)
    server.wait_log("refused by 1011")


LOSSES = {"5 %": relay.Harm(loss=5, delay=50, reorder=1), "10 %": relay.Harm(loss=10, delay=50, reorder=1)}


def continuity_errors(path):
    """Of the transport stream's PIDs, null packets apart."""
    data, last, errors = path.read_bytes(), {}, 0
    for at in range(0, len(data) - 187, 188):
        pid, counter = int.from_bytes(data[at + 1 : at + 3], "big") & 0x1FFF, data[at + 3] & 15
        if pid == 0x1FFF or not data[at + 3] & 0x10:
            continue
        errors += pid in last and counter != (last[pid] + 1) & 15
        last[pid] = counter
    return errors


@pytest.mark.quiet  # a late relay is a longer round trip, and each has time for four
@pytest.mark.parametrize("name", LOSSES)
def test_losses_on_the_way_in(servers, tool, name):
    """A round trip of 100 ms, a delay of 500: four repairs of a packet are possible, and nothing is skipped."""
    server = srt.make(servers, play="mw_latency 0; rejoin_timeout 500;")
    with relay.Running(server.rtc_port, LOSSES[name]) as network:
        received = published(
            server, lambda: srt.publisher(tool, server, media.with_b_frames(), port=network.port, latency=500)
        )
    want = without_end(media.from_keyframe(media.with_b_frames()), 1500)
    count = [len([tag for tag in want if tag.type == kind and flv.is_frame(tag)]) for kind in (flv.VIDEO, flv.AUDIO)]
    rtsp.assert_arrived(want, first(received, *count), f"SRT with losses of {name}")


@pytest.mark.quiet  # a late relay is a longer round trip, and each has time for four
@pytest.mark.parametrize("name", LOSSES)
def test_losses_on_the_way_out(servers, tool, tmp_path, name):
    server = srt.make(servers, play="mw_latency 100;")
    out = tmp_path / "out.ts"
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, media.tags(media.with_b_frames())):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 10)
        with relay.Running(server.rtc_port, LOSSES[name]) as network:
            address = f"srt://127.0.0.1:{network.port}?mode=caller&latency=600&streamid=#!::r=live/s,m=request"
            player = tool(["sh", "-c", f"exec srt-live-transmit -q -a:no '{address}' file://con >{out}"])
            wait_until(lambda: out.exists() and out.stat().st_size > 150_000, 15, lambda: f"150 kB should come: {player.text()}")
            player.kill()
    errors = continuity_errors(out)
    assert errors == 0, f"nothing should be missing with losses of {name}, {errors} jumps of continuity counters are there"


@pytest.mark.quiet
def test_a_lossy_handshake_makes_one_session(server, tool):
    """Half of all datagrams are lost."""
    with relay.Running(server.rtc_port, relay.Harm(loss=50)) as network:
        query = {"latency": 2000, "connect_timeout": 10_000, "port": network.port}
        tool(ffmpeg.command("-re", "-stream_loop", "-1", "-i", media.plain(), "-c", "copy", "-f", "mpegts",
                            srt.url(server, "live/s", "publish", **query)))  # fmt: skip
        server.wait_log("srt-publish began", 20)
        wait_until(lambda: api.clients(server), 5, "a session should be there")
    got = [one["type"] for one in api.clients(server)]
    assert got == ["srt-publish"], f"one session should be there, not {got}"
    assert server.log_count("srt-publish began") == 1, server.evidence()


class Reader:
    """What srt-live-transmit gets, with the times of its pieces."""

    def __init__(self, address):
        words = ["srt-live-transmit", "-q", "-a:no", address, "file://con"]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.times = []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while self.process.stdout.read1(65536):
            self.times.append(time.monotonic())

    def longest_gap(self, begin, end):
        inside = [begin, *(at for at in self.times if begin < at < end), end]
        return max(after - before for before, after in zip(inside, inside[1:]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.thread.join()


def datagrams():
    """What no client sends: random bytes, cut handshakes, conclusions with a guessed cookie, and packets for others' ids."""
    dice = random.Random(7)
    head = struct.pack(">IIII", 0x80000000, 0, 0, 0)
    conclusion = struct.pack(">IHHIIIIII", 5, 0, 1, 1, 1500, 8192, 0xFFFFFFFF, 77, 0x12345678) + bytes(16)
    while True:
        yield dice.randbytes(dice.randrange(1, 1400))
        yield head + conclusion[: dice.randrange(len(conclusion))]
        yield head + conclusion + struct.pack(">HHIII", 1, 0xFFFF, 0x10501, 0xBF, 0)
        yield struct.pack(">IIII", 0x80050000, 0, 0, dice.getrandbits(30)) + bytes(4)
        yield struct.pack(">IIII", dice.getrandbits(31), 0xE0000001, 0, dice.getrandbits(30)) + dice.randbytes(1316)


@pytest.mark.quiet
def test_nobody_notices_a_flood_of_junk(server):
    """24,000 datagrams under a player: its longest gap is not longer than before."""
    seconds, count = 4, 24_000
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, media.tags(media.plain())):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 10)
        with Reader(f"srt://127.0.0.1:{server.rtc_port}?streamid=#!::r=live/s,m=request") as player:
            wait_until(lambda: player.times, 10, "the player gets something")
            time.sleep(1)
            begin = time.monotonic()
            time.sleep(seconds)
            before = player.longest_gap(begin, time.monotonic())
            begin, made = time.monotonic(), datagrams()
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for number in range(count):
                    sender.sendto(next(made), ("127.0.0.1", server.rtc_port))
                    if number % 100 == 0:
                        time.sleep(max(0, begin + seconds * number / count - time.monotonic()))
            during = player.longest_gap(begin, time.monotonic())
    assert during < before + scaled(0.15), f"the player's longest gap should stay at {before:.3f} s, it became {during:.3f} s"
    types = [one["type"] for one in api.clients(server)]
    assert not [one for one in types if one.startswith("srt-publish")], f"nobody should have been admitted: {types}"


def test_a_hook_says_the_passphrase(servers, tool):
    """Each stream has one of its own; the wrong one, and none, are refused by their codes, and nothing of it is logged."""
    answers = {
        "publish": hooks.answer('{"code": 0, "data": {"passphrase": "of-the-publisher"}}'),
        "play": hooks.answer('{"code": 0, "data": {"passphrase": "of-the-player"}}'),
    }
    with hooks.HookServer(**answers) as hook:
        vhost = f"http_hooks {{ enabled on; on_publish {hook.url('publish')}; on_play {hook.url('play')}; }}"
        server = srt.make(servers, vhost=vhost, srt_vhost="passphrase of-the-vhost; passphrase_by_hook on;")
        srt.publisher(tool, server, media.plain(), passphrase="of-the-publisher")
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 20)
        for query, code in ({"passphrase": "of-the-publisher"}, 1010), ({"passphrase": "of-the-vhost"}, 1010), ({}, 1011):
            tool(ffmpeg.command("-i", srt.url(server, "live/s", **query), "-t", "1", "-f", "null", "-")).finish(20, codes=None)
            server.wait_log(rf"SRT caller .* refused by {code}")
        tool(ffmpeg.command("-i", srt.url(server, "live/s", passphrase="of-the-player"), "-t", "1", "-f", "null", "-")).finish(20)
        (publisher,) = [one for one in api.clients(server) if one["type"] == "srt-publish"]
        shown = server.log() + str(api.clients(server)) + str(api.ask(server, "/api/v1/config?set=true&count=1000"))
    assert publisher["srt"]["key_bits"] == 128, f"it encrypts: {publisher}"
    for secret in ("of-the-publisher", "of-the-player", "of-the-vhost"):
        assert secret not in shown, f"{secret} should not be shown"
