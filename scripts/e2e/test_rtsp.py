"""RTSP: players over TCP get what was published, by our own client, ffmpeg and GStreamer; requests, sessions, access, bad
input."""

import re
import socket
import subprocess
import time

import pytest

from lib import api, ffmpeg, flv, hooks, media, publishing, rtc, rtmp, rtsp, ts
from lib.rtsp_server import API, UDP, Tunnel, make, port_pair
from lib.timing import SLOW, wait_until


@pytest.fixture
def server(servers):
    return make(servers, top=API)


@pytest.fixture
def stream(server):
    """A stream at live/s, and its tags."""
    tags = media.tags(media.with_b_frames())
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, tags) as steady:
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 40)
        yield steady


# --- players


@pytest.mark.valgrind
def test_the_published_frames_come(server):
    tags = media.tags(media.with_b_frames())
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, tags[:60])
        with rtsp.client(server) as player:
            response = player.play(rtsp.url(server, "live/s"))
            publishing.send_all(client, tags[60:], 16)
            enough = len([tag for tag in flv.frames(tags) if tag.type == flv.VIDEO]) - 5
            frames = player.read_frames(10, lambda got: len(rtsp.h264_units([rtsp.rtp(d) for c, d in got if c == 0])) > enough)
    rtsp.assert_same(tags, frames, 44_100, "RTSP")
    infos = re.findall(r"url=([^;,]+);seq=(\d+);rtptime=(\d+)", response.get("RTP-Info"))
    for channel, (info, sequence, stamp) in zip((0, 2), infos, strict=True):
        first = rtsp.packets(frames, channel)[0]
        assert info == rtsp.url(server, f"live/s/trackID={channel // 2}"), f"RTP-Info has the track's URL: {response}"
        assert int(sequence) == first.sequence, f"RTP-Info has the first sequence number: {response}, {first}"
        assert abs(int(stamp) - first.timestamp) < 45_000, f"RTP-Info has the first packet's time: {response}, {first}"


def test_a_sender_report_comes_before_the_first_packet(stream, server):
    with rtsp.client(server) as player:
        player.play(rtsp.url(server, "live/s"))
        begin = time.monotonic()
        frames = player.read_frames(6.5)
        seconds = time.monotonic() - begin
    for channel in (0, 2):
        order = [number for number, _ in frames if number in (channel, channel + 1)]
        assert order[0] == channel + 1, f"a report should be the first of channels {channel}-{channel + 1}: {order[:5]}"
        found = rtsp.reports(frames, channel + 1)
        want = (seconds // 5 + 1, seconds // 5 + 2)
        assert len(found) in want, f"a report should come at first and each 5 s, {len(found)} came in {seconds:.1f} s"
    (video, video_stamp), (audio, audio_stamp) = rtsp.reports(frames, 1)[0], rtsp.reports(frames, 3)[0]
    apart = (video - video_stamp / 90_000) - (audio - audio_stamp / 44_100)
    assert abs(apart) < 0.001, f"both reports should state the same clock, they are {apart * 1000} ms apart"
    assert abs(video - 2_208_988_800 - time.time()) < 60, f"the report should state the wall clock, not {video}"


SOURCES = {
    "b-frames": (media.with_b_frames, "h264", "aac"),
    "hevc": (media.hevc, "hevc", "aac"),
    "mp3": (media.h264_mp3, "h264", "mp3"),
    "aac-only": (media.audio_only, None, "aac"),
    "video-only": (media.video_only, "h264", None),
}


@pytest.mark.parametrize("name", SOURCES)
def test_ffmpeg_plays(server, tool, tmp_path, name):
    """framemd5 of decoded frames: a run of those of the file."""
    path, video, audio = SOURCES[name][0](), SOURCES[name][1], SOURCES[name][2]
    want = [f"{video},video"] * bool(video) + [f"{audio},audio"] * bool(audio)
    address = ["-rtsp_transport", "tcp", "-i", rtsp.url(server, f"live/{name}")]
    sums = tmp_path / "sums"
    with rtmp.publisher(server, "live", name) as client, publishing.Steady(client, media.tags(path)):
        api.wait_stream(server, name, lambda stream: stream["frames"] > 10)
        words = ["-show_entries", "stream=codec_name,codec_type", "-of", "csv=p=0"]
        got = subprocess.run(["ffprobe", "-v", "error", *words, *address], check=True, capture_output=True, text=True)
        assert got.stdout.split() == want, f"ffmpeg should get {want}, it got {got.stdout.split()}"
        words = ["-map", "0:v"] if video else ["-map", "0:a"]
        tool(ffmpeg.command9(*address, "-t", "3", *words, "-fps_mode", "passthrough", "-f", "framemd5", sums)).finish(20)
    if not video:
        return  # decoded audio depends on where the decoder began
    got = decoded(sums.read_text())
    assert len(got) > 40, f"{name}: more than 40 frames should be decoded, {len(got)} were"
    words = ["-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-"]
    published = decoded(subprocess.run(ffmpeg.command9(*words), check=True, capture_output=True, text=True).stdout)
    assert is_part(got[:40], published), f"{name}: the decoded frames should be a run of the published ones"


def decoded(framemd5):
    return [line.split(",")[-1].strip() for line in framemd5.splitlines() if not line.startswith("#")]


def is_part(part, whole):
    """Whether the part comes in the whole, repeated as a loop repeats it."""
    twice = whole + whole
    return any(twice[at : at + len(part)] == part for at in range(len(whole)))


@pytest.mark.parametrize("query", ["", "?token=a/b&x=1"], ids=["plain", "parameters"])
def test_gstreamer_plays(stream, server, tool, tmp_path, query):
    out = tmp_path / "out.h264"
    words = f"rtspsrc location={rtsp.url(server, 'live/s' + query)} protocols=tcp ! rtph264depay ! h264parse"
    caps = "video/x-h264,stream-format=byte-stream,alignment=au"
    player = tool(["gst-launch-1.0", "-q", *f"{words} ! {caps} ! identity eos-after=60 ! filesink location={out}".split()])
    player.finish(20)
    got = [unit for unit in ts.nal_units(out.read_bytes()) if unit[0] & 31 not in (7, 8, 9)]
    want = [unit for tag in flv.frames(stream.tags) if tag.type == flv.VIDEO for unit in ts.published_units(tag)]
    assert len(got) > 50, f"more than 50 NAL units should come, {len(got)} did"
    assert is_part(got[:50], want), "the NAL units that GStreamer got should be a run of the published ones"


TRACK_URLS = {
    "behind the query": ("{base}?{query}", "{base}?{query}/trackID={track}"),
    "before the query": ("{base}?{query}", "{base}/trackID={track}?{query}"),
    "before the query, with a slash": ("{base}?{query}", "{base}/trackID={track}?{query}/"),
    "capitals": ("{capitals}?{query}", "{base}/trackID={track}?{query}"),
}


@pytest.mark.parametrize("name", TRACK_URLS)
def test_a_url_with_parameters(stream, server, name):
    """Programs differ in where they put a track's control then."""
    whole, part = TRACK_URLS[name]
    base = rtsp.url(server, "live/s")
    names = {"base": base, "capitals": base.replace("rtsp:", "RTSP:"), "query": "token=a/b&x=1"}
    with rtsp.client(server) as player:
        controls = player.describe(whole.format(**names))
        want = [(whole + "/trackID={track}").format(track=track, **names) for track in (0, 1)]
        assert controls == want, f"the controls should be absolute, {want}, they are {controls}"
        for track in (0, 1):
            response = player.request(
                "SETUP", part.format(track=track, **names), Transport=rtsp.TCP.format(2 * track, 2 * track + 1)
            )
            assert response.status == 200, f"SETUP of track {track} should be answered with 200, it was with {response}"
        assert player.request("PLAY", whole.format(**names) + "/").status == 200
        frames = player.read_frames(5, lambda got: {channel for channel, _ in got} >= {0, 2})
        assert {channel for channel, _ in frames} >= {0, 2}, "both tracks should come"


def test_players_share_one_encoding(stream, server):
    """With the common channels, whatever the order of SETUP; with others they have logs of their own, at most four."""
    players = [rtsp.client(server) for _ in range(8)]
    try:
        for player in players[:3]:
            player.play(rtsp.url(server, "live/s"))
        same = {rtsp.packets(player.read_frames(2, lambda got: len(got) > 20), 0)[0].ssrc for player in players[:3]}
        assert len(same) == 1, f"three players of the same channels should get the same packets, the SSRCs are {same}"
        for index, player in enumerate(players[3:7]):
            player.play(rtsp.url(server, "live/s"), channels=[10 + 4 * index, 12 + 4 * index])
            channels = {channel for channel, _ in player.read_frames(2, lambda got: len(got) > 50)}
            want = set(range(10 + 4 * index, 14 + 4 * index))
            assert channels == want, f"frames should come on channels {want}, they came on {channels}"
        controls = players[7].describe(rtsp.url(server, "live/s"))
        response = players[7].request("SETUP", controls[0], Transport=rtsp.TCP.format(100, 101))
        assert response.status == 461, f"a fifth choice of channels should get 461, it got {response}"
        assert "0-1" in response.get("Warning"), f"the response should say what to use: {response}"
        response = players[7].request("SETUP", controls[0], Transport=rtsp.TCP.format(0, 1))
        assert response.status == 200, f"the common channels are still there: {response}"
    finally:
        for player in players:
            player.close()


def test_one_track_alone(stream, server):
    with rtsp.client(server) as player:
        _, audio = player.describe(rtsp.url(server, "live/s"))
        response = player.request("SETUP", audio, Transport=rtsp.TCP.format(0, 1))
        assert response.status == 200, f"SETUP of audio alone: {response}"
        player.request("PLAY", rtsp.url(server, "live/s"))
        frames = player.read_frames(3, lambda got: len(got) > 30)
    assert {channel for channel, _ in frames} == {0, 1}, "only audio should come"
    assert len(rtsp.aac_units(rtsp.packets(frames, 0))) > 20, "audio should come"


def test_pause_and_play_again(stream, server):
    with rtsp.client(server) as player:
        player.play(rtsp.url(server, "live/s"))
        player.read_frames(5, lambda got: len(got) > 20)
        response = player.request("PAUSE", rtsp.url(server, "live/s"))
        assert response.status == 200, f"PAUSE: {response}"
        player.frames.clear()
        player.read_frames(0.7)
        assert not player.frames, f"nothing should come while paused, {len(player.frames)} frames did"
        response = player.request("GET_PARAMETER", rtsp.url(server, "live/s"))
        assert response.status == 200, f"GET_PARAMETER is a keep-alive: {response}"
        response = player.request("PLAY", rtsp.url(server, "live/s"))
        assert response.status == 200, f"PLAY after PAUSE: {response}"
        frames = player.read_frames(5, lambda got: len(got) > 20)
        assert len(frames) > 20, "the stream should go on after PLAY"
        response = player.request("TEARDOWN", rtsp.url(server, "live/s"))
        assert response.status == 200, f"TEARDOWN: {response}"
        assert player.ended(), "the connection should end after TEARDOWN"
    api.ended(server, r"closed by the client \(TEARDOWN", type="rtsp-play", name="s", reason="peer-closed")


def test_the_end_of_the_stream_ends_players(servers):
    server = make(servers, top=API)
    tags = media.tags(media.plain())
    with rtsp.client(server) as player:
        with rtmp.publisher(server, "live", "s") as client:
            publishing.send_all(client, tags[:100])
            player.play(rtsp.url(server, "live/s"))
        assert player.ended(10), "a player should be disconnected when its stream is over"
    api.ended(server, type="rtsp-play", reason="stream-ended")


def test_another_codec_ends_players(server):
    """They were told of the first one: they have to ask again."""
    first, second = media.tags(media.plain()), media.tags(media.hevc())
    with rtsp.client(server) as player:
        with rtmp.publisher(server, "live", "s") as client:
            publishing.send_all(client, first[:100])
            player.play(rtsp.url(server, "live/s"))
            player.read_frames(3, lambda got: len(got) > 20)
        with rtmp.publisher(server, "live", "s") as client:
            publishing.send_all(client, second[:100])
            assert player.ended(5), "a player of H.264 should be disconnected when HEVC comes in its place"
            with rtsp.client(server) as again:
                again.describe(rtsp.url(server, "live/s"))
                assert "H265" in again.sdp, f"the description should be of HEVC now: {again.sdp}"


def test_rtsps(servers, certificate):
    key, cert = certificate
    tls = f"rtsps {{ enabled on; listen 127.0.0.1:HTTPS_PORT; key {key}; cert {cert}; }}"
    server = make(servers, rtsp_server=tls, top=API)
    tags = media.tags(media.plain())
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, tags):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 20)
        with rtsp.Client(server.https_port, tls=True) as player:
            player.play(f"rtsps://127.0.0.1:{server.https_port}/live/s")
            frames = player.read_frames(5, lambda got: len(got) > 200)
    rtsp.assert_same(tags, frames, 44_100, "RTSPS")


# --- by UDP

@pytest.fixture
def udp_server(servers):
    rtp, _ = port_pair()
    return make(servers, UDP.replace("UDP_PORT", str(rtp)), top=API)


@pytest.fixture
def udp_stream(udp_server):
    tags = media.tags(media.with_b_frames())
    with rtmp.publisher(udp_server, "live", "s") as client, publishing.Steady(client, tags) as steady:
        api.wait_stream(udp_server, "s", lambda stream: stream["frames"] > 40)
        yield steady


@pytest.mark.parametrize("by", ["", rtc.BY_THREADS], ids=["loop", "threads"])
def test_the_published_frames_come_by_udp(servers, by):
    rtp, _ = port_pair()
    server, tags = make(servers, UDP.replace("UDP_PORT", str(rtp)), top=API + by), media.tags(media.with_b_frames())
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, tags[:60])
        with rtsp.client(server) as player:
            player.play_udp(rtsp.url(server, "live/s"))
            publishing.send_all(client, tags[60:], 16)
            frames = player.read_datagrams(2)
    rtsp.assert_same(tags, frames, 44_100, "RTSP by UDP")
    for channel in (1, 3):
        assert rtsp.reports(frames, channel), f"a sender report should come on channel {channel}"
    if by:
        sent = sum(one["datagrams"] for one in api.ask(server, "/api/v1/overview")["overview"]["senders"])
        assert sent > len(tags) / 2, f"threads should have sent them: {sent}"


def test_programs_play_by_udp(udp_stream, udp_server, tool, tmp_path):
    address = rtsp.url(udp_server, "live/s")
    out, sums = tmp_path / "out.h264", tmp_path / "sums"
    words = f"rtspsrc location={address} protocols=udp ! rtph264depay ! h264parse ! video/x-h264,stream-format=byte-stream"
    # By UDP rtspsrc does not end when its pads do.
    gst = tool(["gst-launch-1.0", "-q", *f"{words} ! filesink buffer-mode=unbuffered location={out}".split()])
    words = [*ffmpeg.RTSP_TRANSPORTS["udp"], "-i", address, "-t", "3", "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5"]
    tool(ffmpeg.command9(*words, sums)).finish(20)
    wait_until(lambda: out.stat().st_size > 50_000, 20, lambda: f"GStreamer should play by UDP; {gst.text()}")
    gst.kill()
    assert len(decoded(sums.read_text())) > 40, "ffmpeg should play by UDP"
    assert len(ts.nal_units(out.read_bytes())) > 20, "GStreamer should get whole NAL units by UDP"
    udp_server.wait_log("RTSP play: .*live/s, UDP")


def test_udp_goes_to_nobody_else(udp_stream, udp_server):
    """Neither to a destination that is named, nor to the ports of another session, nor to one that is silent."""
    address = rtsp.url(udp_server, "live/s")
    with rtsp.client(udp_server) as player, rtsp.client(udp_server) as thief, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as victim:
        victim.bind(("127.0.0.2", 0))
        controls = player.describe(address)
        player.setup_udp(controls[0], 0)
        ports = [player.udp[channel].getsockname()[1] for channel in (0, 1)]
        thief.describe(address)
        response = thief.request("SETUP", controls[0], Transport="RTP/AVP;unicast;client_port={}-{}".format(*ports))
        assert response.status == 461, f"the ports of another session should get 461, they got {response}"
        port = victim.getsockname()[1]
        wanted = f"RTP/AVP;unicast;destination=127.0.0.2;client_port={port}-{port + 1 if port < 65535 else port - 1}"
        response = thief.request("SETUP", controls[0], Transport=wanted)
        assert "127.0.0.2" not in response.get("Transport"), f"a destination should not be granted: {response}"
        thief.request("PLAY", address)
        player.request("PLAY", address)
        player.read_datagrams(1.5)
        assert len(player.frames) > 20, "the player itself should get the stream"
        victim.setblocking(False)
        with pytest.raises(BlockingIOError):
            victim.recv(2048)


@pytest.mark.long
def test_udp_ends_with_the_connection_and_in_silence(servers):
    rtp, rtcp = port_pair()
    server = make(servers, UDP.replace("UDP_PORT", str(rtp)) + "session_timeout 5;", top=API)
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, media.tags(media.plain())):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 20)
        with rtsp.client(server) as silent, rtsp.client(server) as reporting, rtsp.client(server) as leaving:
            for player in (silent, reporting, leaving):
                player.play_udp(rtsp.url(server, "live/s"))
            leaving.socket.close()
            begin = time.monotonic()
            while time.monotonic() - begin < 7:
                reporting.udp[1].sendto(b"\x80\xc9\0\x01\0\0\0\x01", ("127.0.0.1", rtcp))
                reporting.read_datagrams(0.5)
            assert silent.ended(3), "a player without reports and requests should be disconnected"
            reporting.frames.clear()
            reporting.read_datagrams(1)
            assert len(reporting.frames) > 10, "a player that sends reports should go on"
            silent.read_datagrams(0.3)
            silent.frames.clear()
            silent.read_datagrams(1)
            assert not silent.frames, "nothing should be sent to a player whose session is over"
    api.ended(server, "neither a request nor a report for 5 s", reason="peer-timeout")


def test_transport_is_not_mixed_and_a_pause_pauses(udp_stream, udp_server):
    address = rtsp.url(udp_server, "live/s")
    with rtsp.client(udp_server) as player:
        controls = player.describe(address)
        player.setup_udp(controls[0], 0)
        response = player.request("SETUP", controls[1], Transport=rtsp.TCP.format(0, 1))
        assert response.status == 461, f"TCP beside UDP should get 461, it got {response}"
        assert player.setup_udp(controls[0], 0).status == 200, "other ports may be set up before PLAY"
        player.request("PLAY", address)
        player.read_datagrams(3, lambda got: len(got) > 20)
        assert len(player.frames) > 20, "the stream should come to the last ports"
        assert player.request("PAUSE", address).status == 200
        player.read_datagrams(0.3)
        player.frames.clear()
        player.read_datagrams(0.7)
        assert not player.frames, "nothing should come while paused"


# --- the HTTP tunnel


def test_the_http_tunnel(stream, server, tool, tmp_path):
    with Tunnel(server) as player:
        assert player.head.startswith(b"HTTP/1.0 200") and b"application/x-rtsp-tunnelled" in player.head, player.head
        player.play(rtsp.url(server, "live/s"))
        frames = list(player.read_frames(5, lambda got: len(got) > 150))
        response = player.request("GET_PARAMETER", rtsp.url(server, "live/s"))
        assert response.status == 200, f"a request while playing: {response}"
        player.post.socket.close()
        assert player.ended(), "a tunnel should end with its POST"
    rtsp.assert_same(stream.tags, frames, 44_100, "RTSP by the HTTP tunnel")
    out = tmp_path / "out.mkv"
    tool(ffmpeg.command("-rtsp_transport", "http", "-i", rtsp.url(server, "live/s"), "-map", "0:a", "-t", "1", "-c", "copy", out)).finish(20)
    assert out.stat().st_size > 2000, "ffmpeg should play by the tunnel"


def test_bad_tunnels(server):
    cases = {
        "no cookie": (b"GET /live/s HTTP/1.0\r\n\r\n", b"HTTP/1.0 400"),
        "a long cookie": (b"GET / HTTP/1.0\r\nx-sessioncookie: " + b"x" * 200 + b"\r\n\r\n", b"HTTP/1.0 400"),
        "POST without GET": (b"POST / HTTP/1.0\r\nx-sessioncookie: none\r\n\r\n", b"HTTP/1.0 404"),
    }
    for name, (data, want) in cases.items():
        with rtsp.client(server) as bad:
            bad.send(data)
            bad._fill()
            assert bad.data.startswith(want), f"{name}: {want} was expected, {bad.data} came"
            assert bad.ended(), f"{name}: the connection should end"
    with Tunnel(server, "one") as first:
        first.post.socket.sendall(b"!!!!")
        assert first.ended(), "a tunnel with other characters than base64 should end"
    with Tunnel(server, "two") as first:
        first.send(b"\x00\x01\x02")
        assert first.ended(), "a tunnel with garbage should end"
    with rtsp.client(server) as waiting, rtsp.client(server) as other:
        for one in (waiting, other):
            one.send(b"GET / HTTP/1.0\r\nx-sessioncookie: same\r\n\r\n")
            one._fill()  # the response: the request has been read
        assert other.ended(), "a second GET with the same cookie should end"


# --- access


def test_api_and_hooks(servers):
    with hooks.HookServer() as asked:
        reports = f"http_hooks {{ enabled on; on_play {asked.url('hook')}; on_stop {asked.url('hook')}; }}"
        server = make(servers, vhost=reports, top=API)
        tags = media.tags(media.plain())
        with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, tags):
            api.wait_stream(server, "s", lambda stream: stream["frames"] > 20)
            with rtsp.client(server) as player:
                player.play(rtsp.url(server, "live/s?token=a"))
                player.read_frames(3, lambda got: len(got) > 20)
                (one,) = [c for c in api.clients(server) if c["type"] == "rtsp-play"]
                assert one["publish"] is False and one["url"] == "/live/s", f"the client in the API: {one}"
                assert one["send_bytes"] > 1000 if "send_bytes" in one else True
        asked.wait("on_stop")
        (play,), (stop,) = asked.bodies("on_play"), asked.bodies("on_stop")
        assert (play["stream"], play["param"]) == ("s", "?token=a"), f"on_play: {play}"
        assert play["client_id"] == stop["client_id"] == one["id"], f"one client: {play}, {stop}, {one}"


def test_a_hook_refuses(servers):
    with hooks.HookServer(on_play=hooks.answer("1")) as asked:
        server = make(servers, vhost=f"http_hooks {{ enabled on; on_play {asked.url('on_play')}; }}", top=API)
        with rtmp.publisher(server, "live", "s") as client:
            publishing.send_all(client, media.tags(media.plain())[:50])
            with rtsp.client(server) as player:
                response = player.request("DESCRIBE", rtsp.url(server, "live/s"))
                assert response.status == 403, f"a refused player should get 403, it got {response}"


def test_access_rules_and_switches(servers):
    server = make(servers, vhost="security { enabled on; deny play 127.0.0.1; }")
    with rtsp.client(server) as player:
        response = player.request("DESCRIBE", rtsp.url(server, "live/s"))
        assert response.status == 403, f"a denied address should get 403, it got {response}"
    server = make(servers, rtsp_vhost="rtmp_to_rtsp off;")
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, media.tags(media.plain())[:50])
        with rtsp.client(server) as player:
            response = player.request("DESCRIBE", rtsp.url(server, "live/s"))
            assert response.status == 404 and "rtmp_to_rtsp" in response.get("Warning"), f"rtmp_to_rtsp off: {response}"
    tags = media.tags(media.plain())
    with rtsp.Publisher(server.rtc_port) as client, rtsp.client(server) as player:
        client.record(rtsp.url(server, "live/own"), tags)
        with publishing.Steady(client, tags):
            response = player.request("DESCRIBE", rtsp.url(server, "live/own"))
            assert response.status == 200, f"a stream published by RTSP needs no rtmp_to_rtsp: {response}"


@pytest.mark.parametrize("methods", ["all", "digest", "basic"])
def test_passwords(servers, methods):
    server = make(servers, f"auth {{ enabled on; username ann; password secret; methods {methods}; }}", top=API)
    tags, address = media.tags(media.plain()), rtsp.url(server, "live/s")
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, tags):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 20)
        with rtsp.client(server) as player:
            assert player.request("OPTIONS", address).status == 200, "OPTIONS needs no password"
            refused = player.request("DESCRIBE", address)
            assert refused.status == 401, f"DESCRIBE without a password should get 401, it got {refused}"
            schemes = [field.split()[0] for field in refused.all("WWW-Authenticate")]
            want = {"all": ["Digest", "Basic"], "digest": ["Digest"], "basic": ["Basic"]}[methods]
            assert schemes == want, f"the schemes offered should be {want}, they are {schemes}"

            def answer(password):
                if methods == "basic":
                    return rtsp.basic("ann", password)
                return rtsp.digest(refused, "ann", password, "DESCRIBE", address)

            wrong = player.request("DESCRIBE", address, Authorization=answer("wrong"))
            assert wrong.status == 401, f"a wrong password should get 401, it got {wrong}"
            if methods == "digest":
                other = player.request("DESCRIBE", address, Authorization=rtsp.basic("ann", "secret"))
                assert other.status == 401, f"Basic was not offered and should get 401, it got {other}"
            right = player.request("DESCRIBE", address, Authorization=answer("secret"))
            assert right.status == 200, f"the right password should get 200, it got {right}"
            player.play(address)
        with rtsp.client(server) as player:
            for _ in range(5):
                response = player.request("DESCRIBE", address, Authorization=rtsp.basic("ann", "no") if methods != "digest"
                                          else rtsp.digest(player.request("DESCRIBE", address), "ann", "no", "DESCRIBE", address))  # fmt: skip
                assert response.status == 401, f"a wrong password should get 401, it got {response}"
            assert player.ended(), "five wrong passwords should end the connection"


def test_ffmpeg_logs_in(servers, tool, tmp_path):
    server = make(servers, "auth { enabled on; username ann; password secret; methods digest; }", top=API)
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, media.tags(media.plain())):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 20)
        address = rtsp.url(server, "live/s").replace("rtsp://", "rtsp://ann:secret@")
        out = tmp_path / "out.mkv"
        tool(ffmpeg.command("-rtsp_transport", "tcp", "-i", address, "-t", "1", "-c", "copy", out)).finish(20)
    assert out.stat().st_size > 5000, "ffmpeg should play with the password in the URL"


# --- time limits


def test_silent_clients_are_disconnected(servers):
    server = make(servers, "session_timeout 5;", top=API)
    with rtsp.client(server, timeout=15) as silent, rtsp.client(server, timeout=15) as slow:
        assert slow.request("OPTIONS", "*").status == 200
        slow.send(b"OPTIONS * RTSP/1.0\r\nCSeq:")
        assert silent.ended(9), "a client without a request should be disconnected after 5 s"
        assert slow.ended(9), "a client with half a request should be disconnected after 5 s"
    api.ended(server, r"no request for 5 s \(session_timeout")


# --- bad input


def test_a_slow_reader_does_not_disturb_others(stream, server):
    with rtsp.client(server, receive_buffer=4096) as slow, rtsp.client(server) as other:
        slow.play(rtsp.url(server, "live/s"))
        other.play(rtsp.url(server, "live/s"))
        begin = time.monotonic()
        other.frames.clear()
        other.read_frames(3)
        seconds = time.monotonic() - begin
        count = len(rtsp.h264_units(rtsp.packets(other.frames, 0)))
        assert count > 20 * seconds, f"a player beside a slow one should get 25 frames a second, {count} in {seconds:.1f} s"


REFUSED = {
    "channel 255": ("SETUP", "trackID=0", {"Transport": rtsp.TCP.format(255, 256)}, 400),
    "channel 65535": ("SETUP", "trackID=0", {"Transport": rtsp.TCP.format(65535, 65536)}, 400),
    "channels far apart": ("SETUP", "trackID=0", {"Transport": rtsp.TCP.format(0, 5)}, 461),
    "port 0": ("SETUP", "trackID=0", {"Transport": "RTP/AVP;unicast;client_port=0-1"}, 400),
    "multicast": ("SETUP", "trackID=0", {"Transport": "RTP/AVP;multicast"}, 461),
    "no transport": ("SETUP", "trackID=0", {}, 461),
    "SRTP": ("SETUP", "trackID=0", {"Transport": "RTP/SAVP;unicast;client_port=5000-5001"}, 461),
    "many transports": ("SETUP", "trackID=0", {"Transport": ",".join(["RTP/AVP"] * 20)}, 400),
    "no such track": ("SETUP", "trackID=7", {"Transport": rtsp.TCP.format(0, 1)}, 404),
    "huge track": ("SETUP", "trackID=99999999999999999999", {"Transport": rtsp.TCP.format(0, 1)}, 404),
    "the whole stream": ("SETUP", "", {"Transport": rtsp.TCP.format(0, 1)}, 459),
    "PLAY before SETUP": ("PLAY", "", {}, 455),
    "PAUSE before SETUP": ("PAUSE", "", {}, 455),
    "RECORD": ("RECORD", "", {}, 455),
    "unknown method": ("DANCE", "", {}, 501),
    "required feature": ("DESCRIBE", "", {"Require": "www.onvif.org/ver20/backchannel"}, 551),
    "another format": ("DESCRIBE", "", {"Accept": "text/html"}, 406),
    "parameters": ("SET_PARAMETER", "", {"body": "volume: 11\r\n"}, 451),
}


def test_refused_requests_leave_the_connection(stream, server):
    """Each gets its status, on one connection, which plays afterwards."""
    with rtsp.client(server) as player:
        address = rtsp.url(server, "live/s")
        player.describe(address)
        for name, (method, track, fields, status) in REFUSED.items():
            response = player.request(method, f"{address}/{track}" if track else address, **fields)
            assert response.status == status, f"{name}: {status} was expected, {response} came"
        assert player.request("SETUP", f"{address}/trackID=0", Transport=rtsp.TCP.format(0, 1)).status == 200
        response = player.request("PLAY", address, Range="npt=x-")
        assert response.status == 400, f"malformed Range: 400 was expected, {response} came"
        player.play(address)
        assert len(player.read_frames(3, lambda got: len(got) > 10)) > 10, "it should play after all that"


def test_names_that_are_not_there(server):
    with rtsp.client(server) as player:
        for address in ("live/none", "live", "", "live/", "live//s", "a/b/c/none?vhost=other", "live/" + "x" * 2000):
            response = player.request("DESCRIBE", rtsp.url(server, address))
            assert response.status in (400, 403, 404), f"{address[:40]}: 404 was expected, {response} came"
        for address in ("*", "http://127.0.0.1/live/s", "rtsp://", "/live/s"):
            response = player.request("DESCRIBE", address)
            assert response.status == 404, f"{address}: 404 was expected, {response} came"


def test_setup_of_ten_thousand_tracks(stream, server):
    before = server.rss_kb()
    with rtsp.client(server) as player:
        address = rtsp.url(server, "live/s")
        player.describe(address)
        for track in range(10_000):
            player.send_request("SETUP", f"{address}/trackID={track}", Transport="RTP/AVP/TCP")
            response = player.response()
            want = 200 if track < 2 else 404
            assert response.status == want, f"track {track}: {want} was expected, {response} came"
    grown = server.rss_kb() - before
    assert SLOW > 1 or grown < 8_000, f"10,000 SETUPs should not need memory, {grown} kB were added"


def test_requests_in_one_piece(stream, server):
    """All requests of a session in one segment, with a report behind PLAY: answered in order, and the stream follows."""
    address = rtsp.url(server, "live/s")
    with rtsp.client(server) as player:
        requests = [
            f"OPTIONS {address} RTSP/1.0",
            f"DESCRIBE {address} RTSP/1.0",
            f"SETUP {address}/trackID=0 RTSP/1.0\r\nTransport: {rtsp.TCP.format(0, 1)}",
            f"PLAY {address} RTSP/1.0",
            f"GET_PARAMETER {address} RTSP/1.0",
        ]
        text = "".join(f"{request}\r\nCSeq: {number}\r\n\r\n" for number, request in enumerate(requests))
        player.send(text.encode() + b"$\x01\x00\x08\x80\xc9\x00\x01\x00\x00\x00\x01")
        for number, request in enumerate(requests):
            response = player.response()
            got = (response.status, response.get("CSeq"))
            assert got == (200, str(number)), f"{request.split()[0]}: 200 and CSeq {number} were expected, {response} came"
        assert len(player.read_frames(3, lambda got: len(got) > 20)) > 20, "the stream should follow"


def test_requests_while_playing(stream, server):
    """A change of the transport in mid-play, another stream, frames of odd kinds: the player goes on."""
    with rtsp.client(server) as player:
        address = rtsp.url(server, "live/s")
        player.play(address)
        player.send(b"$\x00\x00\x00" + b"$\xff\x00\x00" + b"$\x01\x00\x04\x00\x00\x00\x00" + b"$\x09\xff\xff" + bytes(65535))
        for method, fields, status in (
            ("SETUP", {"Transport": "RTP/AVP;unicast;client_port=5000-5001"}, 455),
            ("SETUP", {"Transport": rtsp.TCP.format(4, 5)}, 455),
            ("DESCRIBE", {}, 455),
            ("PLAY", {"Session": "other"}, 454),
            ("OPTIONS", {}, 200),
            ("PLAY", {}, 200),
            ("SET_PARAMETER", {}, 200),
        ):
            response = player.request(method, f"{address}/trackID=0" if method == "SETUP" else address, **fields)
            assert response.status == status, f"{method} {fields} while playing: {status} was expected, {response} came"
        player.frames.clear()
        assert len(player.read_frames(3, lambda got: len(got) > 20)) > 20, "the player should go on"


def test_the_last_channels(stream, server):
    """252 to 255 are channels, and frames on them are those of the tracks."""
    with rtsp.client(server) as player:
        player.play(rtsp.url(server, "live/s"), channels=[252, 254])
        frames = player.read_frames(10, lambda got: len(got) > 250)
    rtsp.assert_same(stream.tags, frames, 44_100, "channels 252 to 255", 252, 254)


GARBAGE = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "RTSP 2": b"OPTIONS * RTSP/2.0\r\nCSeq: 1\r\n\r\n",
    "no version": b"OPTIONS *\r\n\r\n",
    "long header": b"OPTIONS * RTSP/1.0\r\nX: " + b"x" * 20_000,
    "many fields": b"OPTIONS * RTSP/1.0\r\n" + b"X: 1\r\n" * 1000 + b"\r\n",
    "large body": b"ANNOUNCE rtsp://h/a/s RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 99999999\r\n\r\n",
    "control bytes": b"OPTIONS * RTSP/1.0\r\nCSeq: \x01\r\n\r\n",
    "frames before PLAY": b"$\x00\x00\x00" * 1000 + b"\x00",
}


def test_garbage_is_answered_or_disconnected(stream, server):
    for name, data in GARBAGE.items():
        with rtsp.client(server) as bad:
            bad.send(data)
            assert bad.ended(), f"{name}: the connection should end"
    with rtsp.client(server) as player:
        player.play(rtsp.url(server, "live/s"))
        player.send(b"\x00\x01\x02")
        assert player.ended(), "a player that sends garbage should be disconnected"
    with rtsp.client(server) as player:
        player.play(rtsp.url(server, "live/s"))
        assert len(player.read_frames(3, lambda got: len(got) > 20)) > 20, "others should play after all that"
