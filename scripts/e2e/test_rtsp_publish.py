"""Publishing by RTSP (ANNOUNCE, RECORD) over TCP and UDP: what was published comes by the other protocols; lost and
reordered packets, access, time limits, bad input. And streams of WebRTC publishers, played by RTSP."""

import re
import subprocess
import time

import pytest

from lib import api, ffmpeg, flv, hooks, http, media, publishing, rtsp
from lib.server import default_vhost
from lib.timing import SLOW, wait_until
from lib.rtsp_server import API, UDP, make, port_pair


@pytest.fixture
def server(servers):
    rtp, _ = port_pair()
    return make(servers, UDP.replace("UDP_PORT", str(rtp)), top=API)


def publisher(server):
    return rtsp.Publisher(server.rtc_port)


def published(server, tags, name, udp=False, send=None, speed=4):
    """What an HTTP-FLV player gets, from before the publisher to its end."""
    collected = publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv", wait=False))
    with publisher(server) as client:
        client.record(rtsp.url(server, f"live/{name}"), tags, udp)
        if send:
            send(client)
        else:
            publishing.send_all(client, tags, speed)
        time.sleep(0.6)  # packets that wait for others
        assert client.request("TEARDOWN", client.url).status == 200
    return collected.finish(20, "HTTP-FLV")


@pytest.mark.valgrind
@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
def test_what_is_published_comes(server, udp):
    tags = media.from_keyframe(media.with_b_frames())[:400]
    received = published(server, tags, "s", udp)
    rtsp.assert_arrived(tags, received, "RTSP to HTTP-FLV")
    # RTSP carries parameter sets. What an AVC configuration of a high profile has behind them is made from these.
    headers = flv.headers(received)
    for published_header in flv.headers(tags):
        found = any(header.startswith(published_header) for header in headers)
        assert found, f"the published header {published_header.hex()} should begin one of {[one.hex() for one in headers]}"
    server.wait_log("RTSP publish: .*live/s, " + ("UDP" if udp else "interleaved"))


@pytest.mark.parametrize("control", ["{base}/streamid={track}?{query}", "{base}?{query}/streamid={track}"], ids=["before", "behind"])
def test_a_url_with_parameters(server, control):
    """The control of a track before or behind them."""
    tags = media.from_keyframe(media.with_b_frames())[:60]
    names = {"base": rtsp.url(server, "live/s"), "query": "token=a/b&x=1"}
    with publisher(server) as client:
        assert client.announce(f"{names['base']}?{names['query']}", tags).status == 200
        for track in (0, 1):
            response = client.request(
                "SETUP", control.format(track=track, **names), Transport=rtsp.TCP.format(2 * track, 2 * track + 1) + ";mode=record"
            )
            assert response.status == 200, f"SETUP of track {track} should be answered with 200, it was with {response}"
        assert client.request("RECORD", client.url).status == 200
        api.wait_stream(server, "s", lambda stream: stream["publish"]["active"])


def test_reordered_and_lost_datagrams(server):
    """Every third pair of packets swapped, and one packet of a video frame lost: the frames up to the next keyframe are
    missing, nothing else."""
    tags = media.from_keyframe(media.with_b_frames())[:400]
    frames = flv.frames(tags)
    video = [tag for tag in frames if tag.type == flv.VIDEO]
    keyframes = [index for index, tag in enumerate(video) if flv.is_keyframe(tag)]
    lost = video[keyframes[1] - 5]

    def send(client):
        begin, kept, count = time.monotonic(), [], 0
        for tag in frames:
            time.sleep(max(0.0, tag.timestamp / 4000 - frames[0].timestamp / 4000 - (time.monotonic() - begin)))
            kept += client.packets(tag)[1 if tag is lost else 0 :]
            while len(kept) >= 2:
                count += 1
                for channel, data in reversed(kept[:2]) if count % 3 == 0 else kept[:2]:
                    client.send_packet(channel, data)
                kept = kept[2:]
        for channel, data in kept:
            client.send_packet(channel, data)

    received = published(server, tags, "s", True, send)
    want = video[: keyframes[1] - 5] + video[keyframes[1] :]
    rtsp.assert_arrived(tags, received, "reordered and lost", want)


def test_a_player_of_rtsp_gets_what_was_published_by_rtsp(server):
    tags = media.tags(media.plain())
    with publisher(server) as client, rtsp.client(server) as player:
        client.record(rtsp.url(server, "live/s"), tags)
        with publishing.Steady(client, tags):
            api.wait_stream(server, "s", lambda stream: stream["frames"] > 40)
            player.play(rtsp.url(server, "live/s"))
            frames = player.read_frames(10, lambda got: len(got) > 150)
    rtsp.assert_same(tags, frames, 44_100, "RTSP to RTSP")


SOURCES = {
    "h264-aac-tcp": ("tcp", ["-c", "copy"], ["h264", "aac"]),
    "h264-aac-udp": ("udp", ["-c", "copy"], ["h264", "aac"]),
    "hevc-opus": ("tcp", ["-c:v", "libx265", "-preset", "ultrafast", "-c:a", "libopus"], ["hevc", "opus"]),
    "h264-mp3": ("tcp", ["-c:v", "copy", "-c:a", "libmp3lame"], ["h264", "mp3"]),
    "h264-pcma": ("tcp", ["-c:v", "copy", "-c:a", "pcm_alaw", "-ar", "8000", "-ac", "1"], ["h264", "pcm_alaw"]),
}


@pytest.mark.parametrize("name", SOURCES)
def test_ffmpeg_publishes(server, tool, name):
    """The codecs arrive as they are; decoded without a complaint."""
    transport, words, codecs = SOURCES[name]
    source = ["-re", "-stream_loop", "-1", "-i", media.plain()]
    tool(ffmpeg.command9(*source, *words, "-f", "rtsp", *ffmpeg.RTSP_TRANSPORTS[transport], rtsp.url(server, f"live/{name}")))
    api.wait_stream(server, name, lambda stream: stream["frames"] > 60, seconds=20)
    words = ["-rtsp_transport", "tcp", "-i", rtsp.url(server, f"live/{name}")]
    probe = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", *words],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert probe.stdout.split() == codecs, f"{codecs} should come back by RTSP, {probe.stdout.split()} did"
    done = subprocess.run(
        ffmpeg.command9("-i", server.rtmp_url(f"live/{name}"), "-t", "2", "-f", "null", "-"), capture_output=True, text=True, check=False
    )
    problems = [line for line in done.stderr.splitlines() if re.search(r"error|corrupt|missing|invalid data", line, re.I)]
    assert done.returncode == 0 and not problems, f"{name} by RTMP: {done.stderr[-2000:]}"


def test_webrtc_publishers_are_played(servers, tool):
    rtc = "rtc_server { enabled on; listen 127.0.0.1:HTTPS_PORT; candidate 127.0.0.1; }"
    server = make(servers, vhost="rtc { enabled on; rtc_to_rtmp on; }", top=API + rtc)
    words = ["-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-f", "lavfi", "-i", "sine=sample_rate=48000"]
    encode = ["-c:v", "libx264", "-profile:v", "baseline", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "libopus", "-ac", "2"]
    where = f"http://127.0.0.1:{server.api_port}/rtc/v1/whip/?app=live&stream=s"
    tool(ffmpeg.command9(*words, *encode, "-f", "whip", where))
    api.wait_stream(server, "s", lambda stream: stream["publish"]["active"], 20)
    wait_until(lambda: described(server).status == 200, 20, lambda: f"a stream of a WHIP publisher can be played: {described(server)}", step=0.3)
    with rtsp.client(server) as player:
        player.play(rtsp.url(server, "live/s"))
        frames = player.read_frames(6, lambda got: len(got) > 250)
    assert len(rtsp.h264_units(rtsp.packets(frames, 0))) > 30, "video of a WHIP publisher should come"
    assert len(rtsp.aac_units(rtsp.packets(frames, 2))) > 30, "audio of a WHIP publisher should come"


def described(server):
    with rtsp.client(server, timeout=10) as player:
        return player.request("DESCRIBE", rtsp.url(server, "live/s"))


# --- access


def test_api_hooks_and_the_name_in_use(servers):
    tags = media.tags(media.plain())
    with hooks.HookServer() as asked:
        reports = f"http_hooks {{ enabled on; on_publish {asked.url('hook')}; on_unpublish {asked.url('hook')}; }}"
        server = make(servers, vhost=reports, top=API)
        with publisher(server) as client, publisher(server) as other:
            client.record(rtsp.url(server, "live/s?key=1"), tags)
            with publishing.Steady(client, tags):
                (one,) = [found for found in api.clients(server) if found["publish"]]
                assert one["type"] == "rtsp-publish" and one["url"] == "/live/s", f"the publisher in the API: {one}"
                response = other.announce(rtsp.url(server, "live/s"), tags)
                assert response.status == 403, f"a name in use should get 403, it got {response}"
                assert len(asked.bodies("on_publish")) == 1, "no hook is asked about a name in use"
        asked.wait("on_unpublish")
        (begun,), (ended,) = asked.bodies("on_publish"), asked.bodies("on_unpublish")
        assert (begun["stream"], begun["param"]) == ("s", "?key=1"), f"on_publish: {begun}"
        assert begun["client_id"] == ended["client_id"] == one["id"], f"one client: {begun}, {ended}, {one}"
    api.ended(server, type="rtsp-publish", name="s")


def test_clients_are_kicked_and_names_taken_over(servers):
    tags = media.tags(media.plain())
    server = servers(
        top="rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }" + API,
        vhosts=default_vhost(vhost="rtsp { enabled on; }", publish="takeover on;", play="mw_latency 0;"),
    )
    address = rtsp.url(server, "live/s")
    with publisher(server) as first, publisher(server) as second, rtsp.client(server) as player:
        first.record(address, tags)
        publishing.send_all(first, tags[:60])
        second.record(address, tags)
        assert first.ended(5), "a publisher whose name was taken over should be disconnected"
        with publishing.Steady(second, tags):
            player.play(address)
            for kind, client in (("rtsp-play", player), ("rtsp-publish", second)):
                (one,) = [found for found in api.clients(server) if found["type"] == kind]
                api.ask(server, f"/api/v1/clients/{one['id']}", method="DELETE")
                assert client.ended(5), f"a kicked client of type {kind} should be disconnected"
    api.ended(server, type="rtsp-publish", reason="publisher-replaced")
    api.ended(server, type="rtsp-play", reason="kicked")


def test_publishing_is_refused(servers):
    tags = media.tags(media.plain())
    with hooks.HookServer(on_publish=hooks.answer("1")) as asked:
        for options in (
            {"rtsp_vhost": "publish off;"},
            {"vhost": "security { enabled on; deny publish all; }"},
            {"vhost": f"http_hooks {{ enabled on; on_publish {asked.url('on_publish')}; }}"},
        ):
            server = make(servers, **options)
            with publisher(server) as client:
                response = client.announce(rtsp.url(server, "live/s"), tags)
                assert response.status == 403, f"{options}: 403 was expected, {response} came"


def test_a_publisher_logs_in(servers):
    tags = media.tags(media.plain())
    server = make(servers, "auth { enabled on; username ann; password secret; }")
    with publisher(server) as client:
        address = rtsp.url(server, "live/s")
        refused = client.announce(address, tags)
        assert refused.status == 401, f"ANNOUNCE without a password should get 401, it got {refused}"
        answer = rtsp.digest(refused, "ann", "secret", "ANNOUNCE", address)
        response = client.announce(address, tags, Authorization=answer)
        assert response.status == 200, f"ANNOUNCE with the password should get 200, it got {response}"


# --- time limits


def test_silent_publishers_are_disconnected(servers):
    tags = media.tags(media.plain())
    top = "rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }" + API
    server = servers(top=top, vhosts=default_vhost(vhost="rtsp { enabled on; }", publish="firstpkt_timeout 1000; normal_timeout 1000;"))
    with publisher(server) as silent, publisher(server) as later:
        silent.record(rtsp.url(server, "live/a"), tags)
        later.record(rtsp.url(server, "live/b"), tags)
        publishing.send_all(later, tags[:60], 4)
        assert silent.ended(5), "a publisher that sends nothing should be disconnected"
        assert later.ended(5), "a publisher that stops sending should be disconnected"
    api.ended(server, r"no usable audio or video within 1000 ms of its start \(firstpkt_timeout\)", name="a", reason="peer-timeout")
    api.ended(server, r"no usable audio or video for 1000 ms \(normal_timeout\)", name="b", reason="peer-timeout")


# --- bad input

MEDIA = "v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=x\r\nt=0 0\r\n"
DESCRIPTIONS = {
    "nothing": "",
    "garbage": "\x00\x01\x02\xff" * 50,
    "no media": MEDIA,
    "unknown codec": MEDIA + "m=video 0 RTP/AVP 96\r\na=rtpmap:96 NOSUCH/90000\r\n",
    "no tracks but data": MEDIA + "m=application 0 RTP/AVP 96\r\n",
    "10,000 lines": MEDIA + "a=x\r\n" * 5000,
    "1,000 media": MEDIA + "m=audio 0 RTP/AVP 0\r\n" * 1000,
}


def test_bad_descriptions(server):
    for name, text in DESCRIPTIONS.items():
        with publisher(server) as client:
            response = client.request("ANNOUNCE", rtsp.url(server, "live/s"), body=text, Content_Type="application/sdp")
            # Of a thousand tracks the first are taken.
            want = (200, 400) if "media" in name and "1,000" in name else (400,)
            assert response.status in want, f"{name}: {want} was expected, {response} came"
    with publisher(server) as client:
        response = client.request("ANNOUNCE", rtsp.url(server, "live/s"), body="{}", Content_Type="application/json")
        assert response.status == 415, f"another type than SDP should get 415, it got {response}"


def test_requests_in_a_wrong_order(server):
    tags, address = media.tags(media.plain()), rtsp.url(server, "live/s")
    with publisher(server) as client:
        assert client.request("RECORD", address).status == 455, "RECORD before ANNOUNCE"
        assert client.announce(address, tags).status == 200
        assert client.request("RECORD", address).status == 455, "RECORD before SETUP"
        assert client.request("PLAY", address).status == 455, "PLAY of a publisher"
        response = client.request("SETUP", f"{address}/streamid=7", Transport=rtsp.TCP.format(0, 1))
        assert response.status in (404, 459), f"a track that was not announced: {response}"
        response = client.request("SETUP", f"{address}/streamid=0", Transport=rtsp.TCP.format(0, 1))
        assert response.status == 200, f"SETUP without mode=record: {response}"
        response = client.request("SETUP", f"{address}/streamid=1", Transport=rtsp.TCP.format(1, 2))
        assert response.status == 461, f"channels of another track: {response}"
        assert client.announce(address, tags).status == 455, "ANNOUNCE after SETUP"


@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
def test_bad_packets_do_not_end_a_stream(server, udp):
    """RTP of length 0, of another version, truncated, on a channel that nobody set up; RTCP that is none."""
    tags = media.from_keyframe(media.plain())[:150]

    def send(client):
        bad = [(0, b""), (0, b"\x00" * 12), (0, b"\x80\x60"), (0, b"\x9f" + b"\xff" * 20), (2, b"\xbf" + b"\x01" * 40)]
        bad += [(1, b""), (3, b"\x80\xc8\xff\xff"), (1, b"\x01" * 100)]
        bad += [] if udp else [(77, b"x" * 1000), (255, b"")]
        for tag in tags:
            client.send_tag(tag)
            client.send_packet(*bad[len(tag.body) % len(bad)])

    received = published(server, tags, "s", udp, send)
    rtsp.assert_arrived(tags, received, "beside bad packets")


def test_setup_of_ten_thousand_tracks(server):
    """Of a publisher: those that it announced are set up, others are refused, and it publishes."""
    tags, address = media.tags(media.plain()), rtsp.url(server, "live/s")
    before = server.rss_kb()
    with publisher(server) as client:
        assert client.announce(address, tags).status == 200
        for track in range(10_000):
            response = client.request("SETUP", f"{address}/streamid={track}", Transport=rtsp.TCP.format(2 * track % 200, 2 * track % 200 + 1))
            want = (200,) if track < 2 else (404, 459)
            assert response.status in want, f"track {track}: {want} was expected, {response} came"
        assert client.request("RECORD", address).status == 200, "it should be able to publish then"
    grown = server.rss_kb() - before
    assert SLOW > 1 or grown < 8_000, f"10,000 SETUPs should not need memory, {grown} kB were added"


def test_changes_while_recording(server):
    tags, address = media.tags(media.plain()), rtsp.url(server, "live/s")
    with publisher(server) as client:
        client.record(address, tags)
        publishing.send_all(client, tags[:50])
        for method, fields, status in (
            ("SETUP", {"Transport": "RTP/AVP;unicast;client_port=5000-5001"}, 455),
            ("ANNOUNCE", {"body": rtsp.description(tags)}, 455),
            ("PLAY", {}, 455),
            ("RECORD", {}, 200),
            ("GET_PARAMETER", {}, 200),
            ("OPTIONS", {}, 200),
        ):
            response = client.request(method, f"{address}/streamid=0" if method == "SETUP" else address, **fields)
            assert response.status == status, f"{method} while recording: {status} was expected, {response} came"
        publishing.send_all(client, tags[50:100])
        api.wait_stream(server, "s", lambda stream: stream["publish"]["active"])
