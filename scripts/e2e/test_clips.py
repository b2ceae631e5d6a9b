"""Clips from the API: what was published between two times, frame by frame, from memory and from disk, and what there is no
clip of."""

import datetime
import json
import subprocess
import threading
import time

import pytest

from lib import api, dvr, hls, http, media, publishing, rtmp
from lib.timing import scaled, wait_until

PATH = "/live/one.m3u8"
# What is published faster than it plays has dates in the future.
ALL = {"from": -600, "to": 4_000_000_000}
STORAGES = ["memory", "disk", "both"]


def make(servers, top=api.ON, **directives):
    return servers(top=top, vhosts=hls.vhost(**{"fragment": "1", "use_fmp4": "on", "storage": "memory", **directives}))


def publish(server, tags, speed=20, name="one"):
    """All of it, and until its last segment is there."""
    with rtmp.publisher(server, "live", name, timeout=scaled(10)) as client:
        publishing.send_all(client, tags, speed)
    return hls.wait_end(server, f"/live/{name}.m3u8", 15)


def identity(server, name="one"):
    """The id of a stream, published or not: that of its account."""
    return api.wait_stream(server, name)["id"]


def clip_path(identity, **query):
    return f"/api/v1/streams/{identity}/clip?" + "&".join(f"{key}={value}" for key, value in query.items())


def get(server, identity, **query):
    return http.get(server.api_port, clip_path(identity, **query))


def saved(answer, directory, name="clip.mp4"):
    assert answer.status == 200, answer.describe() + answer.body[:200].decode(errors="replace")
    assert answer.headers["content-type"] == "video/mp4"
    assert int(answer.headers["content-length"]) == len(answer.body)
    path = directory / name
    path.write_bytes(answer.body)
    boxes = dvr.boxes(path)
    assert boxes[0] == "ftyp" and boxes.index("moov") < boxes.index("mdat") and "moof" not in boxes, boxes
    dvr.check_clean(path)
    assert dvr.first_is_key(path)
    shown = json.loads(
        subprocess.run(
            ["ffprobe", "-v", "error", "-of", "json", "-show_format", str(path)], check=True, capture_output=True
        ).stdout
    )["format"]
    assert abs(float(shown["duration"]) - float(answer.headers["x-clip-duration"])) < 0.05, shown
    assert abs(float(shown["start_time"])) < 0.1, shown
    return path


def run_of(want, got):
    """Where the packets of the clip begin among the published ones: all of them, by size and hash."""
    want, got = [one[:2] for one in want], [one[:2] for one in got]
    found = [at for at in range(len(want)) if want[at : at + len(got)] == got]
    assert len(found) >= 1, f"{len(got)} packets in a row of {len(want)} published ones"
    return found[0]


class Stream:
    """A file that is published, and its id while it is."""

    def __init__(self, server, tags, name="one"):
        with rtmp.publisher(server, "live", name, timeout=scaled(10)) as client:
            publishing.send_all(client, tags, 20)
            self.id = identity(server, name)
        self.playlist = hls.wait_end(server, f"/live/{name}.m3u8", 15)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("source", [media.frequent_keyframes, media.hevc], ids=lambda source: source.__name__)
def test_all_that_was_published(servers, tmp_path, storage, source):
    server = make(servers, storage=storage)
    path = source()
    stream = Stream(server, media.from_keyframe(path))
    clip = saved(get(server, stream.id, **ALL), tmp_path)
    dvr.assert_same_packets(dvr.packets(path), dvr.packets(clip), storage)


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_several_audio_tracks(servers, tmp_path, storage):
    server = make(servers, storage=storage)
    path = media.two_audio_tracks()
    stream = Stream(server, media.tags(path))
    clip = saved(get(server, stream.id, **ALL), tmp_path)
    words = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0", str(clip)]
    assert subprocess.run(words, check=True, capture_output=True, text=True).stdout.split() == ["video", "audio", "audio"]
    for number in range(3):
        def packets(file):
            made = dvr.ffmpeg.command9("-i", file, "-map", f"0:{number}", "-c", "copy", "-f", "framemd5", "-")
            text = subprocess.run(made, check=True, capture_output=True, text=True).stdout
            return [(one.size, one.md5) for found in dvr.ffmpeg.framemd5(text).values() for one in found]

        assert packets(clip) == packets(path), f"track {number}"


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_between_two_times(servers, tmp_path, storage):
    """The segments that have them, whole: from a keyframe on."""
    server = make(servers, storage=storage)
    path = media.frequent_keyframes()
    stream = Stream(server, media.from_keyframe(path))
    published, segments = dvr.packets(path)["video"], stream.playlist.segments
    assert len(segments) > 6
    begin, end = segments[2], segments[4]

    def iso(seconds):
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="milliseconds")

    lengths = [one.duration for one in segments]
    for first, last in (
        (begin.date, end.date + lengths[4]),
        (begin.date + lengths[2] / 2, end.date + lengths[4] / 2),
        (iso(begin.date + 0.002).replace("+00:00", "Z"), iso(end.date + 0.002)),
    ):
        answer = get(server, stream.id, **{"from": f"{first:.3f}" if isinstance(first, float) else first, "to": f"{last:.3f}" if isinstance(last, float) else last})
        clip = saved(answer, tmp_path)
        assert answer.headers["x-clip-start"] == iso(begin.date).replace("+00:00", "Z")
        assert abs(float(answer.headers["x-clip-duration"]) - sum(lengths[2:5])) < 0.1
        got = dvr.packets(clip)["video"]
        at = run_of(published, got)
        assert abs((published[at][2] - published[0][2]) / 1000 - sum(lengths[:2])) < 0.01
        assert abs(len(got) * 0.04 - sum(lengths[2:5])) < 0.01


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_a_range_of_it(servers, storage):
    """Of the same segments it is the same file, and of others another one."""
    server = make(servers, storage=storage)
    stream = Stream(server, media.from_keyframe(media.frequent_keyframes()))
    begin, end = (stream.playlist.segments[index].date for index in (1, 4))

    def ask(first=begin + 0.01, last=end + 0.01, **fields):
        return http.get(server.api_port, clip_path(stream.id, **{"from": f"{first:.3f}", "to": f"{last:.3f}"}), **fields)

    whole = ask()
    assert whole.status == 200 and whole.headers["accept-ranges"] == "bytes", whole.describe()
    size, etag = len(whole.body), whole.headers["etag"]
    for wanted, first, last in (("0-99", 0, 99), (f"{size // 3}-{size // 2}", size // 3, size // 2), ("-10", size - 10, size - 1)):
        part = ask(first=begin + 0.1, Range=f"bytes={wanted}", If_Range=etag)
        assert part.status == 206 and part.headers["content-range"] == f"bytes {first}-{last}/{size}", part.describe()
        assert part.body == whole.body[first : last + 1], wanted
    assert ask(Range=f"bytes={size}-").status == 416
    assert ask(If_None_Match=etag).status == 304
    other = ask(last=end - 1, Range="bytes=0-99", If_Range=etag)
    assert other.status == 200 and other.headers["etag"] != etag, other.describe()


def test_edges_of_what_there_is(servers, tmp_path):
    server = make(servers, window="4")
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.tags(media.frequent_keyframes()), speed=10):
        hls.wait(server, PATH, lambda playlist: playlist.sequence > 12, 15)
        one = identity(server)
        listed = hls.get(server, PATH)
        # More than there is: what there is.
        whole = get(server, one, **ALL)
        saved(whole, tmp_path)
        assert 4 < float(whole.headers["x-clip-duration"]) < 25, "those that have left the list, but are kept, too"
        # Gone, and to come.
        first = listed.segments[0].date
        for query in ({"from": first - 500, "to": first - 100}, {"from": first + 500, "to": first + 600}):
            answer = api.ask(server, clip_path(one, **query), status=404)
            assert "no segment" in answer["error"]
    for wrong in ("", "from=x", "from=nan", "from=inf", "from=1e300", "from=-5&to=-6", "from=5&to=5", "from=2026-02-30T00:00:00Z", "from=" + "9" * 4000):
        api.ask(server, f"/api/v1/streams/{one}/clip?{wrong}", status=400)
    api.ask(server, clip_path("vid-none", **{"from": -5}), status=404)


def test_the_last_seconds(servers, tmp_path):
    server = make(servers)
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.tags(media.frequent_keyframes())):
        hls.wait(server, PATH, lambda playlist: len(playlist.segments) > 6, 15)
        one = identity(server)
        answer = get(server, one, **{"from": -3})
        saved(answer, tmp_path)
        begin = datetime.datetime.fromisoformat(answer.headers["x-clip-start"].replace("Z", "+00:00")).timestamp()
        ago = time.time() - begin
        assert 2.9 < ago < 5.5, f"it begins {ago} s ago"
        assert 0.9 < float(answer.headers["x-clip-duration"]) <= ago
        two = get(server, one, **{"from": -6, "to": -4.5})
        saved(two, tmp_path)
        assert two.headers["x-clip-start"] < answer.headers["x-clip-start"]


def test_it_ends_at_a_discontinuity(servers, tmp_path):
    server = make(servers, more="", rejoin=5000)
    tags = media.from_keyframe(media.frequent_keyframes())
    half = [tag for tag in tags if tag.timestamp < 4000]
    with rtmp.publisher(server, "live", "one", timeout=scaled(10)) as client:
        publishing.send_all(client, half, 20)
    stream = Stream(server, half)
    (cut,) = [one.date for one in stream.playlist.segments if one.discontinuity]
    before = get(server, stream.id, **ALL)
    assert abs(len(dvr.packets(saved(before, tmp_path))["video"]) - 100) <= 1, "that of the first publisher"
    after = get(server, stream.id, **{**ALL, "from": f"{cut:.3f}"})
    assert abs(len(dvr.packets(saved(after, tmp_path))["video"]) - 100) <= 1
    assert before.headers["x-clip-start"] < after.headers["x-clip-start"]


def test_what_there_is_no_clip_of(servers):
    for directives, why in (({"use_fmp4": "off"}, "hls_use_fmp4"), ({"keys": "on"}, "encrypted")):
        server = make(servers, **directives)
        with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.frequent_keyframes()), speed=10):
            hls.wait(server, PATH, lambda playlist: playlist.segments, 15)
            assert why in api.ask(server, clip_path(identity(server), **{"from": -60}), status=409)["error"]


def test_a_hundred_at_once(servers, tmp_path):
    """Two are sent to an address, slowly; the others are told at once."""
    server = make(servers)
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), media.tags(media.frequent_keyframes()), speed=20):
        hls.wait(server, PATH, lambda playlist: len(playlist.segments) > 150, 30)
        one = identity(server)
    hls.wait_end(server, PATH, 15)
    slow = [http.Connection(server.api_port, receive_buffer=4096, timeout=scaled(20)) for _ in range(2)]
    for connection in slow:
        connection.request("GET", clip_path(one, **ALL))
        assert b"200" in connection.socket.recv(12)
    statuses = []

    def ask():
        statuses.append(get(server, one, **ALL).status)

    threads = [threading.Thread(target=ask) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    busy = statuses.count(503)
    assert set(statuses) <= {200, 503} and busy > 0, statuses
    for connection in slow:
        connection.close()
    wait_until(lambda: get(server, one, **ALL).status == 200, 10, "room for another one")


def test_segments_leave_while_it_is_sent(servers, tmp_path):
    """What it has is held: a slow client gets all of it."""
    server = make(servers, storage="disk", window="3", dispose="1")
    path = media.from_keyframe(media.frequent_keyframes())
    steady = publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), path, speed=10)
    with steady:
        hls.wait(server, PATH, lambda playlist: playlist.sequence > 3, 15)
        one = identity(server)
        connection = http.Connection(server.api_port, receive_buffer=4096, timeout=scaled(20))
        connection.request("GET", clip_path(one, **ALL))
        head = connection.socket.recv(100)
        assert b"200" in head
        connection.buffer = head + connection.buffer
    wait_until(lambda: not list((server.dir / "html/live").glob("one-*")), 20, "all is disposed of")
    answer = connection.read_response()
    saved(answer, tmp_path)
    connection.close()


def test_clips_are_content(servers):
    server = make(servers)
    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.frequent_keyframes()), speed=10):
        hls.wait(server, PATH, lambda playlist: playlist.segments, 15)
        path = clip_path(identity(server), **{"from": -60})
        assert http.get(server.api_port, path).status == 200
        assert http.get(server.api_port, path, "HEAD").status == 200
        assert http.get(server.api_port, path, X_Forwarded_For="192.0.2.1").status == 403
