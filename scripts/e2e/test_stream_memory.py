"""What a stream may hold in memory: whatever its publisher sends and its players ask for, it stays within its limit, by
allocation and not by payload, and who plays and publishes beside it has all of it in time."""

import threading
import time

import pytest

from lib import api, flv, hls, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until

MB = 1 << 20
PATIENT = "normal_timeout 60000;"  # of publishers that are silent while their players are looked at
API = api.CONF % ""


def headers():
    return [tag for tag in media.tags(media.plain()) if flv.is_sequence_header(tag) and tag.type == flv.VIDEO][:1]


def video_frame(timestamp, size, keyframe=True):
    """A video tag of H.264 with so many bytes behind its header."""
    unit = (b"\x65" if keyframe else b"\x41") + bytes(size - 5)
    head = (b"\x17" if keyframe else b"\x27") + b"\1\0\0\0"
    return flv.Tag(flv.VIDEO, timestamp, head + len(unit).to_bytes(4, "big") + unit)


class Beside:
    """A stream with a player that must not notice: it gets every frame, and in time. A stall of the machine, or of this
    process, shows in the sender's gaps too."""

    def __init__(self, server):
        self.publisher, self.player = rtmp.publisher(server, "live", "beside"), rtmp.player(server, "live", "beside")
        self.got, self.gap, self.sender_gap = [], 0.0, 0.0
        self.send_tag, self.publisher.send_tag, self.last_sent = self.publisher.send_tag, self._send, time.monotonic()
        self.steady = publishing.Steady(self.publisher, media.tags(media.plain()))
        self.thread = threading.Thread(target=self._collect, daemon=True)
        self.thread.start()

    def _send(self, tag):
        self.send_tag(tag)
        now = time.monotonic()
        self.sender_gap, self.last_sent = max(self.sender_gap, now - self.last_sent), now

    def _collect(self):
        last = time.monotonic()
        while not self.player.ended:
            self.got += self.player.tags()
            now = time.monotonic()
            if not self.player.ended:
                self.gap = max(self.gap, now - last)
            last = now

    def __enter__(self):
        wait_until(lambda: len(self.got) > 20, 5, "the stream beside is played")
        self.gap = self.sender_gap = 0.0
        return self

    def __exit__(self, *error):
        self.steady.stop()
        self.publisher.close()
        self.thread.join(scaled(10))
        self.player.close()
        if error[0] is None:
            flv.assert_same(self.steady.sent, self.got, "the player of the stream beside")
            grown = self.gap - self.sender_gap
            assert grown < scaled(1), f"the stream beside had a gap of {self.gap:.2f} s, its sender {self.sender_gap:.2f} s"


class Held:
    """The most that the API says of a stream's memory, by what it is held for, looked at all the time."""

    def __init__(self, server, name="a"):
        self.server, self.name, self.most, self.releases = server, name, {}, 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def look(self):
        memory = api.streams(self.server).get(self.name, {}).get("memory", {})
        for key, value in memory.items():
            self.most[key] = max(self.most.get(key, 0), value)
        return memory

    def _run(self):
        while not self.over.wait(0.01):
            self.look()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(scaled(10))

    def assert_below(self, mb, what="total"):
        assert self.most[what] < mb * MB, f"{what} should stay below {mb} MB, the most was {self.most}"


class Grown:
    """How much more memory the server has than at the beginning, the most of it. Under a sanitizer it says nothing."""

    def __init__(self, server):
        self.server, self.before, self.most = server, server.rss_kb(), 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look)

    def _look(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, self.server.rss_kb() - self.before)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def assert_below(self, mb):
        assert SLOW > 1 or self.most < mb * 1024, f"the server should grow by less than {mb} MB, it grew by {self.most} kB"


def test_players_do_not_choose_how_many_logs_there_are(servers):
    """Each of 60 players plays on another message stream id, and is sent all on 1. Beside them one that plays there."""
    server = servers(vhosts=default_vhost("min_latency on;", publish=PATIENT))
    with rtmp.publisher(server, "live", "a") as publisher, rtmp.player(server, "live", "a") as bystander:
        for tag in headers():
            publisher.send_tag(tag)
        published = [video_frame(0, 3 * MB)] + [video_frame(40 * i, 2000, False) for i in range(1, 4)]
        for tag in published:
            publisher.send_tag(tag)
        players = []
        with Grown(server) as grown:
            for number in range(1, 61):
                stream_id = 2 + number if number % 2 else 0x1000000 * number + number
                player = rtmp.Client("127.0.0.1", server.rtmp_port).handshake()
                player.connect("live")
                player.play("a", stream_id=stream_id, wait=False)
                got = [player.wait_for(lambda m: m.type == rtmp.VIDEO and len(m.payload) > MB, "the keyframe")]
                assert got[0].stream_id == 1, f"asked on {stream_id}, it came on {got[0].stream_id}"
                players.append(player)
            last = video_frame(1000, 5000, False)
            publisher.send_tag(last)
            for player in players:
                message = player.wait_for(lambda m: m.timestamp == 1000, "the last frame")
                assert (message.stream_id, message.payload) == (1, last.body)
        grown.assert_below(60)
        tags = []
        while not tags or tags[-1].timestamp != 1000:
            tags += bystander.tags()
        flv.assert_same(headers() + published + [last], tags, "the player beside them")
        for player in players:
            player.close()


@pytest.mark.parametrize("storage", ["disk", "memory"])
def test_frames_that_all_have_one_time(servers, storage):
    """HLS waits for a second of the stream, which never comes."""
    server = servers(top=API, vhosts=hls.vhost(storage=storage, window="10", publish=PATIENT, more="min_latency on; stream_memory 64;"))
    with Beside(server), rtmp.publisher(server, "live", "a") as publisher:
        publisher.send_tag(headers()[0])
        with Grown(server) as grown, Held(server) as held:
            for _ in range(200):
                publisher.send_tag(video_frame(0, MB))
            last = api.wait_stream(server, "a", lambda stream: stream["video_frames"] == 200)
        grown.assert_below(110)
        held.assert_below(66)
        assert last["publish"]["active"]
        # Beside it HLS goes on.
        hls.wait(server, "/live/beside.m3u8", lambda playlist: playlist.segments)


def test_the_clock_ends_what_waits_for_the_other_track(servers):
    """mix_correct waits for audio that never gets so far, and no frame comes that would make it look again."""
    server = servers(top=API, vhosts=default_vhost("min_latency on;", play="mix_correct on;", publish=PATIENT))
    with Beside(server), rtmp.publisher(server, "live", "a") as publisher, rtmp.player(server, "live", "a") as player:
        publisher.send_tag(headers()[0])
        publisher.send_tag(flv.Tag(flv.AUDIO, 0, b"\x2f" + bytes(100)))
        published = [video_frame(0, 1000)] + [video_frame(40, 1000 + i, False) for i in range(3)]
        for tag in published:
            publisher.send_tag(tag)
        got = []
        began = time.monotonic()
        while len(flv.frames([tag for tag in got if tag.type == flv.VIDEO])) < 4:
            got += player.tags()
        assert time.monotonic() - began < scaled(2)
        # And its bytes are bounded however little time they take.
        with Held(server) as held:
            for i in range(60):
                publisher.send_tag(video_frame(80, MB, False))
            api.wait_stream(server, "a", lambda stream: stream["video_frames"] >= 50)
        held.assert_below(9, "mix_queue")


def in_an_aggregate(tag, filling, number):
    """An RTMP aggregate of the tag and of so many bytes that are no media."""
    parts = b"".join(
        bytes([kind]) + len(body).to_bytes(3, "big") + tag.timestamp.to_bytes(4, "big")[1:] + bytes(4) + body
        + (len(body) + 11).to_bytes(4, "big")
        for kind, body in ((tag.type, tag.body), (99, bytes(filling)))
    )
    return rtmp.Message(rtmp.AGGREGATE, tag.timestamp, parts, number)


def in_two_tracks(tag, filling, number):
    """A multitrack body (Enhanced RTMP v2) with another track beside it."""
    key = tag.body[0] & 0x70
    head = bytes([0x80 | key | 6, 0x11]) + b"avc1"
    data = tag.body[2:]
    body = head + b"\0" + len(data).to_bytes(3, "big") + data + b"\1" + filling.to_bytes(3, "big") + bytes(filling)
    return rtmp.Message(rtmp.VIDEO, tag.timestamp, body, number)


def behind_modifiers(tag, filling, number):
    """A body that begins with ModEx elements."""
    key = tag.body[0] & 0x70
    modifier = b"\xff" + (0xFFFF).to_bytes(2, "big") + bytes(0x10000)
    count = filling // 0x10000
    body = bytes([0x80 | key | 7]) + (modifier + b"\x07") * (count - 1) + modifier + b"\x01" + b"avc1" + tag.body[2:]
    return rtmp.Message(rtmp.VIDEO, tag.timestamp, body, number)


@pytest.mark.parametrize("wrap", [in_an_aggregate, in_two_tracks, behind_modifiers])
def test_a_small_frame_of_a_large_message_keeps_its_own_size(servers, wrap):
    """20 messages of 12 MB with 100 bytes of video frame each."""
    server = servers(top=API, vhosts=default_vhost(publish=PATIENT))
    with Beside(server), rtmp.publisher(server, "live", "a", chunk_size=1 << 24) as publisher:
        publisher.send_tag(headers()[0])
        with Grown(server) as grown:
            for i in range(20):
                message = wrap(video_frame(40 * i, 100, i == 0), 12_000_000, publisher.stream_id)
                publisher.send(message, 6)
            stream = api.wait_stream(server, "a", lambda stream: stream["video_frames"] == 20)
        assert SLOW > 1 or server.rss_kb() - grown.before < 80_000, "what a message took should not stay"
        assert 20 * 100 <= stream["memory"]["gop"] < MB, stream["memory"]
        with rtmp.player(server, "live", "a") as player:
            got = []
            while len(flv.frames(got)) < 20:
                got += player.tags()
        want = [tag.body[5:] for tag in (video_frame(40 * i, 100, i == 0) for i in range(20))]
        assert [tag.body[-len(want[0]) :] for tag in flv.frames(got)] == want


def test_a_slow_player_and_a_gop_without_end(servers):
    """A player that does not read, of a stream whose keyframe never comes: the one jumps, the GOP cache goes, and who is in
    time gets every frame. All the while the stream stays within its limit."""
    server = servers(top=API, vhosts=default_vhost("stream_memory 24; min_latency on;", publish=PATIENT))
    frames = [video_frame(40 * i, 600_000, i == 0) for i in range(150)]
    with (
        Beside(server),
        rtmp.publisher(server, "live", "a") as publisher,
        rtmp.player(server, "live", "a") as player,
        rtmp.player(server, "live", "a", receive_buffer=4096),
        Held(server) as held,
        Grown(server) as grown,
    ):
        publisher.send_tag(headers()[0])
        got = []
        for tag in frames:
            publisher.send_tag(tag)
            while len(flv.frames(got)) < len(frames) and (not got or got[-1].timestamp < tag.timestamp):
                got += player.tags()
        memory = held.look()
        flv.assert_same(headers() + frames, got, "the player that reads")
        assert api.streams(server)["a"]["publish"]["active"]
    assert memory["limit"] == 24 * MB and memory["releases"] > 0, memory
    held.assert_below(26)
    grown.assert_below(80)


def test_a_publisher_that_needs_more_than_there_is_is_ended(servers):
    """A player is in the middle of a frame that is larger than the whole limit."""
    server = servers(top=API, vhosts=default_vhost("stream_memory 4; min_latency on;", publish=PATIENT))
    with (
        Beside(server),
        rtmp.publisher(server, "live", "a") as publisher,
        rtmp.player(server, "live", "a", receive_buffer=4096),
    ):
        publisher.send_tag(headers()[0])
        with pytest.raises(rtmp.Refused, match="stream_memory") as refused:
            publisher.send_tag(video_frame(0, 12_000_000))
            publisher.wait_status("nothing else")
        assert refused.value.code == "NetStream.Publish.Failed"
        api.ended(server, "stream_memory", type="fmle-publish", name="a", reason="flood")
        # The name is free, and what fits is published.
        with rtmp.publisher(server, "live", "a") as publisher:
            publisher.send_tag(headers()[0])
            publisher.send_tag(video_frame(0, 1000))
            api.wait_stream(server, "a", lambda stream: stream["publish"]["active"] and stream["memory"]["gop"] > 1000)


def metric(server, name):
    response = http.get(server.rtc_port, "/metrics")
    lines = [line for line in response.body.decode().splitlines() if line.startswith(name + " ")]
    return float(lines[0].split()[1])


def test_all_streams_together(servers):
    """Six streams, each within its own limit."""
    exporter = "exporter { enabled on; listen 127.0.0.1:RTC_PORT; }\ntotal_stream_memory 40;\n"
    server = servers(top=API + exporter, vhosts=default_vhost("min_latency on;", publish=PATIENT))
    publishers = []
    with Beside(server), Grown(server) as grown:
        for name in "abcdef":
            publisher = rtmp.publisher(server, "live", name)
            publishers.append(publisher)
            publisher.send_tag(headers()[0])
            for i in range(20):
                publisher.send_tag(video_frame(40 * i, MB, i == 0))
            api.wait_stream(server, name, lambda stream: stream["video_frames"] == 20)
            wait_until(lambda: metric(server, "srs_stream_memory_all_bytes") <= 40 * MB, 2, "there is room again")
        assert metric(server, "srs_stream_memory_all_limit_bytes") == 40 * MB

        def gops():
            return {name: stream["memory"]["gop"] for name, stream in api.streams(server).items()}

        # Its GOP may have just begun.
        wait_until(lambda: gops()["beside"] > 10_000, 5, lambda: f"the smallest stream keeps its GOP cache: {gops()}")
        kept = gops()
        assert 0 < sum(gop > 10 * MB for gop in kept.values()) < 3, kept
        assert all(stream["publish"]["active"] for stream in api.streams(server).values())
    grown.assert_below(110)
    for publisher in publishers:
        publisher.close()
