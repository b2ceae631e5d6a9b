"""The players' pages as tests see them: a server with a stream that carries the wall clock, the pages' addresses, and what
they show. See page.py for the browser."""

import contextlib
import math
import re
import subprocess
import urllib.parse

from . import api
from .ffmpeg import Process, command
from .server import OBJS, ROOT
from .timing import wait_until

USUAL = ("flv", "ws-flv", "hls", "ll-hls", "whep")  # of the start page and the comparison
PROTOCOLS = (*USUAL, "dash")
WIDTH, HEIGHT = 320, 180
TOP = "rtc_server { enabled on; listen RTC_PORT; candidate 127.0.0.1; }\nconsole { dir %s; }\n" % (OBJS / "nginx/pages")
VHOST = """vhost __defaultVhost__ {
    http_remux { enabled on; mount [vhost]/[app]/[stream].flv; }
    hls { enabled on; hls_fragment 1; hls_window 10; hls_storage memory; hls_low_latency on; hls_master_m3u8_path_relative on; }
    dash { enabled on; }
    rtc { enabled on; rtmp_to_rtc on; rtc_to_rtmp on; }
    play { rejoin_timeout 500; }
}
"""


def start_server(servers, of_api=""):
    """API, pages and streams at one origin, as in conf/srs.conf."""
    server = servers.make(top=TOP + api.CONF % of_api, vhosts=VHOST)
    listen = f"listen 127.0.0.1:{server.api_port}"
    server.conf_path.write_text(server.conf.replace(listen, f"{listen} 127.0.0.1:{server.http_port}"))
    return server.start()


def time_code():
    """ffmpeg's filter that writes the wall clock into the frames, as scripts/run has it, for our size."""
    function = re.search(r"^time_code\(\) \{.*?^\}", (ROOT / "scripts/run").read_text(), re.MULTILINE | re.DOTALL).group(0)
    code = subprocess.run(["bash", "-c", f"{function}\ntime_code"], capture_output=True, text=True, check=True).stdout.strip()
    return code.replace("scale=1280:48", f"scale={WIDTH}:{HEIGHT // 15}")


def time_in_frame(ms):
    """The time that a frame made at that time, ms since 1970, says: its upper row, as timecode.js reads it."""
    done = subprocess.run(
        command(
            "-f", "lavfi", "-i", f"color=gray:size={WIDTH}x{HEIGHT}", "-filter_complex",
            time_code().replace("time(0)", f"({ms + 0.5}/1000)"), "-map", "[video]", "-frames:v", 1, "-f", "rawvideo",
            "-pix_fmt", "gray", "-",
        ),
        capture_output=True, check=True,
    )  # fmt: skip
    row = done.stdout[2 * WIDTH : 3 * WIDTH]  # within the code's first six lines
    cells = [row[int((column + 0.5) * WIDTH / 24)] > 128 for column in range(24)]
    assert cells[0] and not cells[23], f"a code begins white and ends black: {cells}"
    value = 0
    for cell in cells[1:23]:
        value = value << 1 | (value & 1) ^ cell
    return value


def pattern(server, path="live/one"):
    """Words of an ffmpeg that publishes H.264 and AAC with the time code of scripts/run."""
    return command(
        "-re", "-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}:rate=25", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100",
        "-filter_complex", time_code(), "-map", "[video]", "-map", "1:a", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency",
        "-pix_fmt", "yuv420p", "-g", 25, "-b:v", "600k", "-c:a", "aac", "-b:a", "64k", "-f", "flv", server.rtmp_url(path),
    )  # fmt: skip


@contextlib.contextmanager
def site(servers, directory):
    """A server with a stream, live/one."""
    publisher = None
    try:
        server = start_server(servers)
        publisher = Process(pattern(server), directory / "publisher.txt")
        api.wait_stream(server, "one", lambda stream: stream["video_frames"] > 50)
        yield server
        assert publisher.alive(), publisher.describe()
    finally:
        if publisher:
            publisher.kill()
        servers.finish()


def address(server, path="", port=None, below="", **query):
    """Of a page; autostart=None for a parameter without a value."""
    text = urllib.parse.urlencode({name: value for name, value in query.items() if value is not None})
    text += "".join(f"&{name}" for name, value in query.items() if value is None)
    return f"http://127.0.0.1:{port or server.http_port}/{below}{path}{'?' + text if text else ''}"


def player(server, protocol, **query):
    return address(server, "players/", protocol=protocol, **{"app": "live", "stream": "one", **query})


STATE = "document.querySelector('.state')?.dataset.state"
# The frame as colours: 16 by 9 samples; and whether these frames were decoded by then.
READBACK = """() => {
    const video = document.querySelector("video");
    const canvas = new OffscreenCanvas(16, 9), context = canvas.getContext("2d");
    context.drawImage(video, 0, 0, 16, 9);
    return {frames: video.getVideoPlaybackQuality().totalVideoFrames, pixels: [...context.getImageData(0, 0, 16, 9).data]};
}"""


def figures(opened):
    """{"resolution": "320 × 180", ...}"""
    return opened.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('[data-figure]')].map((e) => [e.dataset.figure, e.textContent]))"
    )


def milliseconds(text):
    """Of "≥ 1.23 s" or "45 ms"."""
    value, unit = re.search(r"([\d.]+) (s|ms)$", text).groups()
    return float(value) * (1000 if unit == "s" else 1)


def describe(opened):
    return f"the page says {opened.page.inner_text('main')[:1500]!r}"


def wait_state(opened, wanted, seconds=20):
    wait_until(lambda: opened.page.evaluate(STATE) == wanted, seconds, lambda: f"state {wanted!r}; {describe(opened)}", 0.1)


def assert_moving(opened, seconds=20):
    """Decoded frames rise, and what is seen is not black and changes."""
    wait_state(opened, "playing", seconds)
    first = opened.page.evaluate(READBACK)

    def moved():
        now = opened.page.evaluate(READBACK)
        differs = sum(abs(a - b) > 8 for a, b in zip(first["pixels"], now["pixels"]))
        return now if now["frames"] >= first["frames"] + 15 and differs > 4 else None

    seen = wait_until(moved, 20, lambda: f"15 more frames than {first['frames']}, and another picture; {describe(opened)}", 0.1)
    colours = {tuple(seen["pixels"][i : i + 3]) for i in range(0, len(seen["pixels"]), 4)}
    assert max(map(max, colours)) > 150 and len(colours) > 8, f"the picture should not be black: {sorted(colours)}"


def measured(opened):
    """The latency in ms, if it is read from the frames."""
    latency = figures(opened).get("latency", "≥")
    return milliseconds(latency) if latency[0].isdigit() else None


def wait_measured(opened, limit_ms=math.inf):
    """The latency in ms, once it is read from the frames and under the limit: a player has to catch up first."""
    return wait_until(
        lambda: (latency := measured(opened)) is not None and latency < limit_ms and latency,
        20, lambda: f"a latency under {limit_ms} ms, read from the frames; {figures(opened)}", 0.2,
    )  # fmt: skip


# The longest time without a new frame, and when the newest came, ms.
WATCH_FRAMES = """() => {
    const seen = window.seen = {longest: 0, newest: performance.now(), frames: 0};
    let count = 0;
    setInterval(() => {
        const video = document.querySelector("video"), now = performance.now();
        const frames = video?.getVideoPlaybackQuality().totalVideoFrames ?? 0;
        if (frames === count) return;
        count = frames;
        seen.longest = Math.max(seen.longest, now - seen.newest);
        seen.newest = now;
        ++seen.frames;
    }, 20);
}"""


def watch_frames(opened):
    """From now on: see frames_seen()."""
    opened.page.evaluate(WATCH_FRAMES)


def frames_seen(opened):
    """Since watch_frames(): "longest", the longest time without a new frame, ms; "ago", when the newest came, ms before
    now; "frames", how many times there was a new one."""
    return opened.page.evaluate("({...window.seen, ago: performance.now() - window.seen.newest})")


def session_ids(server):
    """Without those of HLS, which have no end of their own."""
    return {client["id"] for client in api.clients(server) if client["type"] != "hls-play"}


def wait_gone(server, before):
    """Until none is there but those before. A WebRTC session is ended by DELETE: its time limit is far longer."""
    wait_until(lambda: session_ids(server) <= before, 5, lambda: f"no other session than {before}: {api.clients(server)}", 0.1)


def words(opened):
    return opened.page.locator(".problem").inner_text()


WATCH_PROBLEMS = """() => {
    window.problems = [];
    const look = () => {
        const text = document.querySelector(".problem")?.innerText;
        if (text && text !== window.problems.at(-1)) window.problems.push(text);
    };
    new MutationObserver(look).observe(document.body, {childList: true, subtree: true, characterData: true});
}"""


def watch_problems(opened):
    """What the page says went wrong from now on, also if it tries again at once: see wait_problem()."""
    opened.page.evaluate(WATCH_PROBLEMS)


def wait_problem(opened, seconds=15):
    """The first since watch_problems()."""
    return wait_until(lambda: next(iter(opened.page.evaluate("window.problems")), None), seconds, lambda: f"a problem; {describe(opened)}", 0.1)
