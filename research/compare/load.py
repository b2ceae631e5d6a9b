"""The load tool (research/bench) on core 1, and the stream that it plays."""

import contextlib
import json
import shutil
import subprocess
import time

from .servers import Failure, pinned

KBPS = 237


def make_stream(directory, seconds, kbps=KBPS, audio=True):
    """A test pattern of x264 and AAC: 25 video frames and 43 audio frames a second, a keyframe every two seconds, 237
    kbit/s in all. Without audio 30 frames a second. As long as a run measures, so that every run delivers the same bytes
    wherever it begins."""
    path = directory / f"stream{kbps}{'' if audio else 'v'}.flv"
    of_video, fps = f"{kbps - 44 if audio else kbps}k", 25 if audio else 30
    tone = "-f lavfi -i sine=frequency=440:sample_rate=44100" if audio else ""
    video = f"-c:v libx264 -preset fast -profile:v main -bf 0 -g {2 * fps} -keyint_min {2 * fps} -sc_threshold 0 -b:v {of_video}"
    rate = f"-minrate {of_video} -maxrate {of_video} -bufsize {of_video} -x264-params nal-hrd=cbr"
    sound = "-c:a aac -b:a 32k -ar 44100" if audio else ""
    words = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size=640x360:rate={fps}", *tone.split(), "-t",
             str(seconds), *video.split(), *rate.split(), *sound.split(), str(path)]  # fmt: skip
    subprocess.run(words, check=True)
    return path


def as_transport_stream(path):
    """The same frames, in a file beside it."""
    out = path.with_suffix(".ts")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(path), "-c", "copy", "-f", "mpegts", str(out)], check=True)
    return out


class Load:
    def __init__(self, objs, directory, seconds):
        self.objs, self.directory, self.seconds, self.streams = objs, directory, seconds, {}
        self.has_ffmpeg = bool(shutil.which("ffmpeg"))

    def words(self, command, url, *words):
        return [*pinned(1), str(self.objs / "bench"), command, url, "-q", *map(str, words)]

    def source(self, kbps=KBPS, audio=True):
        if not self.has_ffmpeg:
            return ["--kbps", kbps, "--loop"]  # the load tool's own made-up stream of that bitrate
        if (kbps, audio) not in self.streams:
            self.streams[kbps, audio] = make_stream(self.directory, self.seconds, kbps, audio)
        return ["--file", self.streams[kbps, audio], "--loop"]

    def transport_stream(self, seconds, kbps=KBPS):
        """A file for so many seconds. It must not be repeated while it is measured: its times begin anew."""
        if ("ts", kbps, seconds) not in self.streams:
            directory = self.directory / f"ts{seconds}"
            directory.mkdir(exist_ok=True)
            self.streams["ts", kbps, seconds] = as_transport_stream(make_stream(directory, seconds, kbps))
        return self.streams["ts", kbps, seconds]

    @contextlib.contextmanager
    def publisher(self, url, kbps=KBPS, command="publish", count=1, open_s=0, audio=True):
        """One, or so many with {i} in their URL, opened within so many seconds."""
        source = self.source(kbps, audio) if command == "publish" else self.source(kbps)[:2]  # whip always goes on
        words = [*source, "--seconds", 3600, "--settle-ms", 0, "-n", count, *(["--ramp", count / open_s] if open_s else [])]
        with self.beside(command, url, *words, wait_s=open_s + 2.5):  # a whole GOP is there
            yield

    @contextlib.contextmanager
    def beside(self, command, url, *words, wait_s):
        """A run of the load tool beside others, which begin so many seconds later."""
        process = subprocess.Popen(self.words(command, url, *words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(wait_s)
            if process.poll() is not None:
                raise Failure(f"bench {command} {url} has ended")
            yield
        finally:
            process.terminate()
            process.wait()

    def run(self, command, url, *words):
        """A run of the load tool; its figures. Viewers that were lost are in the figures, not an error."""
        out = self.directory / "bench.json"
        out.unlink(missing_ok=True)
        done = subprocess.run(self.words(command, url, "--json", out, *words), capture_output=True, timeout=900)
        if not out.exists():
            raise Failure(f"bench {command} {url}: {done.stderr.decode()}")
        return json.loads(out.read_text())
