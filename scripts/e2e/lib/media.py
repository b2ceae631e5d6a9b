"""Media to publish. The real encoder output of SRS_MEDIA or ../shared/media where it is there, otherwise equivalents
made by ffmpeg: H.264 with and without B-frames, HEVC with B-frames, AAC, MP3."""

import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

from . import ffmpeg, flv
from .server import ROOT

_FOUND = Path(os.environ.get("SRS_MEDIA", ROOT.parent / "shared" / "media"))
_CACHE = Path(os.environ.get("SRS_E2E_CACHE", Path(tempfile.gettempdir()) / f"e2e-media-{os.getuid()}-3"))


def _source(seconds):
    video_input = ["-f", "lavfi", "-i", f"testsrc2=size=640x360:rate=25:duration={seconds}"]
    return [*video_input, "-f", "lavfi", "-i", f"sine=frequency=440:sample_rate=44100:duration={seconds}"]


_PICTURE, _SOUND = _source(10)[:4], _source(10)[4:]
# Main profile: pymp4 does not read what High adds to avcC.
_H264 = ["-c:v", "libx264", "-preset", "veryfast", "-profile:v", "main", "-b:v", "250k", "-pix_fmt", "yuv420p"]
_AAC = ["-c:a", "aac", "-b:a", "48k", "-ac", "2"]


def _h264(seconds, b_frames, keyframes):
    """As long as the found file that it stands in for, and with keyframes at the same seconds."""
    video_input = [*_H264, "-bf", b_frames, "-g", 250, "-sc_threshold", 0, "-force_key_frames", keyframes]
    return ffmpeg.command(*_source(seconds), *video_input, *_AAC, "-f", "flv", "OUT")


def _made(name, *commands):
    """The file of that name in the cache, made by the commands (argument lists) unless it is there."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    path = _CACHE / name
    with (_CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            part = _CACHE / f"part-{name}"
            for command in commands:
                subprocess.run(
                    [str(part) if word == "OUT" else str(word) for word in command],
                    check=True,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
            part.rename(path)
    return path


def _found_or_made(name, *commands):
    return _FOUND / name if (_FOUND / name).exists() else _made(name, *commands)


def with_b_frames():
    """FLV, H.264 with B-frames and AAC."""
    return _found_or_made("avatar.flv", _h264(11.4, 2, "0,1.44,2.96,4.4,7.8,8.88,10.68"))


def plain():
    """FLV, H.264 without B-frames and AAC."""
    return _found_or_made("bbb.flv", _h264(10, 0, "0,3,5.28,8.2"))


def hevc():
    """FLV by enhanced RTMP, HEVC with B-frames and AAC."""
    raw, audio_input = _FOUND / "avatar.h265", _FOUND / "avatar.aac"
    if raw.exists() and audio_input.exists():
        words = [
            "-framerate",
            "25",
            "-i",
            raw,
            "-t",
            "10",
            "-i",
            audio_input,
            "-map",
            "0:v",
            "-map",
            "1:a",
            "-c",
            "copy",
            "-bsf:v",
            "dts2pts",
        ]
    else:
        # Without x265's words about itself: ffmpeg keeps them with the parameter sets and repeats them in MPEG-TS.
        words = [
            *_PICTURE,
            *_SOUND,
            "-c:v",
            "libx265",
            "-preset",
            "ultrafast",
            "-b:v",
            "250k",
            "-x265-params",
            "bframes=2:keyint=50:log-level=error:info=0:open-gop=0",
            *_AAC,
        ]
    # By way of MP4, where the decoder configurations are in place before the first packet.
    source = _made("hevc.mp4", ffmpeg.command9(*words, "-f", "mp4", "OUT"))
    return _made("hevc.flv", ffmpeg.command9("-i", source, "-c", "copy", "-f", "flv", "OUT"))


def audio_only(codec="aac"):
    """FLV without video."""
    if codec == "mp3":
        return _made(
            "mp3.flv", ffmpeg.command(*_SOUND, "-c:a", "libmp3lame", "-b:a", "64k", "-t", "6", "-f", "flv", "OUT")
        )
    return _made("aac.flv", ffmpeg.command("-i", plain(), "-vn", "-c", "copy", "-t", "6", "-f", "flv", "OUT"))


def video_only():
    """FLV without audio."""
    return _made("video.flv", ffmpeg.command("-i", plain(), "-an", "-c", "copy", "-f", "flv", "OUT"))


def rare_keyframes():
    """FLV, H.264 with a keyframe each 20 s, and AAC; 50 s."""
    return _made(
        "rare.flv",
        ffmpeg.command(
            "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=50",
            "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=50",
            "-c:v", "libx264", "-preset", "ultrafast", "-g", "500", "-keyint_min", "500", "-sc_threshold", "0",
            *_AAC, "-f", "flv", "OUT",
        ),
    )  # fmt: skip


def late_keyframes():
    """FLV, H.264 with keyframes at 0, 1, 2 and 3 s, then none, and AAC; 16 s."""
    return _made(
        "late.flv",
        ffmpeg.command(
            "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=16",
            "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=16",
            "-c:v", "libx264", "-preset", "ultrafast", "-g", "500", "-keyint_min", "500", "-sc_threshold", "0",
            "-force_key_frames", "0,1,2,3", *_AAC, "-f", "flv", "OUT",
        ),
    )  # fmt: skip


def frequent_keyframes():
    """FLV, H.264 with B-frames and a keyframe each 480 ms, and AAC; 10 s: what waits for a segment waits for no keyframe."""
    video_input = [*_H264, "-bf", 2, "-g", 12, "-keyint_min", 12, "-sc_threshold", 0]
    return _made("frequent.flv", ffmpeg.command(*_source(10), *video_input, *_AAC, "-f", "flv", "OUT"))


def intra_refresh():
    """FLV, H.264 without an IDR after the first frame: a recovery point each second; 10 s."""
    video_input = [*_H264, "-x264-params", "keyint=25:intra-refresh=1:bframes=0"]
    return _made("intra-refresh.flv", ffmpeg.command(*_PICTURE, *video_input, "-f", "flv", "OUT"))


def h264_mp3():
    """FLV, H.264 with B-frames and MP3."""
    return _made(
        "h264-mp3.flv",
        ffmpeg.command(
            "-i", with_b_frames(), "-c:v", "copy", "-c:a", "libmp3lame", "-b:a", "64k", "-t", "6", "-f", "flv", "OUT"
        ),
    )


def encoded_by_9(video, audio):
    """FLV by enhanced RTMP, by these encoders of FFmpeg 9."""
    video_input = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=4"]
    audio_input = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=4"]
    fast = ["-cpu-used", "8"] if video.startswith("lib") and "264" not in video else []
    return _made(
        f"{video}-{audio}.flv",
        ffmpeg.command9(*video_input, *audio_input, "-c:v", video, *fast, "-g", "25", "-c:a", audio, "-f", "flv", "OUT"),
    )


def two_audio_tracks(seconds=8):
    """FLV by enhanced RTMP: H.264 with B-frames, AAC of 440 Hz at 44.1 kHz, AAC of 880 Hz at 48 kHz as a second track."""
    video_input = ["-f", "lavfi", "-i", f"testsrc2=size=320x180:rate=25:duration={seconds}"]
    first = ["-f", "lavfi", "-i", f"sine=frequency=440:sample_rate=44100:duration={seconds}"]
    second = ["-f", "lavfi", "-i", f"sine=frequency=880:sample_rate=48000:duration={seconds}"]
    maps = ["-map", "0", "-map", "1", "-map", "2"]
    video = ["-c:v", "libx264", "-preset", "veryfast", "-bf", "2", "-g", "25", "-keyint_min", "25", "-sc_threshold", "0"]
    return _made(
        "two-audio.flv" if seconds == 8 else f"two-audio-{seconds}.flv",
        ffmpeg.command9(*video_input, *first, *second, *maps, *video, "-c:a", "aac", "-b:a", "64k", "-f", "flv", "OUT"),
    )


def short(name, *maps):
    """A file of 1.2 s of H.264 and AAC, in the format of the name's ending. maps: FFmpeg's, of its inputs 0 and 1."""
    source = ["-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25", "-f", "lavfi", "-i", "sine=sample_rate=44100"]
    encode = ["-t", 1.2, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", 25, "-c:a", "aac"]
    form = {"mp4": "mp4", "mkv": "matroska"}[name.rpartition(".")[2]]
    return _made(name, ffmpeg.command(*source, *maps, *encode, "-f", form, "OUT"))


def tags(path):
    return flv.read_file(path)


def from_keyframe(path):
    """The file's tags, without frames before its first keyframe."""
    everything = tags(path)
    first = next(index for index, tag in enumerate(everything) if flv.is_keyframe(tag))
    return [tag for tag in everything[:first] if not flv.is_frame(tag)] + everything[first:]


LADDER = {"540p": (480, 270), "360p": (320, 180), "180p": (160, 90)}


def ladder(name):
    """One of three renditions, of equal times: FLV, H.264 with a keyframe each second, AAC; 10 s."""
    width, height = LADDER[name]
    size = ["-vf", f"scale={width}:{height}", "-b:v", f"{width}k", "-g", 25, "-keyint_min", 25, "-sc_threshold", 0, "-bf", 0]
    return _made(f"ladder-{name}.flv", ffmpeg.command(*_PICTURE, *_SOUND, *_H264, *size, *_AAC, "-f", "flv", "OUT"))
