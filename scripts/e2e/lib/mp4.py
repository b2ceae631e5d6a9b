"""MP4 (ISO/IEC 14496-12), read by others than the server: samples by ffprobe, boxes by pymp4, buffers by GStreamer."""

import io
import json
import re
import subprocess
from typing import NamedTuple

from .timing import scaled


class Packet(NamedTuple):
    dts: float  # ms
    pts: float
    key: bool
    size: int
    md5: str


def _run(*words):
    done = subprocess.run(
        [str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, timeout=scaled(60), text=True
    )
    assert done.returncode == 0, f"{' '.join(map(str, words))} failed with {done.returncode}: {done.stderr[-2000:]}"
    return done


def packets(path):
    """By ffprobe: kind ("video", "audio") -> packets in order. Fails when ffprobe has something to say. Empty packets
    (FFmpeg writes some into FLV) are left out."""
    done = _run(
        "ffprobe", "-v", "warning", "-show_packets", "-show_data_hash", "md5", "-of", "json", "-show_entries",
        "packet=codec_type,pts_time,dts_time,flags,size,data_hash", path,
    )  # fmt: skip
    assert not done.stderr, f"ffprobe of {path} says: {done.stderr}"
    kinds = {}
    for packet in json.loads(done.stdout)["packets"]:
        if int(packet["size"]) == 0:
            continue
        dts, pts = float(packet["dts_time"]) * 1000, float(packet["pts_time"]) * 1000
        kinds.setdefault(packet["codec_type"], []).append(
            Packet(dts, pts, packet["flags"].startswith("K"), int(packet["size"]), packet["data_hash"])
        )
    return kinds


class Stream(NamedTuple):
    kind: str
    default: bool  # enabled
    language: str
    label: str
    packets: list


def streams(path):
    """By ffprobe: the tracks in order."""
    done = _run(
        "ffprobe", "-v", "warning", "-show_streams", "-show_packets", "-show_data_hash", "md5", "-of", "json", path,
    )  # fmt: skip
    assert not done.stderr, f"ffprobe of {path} says: {done.stderr}"
    said = json.loads(done.stdout)
    found = []
    for stream in said["streams"]:
        default, tags = bool(stream["disposition"]["default"]), stream["tags"]
        found.append(Stream(stream["codec_type"], default, tags.get("language", "und"), tags["handler_name"], []))
    for packet in said["packets"]:
        dts, pts = float(packet["dts_time"]) * 1000, float(packet["pts_time"]) * 1000
        found[packet["stream_index"]].packets.append(
            Packet(dts, pts, packet["flags"].startswith("K"), int(packet["size"]), packet["data_hash"])
        )
    return found


def assert_same(want, got, who, tolerance=1.0):
    """The same packets of each kind; one shift for all timestamps, but for `tolerance` ms of audio's rounding."""
    assert sorted(want) == sorted(got), f"{who}: {sorted(want)} went in, {sorted(got)} came out"
    shift = None
    for kind in sorted(want, reverse=True):  # video first: its times are exact
        for index, (one, two) in enumerate(zip(want[kind], got[kind])):
            shift = two.dts - one.dts if shift is None else shift
            where = f"{who}: {kind} packet {index}"
            assert (one.key, one.size, one.md5) == (two.key, two.size, two.md5), f"{where} should be {one}, it is {two}"
            exact = 0.01 if kind == "video" else tolerance
            for name in ("dts", "pts"):
                moved = getattr(one, name) + shift
                assert abs(moved - getattr(two, name)) <= exact, f"{where}: {name} should be {moved}, it is {two}"
        assert len(want[kind]) == len(got[kind]), f"{who}: {len(want[kind])} {kind} packets, {len(got[kind])} came"


def decode(path, seconds=None):
    """Decodes all of it or its first seconds with ffmpeg, which must have nothing to say."""
    part = ["-t", seconds] if seconds else []
    done = _run("ffmpeg", "-nostdin", "-v", "warning", "-i", path, *part, "-f", "null", "-")
    assert not done.stderr, f"ffmpeg decoding {path} says: {done.stderr[-2000:]}"


def boxes(path):
    """The top-level boxes by pymp4, in order, with .type, .offset, .end and what is in them."""
    from pymp4.parser import Box

    data = path.read_bytes()
    stream, found = io.BytesIO(data), []
    while stream.tell() < len(data):
        found.append(Box.parse_stream(stream))
    return found


def child(box, *types):
    """The first box at that path."""
    for name in types:
        box = next(part for part in box.children if part.type == name.encode())
    return box


class Run(NamedTuple):
    track: int
    dts: int
    end: int  # dts of what would follow
    offset: int  # in the file
    sizes: tuple
    durations: tuple
    sync: tuple


def runs(moof, moov):
    """The track runs of a fragment, with what trex and tfhd say put in."""
    extends = {part.track_ID: part for part in child(moov, "mvex").children if part.type == b"trex"}
    for traf in (part for part in moof.children if part.type == b"traf"):
        head, time, trun = child(traf, "tfhd"), child(traf, "tfdt"), child(traf, "trun")
        extend = extends[head.track_ID]
        durations, sizes, sync = [], [], []
        for index, sample in enumerate(trun.sample_info):
            duration = next(
                value
                for value in (sample.sample_duration, head.default_sample_duration, extend.default_sample_duration)
                if value is not None
            )
            flags = sample.sample_flags or head.default_sample_flags or extend.default_sample_flags
            non_sync = flags.sample_is_non_sync_sample
            if index == 0 and trun.first_sample_flags is not None:
                non_sync = trun.first_sample_flags >> 16 & 1
            durations.append(duration)
            sizes.append(sample.sample_size)
            sync.append(not non_sync)
        begin = time.baseMediaDecodeTime
        yield Run(head.track_ID, begin, begin + sum(durations), moof.offset + trun.data_offset, tuple(sizes),
                  tuple(durations), tuple(sync))  # fmt: skip


def gstreamer_buffers(path, kind):
    """The sizes and presentation times (ms) of the buffers that GStreamer's qtdemux hands out."""
    done = _run(
        "gst-launch-1.0", "-v", "filesrc", f"location={path}", "!", "qtdemux", "name=d", f"d.{kind}_0", "!",
        "identity", "silent=false", "!", "fakesink", "sync=false",
    )  # fmt: skip
    found = []
    for line in done.stdout.splitlines():
        match = re.search(r"chain.*\((\d+) bytes, dts: (\S+), pts: (\S+),", line)
        if match:
            found.append((int(match[1]), _gst_ms(match[3])))
    return found


def _gst_ms(text):
    hours, minutes, seconds = text.split(":")
    return (int(hours) * 60 + int(minutes)) * 60_000 + float(seconds) * 1000
