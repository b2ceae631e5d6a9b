"""Publishers by RTSP whose packets are not those that the server makes: players by RTSP get the same frames, in order, with
the times between them. Several AAC frames in a packet."""

import struct
import time

import pytest

from lib import api, flv, media, publishing, rtmp, rtsp
from lib.timing import scaled
from lib.rtsp_server import API, UDP, make, port_pair


@pytest.fixture
def server(servers):
    rtp, _ = port_pair()
    return make(servers, UDP.replace("UDP_PORT", str(rtp)), top=API)


class Publisher(rtsp.Publisher):
    """Fragments of 700 bytes, keyframes with their parameter sets, three AAC frames in a packet: other packets than the
    server would make."""

    def __init__(self, server):
        super().__init__(server.rtc_port)
        self.sets = []
        self.waiting = []  # audio

    def announce(self, url, tags, **fields):
        video = next(tag.body[5:] for tag in tags if tag.type == flv.VIDEO and flv.is_sequence_header(tag))
        size = struct.unpack_from("!H", video, 6)[0]
        sps, rest = video[8 : 8 + size], video[8 + size :]
        self.sets = [sps, rest[3 : 3 + struct.unpack_from("!H", rest, 1)[0]]]
        return super().announce(url, tags, **fields)

    def packets(self, tag):
        if not flv.is_frame(tag):
            return []
        if tag.type == flv.AUDIO:
            self.waiting.append(tag)
            if len(self.waiting) < 3:
                return []
            first, units, self.waiting = self.waiting[0], [one.body[2:] for one in self.waiting], []
            heads = b"".join(struct.pack("!H", len(unit) << 3) for unit in units)
            return self._packets(2, 97, round(first.timestamp * 44.1), [struct.pack("!H", 16 * len(units)) + heads + b"".join(units)])
        payloads, rest = list(self.sets) if flv.is_keyframe(tag) else [], tag.body[5:]
        while rest:
            size = struct.unpack_from("!I", rest)[0]
            unit, rest = rest[4 : 4 + size], rest[4 + size :]
            if len(unit) <= 700:
                payloads.append(unit)
                continue
            parts = [unit[at : at + 700] for at in range(1, len(unit), 700)]
            for index, part in enumerate(parts):
                flags = (0x80 if index == 0 else 0) | (0x40 if index == len(parts) - 1 else 0)
                payloads.append(bytes([unit[0] & 0xE0 | 28, flags | unit[0] & 31]) + part)
        cts = int.from_bytes(tag.body[2:5], "big", signed=True)
        return self._packets(0, 96, (tag.timestamp + cts) * 90, payloads)


@pytest.mark.valgrind
@pytest.mark.parametrize("udp", [False, True], ids=["from-tcp", "from-udp"])
def test_frames_in_packets_of_another_kind(server, udp):
    """Players by TCP and by UDP, the first and a later one, which begins at a keyframe."""
    tags, url = media.tags(media.with_b_frames()), rtsp.url(server, "live/s")
    with Publisher(server) as client, rtsp.client(server) as first, rtsp.client(server) as later, rtsp.client(server) as by_udp:
        client.record(url, tags, udp)
        with publishing.Steady(client, tags, speed=2):
            api.wait_stream(server, "s", lambda stream: stream["frames"] > 40)
            first.play(url)
            by_udp.play_udp(url)
            first.read_frames(20, lambda got: len([1 for channel, _ in got if channel == 2]) > 60)
            by_udp.read_datagrams(0.5)
            later.play(url)
            later.read_frames(20, lambda got: len([1 for channel, _ in got if channel == 2]) > 60)
    for player, who in ((first, "first player"), (by_udp, "player by UDP"), (later, "later player")):
        rtsp.assert_same(tags, player.frames, 44_100, who, slack=1.6, in_step=0)


def test_lost_and_reordered_packets(server):
    """By UDP, every third pair of packets swapped, one packet of a video frame lost: players get the order that was sent, and
    of video nothing from the frame with the gap up to the next keyframe."""
    tags, url = media.tags(media.with_b_frames()), rtsp.url(server, "live/s")
    frames = [tag for tag in tags if flv.is_frame(tag)]
    video = [tag for tag in frames if tag.type == flv.VIDEO]
    keyframes = [index for index, tag in enumerate(video) if flv.is_keyframe(tag)]
    dropped = video[keyframes[2] - 5 : keyframes[2]]
    with Publisher(server) as client, rtsp.client(server) as player:
        client.record(url, tags, True)
        begin, kept, count = time.monotonic(), [], 0
        for tag in frames:
            time.sleep(max(0.0, (tag.timestamp - frames[0].timestamp) / 2000 - (time.monotonic() - begin)))
            made = client.packets(tag)
            kept += made[1:] if tag is dropped[0] else made
            while len(kept) >= 2:
                count += 1
                for channel, data in reversed(kept[:2]) if count % 3 == 0 else kept[:2]:
                    client.send_packet(channel, data)
                kept = kept[2:]
            if tag is video[keyframes[1]]:
                player.play(url)
        player.read_frames(2)
    whole = [tag for tag in tags if tag not in dropped]
    rtsp.assert_same(whole, player.frames, 44_100, "lost and reordered", slack=1.6, in_step=0)


# --- several AAC frames in a packet


def test_aac_frames_share_packets_where_players_are_sent_to_at_intervals(servers):
    server = make(servers, top=API, play="mw_latency 300;")
    tags, seconds = media.tags(media.with_b_frames()), 6.5
    with rtmp.publisher(server, "live", "s") as client, publishing.Steady(client, tags):
        api.wait_stream(server, "s", lambda stream: stream["frames"] > 40)
        with rtsp.client(server) as player:
            player.play(rtsp.url(server, "live/s"))
            frames = player.read_frames(seconds)
    rtsp.assert_same(tags, frames, 44_100, "RTSP at intervals", slack=1.6)  # the times of RTMP are whole milliseconds
    counts = [struct.unpack_from("!H", one.payload)[0] // 16 for one in rtsp.packets(frames, 2)]
    others = [count for count in counts[1:-1] if count not in (4, 5)]
    # Where the file begins anew the times have a gap: the frames before it go into a packet of their own.
    ends = int(scaled(seconds) * 1000 // tags[-1].timestamp)
    assert len(others) <= ends, f"a packet should have the AAC frames of 100 ms, four or five, not {counts}"
    assert len(rtsp.reports(frames, 3)) >= 2, "sender reports of audio should come at first and each 5 s"
