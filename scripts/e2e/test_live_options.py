"""What a vhost's play directives do to the times, the order and the amount of what players get."""

import random
import re
import threading
import time

import pytest

from lib import amf0, api, flv, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled


def server_with(servers, play):
    return servers(top=api.ON, vhosts=default_vhost(remux="wait_publisher on;", play="mw_latency 0; " + play, rejoin=100))


def played(server, tags, name="s"):
    """What a player that came first gets of those tags, to the end."""
    own = publishing.Collector(rtmp.player(server, "live", name, timeout=scaled(20)))
    with rtmp.publisher(server, "live", name) as client:
        publishing.send_all(client, tags)
    return own.finish(scaled(20), "the player")


def video_at(times):
    """H.264 frames with those times, a keyframe first, behind their sequence header."""
    tags = media.tags(media.plain())
    header = next(tag for tag in tags if tag.type == flv.VIDEO and flv.is_sequence_header(tag))
    frames = [tag for tag in media.from_keyframe(media.plain()) if tag.type == flv.VIDEO and flv.is_frame(tag)]
    return [header._replace(timestamp=times[0])] + [tag._replace(timestamp=at) for tag, at in zip(frames, times)]


def describe(tags):
    return [(flv.NAMES[tag.type], tag.timestamp) for tag in tags]


# --- times

#         from 100 s on; 15 s forward; 3 s back
PUBLISHED = [100_000, 100_040, 100_080, 115_080, 115_120, 112_120, 112_160]
CORRECTED = [0, 40, 80, 120, 160, 200, 240]
FROM_ZERO = [at - 100_000 for at in PUBLISHED]
ABSOLUTE = flv.Tag(flv.SCRIPT, 0, amf0.encode("onMetaData", {"bravo_atc": True}))

TIMES = {
    "full": ("time_jitter full;", [], CORRECTED),
    "the default": ("", [], CORRECTED),
    "zero": ("time_jitter zero;", [], FROM_ZERO),
    "off": ("time_jitter off;", [], PUBLISHED),
    "atc": ("atc on; time_jitter full;", [], PUBLISHED),
    "atc_auto, and the metadata says so": ("atc_auto on;", [ABSOLUTE], PUBLISHED),
    "atc_auto, and it does not": ("atc_auto on;", [], CORRECTED),
    "the metadata says so to nobody": ("", [ABSOLUTE], CORRECTED),
}


@pytest.mark.parametrize("case", TIMES)
def test_times(servers, case):
    directives, before, expected = TIMES[case]
    server = server_with(servers, directives)
    got = [tag.timestamp for tag in flv.frames(played(server, before + video_at(PUBLISHED)))]
    assert got == expected, f"{case}: {PUBLISHED} ms should come out as {expected}, it came as {got}"


# --- order


@pytest.mark.parametrize("mix_correct", ["off", "on"])
def test_mix_correct(servers, mix_correct):
    """A publisher that sends its audio in bursts behind the video frames."""
    tags = media.from_keyframe(media.plain())[:120]
    frames = flv.frames(tags)
    bursts, size = [], 20
    for at in range(0, len(frames), size):
        bursts += sorted(frames[at : at + size], key=lambda tag: tag.type != flv.VIDEO)
    published = [tag for tag in tags if not flv.is_frame(tag)] + bursts
    got = flv.frames(played(server_with(servers, f"mix_correct {mix_correct};"), published))
    assert describe(bursts) != describe(sorted(bursts, key=lambda tag: tag.timestamp)), "the bursts are out of order"
    if mix_correct == "off":
        flv.assert_same(published, got_with_headers(published, got), "without mix_correct, as published")
        return
    times = [tag.timestamp for tag in got]
    assert times == sorted(times), f"with mix_correct the frames should come in order of time: {describe(got)}"
    for kind in (flv.AUDIO, flv.VIDEO):
        want = [tag.body for tag in bursts if tag.type == kind]
        assert [tag.body for tag in got if tag.type == kind] == want, f"{flv.NAMES[kind]} should be whole"


def got_with_headers(published, got):
    return [tag for tag in published if not flv.is_frame(tag)] + got


# --- headers


@pytest.mark.parametrize("reduce, expected", [("off", 4), ("on", 2)])
def test_reduce_sequence_header(servers, reduce, expected):
    """An encoder that repeats its sequence header with each keyframe; a changed one always goes through."""
    header, *frames = video_at([0, 40, 80, 120, 160])
    changed = next(
        tag for tag in media.tags(media.with_b_frames()) if tag.type == flv.VIDEO and flv.is_sequence_header(tag)
    )
    published = [header, frames[0], header, frames[1], header, frames[2], changed._replace(timestamp=120), frames[3]]
    got = played(server_with(servers, f"reduce_sequence_header {reduce};"), published)
    headers = flv.headers(got)
    assert len(headers) == expected and headers[-1] == changed.body, (
        f"with reduce_sequence_header {reduce} {expected} sequence headers should come, the changed one last; "
        f"{len(headers)} came"
    )
    assert [tag.body for tag in flv.frames(got)] == [tag.body for tag in frames[:4]], "every frame should come"


# --- where a new viewer begins


@pytest.mark.parametrize("limit, cached", [(10, False), (30, True), (0, True)])
def test_gop_cache_max_frames(servers, limit, cached):
    """A GOP of more frames than that is not kept: a new viewer waits for the next keyframe."""
    server = server_with(servers, f"gop_cache_max_frames {limit};")
    count = 20
    header, *frames = video_at([at * 40 for at in range(count)])
    key = frames[0]._replace(timestamp=count * 40)
    with rtmp.publisher(server, "live", "gop") as client:
        publishing.send_all(client, [header] + frames)
        # The connection's commands are answered in order, so that all is there by the time of the answer.
        client.wait_result(client.send_command("getStreamLength", None, "gop"), "getStreamLength")
        with rtmp.player(server, "live", "gop", timeout=scaled(20)) as viewer:
            server.wait_players("live/gop", 1)
            publishing.send_all(client, [key])
            got = []
            while not got or got[-1].timestamp < key.timestamp:
                got += flv.frames(viewer.tags())
    expected = frames + [key] if cached else [key]
    assert describe(got) == describe(expected), (
        f"with a limit of {limit} a viewer in the middle of a GOP of {count} frames should get {len(expected)} frames, "
        f"it got {describe(got)}"
    )


# --- slow viewers


def big_frames(seconds, fps=25, gop=10, size=60_000):
    """About 1.5 MB for each second of the stream; each frame's content is its own."""
    header, key, inter = video_at([0, 0, 0])[:3]
    yield header
    for index in range(seconds * fps):
        source = inter if index % gop else key
        unit = b"\x06" + random.Random(index).randbytes(size)  # an SEI unit
        body = source.body[:5] + len(unit).to_bytes(4, "big") + unit + source.body[5:]
        yield flv.Tag(flv.VIDEO, index * 1000 // fps, body)


def http_player(server, name, **options):
    return http.Live(server.http_port, f"/live/{name}.flv", **options)


def rtmp_player(server, name, **options):
    return rtmp.player(server, "live", name, **options)


@pytest.mark.parametrize("times", ["time_jitter off;", "atc on;"])
def test_a_jump_of_the_times_makes_nobody_too_slow(servers, times):
    """A minute forward inside a GOP, passed on as it came: how far a viewer lags is a matter of when bytes came."""
    server = servers(top=api.ON, vhosts=default_vhost(remux="", play="mw_latency 350; " + times, rejoin=100))
    header, key, inter = video_at([0, 0, 0])[:3]
    frames = [(inter if index else key)._replace(timestamp=40 * index + 60_000 * (index >= 30)) for index in range(60)]
    with publishing.Steady(rtmp.publisher(server, "live", "other"), media.tags(media.plain())):
        beside = rtmp.player(server, "live", "other", timeout=scaled(20))
        with rtmp.publisher(server, "live", "jumps") as client:
            publishing.send_all(client, [header, frames[0]])
            viewers = {way.__name__: publishing.Collector(way(server, "jumps")) for way in (rtmp_player, http_player)}
            server.wait_players("live/jumps", 2)
            for frame in frames[1:]:
                client.send_tag(frame)
                time.sleep(0.01)
        for name, viewer in viewers.items():
            got = flv.frames(viewer.finish(scaled(20), name))
            assert describe(got) == describe(frames), f"{name} should get all {len(frames)} frames, it got {len(got)}"
        while not flv.frames(beside.tags()):
            assert not beside.ended, "who plays another stream should go on"
    ends = [api.ended(server, type=kind, name="jumps")["text"] for kind in ("rtmp-play", "flv-play")]
    assert not any("too slow" in text for text in ends), f"nobody was too slow: {ends}"


@pytest.mark.parametrize("way", [rtmp_player, http_player], ids=["rtmp", "http-flv"])
def test_a_slow_viewer_goes_on_at_a_later_keyframe(servers, way):
    """One that does not read for a while gets no more than queue_length of the past, whole GOPs, in order."""
    server = server_with(servers, "queue_length 1; send_timeout 60000;")
    tags = list(big_frames(16))
    mark = server.log_mark()
    client = rtmp.publisher(server, "live", "slow")
    publishing.send_all(client, tags[:2])
    viewer = way(server, "slow", timeout=scaled(30), receive_buffer=16384)
    quick = publishing.Collector(rtmp.player(server, "live", "slow", timeout=scaled(30)))
    sender = threading.Thread(target=publishing.send_all, args=(client, tags[2:-150], 4))
    sender.start()
    sender.join()  # the viewer has read nothing meanwhile
    slow = publishing.Collector(viewer)
    time.sleep(0.5)
    base = tags[-150].timestamp
    begin = time.monotonic()
    for tag in tags[-150:]:
        time.sleep(max(0.0, (tag.timestamp - base) / 3000 - (time.monotonic() - begin)))
        client.send_tag(tag)
    client.close()
    got = flv.frames(slow.finish(scaled(30), "the slow viewer"))
    whole = quick.finish(scaled(30), "the quick viewer")
    flv.assert_same(tags, whole, "the viewer beside the slow one")
    place = {tag.body: index for index, tag in enumerate(flv.frames(tags))}
    places = [place.get(tag.body) for tag in got]
    assert None not in places, f"frame {places.index(None)} of the slow viewer was never published so"
    gaps = [(a, b) for a, b in zip(places, places[1:]) if b != a + 1]
    assert all(b > a for a, b in gaps), f"the frames should come in order; they jump {gaps}"
    assert gaps, f"a viewer that did not read should have missed something; it got all {len(got)} frames"
    frames = flv.frames(tags)
    for a, b in gaps:
        assert flv.is_keyframe(frames[b]), f"behind the gap from frame {a} on there should be a keyframe: {b}"
    assert places[-1] == len(frames) - 1, "once it reads again it should come to the end"
    line = api.ended(server, "times too slow", name="slow")["text"]
    jumps, skipped = map(int, re.search(r"\((\d+) times too slow, (\d+) bytes skipped\)", line).groups())
    missed = sum(len(frames[at].body) for a, b in gaps for at in range(a + 1, b))
    # It may have been moved on several times while it took nothing.
    assert jumps >= len(gaps) and skipped >= missed, f"{len(gaps)} gaps of {missed} bytes should be counted: {line}"
