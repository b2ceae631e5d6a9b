"""Media of GB28181 (stream_caster { caster gb28181; }): cameras by TCP and UDP, announced by the API, played by RTMP and
HTTP-FLV."""

import re
import struct
import subprocess
import time

import pytest

from lib import api, ffmpeg, hooks
from lib.gb28181 import Camera, Frame, Muxer, announce, make_frames
from lib.server import default_vhost
from lib.timing import scaled, wait_until

CASTER = "stream_caster { enabled on; caster gb28181; listen 127.0.0.1:RTC_PORT; output rtmp://127.0.0.1/live/[stream]; media_connect_timeout 2; }\n"
SSRC = 200000001
FORMS = {
    "h264-alaw": ("h264", "alaw"),
    "hevc-mulaw": ("hevc", "mulaw"),
    "h264-aac": ("h264", "aac"),
    "h264": ("h264", ""),
    "alaw": ("", "alaw"),
}


@pytest.fixture(scope="session")
def frames_of(tmp_path_factory):
    made = {}

    def make(video, audio, **options):
        key = (video, audio, *sorted(options.items()))
        if key not in made:
            made[key] = make_frames(tmp_path_factory.mktemp("gb"), video, audio, **options)
        return made[key]

    return make


def make(servers, publish="normal_timeout 1500;", vhost="", caster=CASTER, http=api.ON):
    return servers(top=caster + http, vhosts=default_vhost(publish=publish, vhost=vhost, play="mw_latency 0;"))


class Player:
    """FFmpeg 9 as a player from before the camera to its end."""

    def __init__(self, server, name="cam", rtmp=False):
        url = server.rtmp_url(f"live/{name}") if rtmp else server.http_url(f"live/{name}.flv")
        words = ffmpeg.command9("-i", url, "-map", "0", "-c", "copy", "-copyts", "-f", "framemd5", "-")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: name in api.streams(server), 10, "the player waits for its stream")

    def times(self):
        """dts in ms of each stream's packets: video and audio."""
        try:
            out, errors = self.process.communicate(timeout=scaled(30))
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, errors = self.process.communicate()
            raise AssertionError(f"the player should end with the stream; it had:\n{out[-500:]}\n{errors[-2000:]}") from None
        assert "#media_type" in out, f"the player should get a stream:\n{out}{errors}"
        kinds = {int(number): kind for number, kind in re.findall(r"#media_type (\d+): (\w+)", out)}
        packets = ffmpeg.framemd5(out)
        return {kinds[number]: [packet.dts for packet in of_stream] for number, of_stream in packets.items()}


def assert_times(frames, came, who, missing=0):
    """All frames, at their times: moved by one. Of audio a player may miss what comes before its first keyframe is
    whole, or before it is woken."""
    sent = {kind: [frame.time / 90 for frame in frames if frame.is_video == (kind == "video")] for kind in ("video", "audio")}
    sent = {kind: times for kind, times in sent.items() if times}
    assert sorted(sent) == sorted(came), f"{who}: {sorted(sent)} were sent, {sorted(came)} came"
    if "audio" in sent:
        late = max(0, len(sent["audio"]) - len(came["audio"]))
        assert late <= 2, f"{who}: {late} frames of audio are missing at the beginning: {came['audio'][:5]}"
        sent["audio"] = sent["audio"][late:]
    first = "video" if "video" in came else "audio"
    shift = came[first][0] - sent[first][0]
    for kind, got in came.items():
        want = sent[kind]
        assert len(want) - missing <= len(got) <= len(want), f"{who}: {len(want)} frames were sent, {len(got)} came: {got[:5]} ... {got[-5:]}"
        for one, two in zip(want, got):
            assert abs(one + shift - two) <= 1.001, f"{who}: a frame should be at {one + shift}, it is at {two}; {got[:10]}"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", ["tcp", "udp"])
def test_cameras(servers, frames_of, form, way):
    server = make(servers)
    frames = frames_of(*FORMS[form])
    answer = announce(server, "cam", str(SSRC))
    assert (answer["code"], answer["port"], answer["is_tcp"]) == (0, server.rtc_port, True), answer
    player = Player(server, rtmp=form.startswith("h264"))
    camera = Camera(server.rtc_port, SSRC, udp=way == "udp")
    camera.send_all(frames, Muxer(*FORMS[form], always_map=form == "alaw"))
    camera.close()
    assert_times(frames, player.times(), f"{form} by {way}")
    server.wait_log(f"GB28181 publish: .*live/cam, SSRC {SSRC}, by {way.upper()}, from 127.0.0.1")
    api.ended(server, type="gb28181-publish")
    announce(server, "cam", str(SSRC))  # both are free again


MUXERS = {
    "a map in every pack": (dict(always_map=True), {}),
    "private streams": (dict(private=True), {}),
    "keyframes in many packets": (dict(max_pes=500), {}),
    "small RTP packets, which cut headers": ({}, dict(payload=7)),
    "the marker in every packet": ({}, dict(marker="always")),
    "no marker": ({}, dict(marker="never")),
    "sequence numbers that wrap": ({}, dict(sequence=65500)),
}


@pytest.mark.parametrize("what", MUXERS)
def test_habits_of_cameras(servers, frames_of, what):
    server = make(servers)
    frames = frames_of("h264", "alaw")
    muxer, camera = MUXERS[what]
    announce(server, "cam", str(SSRC))
    player = Player(server)
    one = Camera(server.rtc_port, SSRC, **camera)
    one.send_all(frames, Muxer(**muxer))
    one.close()
    assert_times(frames, player.times(), what)


def test_clocks_that_wrap(servers, frames_of):
    """The 33 bits of the program stream, and the 32 of RTP."""
    server = make(servers)
    frames = frames_of("h264", "alaw", start=(1 << 33) - 90000)
    announce(server, "cam", str(SSRC))
    player = Player(server)
    camera = Camera(server.rtc_port, SSRC)
    camera.send_all(frames, Muxer())
    camera.close()
    assert_times(frames, player.times(), "clocks that wrap")


def test_large_keyframes(servers, frames_of):
    """More than a PES packet can have."""
    server = make(servers)
    frames = frames_of("h264", "", size="1920x1080", quality=("-vf", "noise=alls=60:allf=t", "-qp", 10), seconds=1)
    assert max(len(frame.data) for frame in frames) > 70000, "a frame should need several packets"
    announce(server, "cam", str(SSRC))
    player = Player(server)
    camera = Camera(server.rtc_port, SSRC)
    camera.send_all(frames, Muxer("h264", ""), speed=0.7)
    camera.close()
    assert_times(frames, player.times(), "large keyframes")


def test_reordered_and_lost_datagrams(servers, frames_of):
    """Neighbours that change places cost nothing, a lost packet its frame."""
    server = make(servers)
    frames = frames_of("h264", "alaw")
    announce(server, "cam", str(SSRC))
    player = Player(server)
    camera = Camera(server.rtc_port, SSRC, udp=True)

    def swap(packets):
        # The first one tells where the sequence begins.
        return packets if camera.sequence < 30 else packets[1::-1] + packets[2:]

    camera.send_all(frames, Muxer(), change=swap)
    assert_times(frames, player.times(), "reordered")
    camera.close()
    api.ended(server, type="gb28181-publish")
    announce(server, "cam", str(SSRC))
    player = Player(server)
    camera = Camera(server.rtc_port, SSRC, udp=True)
    lost = []

    def lose(packets):
        if len(lost) < 3 and camera.sequence > 60 * (len(lost) + 1):
            lost.append(packets.pop(len(packets) // 2))
        return packets

    camera.send_all(frames, Muxer(), change=lose)
    camera.close()
    came = player.times()
    video = sum(frame.is_video for frame in frames)
    assert video - 6 <= len(came["video"]) < video, f"{len(lost)} packets were lost of {video} frames, {len(came['video'])} came"


BAD = {
    "no json": (b"{", 400, "JSON"),
    "an array": (b"[]", 400, "JSON"),
    "no id": (b'{"ssrc":"1"}', 400, "id"),
    "no ssrc": (b'{"id":"cam"}', 400, "ssrc"),
    "an empty id": (b'{"id":"","ssrc":"1"}', 400, "empty"),
    "a path": (b'{"id":"../../etc","ssrc":"1"}', 400, "'..'"),
    "a slash": (b'{"id":"a/b","ssrc":"1"}', 400, "forbidden"),
    "parameters": (b'{"id":"a?vhost=b","ssrc":"1"}', 400, "forbidden"),
    "a long id": (b'{"id":"' + b"c" * 257 + b'","ssrc":"1"}', 400, "at most 256"),
    "a text": (b'{"id":"cam","ssrc":"abc"}', 400, "ssrc"),
    "a sign": (b'{"id":"cam","ssrc":"-1"}', 400, "ssrc"),
    "33 bits": (b'{"id":"cam","ssrc":"4294967296"}', 400, "32 bits"),
    "eleven digits": (b'{"id":"cam","ssrc":"00000000001"}', 400, "32 bits"),
    "an empty ssrc": (b'{"id":"cam","ssrc":""}', 400, "ssrc"),
}


def test_announcements(servers):
    server = make(servers)
    for what, (body, status, text) in BAD.items():
        answer = announce(server, body, None, status)
        assert answer["code"] == status and text in answer["error"], f"{what}: {answer}"
    announce(server, b'{"id":"' + b"c" * 70000 + b'","ssrc":"1"}', None, 413)
    announce(server, "cam", "0000000001")
    assert "id" in announce(server, "cam", "2", 409)["error"]
    assert "ssrc" in announce(server, "other", "1", 409)["error"]
    announce(server, "largest", "4294967295")
    time.sleep(3)
    announce(server, "cam", "0000000001")
    server.wait_log("no camera came for stream cam")
    none = make(servers, caster="")
    assert "gb28181" in announce(none, "cam", "1", 404)["error"]


def test_the_endpoint_is_guarded(servers):
    """As all that change something: by addresses, and by a login."""
    server = make(servers, http=api.CONF % "auth { enabled on; username u; password p; }")
    announce(server, "cam", "1", 401)
    announce(server, "cam", "1", Authorization=api.basic("u:p"))


def ends(camera):
    closed = camera.is_closed()
    camera.close()
    return closed


def test_unannounced_cameras(servers, frames_of):
    """By TCP they are disconnected, by UDP nothing is kept of them."""
    server = make(servers)
    frames = frames_of("h264", "alaw")
    pack = Muxer().pack(frames[0])
    camera = Camera(server.rtc_port, 77)
    for packet in camera.packets(pack, 0):
        camera.send(packet)
        break
    assert ends(camera), "an SSRC that nobody announced should not be served"
    api.ended(server, "SSRC 77 was not announced", reason="not-found")
    udp = Camera(server.rtc_port, 77, udp=True)
    for packet in list(udp.packets(pack, 0)) * 10:
        udp.send(packet)
    idle = Camera(server.rtc_port, 77)
    begin = time.monotonic()
    assert ends(idle), "a connection without a packet should end"
    assert time.monotonic() - begin < scaled(4), "it should end within media_connect_timeout"
    rtcp = Camera(server.rtc_port, 77)
    rtcp.send(struct.pack(">BBHI", 0x80, 200, 6, 77) + b"\x00" * 20)
    assert ends(rtcp), "RTCP alone should not keep a connection"
    assert not api.streams(server), api.streams(server)


def test_frames_that_are_none(servers):
    server = make(servers)
    announce(server, "cam", str(SSRC))
    for data, text in ((b"\x00\x00", "length is 0"), (b"\x00\x05hello", "no RTP packet"), (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" + b"x" * 70000, "no RTP packet")):
        camera = Camera(server.rtc_port, SSRC)
        camera.socket.sendall(data)
        assert ends(camera), f"{data[:20]} should end the connection"
        api.ended(server, text)
    announce(server, "cam", str(SSRC), 409)


def test_rtcp_and_other_ssrcs_among_the_packets(servers, frames_of):
    server = make(servers)
    frames = frames_of("h264", "alaw")
    announce(server, "cam", str(SSRC))
    player = Player(server)
    camera = Camera(server.rtc_port, SSRC)

    def mixed(packets):
        report = struct.pack(">BBHI", 0x80, 200, 6, SSRC) + b"\x00" * 20
        other = packets[0][:8] + struct.pack(">I", 5) + packets[0][12:]
        return [report, packets[0], other, *packets[1:]]

    camera.send_all(frames, Muxer(), change=mixed)
    camera.close()
    assert_times(frames, player.times(), "RTCP and another SSRC")


def test_a_second_sender(servers, frames_of):
    """Of an SSRC that has one: by TCP it is disconnected, by UDP dropped; the stream goes on."""
    server = make(servers)
    frames = frames_of("h264", "alaw")
    announce(server, "cam", str(SSRC))
    player = Player(server)
    camera = Camera(server.rtc_port, SSRC)
    pack = Muxer().pack(frames[0])
    others = []

    def disturbed(packets):
        if camera.sequence > 30 and not others:
            others.append(Camera(server.rtc_port, SSRC, ip="127.0.0.2"))
            for packet in others[0].packets(pack, 0):
                others[0].send(packet)
                break
            udp = Camera(server.rtc_port, SSRC, udp=True, ip="127.0.0.2")
            for packet in udp.packets(pack, 0):
                udp.send(packet)
        return packets

    camera.send_all(frames, Muxer(), change=disturbed)
    assert ends(others[0])
    camera.close()
    assert_times(frames, player.times(), "under a second sender")
    api.ended(server, f"SSRC {SSRC} has a sender", reason="refused-busy")


def test_a_camera_by_udp_starts_again(servers, frames_of):
    server = make(servers, publish="normal_timeout 3000;")
    frames = frames_of("h264", "alaw")
    announce(server, "cam", str(SSRC))
    first = Camera(server.rtc_port, SSRC, udp=True)
    first.send_all(frames, Muxer(), speed=3)
    client = api.clients(server)
    first.close()
    time.sleep(0.5)
    second = Camera(server.rtc_port, SSRC, udp=True)
    second.send_all(frames, Muxer(), speed=3)
    server.wait_log("GB28181 publish: .* instead of 127.0.0.1")
    assert [one["id"] for one in api.clients(server)] == [one["id"] for one in client], "it should be the same session"


def test_silence_ends_it(servers, frames_of):
    server = make(servers)
    frames = frames_of("h264", "alaw")
    announce(server, "cam", str(SSRC))
    camera = Camera(server.rtc_port, SSRC)
    camera.send_all(frames, Muxer(), speed=3)
    stream = api.wait_stream(server, "cam", lambda stream: stream["publish"]["active"])
    assert stream["video"]["codec"] == "H264" and stream["audio"]["codec"] == "PCMA", stream
    assert (stream["audio"]["sample_rate"], stream["audio"]["channel"]) == (8000, 1), stream["audio"]
    assert ends(camera), "a silent camera should be disconnected"
    api.ended(server, "no usable audio or video for", type="gb28181-publish")
    announce(server, "cam", str(SSRC))


def test_without_a_map(servers, frames_of):
    """Nothing can be read: it ends in time, and says so."""
    server = make(servers, publish="firstpkt_timeout 1000;")
    announce(server, "cam", str(SSRC))
    camera = Camera(server.rtc_port, SSRC)
    camera.send_all(frames_of("h264", "alaw"), Muxer(never_map=True), speed=3)
    assert ends(camera)
    api.ended(server, "firstpkt_timeout", type="gb28181-publish")


def test_hooks_decide(servers, frames_of):
    frames = frames_of("h264", "alaw")
    with hooks.HookServer(publish=hooks.answer('{"code":1}')) as hook:
        url = f"http://127.0.0.1:{hook.port}"
        server = make(servers, vhost=f"http_hooks {{ enabled on; on_publish {url}/publish; on_unpublish {url}/unpublish; }}")
        announce(server, "cam", str(SSRC))
        camera = Camera(server.rtc_port, SSRC)
        camera.send_all(frames[:3], Muxer())
        assert ends(camera), "a camera that the hook refuses should be disconnected"
        hook.answers.clear()
        for udp in (False, True):
            announce(server, "cam", str(SSRC))
            camera = Camera(server.rtc_port, SSRC, udp=udp)
            camera.send_all(frames[:30], Muxer(), speed=3)
            api.wait_stream(server, "cam", lambda stream: stream["publish"]["active"])
            camera.close()
            api.ended(server, type="gb28181-publish")
            wait_until(lambda: not any(one["publish"] for one in api.clients(server)), 5, "it has ended")
        asked = [call for call in hook.calls if call.target.startswith("/publish")]
        assert len(asked) == 3, f"three questions were expected, {len(asked)} came"


def test_a_name_in_use(servers, frames_of):
    server = make(servers)
    frames = frames_of("h264", "alaw")
    publisher = subprocess.Popen(
        ffmpeg.command("-re", "-f", "lavfi", "-i", "testsrc=size=160x90:rate=25", "-t", 20, "-c:v", "libx264", "-f", "flv", server.rtmp_url("live/cam")),
        stdin=subprocess.DEVNULL,
    )
    try:
        api.wait_stream(server, "cam", lambda stream: stream["publish"]["active"])
        announce(server, "cam", str(SSRC))
        camera = Camera(server.rtc_port, SSRC)
        camera.send_all(frames[:3], Muxer())
        assert ends(camera)
        api.ended(server, "being published", type="gb28181-publish", reason="refused-busy")
        announce(server, "cam", str(SSRC))
    finally:
        publisher.kill()
        publisher.wait()


def test_frames_with_a_time_that_stands_still(servers, frames_of):
    """RTP says which is another one."""
    server = make(servers)
    frames = [frame for frame in frames_of("h264", "") if frame.is_video]
    announce(server, "cam", str(SSRC))
    camera = Camera(server.rtc_port, SSRC)
    muxer = Muxer("h264", "")
    for index, frame in enumerate(frames):
        for packet in camera.packets(muxer.pack(Frame(90000, True, frame.is_key, frame.data)), index * 3600):
            camera.send(packet)
    stream = api.wait_stream(server, "cam", lambda stream: stream["video_frames"] >= len(frames) - 1 if "video_frames" in stream else False)
    assert len(frames) - 1 <= stream["video_frames"] <= len(frames) + 1, stream
