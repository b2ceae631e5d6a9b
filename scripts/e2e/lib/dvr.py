"""Recordings: configuring them, waiting for their files, and comparing what is in them with what was published."""

import re
import subprocess
from pathlib import Path

from . import amf0, ffmpeg, flv
from .server import default_vhost
from .timing import wait_until

NEVER_SHORTER = 2  # ms by which a time may differ: MP4 counts audio in samples, FLV in milliseconds


def vhost(path="./rec/[app]/[stream].[timestamp].flv", **directives):
    """A vhost that records. Directives by name: dvr_plan="segment"."""
    words = " ".join(f"{name} {value};" for name, value in directives.items())
    return default_vhost(f"dvr {{ enabled on; dvr_path {path}; {words} }}")


def _order(path):
    """By the time in the name, and of one millisecond by the number: x.170.flv, x.170-1.flv."""
    base, number = re.fullmatch(r"(.*?)(?:-(\d+))?\.\w+", path.name).groups()
    return base, int(number or 0)


def files(server, pattern="rec/**/*"):
    """Complete files, the oldest first."""
    found = [path for path in server.dir.glob(pattern) if path.is_file() and path.suffix in (".flv", ".mp4")]
    return sorted(found, key=_order)


def growing(server):
    return sorted(server.dir.glob("rec/**/*.tmp"))


def wait_files(server, count, seconds=10):
    """That many complete files and none that grows."""

    def there():
        found = files(server)
        return found if len(found) >= count and not growing(server) else None

    def what():
        return f"{count} complete files; there are {[p.name for p in files(server)]}, growing {growing(server)}"

    found = wait_until(there, seconds, what)
    assert len(found) == count, f"there should be {count} files, there are {[path.name for path in found]}"
    return found


def wait_growing(server, size=1, seconds=10):
    """A file that grows and has so many bytes already."""

    def there():
        return next((path for path in growing(server) if path.stat().st_size >= size), None)

    return wait_until(there, seconds, lambda: f"a growing file of {size} bytes; there are {growing(server)}")


# --- what tools say


def remuxed(path, form, directory):
    """The file as FFmpeg puts it into that format: what its packets look like there."""
    out = directory / f"reference.{form}"
    subprocess.run(ffmpeg.command9("-i", path, "-c", "copy", out), check=True, capture_output=True)
    return out


# Of a track whose few frames are all before the time at which it begins.
_HARMLESS = "No filtered frames for output stream"


def check_clean(path, run=ffmpeg.command9):
    """FFmpeg reads all of it, decodes all of it, and has nothing to say."""
    done = subprocess.run(run("-i", path, "-f", "null", "-"), capture_output=True, text=True)
    said = "\n".join(line for line in (done.stdout + done.stderr).splitlines() if _HARMLESS not in line)
    assert done.returncode == 0 and not said.strip(), f"{path}: FFmpeg should have nothing to say, it said\n{said}"


def check_packets(path):
    """FFmpeg reads all of it without a word; nothing is decoded."""
    done = subprocess.run(
        ffmpeg.command9("-i", path, "-map", "0", "-c", "copy", "-f", "null", "-"), capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr.strip(), f"{path}: FFmpeg said\n{done.stderr}"


def packets(path, run=ffmpeg.command9):
    """By kind of track, video first: (size, md5, dts in ms, pts in ms) of each packet."""
    words = run("-i", path, "-map", "0:v?", "-map", "0:a?", "-c", "copy", "-f", "framemd5", "-")
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    bases, kinds, streams = {}, {}, {}
    for line in text.splitlines():
        if line.startswith("#tb"):
            number, base = line[3:].split(":")
            above, below = base.split("/")
            bases[int(number)] = int(above) / int(below) * 1000
        if line.startswith("#media_type"):
            number, kind = line[11:].split(":")
            kinds[int(number)] = kind.strip()
    for number, found in ffmpeg.framemd5(text).items():
        base = bases[number]
        streams[kinds[number]] = [(p.size, p.md5, p.dts * base, p.pts * base) for p in found]
    return streams


def assert_same_packets(want, got, who):
    """The same packets in each track; all times moved by one distance."""
    assert sorted(want) == sorted(got), f"{who}: tracks {sorted(want)} were published, {sorted(got)} recorded"
    shift = None
    for kind, all_wanted in want.items():
        for index, (one, other) in enumerate(zip(all_wanted, got[kind])):
            assert one[:2] == other[:2], f"{who}: {kind} packet {index} should be {one}, it is {other}"
            shift = other[2] - one[2] if shift is None else shift
            for at in (2, 3):
                assert abs(other[at] - one[at] - shift) <= NEVER_SHORTER, (
                    f"{who}: {kind} packet {index} should be at {one[at] + shift:.3f} ms, it is at {other[at]:.3f}"
                )
        assert len(all_wanted) == len(got[kind]), (
            f"{who}: {len(all_wanted)} {kind} packets were published, {len(got[kind])} recorded"
        )


def assert_all_there(want, paths, who):
    """The files one after another have the published packets, none missing and none twice."""
    for kind, all_wanted in want.items():
        got = [packet for path in paths for packet in packets(path).get(kind, [])]
        for index, (one, other) in enumerate(zip(all_wanted, got)):
            assert one[:2] == other[:2], f"{who}: {kind} packet {index} of {len(all_wanted)} is another one"
        assert len(all_wanted) == len(got), f"{who}: {len(all_wanted)} {kind} packets published, {len(got)} recorded"


def first_is_key(path):
    """Whether the first video packet is a keyframe. The distribution's ffprobe knows no HEVC in FLV."""
    if path.suffix == ".flv":
        return flv.is_keyframe(next(tag for tag in flv.frames(flv.read_file(path)) if tag.type == flv.VIDEO))
    words = ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=flags", "-of", "csv=p=0"]
    text = subprocess.run([*words, str(path)], check=True, capture_output=True, text=True).stdout
    return text.startswith("K")


def boxes(path):
    """The top-level boxes of an MP4 file, in order."""
    data, at, found = Path(path).read_bytes(), 0, []
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if size == 1:
            size = int.from_bytes(data[at + 8 : at + 16], "big")
        found.append(data[at + 4 : at + 8].decode("latin1"))
        if size < 8:
            break
        at += size
    return found


def metadata(path):
    """What onMetaData of an FLV file says."""
    tag = flv.read_file(path)[0]
    assert tag.type == flv.SCRIPT, f"{path}: the first tag should be onMetaData, it is {tag.describe()}"
    name, value = amf0.decode(tag.body)
    assert name == "onMetaData", name
    return value


def assert_flv_head(path):
    """Duration, size and index are true: each entry of the index is the place of a keyframe of that time."""
    data, told = Path(path).read_bytes(), metadata(path)
    assert told["filesize"] == len(data), f"{path}: filesize should be {len(data)}, it is {told['filesize']}"
    tags = flv.frames(flv.read_file(path))
    last = max(tag.timestamp for tag in tags)
    duration = told["duration"] * 1000
    assert last <= duration <= last + 1000, f"{path}: the last frame is at {last} ms, the duration is {duration} ms"
    keys = [tag.timestamp for tag in tags if flv.is_keyframe(tag)]
    if len(keys) < 2:
        assert "keyframes" not in told, f"{path}: an index of {len(keys)} keyframes is none"
        return
    times, places = told["keyframes"]["times"], told["keyframes"]["filepositions"]
    assert [round(t * 1000) for t in times] == keys, f"{path}: the index should be {keys}, it is {times}"
    for time, place in zip(times, places):
        at = int(place)
        stamp = int.from_bytes(data[at + 4 : at + 7], "big") | data[at + 7] << 24
        assert (data[at], stamp, data[at + 11] >> 4 & 7) == (9, round(time * 1000), 1), (
            f"{path}: at {at} should be the keyframe of {time} s, there is {data[at : at + 16].hex()}"
        )
    kinds = {tag.type for tag in tags}
    assert (bool(data[4] & 4), bool(data[4] & 1)) == (flv.AUDIO in kinds, flv.VIDEO in kinds), (
        f"{path}: the header's flags {data[4]} are not those of the tracks {kinds}"
    )
