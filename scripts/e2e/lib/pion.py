"""pion/webrtc as publisher and player (scripts/e2e/pion), built by the first test that needs it, and what it publishes."""

import json
import subprocess
from pathlib import Path

from . import ffmpeg, golang, media
from .server import OBJS
from .timing import scaled

SOURCE = Path(__file__).resolve().parents[1] / "pion"
PROGRAM = OBJS / "pion" / "peer"
PICTURE = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25:duration=4"]
SOUND = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=4"]
RATE = ["-b:v", "400k", "-g", "25", "-bf", "0", "-pix_fmt", "yuv420p"]
# By codec: the encoder, and the form that the program reads.
ENCODERS = {
    "h264": ["-c:v", "libx264", "-preset", "ultrafast", "-profile:v", "baseline", "-bsf:v", "h264_metadata=aud=insert", "-f", "h264"],
    "h265": ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "bframes=0:keyint=25:log-level=error", "-bsf:v",
             "hevc_metadata=aud=insert", "-f", "hevc"],
    "vp8": ["-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-auto-alt-ref", "0", "-f", "ivf"],
    "vp9": ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-auto-alt-ref", "0", "-lag-in-frames", "0", "-f", "ivf"],
    "av1": ["-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8", "-lag-in-frames", "0", "-f", "ivf"],
}  # fmt: skip


is_there = golang.is_there


def build():
    """The program, newer than its sources."""
    return golang.build(SOURCE, PROGRAM)


def video(codec):
    words = ffmpeg.command9(*PICTURE, *RATE, *ENCODERS[codec], "OUT")
    return media._made(f"pion.{codec}", words)


# By rid: the sizes of the layers of simulcast, each half of the next, and their kbit/s.
LAYERS = {"q": ("80x44", 50), "h": ("160x90", 200), "f": ("320x180", 800)}
LARGE_LAYERS = {"q": ("160x90", 100), "h": ("320x180", 300), "f": ("640x360", 1500)}


def layers(codec, order, sizes=LAYERS):
    """The option of that name: a file for each layer, in that order."""
    files = {}
    for rid in order:
        size, kbps = sizes[rid]
        # Noise, so that the encoder needs what it may take.
        filters = f"noise=alls=12:allf=t,scale={size.replace('x', ':')}"
        rate = ["-b:v", f"{kbps}k", "-maxrate", f"{kbps}k", "-bufsize", f"{kbps // 2}k"]
        words = ffmpeg.command9(*PICTURE, "-vf", filters, *RATE, *rate, *ENCODERS[codec], "OUT")
        files[rid] = media._made(f"pion.{rid}.{kbps}.{codec}", words)
    return ",".join(f"{rid}={path}" for rid, path in files.items())


def audio():
    return media._made("pion.ogg", ffmpeg.command9(*SOUND, "-c:a", "libopus", "-b:a", "48k", "-page_duration", "20000", "-f", "ogg", "OUT"))


def words(codec="h264", whip=None, whep=None, seconds=4, **more):
    """Of a run. more: whip_port and whep_port to go through a relay."""
    out = [build(), "-codec", codec, "-seconds", str(seconds)]
    if whip:
        out += ["-whip", whip, "-audio", audio()]
        if "layers" not in more:
            out += ["-video", video(codec)]
    if whep:
        out += ["-whep", whep]
    for name, value in more.items():
        out += [f"-{name.replace('_', '-')}={value}"]
    return [str(word) for word in out]


def run(seconds=4, **wanted):
    """What the program found (see its main.go)."""
    done = subprocess.run(words(seconds=seconds, **wanted), capture_output=True, text=True, timeout=scaled(seconds + 40), check=False)
    assert done.returncode == 0, f"pion: {done.stderr[-4000:]}"
    return json.loads(done.stdout)
