"""Whether audio and video of a recording, or of what a URL sends, belong together: when the field below the video frame
turns white and when the tone begins (see rtc.bars_and_beeps and rtc_page.html), on the recording's own timeline."""

import subprocess
from typing import NamedTuple

from . import ffmpeg, rtc
from .timing import scaled

RATE, SAMPLES = 100, 8000  # looks per second, of the video frame and of the audio
LOUD = 3000


class Seen(NamedTuple):
    video_frames: int  # decoded
    flashes: list  # s
    beeps: list  # s
    places: list  # RGB of seven places of the last video frame
    complaints: str  # of the decoder

    def offsets(self):
        """ms by which each beep is behind its flash."""
        pairs = [(flash, min(self.beeps, key=lambda beep: abs(beep - flash))) for flash in self.flashes if self.beeps]
        return [1000 * (beep - flash) for flash, beep in pairs if abs(beep - flash) < 0.5]


def _onsets(states, step):
    """Seconds at which a state begins to be true."""
    return [index * step for index, (one, two) in enumerate(zip(states, states[1:]), 1) if two and not one]


def look(source, directory, seconds=None):
    """Decodes the file or URL, of the latter so many seconds."""
    white, places, audio = (directory / name for name in ("white.raw", "places.raw", "audio.raw"))
    limit = ["-t", seconds] if seconds else []
    # Both begin at 0 of the timeline, whatever begins first; a video frame stays until the next.
    on_time = f"fps={RATE}:start_time=0"
    words = ffmpeg.command(
        "-loglevel", "info", "-copyts", "-i", source,
        "-filter_complex", f"[0:v]split[a][b];[a]crop=iw:ih/9:0:ih*8/9,scale=1:1:flags=area,format=gray,{on_time}[white];"
        "[b]crop=iw:ih/36:0:ih*15/36,scale=7:1:flags=area,format=rgb24[places];"
        f"[0:a]aresample={SAMPLES}:async=1:first_pts=0,aformat=s16:channel_layouts=mono[audio]",
        "-map", "[white]", *limit, "-f", "rawvideo", white,
        "-map", "[places]", *limit, "-fps_mode", "passthrough", "-f", "rawvideo", places,
        "-map", "[audio]", *limit, "-f", "s16le", audio,
    )  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, timeout=scaled(30 + (seconds or 0)), check=False)
    assert done.returncode == 0, f"ffmpeg decodes {source}: {done.stderr[-3000:]}"
    rows = places.read_bytes()
    assert rows, f"{source} has no video frame: {done.stderr[-3000:]}"
    last = rows[-21:]
    samples = memoryview(audio.read_bytes()).cast("h")
    window = SAMPLES // RATE
    loud = [max(map(abs, samples[at : at + window]), default=0) > LOUD for at in range(0, len(samples), window)]
    # The first looks may be before the first video frame.
    white_at = [value > 128 for value in white.read_bytes()]
    return Seen(
        len(rows) // 21,
        _onsets(white_at, 1 / RATE),
        _onsets(loud, 1 / RATE),
        [tuple(last[at : at + 3]) for at in range(0, 21, 3)],
        "\n".join(line for line in done.stderr.splitlines() if "rror" in line or "corrupt" in line),
    )


def assert_right(who, seen, places, av_ms):
    """At least a second of video frames, these colours, and audio that near to the video frame."""
    assert seen.video_frames >= 20, f"{who}: 20 video frames at least, there are {seen.video_frames}"
    assert not seen.complaints, f"{who}: {seen.complaints}"
    rtc.assert_colours(seen.places, places)
    offsets = seen.offsets()
    assert len(offsets) >= 2, f"{who}: a flash and a beep each second: {seen}"
    middle = rtc.median(offsets)
    assert abs(middle) <= av_ms, f"{who}: audio is {middle:.0f} ms behind the video frame: {offsets}"
