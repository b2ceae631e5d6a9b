"""FFmpeg as publisher, player and judge: the distribution's, and FFmpeg 9 (enhanced RTMP) from the wheel
imageio-ffmpeg."""

import subprocess
from typing import NamedTuple

from . import ports
from .timing import scaled


# How FFmpeg talks RTSP. By UDP it would take any port from 5000 on, also one that a server was about to listen on.
RTSP_TRANSPORTS = {
    "tcp": ("-rtsp_transport", "tcp"),
    "udp": ("-rtsp_transport", "udp", "-min_port", str(ports.END), "-max_port", "65000"),
}


def command(*arguments):
    return ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "warning", "-y", *map(str, arguments)]


def command9(*arguments):
    import imageio_ffmpeg

    return [imageio_ffmpeg.get_ffmpeg_exe(), *command(*arguments)[1:]]


class Process:
    """A running tool, with what it says kept for the failure's text."""

    def __init__(self, words, output):
        self.words = [str(word) for word in words]
        self.output = output
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=output.open("wb"), stderr=subprocess.STDOUT
        )

    def text(self):
        return self.output.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def finish(self, seconds, codes=(0,)):
        """Waits for its end. Fails when it is late or its exit code is another."""
        try:
            code = self.process.wait(scaled(seconds))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"not ended within {scaled(seconds)} s: {self.describe()}") from None
        assert codes is None or code in codes, f"exit code should be one of {codes}, it is {code}: {self.describe()}"
        return code

    def describe(self):
        return f"{' '.join(self.words)}\n--- it said\n{self.text()[-3000:]}"

    def kill(self):
        if self.alive():
            self.process.kill()
        self.process.wait()


class Packet(NamedTuple):
    stream: int
    dts: int
    pts: int
    size: int
    md5: str


def framemd5(text):
    """The packets that `-c copy -f framemd5` printed, by stream."""
    streams = {}
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        words = [word.strip() for word in line.split(",")]
        packet = Packet(int(words[0]), int(words[1]), int(words[2]), int(words[4]), words[5])
        streams.setdefault(packet.stream, []).append(packet)
    return streams


def assert_same_packets(want, got, who, slack=0):
    """The same packets by framemd5: order, sizes, hashes; one shift for all timestamps. slack: how far a time may be beside
    it, where the published ones are rounded."""
    assert sorted(want) == sorted(got), f"{who}: streams {sorted(want)} were published, {sorted(got)} came"
    shift = None
    for stream, packets in want.items():
        other = got[stream]
        for index, (one, two) in enumerate(zip(packets, other)):
            shift = two.dts - one.dts if shift is None else shift
            moved = one._replace(dts=one.dts + shift, pts=one.pts + shift)
            near = abs(moved.dts - two.dts) <= slack and abs(moved.pts - two.pts) <= slack
            same = near and moved == two._replace(dts=moved.dts, pts=moved.pts)
            assert same, f"{who}: packet {index} of stream {stream} should be {moved}, it is {two}"
        assert len(packets) == len(other), f"{who}: stream {stream} has {len(packets)} packets, {len(other)} came"
