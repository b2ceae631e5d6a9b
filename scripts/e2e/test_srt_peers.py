"""SRT with those who speak it in the field: gosrt, GStreamer, and what SRS's own black-box test of SRT expects. FFmpeg and
srt-live-transmit are in test_srt.py. MediaMTX, whose SRT is gosrt's, runs where E2E_MEDIAMTX names it."""

import json
import shutil
import subprocess
import time

import pytest

from lib import api, ffmpeg, gosrt, media, mediamtx, ports, publishing, rtmp, srt
from lib.server import default_vhost
from lib.timing import scaled, wait_until

PASSPHRASE = "a-long-secret"


def transport_stream(tool, source, out):
    """As encoders send it: without lengths of PES packets of video."""
    tool(ffmpeg.command("-i", source, "-c", "copy", "-pes_payload_size", "0", "-f", "mpegts", out)).finish(20)
    return out


def probed(target, *words, seconds=30):
    """codec -> packets, of a file or an address."""
    words = ["ffprobe", "-v", "error", *words, "-count_packets", "-show_entries", "stream=codec_name,nb_read_packets", "-of", "json",
             str(target)]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=scaled(seconds), check=False)
    assert done.returncode == 0, f"{target} should be played: {done.stderr}"
    return {one["codec_name"]: int(one["nb_read_packets"]) for one in json.loads(done.stdout)["streams"]}


def assert_both(found, video, audio, at_least=50):
    assert set(found) == {video, audio}, f"the tracks should be {video} and {audio}: {found}"
    assert min(found.values()) >= at_least, f"each track should have {at_least} packets: {found}"


class Published:
    """A stream by RTMP, while it is in use."""

    def __init__(self, server):
        self.client = rtmp.publisher(server, "live", "s")
        self.steady = publishing.Steady(self.client, media.tags(media.with_b_frames()))

    def __enter__(self):
        self.client.__enter__()
        self.steady.__enter__()

    def __exit__(self, *why):
        self.steady.__exit__(*why)
        self.client.__exit__(*why)


@pytest.fixture
def server(servers):
    return srt.make(servers)


# ---- SRS's black-box test


@pytest.mark.parametrize("video", ["h264", "hevc"])
def test_srs_publish_and_play(servers, tool, video):
    """SRT is enabled by the environment, FFmpeg publishes in a loop, ffprobe plays for five seconds; and by HTTP-TS."""
    server = servers(
        top="srt_server { listen 127.0.0.1:RTC_PORT; }" + srt.API,
        vhosts=default_vhost(vhost="http_remux { enabled on; mount [vhost]/[app]/[stream].ts; }"),
        environment={"SRS_SRT_SERVER_ENABLED": "on", "SRS_VHOST_SRT_ENABLED": "on"},
    )
    make, source = (ffmpeg.command, media.with_b_frames()) if video == "h264" else (ffmpeg.command9, media.hevc())
    words = ["-stream_loop", "-1", "-re", "-i", source, "-c", "copy", "-pes_payload_size", "0", "-f", "mpegts"]
    tool(make(*words, srt.url(server, "live/s", "publish")))
    server.wait_log("srt-publish began", 10)
    assert_both(probed(srt.url(server, "live/s"), "-read_intervals", "%+5"), video, "aac")
    assert_both(probed(server.http_url("live/s.ts"), "-read_intervals", "%+5"), video, "aac")


# ---- gosrt


@pytest.fixture
def go():
    """Runs gosrt; what still runs ends with the test."""
    if not gosrt.is_there():
        pytest.skip("there is no Go")
    started = []

    def start(*words):
        started.append(gosrt.Peer(*words))
        return started[-1]

    yield start
    for peer in started:
        peer.kill()


@pytest.mark.parametrize("encrypted", [False, True], ids=["clear", "encrypted"])
def test_gosrt_publishes(servers, tool, go, tmp_path, encrypted):
    """In messages of 1,456 bytes, which cut packets of the transport stream, with message number 1 in all of them. Each
    player gets whole packets."""
    server = srt.make(servers, f"passphrase {PASSPHRASE};" if encrypted else "")
    words = ["-passphrase", PASSPHRASE] if encrypted else []
    source, out = transport_stream(tool, media.plain(), tmp_path / "in.ts"), tmp_path / "out.ts"
    publisher = go(server, "#!::r=live/s,m=publish", "-publish", source, "-seconds", 8, *words)
    server.wait_log("srt-publish began", 10)
    query = {"passphrase": PASSPHRASE} if encrypted else {}
    tool(ffmpeg.command("-i", srt.url(server, "live/s", **query), "-t", "4", "-c", "copy", out)).finish(20)
    assert_both(probed(out), "h264", "aac")
    found = publisher.finish(20)
    assert found["PktSent"] > 100 and found["PktSendLoss"] == 0, f"nothing should be asked for again: {found}"


@pytest.mark.parametrize("encrypted", [False, True], ids=["clear", "encrypted"])
def test_gosrt_plays(servers, go, tmp_path, encrypted):
    """gosrt delivers nothing of a sender whose clock does not begin near 0."""
    server, out = srt.make(servers, f"passphrase {PASSPHRASE};" if encrypted else ""), tmp_path / "out.ts"
    words = ["-passphrase", PASSPHRASE] if encrypted else []
    with Published(server):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 10)
        found = go(server, "#!::r=live/s,m=request", "-play", out, "-seconds", 4, *words).finish(20)
    assert found["PktRecvDrop"] == 0, f"nothing should be dropped: {found}"
    assert_both(probed(out), "h264", "aac")


# ---- GStreamer

gstreamer = pytest.mark.skipif(not shutil.which("gst-launch-1.0"), reason="there is no GStreamer")


@gstreamer
def test_gstreamer_publishes(server, tool, tmp_path):
    source, out = transport_stream(tool, media.plain(), tmp_path / "in.ts"), tmp_path / "out.ts"
    words = f"filesrc location={source} ! tsparse set-timestamps=true alignment=7 ! srtsink uri=srt://127.0.0.1:{server.rtc_port}"
    tool(["gst-launch-1.0", "-q", *words.split(), "streamid=#!::r=live/s,m=publish"])
    server.wait_log("srt-publish began", 10)
    tool(ffmpeg.command("-i", srt.url(server, "live/s"), "-t", "4", "-c", "copy", out)).finish(20)
    assert_both(probed(out), "h264", "aac")


@gstreamer
def test_gstreamer_plays(server, tool, tmp_path):
    out = tmp_path / "out.ts"
    words = ["gst-launch-1.0", "-q", "srtsrc", f"uri=srt://127.0.0.1:{server.rtc_port}", "streamid=#!::r=live/s,m=request", "!"]
    with Published(server):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 10)
        player = tool([*words, "filesink", "buffer-mode=unbuffered", f"location={out}"])
        wait_until(lambda: out.exists() and out.stat().st_size > 300_000, 20, lambda: f"300 kB should come\n{player.text()}")
        player.kill()
    assert_both(probed(out), "h264", "aac", 20)


@gstreamer
def test_gstreamer_that_is_refused_again_and_again(server, tool):
    """srtsrc calls again at once when it is refused: few lines in the log tell of it, and others are served."""
    words = ["gst-launch-1.0", "-q", "srtsrc", f"uri=srt://127.0.0.1:{server.rtc_port}", "streamid=#!::r=live/s,m=both", "!"]
    began = time.monotonic()
    player = tool([*words, "fakesink"])
    server.wait_log("SRT caller .* refused by 2405", 10)
    with Published(server):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 50)
    player.kill()
    lines, most = server.log().count("refused by 2405"), 21 + time.monotonic() - began
    assert lines <= most, f"20 lines, and then one a second, {most:.0f} in all, should tell of refusals; there are {lines}"


# ---- MediaMTX


@pytest.mark.skipif(not mediamtx.PROGRAM, reason="E2E_MEDIAMTX names no program")
def test_mediamtx_pulls(server, tool, tmp_path):
    """A path of it has this server as its source."""
    (port,) = taken = ports.take(1)
    try:
        source = f"srt://127.0.0.1:{server.rtc_port}?streamid=%23!::r=live/s,m=request"
        conf = tmp_path / "mediamtx.yml"
        conf.write_text(f"rtmpAddress: 127.0.0.1:{port}\nrtsp: no\nsrt: no\nhls: no\nmoq: no\nwebrtc: no\npaths:\n  s:\n    source: {source}\n")
        with Published(server):
            api.wait_stream(server, "s", lambda stream: stream["frames"] > 10)
            puller = tool([mediamtx.PROGRAM, conf])
            wait_until(lambda: "is ready" in puller.text() or "stream is available" in puller.text(), 15, puller.text)
            assert_both(probed(f"rtmp://127.0.0.1:{port}/s", "-read_intervals", "%+4"), "h264", "aac")
    finally:
        ports.release(taken)


@pytest.mark.skipif(not mediamtx.PROGRAM, reason="E2E_MEDIAMTX names no program")
@pytest.mark.parametrize("direction", ["pulled", "forwarded"])
def test_mediamtx_listens(servers, tool, tmp_path, direction):
    """It is an origin, whose stream this server pulls when a player asks; and what a stream is forwarded to. The stream ids are MediaMTX's."""
    rtmp_port, srt_port = taken = ports.take(2)
    try:
        conf = tmp_path / "mediamtx.yml"
        conf.write_text(
            f"rtmpAddress: 127.0.0.1:{rtmp_port}\nsrtAddress: 127.0.0.1:{srt_port}\nrtsp: no\nhls: no\nmoq: no\nwebrtc: no\npaths:\n  all_others:\n"
        )
        other = tool([mediamtx.PROGRAM, conf])
        wait_until(lambda: "[SRT] started" in other.text(), 15, other.text)
        url = f"srt://127.0.0.1:{srt_port}?streamid="
        if direction == "forwarded":
            sender = servers(top=api.ON, vhosts=default_vhost(vhost=f'forward {{ enabled on; destination "{url}publish:in/[stream]"; }}'))
            with Published(sender):
                assert_both(probed_soon(f"rtmp://127.0.0.1:{rtmp_port}/in/s"), "h264", "aac")
            return
        ingest = f'ingest i {{ enabled on; stream live/s; input {{ on_demand on; type srt; url "{url}read:in/s"; }} }}'
        puller = servers(top=api.ON, vhosts=default_vhost(vhost=ingest))
        tool(ffmpeg.command("-stream_loop", "-1", "-re", "-i", media.with_b_frames(), "-c", "copy", "-f", "flv", f"rtmp://127.0.0.1:{rtmp_port}/in/s"))
        wait_until(lambda: "is publishing to path 'in/s'" in other.text(), 15, other.text)
        assert_both(probed_soon(puller.rtmp_url("live/s")), "h264", "aac")
    finally:
        ports.release(taken)


def probed_soon(target):
    """As soon as there is a stream; within 15 s."""
    deadline = time.monotonic() + scaled(15)
    while True:
        try:
            return probed(target, "-read_intervals", "%+4")
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
