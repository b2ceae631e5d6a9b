"""WebRTC at the server under test: its configuration, its URLs, what it says of sessions. And the video and audio that
tests publish by RTMP."""

import functools
import json
import re
import statistics
import urllib.parse
from pathlib import Path

from . import api, browser, ffmpeg, http, mediamtx
from .server import Server, default_vhost
from .timing import scaled, wait_until

TOP = "rtc_server { enabled on; listen RTC_PORT; candidate 127.0.0.1; }\n" + api.CONF % ""
VHOST = "rtc { enabled on; rtmp_to_rtc on; rtc_to_rtmp on; nack on; twcc on; %s }"
PAGE = Path(__file__).with_name("rtc_page.html").read_text()
# To be asked for no camera, to have one, and to reach a server on this machine.
FLAGS = "--use-fake-device-for-media-stream --use-fake-ui-for-media-stream --allow-loopback-in-peer-connection"
WIDTH, HEIGHT = 640, 360
# smptebars: the seven bars of its upper part, RGB.
BARS = [(180, 180, 180), (180, 180, 16), (16, 180, 180), (16, 180, 16), (180, 16, 180), (180, 16, 16), (16, 16, 180)]
# What rtc_page.html paints, at the same seven places.
FIELDS = [(200, 40, 40)] * 2 + [(40, 200, 40)] + [None] + [(40, 40, 200)] + [(200, 200, 40)] * 2


def options(rtc="", top="", **blocks):
    """Of a server with WebRTC. rtc: directives for the vhost's rtc block; blocks: as default_vhost's."""
    vhost = VHOST % rtc + blocks.pop("vhost", "")
    return {"top": TOP + top, "vhosts": default_vhost(vhost=vhost, **blocks)}


def _url(kind, server, path="live/one", port=None):
    """port: of our server, in place of the API's."""
    if not is_ours(server):
        return f"http://127.0.0.1:{server.http_port}/{path}/{kind}"
    app, _, stream = path.partition("/")
    query = urllib.parse.urlencode({"app": app, "stream": stream})
    return f"http://127.0.0.1:{port or server.api_port}/rtc/v1/{kind}/?{query}"


whip_url = functools.partial(_url, "whip")
whep_url = functools.partial(_url, "whep")


def delete(url):
    """The status that a DELETE of the session is answered with."""
    parts = urllib.parse.urlsplit(url)
    with http.Connection(parts.port) as connection:
        connection.request("DELETE", f"{parts.path}?{parts.query}")
        return connection.read_response("DELETE").status


def through_port(answer, port):
    """The SDP with another port in its UDP candidates, that of a relay, and without candidates over TCP."""
    lines = [line for line in answer.split("\r\n") if not re.match(r"a=candidate:\S+ \d+ tcp ", line, re.IGNORECASE)]
    return re.sub(r"(?m)^(a=candidate:\S+ \d+ udp \d+ \S+ )\d+ ", rf"\g<1>{port} ", "\r\n".join(lines), flags=re.IGNORECASE)


def is_ours(server):
    return isinstance(server, Server)


def sessions(server, kind):
    """The API's clients of that type: "rtc-play", "rtc-publish"."""
    return [client for client in api.clients(server) if client["type"] == kind]


def wait_sessions(server, kind, count, seconds=10):
    wait_until(
        lambda: len(sessions(server, kind)) == count,
        seconds,
        lambda: f"{count} {kind} in the API; there are {[(one['type'], one['url']) for one in api.clients(server)]}",
        0.1,
    )


# ---- What RTMP publishers send


def _bars_and_beeps(seconds, b_frames=0):
    """Seven bars, below them a field that is white for the first 150 ms of each second, and a tone in the same 150 ms. As a
    live encoder: in real time, a keyframe a second."""
    video_source = (
        f"smptebars=size={WIDTH}x{HEIGHT}:rate=30,drawbox=x=0:y=ih*5/6:w=iw:h=ih/6:color=black:t=fill,"
        "drawbox=x=0:y=ih*5/6:w=iw:h=ih/6:color=white:t=fill:enable='lt(mod(t,1),0.15)'"
    )
    audio_source = "aevalsrc='0.8*sin(2*PI*1000*t)*lt(mod(t,1),0.15)':s=44100:c=stereo"
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", 30, "-bf", b_frames, "-b:v", "800k"]
    return ["-re", "-f", "lavfi", "-i", video_source, "-f", "lavfi", "-i", audio_source, "-t", seconds, *encode]


_OPUS = ["-c:a", "libopus", "-ar", "48000", "-ac", "2", "-b:a", "96k"]


def bars_and_beeps(server, path="live/one", seconds=60, b_frames=0):
    """The words of an FFmpeg that publishes it by RTMP. MediaMTX makes no Opus of AAC, so it is given Opus."""
    audio = ["-c:a", "aac", "-b:a", "96k", "-ac", "2"] if is_ours(server) else _OPUS
    return ffmpeg.command9(*_bars_and_beeps(seconds, b_frames), *audio, "-f", "flv", server.rtmp_url(path))


def noise(server, path="live/one", seconds=60, kbps=1200):
    """The words of an FFmpeg that publishes that rate by RTMP: 25 frames a second, a keyframe each 2 s, and a tone."""
    video = ["-re", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25,noise=alls=12:allf=t"]
    audio = ["-f", "lavfi", "-i", "sine=frequency=400:sample_rate=48000"]
    rate = ["-b:v", f"{kbps}k", "-maxrate", f"{kbps}k", "-bufsize", f"{kbps // 2}k", "-g", 50, "-sc_threshold", 0]
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-pix_fmt", "yuv420p", *rate]
    sound = ["-c:a", "aac", "-b:a", "64k", "-ac", "2"] if is_ours(server) else _OPUS
    return ffmpeg.command9(*video, *audio, "-t", seconds, *encode, *sound, "-f", "flv", server.rtmp_url(path))


def bars_and_beeps_by_whip(server, path="live/one", seconds=60):
    """And of one that publishes it by WHIP."""
    return ffmpeg.command9(*_bars_and_beeps(seconds), "-profile:v", "baseline", *_OPUS, "-f", "whip", whip_url(server, path))


# ---- Chromium


class Page(browser.Browser):
    """rtc_page.html; see there for the options."""

    def __init__(self, tool, directory, **wanted):
        super().__init__(tool, directory, PAGE, urllib.parse.quote(json.dumps(wanted)), FLAGS)

    def leave(self):
        """As one closes a tab: the page's connections are closed in order."""
        self.commands.append("leave")
        wait_until(lambda: self.last()["left"], 5, "the page has left")

    def kill(self):
        """As when the machine is switched off: nothing more is sent."""
        self.process.kill()

    def wait(self, condition, seconds, what):
        """The first report that the condition holds of. A page that complains fails at once."""

        def look():
            last = self.last()
            assert not last or not last["errors"], f"the page complains: {last['errors']}"
            return last if last and condition(last) else None

        return wait_until(look, seconds, lambda: f"{what}; the page says {shortened(self.last())}", 0.1)


def there_is_chromium():
    return bool(browser.program())


def shortened(report):
    """Without the long lists and the statistics that no test looks at."""
    if not report:
        return report
    short = {key: value for key, value in report.items() if key not in ("publisher", "player")}
    for name in ("latencies", "beeps", "flashes", "bars"):
        short[name] = [round(value) for value in short[name][-8:]]
    for peer in ("publisher", "player"):
        for kind, stats in (report[peer] or {}).items():
            short[f"{peer}.{kind}"] = stats if kind == "state" else {name: stats.get(name) for name in STATISTICS if name in stats}
    return short


STATISTICS = (
    "codec", "framesEncoded", "framesSent", "framesDecoded", "framesDropped", "keyFramesDecoded", "frameWidth", "packetsSent",
    "packetsReceived", "packetsLost", "nackCount", "pliCount", "jitter", "freezeCount", "totalAudioEnergy", "audioLevel",
    "concealedSamples", "totalSamplesReceived", "totalInterFrameDelay", "qualityLimitationReason",
)  # fmt: skip


def decodes(report, frames):
    video = (report["player"] or {}).get("video") or {}
    return video.get("framesDecoded", 0) >= frames


def hears(report):
    audio = (report["player"] or {}).get("audio") or {}
    return audio.get("totalAudioEnergy", 0) > 0.001


def assert_colours(seen, wanted, far=45):
    """Each of the seven places has its colour, about: conversions between colour spaces and encoders round."""
    for place, (one, other) in enumerate(zip(seen, wanted)):
        assert other is None or all(abs(a - b) <= far for a, b in zip(one, other)), (
            f"place {place} of the video frame should be {other}, it is {one}; all: {seen}"
        )


def av_offsets(report):
    """How much later than the flash each beep came, ms. Those without a partner within half a second are left out."""
    pairs = []
    for flash in report["flashes"]:
        nearest = min(report["beeps"], key=lambda beep: abs(beep - flash), default=None)
        if nearest is not None and abs(nearest - flash) < 500:
            pairs.append(nearest - flash)
    return pairs


def median(values):
    return statistics.median(values)


# Directives with which sender threads send all that they can.
BY_THREADS = "sender_threads 2; sender_min_batch 0;\n"


def start(servers, tmp_path, **wanted):
    """The server under test with WebRTC; MediaMTX in its place where that was asked for."""
    if mediamtx.PROGRAM:
        return mediamtx.MediaMtx(tmp_path / "mediamtx")
    return servers(**options(**wanted))

