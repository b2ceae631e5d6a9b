"""HLS's directives that no other test is about: where segments are cut and by which clock, how files and keys are named."""

import re
import subprocess
import time

import pytest

from lib import flv, hls, media, publishing, rtmp, ts
from lib.timing import scaled

PATH = "/live/one.m3u8"


def publish(server, tags, speed=None):
    with rtmp.publisher(server, "live", "one", timeout=scaled(10)) as client:
        publishing.send_all(client, tags, speed)


def checked(server, playlist, **options):
    checker = ts.Checker(**options)
    for segment in playlist.segments:
        checker.segment(hls.segment_bytes(server, PATH, segment), segment.discontinuity)
    return checker


@pytest.mark.parametrize(
    "directives, source, lengths, target",
    [
        ({"fragment": "2", "wait_keyframe": "off"}, media.rare_keyframes, (2.0, 2.0), 2),
        ({"fragment": "1", "aof_ratio": "3"}, media.audio_only, (3.0, 3.1), 3),
        ({"fragment": "1"}, media.audio_only, (2.1, 2.2), 2),
        ({"fragment": "2", "td_ratio": "5"}, media.rare_keyframes, (20.0, 20.0), 20),
        ({"fragment": "5", "td_ratio": "5"}, media.rare_keyframes, (20.0, 20.0), 25),
    ],
    ids=["wait_keyframe off", "aof_ratio 3", "aof_ratio", "td_ratio small", "td_ratio large"],
)
def test_lengths(servers, directives, source, lengths, target):
    server = servers(vhosts=hls.vhost(**directives))
    tags = media.tags(source())
    publish(server, tags)
    playlist = hls.wait_end(server, PATH)
    shortest, longest = lengths
    for segment in playlist.segments[:-1]:
        assert shortest - 0.05 <= segment.duration <= longest + 0.05, f"{lengths} s: {playlist.text}"
    assert playlist.target == target, playlist.text
    checker = checked(server, playlist, keyframes=directives.get("wait_keyframe") != "off")
    ts.assert_same(tags, checker.assert_good(playlist.text), f"HLS with {directives}")


def test_segments_by_the_clock(servers):
    """hls_ts_floor: [timestamp] is the number of the clock's multiple of hls_fragment in which the segment begins."""
    server = servers(vhosts=hls.vhost(fragment="1", ts_floor="on", wait_keyframe="off", ts_file="[app]/[stream]-[timestamp].ts"))
    tags = [tag for tag in media.from_keyframe(media.plain()) if tag.timestamp < 3600]
    began = time.time()
    publish(server, tags, speed=1)
    playlist = hls.wait_end(server, PATH)
    numbers = [int(re.fullmatch(r"one-(\d+)\.ts", segment.uri)[1]) for segment in playlist.segments]
    assert len(numbers) >= 3 and numbers == sorted(set(numbers)), f"one segment in each second: {playlist.text}"
    assert int(began) <= numbers[0] and numbers[-1] <= int(time.time()), f"from {began} on: {numbers}"
    for number, following in zip(numbers, numbers[1:]):
        # It was closed when the next one began.
        closed = (server.dir / f"html/live/one-{number}.ts").stat().st_mtime
        assert closed >= following - 0.1, f"{number} should last to {following}, it was closed at {closed}"
    ts.assert_same(tags, checked(server, playlist, keyframes=False).assert_good(playlist.text), "HLS by the clock")


@pytest.mark.parametrize("directly", ["on", "off"])
def test_times_of_aac(servers, directly):
    """Those that the publisher wrote, which are rounded; or counted from the samples."""
    server = servers(vhosts=hls.vhost(dts_directly=directly))
    tags = [
        tag._replace(timestamp=tag.timestamp // 10 * 10) if tag.type == flv.AUDIO and flv.is_frame(tag) else tag
        for tag in media.tags(media.audio_only())
    ]
    publish(server, tags)
    playlist = hls.wait_end(server, PATH)
    times = [pes.pts for pes in checked(server, playlist).of_kind(flv.AUDIO)]
    assert len(times) > 20, f"audio should come: {playlist.text}"
    step = 90_000 * 1024 / int(subprocess.check_output(
        ["ffprobe", "-v", "error", "-show_entries", "stream=sample_rate", "-of", "csv=p=0", media.audio_only()], text=True))  # fmt: skip
    off = [abs((one - times[0]) - round((one - times[0]) / step) * step) for one in times]
    # Frames have times of whole ms.
    assert (max(off) <= 50) == (directly == "off"), f"ticks beside whole AAC frames: {max(off)}"


def test_names_of_mp4_segments(servers, tmp_path):
    server = servers(vhosts=hls.vhost(use_fmp4="on", fmp4_file="parts/[stream]/[app]-[seq].mp4", init_file="heads/[app]/[stream].mp4"))
    publish(server, media.tags(media.with_b_frames()))
    playlist = hls.wait_end(server, PATH)
    assert {segment.map for segment in playlist.segments} == {"../heads/live/one.mp4"}, playlist.text
    assert [segment.uri for segment in playlist.segments] == [
        f"../parts/one/live-{number}.mp4" for number in range(len(playlist.segments))
    ], playlist.text
    whole = hls.fetch(server, PATH, playlist.segments[0].map)
    whole += b"".join(hls.segment_bytes(server, PATH, segment) for segment in playlist.segments)
    (tmp_path / "whole.mp4").write_bytes(whole)
    hls.assert_same(hls.packets(media.with_b_frames()), hls.packets(tmp_path / "whole.mp4"), "the segments as a file")
    for uri in (playlist.segments[0].map, playlist.segments[0].uri):
        assert (server.dir / "html/live" / uri).exists(), f"{uri} is a file below hls_path"


def test_names_of_keys(servers):
    """Kept apart from what HTTP serves, and fetched from elsewhere."""
    server = servers(
        vhosts=hls.vhost(
            keys="on", fragments_per_key=1, key_file="[app]/[stream]/[seq].k", key_file_path="./keys", key_url="https://keys.example/by/"
        )
    )
    tags = media.tags(media.with_b_frames())
    publish(server, tags)
    playlist = hls.wait_end(server, PATH)
    checker = ts.Checker()
    for number, segment in enumerate(playlist.segments):
        assert segment.key.uri == f"https://keys.example/by/live/one/{number}.k", playlist.text
        key = (server.dir / f"keys/live/one/{number}.k").read_bytes()
        words = ["openssl", "enc", "-d", "-aes-128-cbc", "-K", key.hex(), "-iv", segment.key.iv]
        data = subprocess.run(words, input=hls.fetch(server, PATH, segment.uri), check=True, capture_output=True).stdout
        checker.segment(data, segment.discontinuity)
    ts.assert_same(tags, checker.assert_good(playlist.text), "HLS with keys elsewhere")
    assert not list((server.dir / "html").rglob("*.k")), "no key lies beside the segments"
