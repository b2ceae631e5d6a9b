"""MPEG-TS by UDP (stream_caster): FFmpeg 5 and 9, GStreamer and plain datagrams as senders. Times of frames are compared with
those that FFmpeg reads from the sent file."""

import random
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest

from lib import api, ffmpeg, hooks, media, publishing, rtmp
from lib import http as client_http
from lib.server import default_vhost
from lib.timing import scaled, wait_until

CASTER = "stream_caster { enabled on; caster mpegts_over_udp; listen 127.0.0.1:RTC_PORT; output rtmp://127.0.0.1/live/s; %s }\n"
CELL = 188
SECONDS = 4

VIDEO = ("-f", "lavfi", "-i", "testsrc=size=320x180:rate=25")
AUDIO = ("-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000")
H264 = ("-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "2", "-x264-params", "b-adapt=0:scenecut=0")
CODECS = {
    "h264-b-aac": (*VIDEO, *AUDIO, *H264, "-c:a", "aac"),
    "hevc-aac": (*VIDEO, *AUDIO, "-c:v", "libx265", "-preset", "ultrafast", "-g", "25", "-x265-params", "log-level=none:keyint=25", "-c:a", "aac"),
    "h264-mp2": (*VIDEO, *AUDIO, *H264, "-c:a", "mp2"),
    "h264-mp3": (*VIDEO, *AUDIO, *H264, "-c:a", "libmp3lame"),
    "h264-ac3": (*VIDEO, *AUDIO, *H264, "-c:a", "ac3"),
    "h264-eac3": (*VIDEO, *AUDIO, *H264, "-c:a", "eac3"),
    "h264-opus": (*VIDEO, *AUDIO, *H264, "-c:a", "libopus"),
    "aac": (*AUDIO, "-c:a", "aac"),
}


@pytest.fixture(scope="session")
def ts_files(tmp_path_factory):
    """Transport streams by name; made when they are asked for."""
    made = {}

    def make(name, *options, new=False):
        key = (name, options, new)
        if key not in made:
            path = tmp_path_factory.mktemp("ts") / f"{name}.ts"
            program = ffmpeg.command9 if new else ffmpeg.command
            words = program(*CODECS[name], "-t", SECONDS, "-pix_fmt", "yuv420p", *options, "-f", "mpegts", path)
            done = subprocess.run(words, capture_output=True, text=True)
            assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
            made[key] = path
        return made[key]

    return make


def make(servers, caster="", publish="normal_timeout 1500;", vhost="", top=""):
    vhosts = default_vhost(publish=publish, vhost=vhost, play="mw_latency 0;")
    return servers(top=CASTER % caster + api.ON + top, vhosts=vhosts)


def publishers(server):
    return [one for one in api.clients(server) if one["publish"]]


class Player:
    """FFmpeg 9 as a player by HTTP, from before the publisher to its end."""

    def __init__(self, tool, server, name="s.flv"):
        words = ffmpeg.command9("-i", server.http_url(f"live/{name}"), "-map", "0", "-c", "copy", "-copyts", "-f", "framemd5", "-")
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)

    def packets(self, seconds=30):
        try:
            out, errors = self.process.communicate(timeout=scaled(seconds))
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, errors = self.process.communicate()
            raise AssertionError(f"the player should end with the stream; it had:\n{out[-500:]}\n{errors[-2000:]}") from None
        return timed(out), errors


def timed(text):
    """(dts, pts) in ms of each packet, by the number of the stream."""
    bases = {}
    for line in text.splitlines():
        if line.startswith("#tb "):
            number, base = line[4:].split(":")
            one, parts = base.split("/")
            bases[int(number)] = 1000 * int(one) / int(parts)
    return {
        number: [(packet.dts * bases[number], packet.pts * bases[number]) for packet in packets]
        for number, packets in ffmpeg.framemd5(text).items()
    }


def sent_packets(path):
    words = ffmpeg.command9("-i", path, "-map", "0", "-c", "copy", "-copyts", "-f", "framemd5", "-")
    return timed(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def assert_times(sent, came, who, missing=0, late=0):
    """The same packets, all moved by one time; 1 ms for the rounding of FLV's times. missing: of each stream, at the end;
    late: at the beginning, where the player may begin with any frame."""
    assert sorted(sent) == sorted(came), f"{who}: streams {sorted(sent)} were sent, {sorted(came)} came"
    skipped = min(late, len(sent[0]) - len(came[0])) if late else 0
    shift = came[0][0][0] - sent[0][skipped][0]
    for number, packets in sent.items():
        packets, other = packets[skipped:], came[number]
        assert len(packets) - missing <= len(other) <= len(packets), (
            f"{who}: stream {number} has {len(packets)} packets, {len(other)} came: {other[0]} to {other[-1]}, sent {packets[0]} to {packets[-1]}"
        )
        for index, (want, got) in enumerate(zip(packets, other)):
            moved = (want[0] + shift, want[1] + shift)
            near = abs(moved[0] - got[0]) <= 1.001 and abs(moved[1] - got[1]) <= 1.001
            assert near, f"{who}: packet {index} of stream {number} should be at {moved} (dts, pts), it is at {got}; shift {shift}"


def send_file(path, port, program=ffmpeg.command, form="mpegts", scheme="udp", options=""):
    words = program("-re", "-i", path, "-map", "0", "-c", "copy", "-copyts", "-muxdelay", "0", "-f", form, f"{scheme}://127.0.0.1:{port}{options}")
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"


class Datagrams:
    """A sender of our own."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))

    def send(self, data):
        try:
            self.socket.send(data)
        except ConnectionRefusedError:
            pass

    def send_all(self, data, size=7 * CELL, seconds=SECONDS / 2, keep=lambda index: True):
        """The whole in datagrams of that size, spread over the seconds."""
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        begin = time.monotonic()
        for index, piece in enumerate(pieces):
            time.sleep(max(0.0, index * seconds / len(pieces) - (time.monotonic() - begin)))
            if keep(index):
                self.send(piece)

    def close(self):
        self.socket.close()


@pytest.mark.parametrize("codecs", CODECS)
@pytest.mark.parametrize("sender", ["5", "9"])
def test_ffmpeg_sends(servers, tool, ts_files, codecs, sender):
    server = make(servers)
    path = ts_files(codecs, new=sender == "9")
    # FLV has no name for MPEG audio of layer II.
    player = Player(tool, server, "s.ts" if codecs == "h264-mp2" else "s.flv")
    send_file(path, server.rtc_port, ffmpeg.command9 if sender == "9" else ffmpeg.command, options="?pkt_size=1316")
    came, _ = player.packets()
    assert_times(sent_packets(path), came, f"FFmpeg {sender}, {codecs}", late=25 if codecs == "aac" else 0)
    server.wait_log("UDP publish: .*live/s, MPEG-TS, from 127.0.0.1")


def test_rtp(servers, tool, ts_files):
    server = make(servers)
    path = ts_files("h264-b-aac")
    player = Player(tool, server)
    send_file(path, server.rtc_port, form="rtp_mpegts", scheme="rtp")
    came, _ = player.packets()
    # FFmpeg does not send what does not fill its last packet.
    assert_times(sent_packets(path), came, "RTP", missing=4)
    server.wait_log("MPEG-TS in RTP")


@pytest.mark.skipif(not shutil.which("gst-launch-1.0"), reason="without GStreamer")
def test_gstreamer_sends(servers, tool, ts_files, tmp_path):
    server = make(servers)
    path = ts_files("h264-b-aac")
    player = Player(tool, server)
    words = ["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "tsparse", "set-timestamps=true", "alignment=7", "!"]
    sink = tool([*words, "udpsink", "host=127.0.0.1", f"port={server.rtc_port}"])
    sink.finish(30)
    came, _ = player.packets()
    # The last datagram of tsparse has 4 kB, more than is received.
    assert_times(sent_packets(path), came, "GStreamer", missing=15)


@pytest.mark.parametrize("size", [188, 400, 1000, 1316, 1456])
def test_cut_packets(servers, tool, ts_files, size):
    """Datagrams of any size: the transport packets in them are cut anywhere."""
    server = make(servers)
    path = ts_files("h264-b-aac")
    player = Player(tool, server)
    Datagrams(server.rtc_port).send_all(path.read_bytes(), size)
    came, _ = player.packets()
    assert_times(sent_packets(path), came, f"datagrams of {size} bytes")


def test_losses_cost_their_frames(servers, tool, ts_files):
    """Every 40th datagram is lost: the stream goes on, with at least half of its frames at their times."""
    server = make(servers)
    path = ts_files("h264-b-aac")
    player = Player(tool, server)
    Datagrams(server.rtc_port).send_all(path.read_bytes(), keep=lambda index: index % 40 != 39)
    came, _ = player.packets()
    sent = sent_packets(path)
    for number, packets in came.items():
        shift = came[0][0][0] - sent[0][0][0]
        times = [(dts + shift, pts + shift) for dts, pts in sent[number]]
        for dts, pts in packets:
            known = any(abs(dts - one) <= 1.001 and abs(pts - two) <= 1.001 for one, two in times)
            assert known, f"stream {number}: a packet at {(dts, pts)} came, none was sent there"
        assert len(times) / 2 < len(packets) <= len(times), f"stream {number}: {len(packets)} of {len(times)} packets came"


def test_junk_under_a_stream(servers, tool, ts_files):
    """Of other senders, before and during a stream: random bytes, and tables with random contents."""
    server = make(servers)
    path = ts_files("h264-b-aac")
    chance = random.Random(1)
    junk = [Datagrams(server.rtc_port) for _ in range(20)]

    def send_junk():
        for one in junk:
            cell = bytes([0x47, chance.choice((0x40, 0x41, 0x5F)), chance.randrange(256), 0x10 | chance.randrange(16)])
            one.send(cell + chance.randbytes(CELL - 4) + b"\x47" + chance.randbytes(CELL - 1))
            one.send(chance.randbytes(chance.randrange(1, 1472)))
            one.send(b"")

    for _ in range(50):
        send_junk()
    time.sleep(0.5)
    assert not api.streams(server), "junk should begin nothing"
    player = Player(tool, server)

    def keep(index):
        if index % 5 == 0:
            send_junk()
        return True

    Datagrams(server.rtc_port).send_all(path.read_bytes(), keep=keep)
    came, _ = player.packets()
    assert_times(sent_packets(path), came, "a stream under junk")


def test_an_encoder_starts_again(servers, tool, ts_files):
    """From another port, with a clock that begins anew: the publication and its players go on, by the local clock."""
    server = make(servers, publish="normal_timeout 3000;")
    path = ts_files("h264-b-aac")
    player = Player(tool, server)
    first = Datagrams(server.rtc_port)
    begin = time.monotonic()
    first.send_all(path.read_bytes(), seconds=SECONDS)
    client = publishers(server)
    first.close()
    time.sleep(1)
    Datagrams(server.rtc_port).send_all(path.read_bytes(), seconds=SECONDS)
    again = time.monotonic() - begin
    assert [one["id"] for one in publishers(server)] == [one["id"] for one in client], "it should be the same session"
    came, _ = player.packets()
    video = came[0]
    assert len(video) > 1.8 * 25 * SECONDS, f"{2 * 25 * SECONDS} frames were sent, {len(video)} came"
    span = (video[-1][0] - video[0][0]) / 1000
    assert abs(span - again) < 0.7, f"the sending took {again:.2f} s, and the frames {span:.2f}"
    gap = max(two[0] - one[0] for one, two in zip(video, video[1:]))
    assert 500 < gap < 2500, f"there was one pause of a second, the longest step is {gap} ms"


def test_one_sender_at_a_time(servers, ts_files):
    """A second one of another address waits until the first one is silent."""
    server = make(servers)
    data = ts_files("h264-b-aac").read_bytes()
    first = Datagrams(server.rtc_port)
    second = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    second.bind(("127.0.0.2", 0))
    for at in range(0, len(data), 1316):
        first.send(data[at : at + 1316])
        second.sendto(data[at : at + 1316], ("127.0.0.1", server.rtc_port))
        time.sleep(0.002)
    assert [one["ip"] for one in publishers(server)] == ["127.0.0.1"]
    api.ended(server, "", type="udp-publish")
    for at in range(0, len(data), 1316):
        second.sendto(data[at : at + 1316], ("127.0.0.1", server.rtc_port))
        time.sleep(0.002)
    assert [one["ip"] for one in publishers(server)] == ["127.0.0.2"]


def test_silence_ends_it(servers, ts_files):
    server = make(servers)
    Datagrams(server.rtc_port).send_all(ts_files("h264-b-aac").read_bytes())
    stream = api.wait_stream(server, "s", lambda stream: stream["publish"]["active"])
    assert stream["video"]["codec"] == "H264" and stream["audio"]["codec"] == "AAC", stream
    api.ended(server, "no usable audio or video", type="udp-publish")
    wait_until(lambda: not api.streams(server), 5, "the stream is gone")


def multicast_sender(group, port, source="127.0.0.1"):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.bind((source, 0))
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
    return lambda data: sender.sendto(data, (group, port))


def test_a_multicast_group_of_one_source(servers, ts_files):
    caster = CASTER.replace("127.0.0.1:RTC_PORT", "239.77.1.1:RTC_PORT") % "interface lo; source 127.0.0.1;"
    server = servers(top=caster + api.ON, vhosts=default_vhost(publish="normal_timeout 1500;", play="mw_latency 0;"))
    data = ts_files("h264-b-aac").read_bytes()
    other = multicast_sender("239.77.1.1", server.rtc_port, "127.0.0.3")
    for at in range(0, len(data), 1316):
        other(data[at : at + 1316])
    time.sleep(0.5)
    assert not publishers(server), "another source should not be received"
    send = multicast_sender("239.77.1.1", server.rtc_port)
    for at in range(0, len(data), 1316):
        send(data[at : at + 1316])
        time.sleep(0.001)
    assert [one["ip"] for one in publishers(server)] == ["127.0.0.1"]


def test_hooks_decide(servers, ts_files):
    """on_publish is asked once, what comes meanwhile is kept; a refusal is not repeated for each datagram."""
    data = ts_files("h264-b-aac").read_bytes()
    with hooks.HookServer(publish=hooks.answer('{"code":1}')) as hook:
        server = make(servers, vhost=f"http_hooks {{ enabled on; on_publish http://127.0.0.1:{hook.port}/publish; on_unpublish http://127.0.0.1:{hook.port}/unpublish; }}")
        sender = Datagrams(server.rtc_port)
        sender.send_all(data, seconds=1.5)
        assert not publishers(server)
        asked = [call for call in hook.calls if call.target.startswith("/publish")]
        assert len(asked) == 1, f"one question was expected, {len(asked)} came"
        hook.answers.clear()
        time.sleep(2)
        sender.send_all(data, seconds=1.5)
        assert [one["type"] for one in publishers(server)] == ["udp-publish"]
        wait_until(lambda: any(call.target.startswith("/unpublish") for call in hook.calls), 10, "on_unpublish")


def test_reload(servers, tool, ts_files):
    """Another output ends the publication, and the next one has it; the port stays open."""
    server = make(servers)
    data = ts_files("h264-b-aac").read_bytes()
    Datagrams(server.rtc_port).send_all(data, seconds=1)
    assert [one["name"] for one in publishers(server)]
    other = server.conf.replace("live/s;", "live/t;")
    api.reload(server, other)
    api.ended(server, "reload", type="udp-publish")
    Datagrams(server.rtc_port).send_all(data, seconds=1)
    api.wait_stream(server, "t", lambda stream: stream["publish"]["active"])
    api.reload(server, other.replace("enabled on; caster", "enabled off; caster"))
    api.ended(server, "port", type="udp-publish")


def test_access_and_a_name_in_use(servers, ts_files):
    """The gate's rules are asked; while the name is in use it is refused, and asked for again after a pause."""
    data = ts_files("h264-b-aac").read_bytes()
    server = make(servers, vhost="security { enabled on; deny publish 127.0.0.1; }")
    Datagrams(server.rtc_port).send_all(data, seconds=1)
    assert not publishers(server)
    server.wait_log("refused|denied|not allowed")


@pytest.mark.parametrize("url", ["udp://127.0.0.1:PORT", "udp://@239.77.1.2:PORT?interface=lo&source=127.0.0.1"])
@pytest.mark.parametrize("kind", ["udp", "stream"])
def test_an_ingest(servers, tool, ts_files, url, kind):
    """The same as a caster, with the stream that the ingest names; a reload takes it away."""
    ingest = f"ingest i {{ enabled on; stream live/studio; input {{ type {kind}; url {url}; }} }}"
    server = servers(top=api.ON + "# RTC_PORT\n", vhosts=default_vhost(publish="normal_timeout 1500;", play="mw_latency 0;"))
    conf = server.conf.replace("vhost __defaultVhost__ {", f"vhost __defaultVhost__ {{ {ingest.replace('PORT', str(server.rtc_port))}")
    api.reload(server, conf)
    path = ts_files("h264-b-aac")
    player = Player(tool, server, "studio.flv")
    if "239." in url:
        send = multicast_sender("239.77.1.2", server.rtc_port)
        data = path.read_bytes()
        begin = time.monotonic()
        for at in range(0, len(data), 1316):
            time.sleep(max(0.0, at * SECONDS / 2 / len(data) - (time.monotonic() - begin)))
            send(data[at : at + 1316])
    else:
        Datagrams(server.rtc_port).send_all(path.read_bytes())
    came, _ = player.packets()
    assert_times(sent_packets(path), came, f"an ingest of {url}")
    Datagrams(server.rtc_port).send_all(path.read_bytes(), seconds=0.5)
    api.reload(server, conf.replace("ingest i { enabled on", "ingest i { enabled off"))
    if "239." not in url:
        api.ended(server, "port", type="udp-publish")


class Recorder:
    """A receiver of datagrams, on a port of its own or in a group, which keeps them all."""

    def __init__(self, group=""):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((group or "127.0.0.1", 0))
        if group:
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton("127.0.0.1"))
        self.socket.settimeout(0.5)
        self.address = f"{group or '127.0.0.1'}:{self.socket.getsockname()[1]}"
        self.datagrams = []
        self.stopping = False
        self.thread = threading.Thread(target=self.receive, daemon=True)
        self.thread.start()

    def receive(self):
        while not self.stopping:
            try:
                self.datagrams.append(self.socket.recv(2048))
            except TimeoutError:
                pass

    def stop(self):
        self.stopping = True
        self.thread.join()
        self.socket.close()
        return self.datagrams


@pytest.mark.parametrize("to", ["udp://PORT", "rtp://PORT", "udp://GROUP?interface=lo&ttl=1"])
def test_forwarded(servers, ts_files, tmp_path, to):
    """What a receiver of datagrams has of a stream: each of its packets at its time, in datagrams that fit in a packet of a network."""
    recorder = Recorder("239.77.1.3" if "GROUP" in to else "")
    destination = to.replace("PORT", recorder.address).replace("GROUP", recorder.address)
    server = make(servers, vhost=f'forward {{ enabled on; destination "{destination}"; }}')
    path = ts_files("h264-b-aac")
    send_file(path, server.rtc_port, options="?pkt_size=1316")
    api.ended(server, "stream has ended", type="udp-forward")
    datagrams = recorder.stop()
    if to.startswith("rtp"):
        numbers = [struct.unpack("!H", datagram[2:4])[0] for datagram in datagrams]
        assert {(after - before) % 65536 for before, after in zip(numbers, numbers[1:])} == {1}, "the numbers of RTP should have no gap"
        assert {datagram[1] & 127 for datagram in datagrams} == {33}
        datagrams = [datagram[12:] for datagram in datagrams]
    sizes = {len(datagram) for datagram in datagrams}
    assert max(sizes) == 7 * CELL and not [size for size in sizes if size % CELL], f"transport packets, at most seven, were expected: {sizes}"
    came = tmp_path / "came.ts"
    came.write_bytes(b"".join(datagrams))
    assert_times(sent_packets(path), sent_packets(came), f"a receiver of {to}")
