#!/usr/bin/env python3
"""What a viewer in Chromium sees of a WebRTC stream over a bad network: this server, another build of it, and MediaMTX
where it was built (research/compare/get_mediamtx.sh), one after the other behind the same relay.

    research/webrtc_quality.py                              every condition, medians of three: about 25 minutes
    research/webrtc_quality.py --only loss100,short --repeats 1
    research/webrtc_quality.py --before OLD/objs/srs --json FILE

A condition begins some seconds after the viewer's first packet and is measured for 22 s, by the page's getStats(): frames
decoded and how many of those published, the time that the page was frozen (a frame that came later than three times
the usual interval, and than 150 ms more than that), the share of audio samples that were concealed, NACKs, and what
the server sent of what the link takes. The round trips are those of the relay (scripts/e2e/lib/relay.py). The stream
has 25 frames a second, a keyframe each 2 s, VIDEO_KBPS and Opus, published by RTMP.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts/e2e"))
from lib import ffmpeg, mediamtx, rtc, server as ours  # noqa: E402
from lib.relay import Harm, Running  # noqa: E402

VIDEO_KBPS, FRAMES_A_SECOND, GOP = 1200, 25, 50
STREAM_KBPS = 1360  # with audio, and headers
BEGINS_S, SECONDS = 5, 22
CONDITIONS = {
    "clean": Harm(),
    "loss": Harm(loss=3, delay=5),
    "loss100": Harm(loss=3, delay=50),
    "loss300": Harm(loss=3, delay=150),
    "loss10": Harm(loss=10, delay=10),
    "disorder": Harm(reorder=3, delay=20),
    "short": Harm(kbps=0.7 * STREAM_KBPS, delay=20),
    "dip": Harm(kbps=0.5 * STREAM_KBPS, delay=20, until=BEGINS_S + 10),
}
DIP_S = 5


def harm_of(name):
    harm = CONDITIONS[name]
    return harm._replace(after=BEGINS_S + (harm.until - BEGINS_S - DIP_S if harm.until else 0))


class Seen(NamedTuple):
    frames: float  # of those published, percent
    frozen_s: float
    freezes: int
    concealed: float  # percent of the samples
    nacks: int
    plis: int
    kbps: float  # from the server to the relay
    latency_ms: float  # of the jitter buffer, at the end


def make_media(directory):
    """As a live encoder sends it; of noise, so that its rate is what was asked for."""
    path = directory / "stream.flv"
    video = ["-f", "lavfi", "-i", f"testsrc2=size=640x360:rate={FRAMES_A_SECOND},noise=alls=12:allf=t"]
    audio = ["-f", "lavfi", "-i", "sine=frequency=400:beep_factor=2:sample_rate=48000"]
    rate = ["-b:v", f"{VIDEO_KBPS}k", "-maxrate", f"{VIDEO_KBPS}k", "-bufsize", f"{VIDEO_KBPS // 2}k"]
    encode = ["-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-profile:v", "baseline", "-pix_fmt", "yuv420p"]
    words = [*encode, *rate, "-g", GOP, "-sc_threshold", 0, "-c:a", "libopus", "-b:a", "64k", "-ac", 2, "-t", 60]
    subprocess.run(ffmpeg.command9(*video, *audio, *words, path), check=True)
    return path


class Ours:
    def __init__(self, directory, program, more):
        ours.BINARY = program
        self.server = ours.Server(directory, **rtc.options(more)).start()
        self.rtc_port, self.stop = self.server.rtc_port, self.server.stop


class Theirs:
    def __init__(self, directory, program, _more):
        mediamtx.PROGRAM = str(program)
        self.server = mediamtx.MediaMtx(directory)
        self.rtc_port, self.stop = self.server.rtc_port, self.server.stop


def counted(report):
    player = report["player"] or {}
    video, audio = player.get("video") or {}, player.get("audio") or {}
    return {"now": report["now"], **{name: video.get(name, 0) for name in (
        "framesDecoded", "freezeCount", "totalFreezesDuration", "nackCount", "pliCount", "jitterBufferDelay",
        "jitterBufferEmittedCount")}, **{name: audio.get(name, 0) for name in ("concealedSamples", "totalSamplesReceived")}}  # fmt: skip


def watch(page, relay):
    """The difference that SECONDS make. A freeze counts when it ends: for that there is a second more."""
    rtc.Page.wait(page, lambda one: rtc.decodes(one, 1), 30, "the first frame")
    time.sleep(max(0, BEGINS_S - 1))
    first = counted(page.last())
    time.sleep(SECONDS)
    last = counted(page.last())
    did = relay.finish()
    back = max((client["back"] for client in did), key=lambda way: way["bytes"])
    change = {name: last[name] - first[name] for name in first}
    seconds = change["now"] / 1000
    emitted = max(1, change["jitterBufferEmittedCount"])
    return Seen(frames=round(100 * change["framesDecoded"] / (seconds * FRAMES_A_SECOND), 1),
                frozen_s=round(change["totalFreezesDuration"], 2), freezes=change["freezeCount"],
                concealed=round(100 * change["concealedSamples"] / max(1, change["totalSamplesReceived"]), 2),
                nacks=change["nackCount"], plis=change["pliCount"],
                kbps=round(back["bytes"] * 8 / 1000 / (BEGINS_S + SECONDS)),
                latency_ms=round(1000 * change["jitterBufferDelay"] / emitted))  # fmt: skip


def run(start, program, condition, media, seed, more):
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        running = start(directory / "server", program, more)
        tools = []

        def tool(words):
            tools.append(ffmpeg.Process(words, directory / f"tool{len(tools)}.txt"))
            return tools[-1]

        try:
            url = running.server.rtmp_url("live/one")
            tool(ffmpeg.command9("-re", "-stream_loop", -1, "-i", media, "-c", "copy", "-f", "flv", url))
            time.sleep(2.5)
            with Running(running.rtc_port, harm_of(condition), seed) as relay:
                page = rtc.Page(tool, directory, play=rtc.whep_url(running.server), relay=relay.port)
                return watch(page, relay)
        finally:
            for one in tools:
                one.kill()
            running.stop()


def median_of(runs):
    return Seen(*(statistics.median(values) for values in zip(*runs)))


def table(results):
    lines = ["| condition | server | " + " | ".join(Seen._fields) + " |", "|---" * (2 + len(Seen._fields)) + "|"]
    for (condition, name), runs in results.items():
        lines.append(f"| {condition} | {name} | " + " | ".join(f"{value:g}" for value in median_of(runs)) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CONDITIONS), help="conditions, with commas")
    parser.add_argument("--servers", default="ours,before,MediaMTX")
    parser.add_argument("--before", type=pathlib.Path, help="another build of this server")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rtc", default="", help="more directives of the vhost's rtc block, of ours")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    objs = pathlib.Path(os.environ.get("SRS_OBJS", ROOT / "objs")).resolve()
    there = {"ours": (Ours, objs / "srs"), "before": (Ours, options.before), "MediaMTX": (Theirs, objs / "peers/mediamtx")}
    chosen = {name: there[name] for name in options.servers.split(",") if there[name][1] and there[name][1].exists()}
    conditions = options.only.split(",")
    if unknown := set(conditions) - set(CONDITIONS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(CONDITIONS)}")
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        media = make_media(pathlib.Path(directory))
        for condition in conditions:
            for seed in range(1, options.repeats + 1):
                for name, (start, program) in chosen.items():
                    seen = run(start, program, condition, media, seed, options.rtc if name == "ours" else "")
                    print(f"{condition}, {name}: {seen._asdict()}", file=sys.stderr, flush=True)
                    results.setdefault((condition, name), []).append(seen)
    if options.json:
        raw = [{"condition": condition, "server": name, "runs": [one._asdict() for one in runs]}
               for (condition, name), runs in results.items()]  # fmt: skip
        options.json.write_text(json.dumps(raw, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
