"""A publisher's numbers end or change under way, and nobody notices: timestamps wrap, sequences wrap, another SSRC comes in
the place of the first."""

import contextlib
import struct
import time

import pytest

from lib import api, media, mediamtx, publishing, rtc, rtc_plain, rtc_raw, rtmp
from lib.rtc_plain import Peer, VideoFrames, Watcher
from lib.timing import scaled

pytestmark = pytest.mark.skipif(bool(mediamtx.PROGRAM), reason="this is about our own server")

HALF, WHOLE = 1 << 31, 1 << 32
CLOCK = 90_000


@pytest.fixture
def rtc_server(servers):
    """A server, and a stream of RTMP with a viewer, who must not notice anything."""
    server = servers(**rtc_plain.options())
    with publishing.Steady(rtmp.publisher(server, "live", "other"), media.tags(media.plain())):
        with Watcher(server, "live/other") as bystander:
            bystander.wait_more(5, "its beginning")
            began = time.monotonic()
            yield server
            gap = bystander.longest_gap(began)
            assert gap < scaled(1.5), f"the viewer of another stream waited {gap:.1f} s: {bystander.describe()}"


def whip(server, path="live/one"):
    return Peer(server, path, kind="whip", direction="sendonly")


def run_fast(video_frames, first, step_s, count):
    """Video frames that are that far apart, a thousand a second."""
    began = time.monotonic()
    for i in range(count):
        video_frames.send(first + i * step_s * CLOCK)
        if i % 10 == 9:
            time.sleep(max(0, began + scaled(i / 1000) - time.monotonic()))


@pytest.mark.parametrize("report", [False, True])
def test_a_day_of_video(rtc_server, report):
    """Of timestamps: a video frame each 8 s of them. They begin below 2^32 and go over it, and over 2^31 ticks after their
    beginning, without sender reports, or with one at the beginning."""
    step_s, count = 8, HALF // CLOCK // 8 + 500
    with whip(rtc_server).verify() as publisher, Watcher(rtc_server) as viewer:
        video_frames = VideoFrames(publisher, 0x1234, 65_000)
        first = WHOLE - 20 * CLOCK
        for i in range(10):
            video_frames.send(first + i * CLOCK // 25)
            time.sleep(0.04)
        if report:
            ntp = int((time.time() + 2_208_988_800) * WHOLE)
            publisher.send(struct.pack("!BBHIQIII", 0x80, rtc_plain.SENDER_REPORT, 6, 0x1234, ntp, first + 9 * CLOCK // 25, 20, 1000))
        viewer.wait(lambda times: len(times) >= 1, "a frame")
        run_fast(video_frames, first + CLOCK, step_s, count)
        end_ms = step_s * 1000 * (count - 1)
        viewer.wait(lambda times: times[-1] >= end_ms, f"frames up to {end_ms} ms")
        assert viewer.times == sorted(set(viewer.times)), "each frame is later than the one before"


def test_timestamps_that_jump(rtc_server):
    """By half of their range, and back: the video frames' times go on as they come."""
    with whip(rtc_server).verify() as publisher, Watcher(rtc_server) as viewer:
        video_frames = VideoFrames(publisher, 0x1234)
        began = time.monotonic()
        for i in range(100):
            jump = (0, HALF, HALF + 5, -HALF // 2, 3 * CLOCK * 3600)[i // 20]
            video_frames.send(5000 + jump + i * CLOCK // 50)
            time.sleep(max(0, began + (i + 1) / 50 - time.monotonic()))
        viewer.wait(lambda times: len(times) >= 90, "90 frames of 100")
        assert viewer.times == sorted(set(viewer.times)), f"each frame is later than the one before: {viewer.times}"
        assert viewer.times[-1] < scaled(4000), viewer.describe()


class Wrapping:
    """An RTMP client whose times are cut to their 32 bits."""

    def __init__(self, client):
        self.client = client

    def send_tag(self, tag):
        self.client.send_tag(tag._replace(timestamp=tag.timestamp % WHOLE))

    def close(self):
        self.client.close()


@pytest.mark.parametrize("wrap", [HALF, WHOLE], ids=["half", "whole"])
def test_rtmp_times_wrap(rtc_server, wrap):
    """For viewers by FLV and by WebRTC."""
    with contextlib.ExitStack() as stack:
        client = Wrapping(rtmp.publisher(rtc_server, "live", "one"))
        steady = stack.enter_context(publishing.Steady(client, media.tags(media.plain()), start_at=wrap - 1000))
        viewer = stack.enter_context(Watcher(rtc_server))
        player = stack.enter_context(Peer(rtc_server).verify())
        packets = player.packets(scaled(2.5))
        viewer.wait(lambda times: times and times[-1] > 2000, "two seconds of frames")
        assert viewer.times == sorted(viewer.times) and viewer.times[0] < 2000, viewer.describe()
        assert steady.error is None, steady.error
        api.explained(rtc_server, "one", "timestamp_jumps", verdict="ok")
        for kind in (rtc_plain.VIDEO, rtc_plain.AUDIO):
            times = [packet.timestamp for packet in packets if packet.kind == kind]
            steps = [(b - a + HALF) % WHOLE - HALF for a, b in zip(times, times[1:])]
            assert len(times) > 20 and all(0 <= step < CLOCK for step in steps), f"{kind}: steps of {steps}"


# ---- RFC 3550, 8.2


def assert_in_a_row(packets):
    """As one source's: numbers without a hole, times that do not go back."""
    numbers = [packet.sequence for packet in packets]
    steps = [(b - a) % 0x10000 for a, b in zip(numbers, numbers[1:])]
    assert set(steps) <= {1}, f"sequence numbers go on: {numbers}"
    times = [(b.timestamp - a.timestamp + HALF) % WHOLE - HALF for a, b in zip(packets, packets[1:])]
    assert min(times) >= 0 and max(times) < 2 * CLOCK, f"times go on: steps of {times}"


def asks_for_keyframe(datagrams, ssrc):
    for datagram in datagrams:
        at = 0
        while at + 12 <= len(datagram) and 192 <= datagram[at + 1] < 224:
            form, kind, words = struct.unpack_from("!BBH", datagram, at)
            if kind == rtc_plain.FEEDBACK and form & 31 in (1, 4) and struct.pack("!I", ssrc) in datagram[at + 8 : at + 4 + 4 * words]:
                return True
            at += 4 + 4 * words
    return False


@pytest.mark.parametrize("how", ["silent", "goodbye"])
def test_another_ssrc(rtc_server, how):
    """The camera begins anew with another SSRC, other numbers and no keyframe. It is asked for one, and a viewer by WebRTC
    and one by FLV go on with it."""
    with whip(rtc_server).verify() as publisher, Watcher(rtc_server) as viewer, Peer(rtc_server).verify() as player:
        first, second = VideoFrames(publisher, 0x1111, 100), VideoFrames(publisher, 0x2222, 40_000)
        for i in range(25):
            first.send(5000 + i * 3600, i % 5 == 0)
            time.sleep(0.04)
        viewer.wait(lambda times: len(times) >= 10, "10 frames of the first SSRC")
        if how == "goodbye":
            publisher.goodbye(0x1111)
        publisher.drain(0)
        frames, datagrams = len(viewer.times), []
        for i in range(50):
            asked = asks_for_keyframe(datagrams, 0x2222)
            second.send(0xFFFFF000 + i * 3600, asked and i % 5 == 0)
            datagrams += publisher.drain(0.04)
        assert asks_for_keyframe(datagrams, 0x2222), "a keyframe of the second SSRC should be asked for"
        viewer.wait(lambda times: len(times) >= frames + 10, "10 frames of the second SSRC")
        assert viewer.times == sorted(set(viewer.times)), viewer.describe()
        packets = player.packets(0.1)
        assert_in_a_row(packets)
        newest = struct.unpack_from("!I", packets[-1].payload, 3)[0]
        assert newest > 40, f"the viewer by WebRTC should have the second one's video frames, the last was {newest}"
        rtc.wait_sessions(rtc_server, "rtc-publish", 1)
        assert "continues with SSRC" in rtc_server.log()


def test_another_layer_is_not_followed(rtc_server):
    """While the first one is heard, another SSRC of the same payload type is another layer of simulcast."""
    with whip(rtc_server).verify() as publisher, Watcher(rtc_server) as viewer, Peer(rtc_server).verify() as player:
        low, high = VideoFrames(publisher, 0x1111, 100), VideoFrames(publisher, 0x2222, 40_000)
        for i in range(50):
            low.send(5000 + i * 3600)
            high.send(7_000_000 + i * 3600)
            time.sleep(0.04)
        viewer.wait(lambda times: len(times) >= 30, "30 frames")
        packets = player.packets(0.1)
        assert_in_a_row(packets)
        assert "continues with SSRC" not in rtc_server.log()


def test_the_peer_itself():
    """What it writes it reads."""
    sent = []

    class Catcher(Peer):
        def __init__(self):
            pass

        def send(self, datagram):
            sent.append(datagram)

    VideoFrames(Catcher(), 7, 65_535).send(WHOLE + 5)
    packets = [rtc_plain.read(one) for one in sent]
    assert [(one.sequence, one.timestamp, one.marker, one.ssrc) for one in packets] == [(65_535, 5, False, 7), (0, 5, True, 7)]
    Catcher().goodbye(7)
    assert rtc_plain.read(sent[-1]) is None and not rtc_raw.is_stun(sent[-1])
