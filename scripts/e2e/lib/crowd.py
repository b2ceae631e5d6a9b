"""Publishers and players of every protocol at one server, most of them by the load tool, and what they have missed."""

import datetime
import re
import subprocess
import threading
import time

from . import api, dash, ffmpeg, http, media, rtsp_server
from .load import Bench
from .timing import SLOW, scaled, wait_until

TOP = """
http_api { enabled on; listen 127.0.0.1:API_PORT; }
rtc_server { enabled on; listen 127.0.0.1:RTC_PORT; candidate 127.0.0.1; }
srt_server { enabled on; listen 127.0.0.1:HTTPS_PORT; }
rtsp_server { enabled on; listen 127.0.0.1:RTMPS_PORT; udp { enabled on; listen 127.0.0.1:%d; } }
"""
VHOST = """
vhost __defaultVhost__ {
    http_remux { enabled on; mount [vhost]/[app]/[stream].flv; }
    play { rejoin_timeout 20000; mw_latency 100; }
    rtc { enabled on; rtmp_to_rtc on; rtc_to_rtmp on; stun_timeout 4; }
    srt { enabled on; }
    rtsp { enabled on; }
    hls { enabled on; hls_path ./html; hls_fragment 1; hls_window 10; hls_dispose 60; hls_use_fmp4 on; hls_low_latency on; hls_ctx off; }
    dash { enabled on; dash_path ./html; }
    dvr { enabled on; dvr_apply %s; dvr_plan session; dvr_path ./recordings/[stream].[timestamp].flv; }
}
"""
RECORDED = 10
# Of the publishers: the others are by RTMP.
SHARES = {"rtsp": 4, "srt": 3, "whip": 3}
LONG = 600  # s; a run of the load tool is stopped before
LONGEST_GAP_MS = 2500  # without media; less than players stay after an upgrade


def conf(top=""):
    """Of a server for a crowd."""
    return {"top": top + TOP % rtsp_server.port_pair()[0], "vhosts": VHOST % " ".join(f"live/rtmp{i}" for i in range(RECORDED))}


class Crowd:
    """publishers: at least 4, players: at least 40. All are there when it has been entered."""

    def __init__(self, server, directory, publishers=20, players=500):
        self.server, self.directory = server, directory
        self.counts = {kind: max(1, publishers * share // 20) for kind, share in SHARES.items()}
        self.counts["rtmp"] = publishers - sum(self.counts.values())
        self.players = players
        self.runs, self.publishers, self.threads = {}, {}, {}

    def __enter__(self):
        self.publish()
        self.play()
        return self

    def __exit__(self, *_):
        for run in [*self.runs.values(), *self.publishers.values()]:
            run.discard()
        for thread in self.threads.values():
            thread.stop()

    # ---- Publishers

    def _urls(self):
        web = f"http://127.0.0.1:{self.server.http_port}/rtc/v1"
        return {
            "rtmp": ("publish", self.server.rtmp_url("live/rtmp{i}"), "--loop", "--file", media.frequent_keyframes()),
            "rtsp": ("publish", f"rtsp://127.0.0.1:{self.server.rtmps_port}/live/rtsp{{i}}", "--loop", "--file", media.frequent_keyframes()),
            "srt": ("srt-publish", f"srt://127.0.0.1:{self.server.https_port}/publish:live/srt{{i}}", "--file", self._ts()),
            "whip": ("whip", f"{web}/whip/?app=live&stream=whip{{i}}", "--file", media.frequent_keyframes()),
        }

    def _ts(self):
        path = self.directory / "plain.ts"
        if not path.exists():
            subprocess.run(ffmpeg.command("-i", media.frequent_keyframes(), "-c", "copy", "-f", "mpegts", path), check=True)
        return path

    def names(self):
        return [f"{kind}{i}" for kind, count in self.counts.items() for i in range(count)]

    def publish(self):
        for kind, words in self._urls().items():
            command, url, *more = words
            count = self.counts[kind]
            self.publishers[kind] = Bench(self.server, command, url, "-n", count, "--seconds", LONG, "--ramp", 0, *more)
        wanted = set(self.names())

        def missing():
            return wanted - {name for name, one in api.streams(self.server).items() if one["video"]}

        wait_until(lambda: not missing(), 20, lambda: f"streams {missing()}\n{self.server.evidence(2000)}", 0.1)

    # ---- Players

    def _kinds(self):
        """Command, URL, share of the players in thousandths, more words."""
        flv_, rtmp_ = self.server.http_url("live/{}.flv"), self.server.rtmp_url("live/{}")
        ts = self.server.http_url("live/{}.ts")
        rtsp = f"rtsp://127.0.0.1:{self.server.rtmps_port}/live/{{}}"
        srt = f"srt://127.0.0.1:{self.server.https_port}/read:live/{{}}"
        whep = f"http://127.0.0.1:{self.server.http_port}/rtc/v1/whep/?app=live&stream={{}}"
        return {
            "RTMP": ("play", rtmp_, "rtmp", 160),
            "RTMP of SRT": ("play", rtmp_, "srt", 40),
            "HTTP-FLV": ("play", flv_, "rtmp", 160),
            "HTTP-FLV of WHIP": ("play", flv_, "whip", 40),
            "HTTP-TS": ("play", ts, "rtmp", 100),
            "RTSP": ("play", rtsp, "rtsp", 60),
            "RTSP by UDP": ("play", rtsp, "rtmp", 40, "--udp"),
            "SRT": ("srt-play", srt, "srt", 60),
            "SRT of RTMP": ("srt-play", srt, "rtmp", 40),
            "WHEP": ("whep", whep, "whip", 60),
            "WHEP of RTMP": ("whep", whep, "rtmp", 40),
        }

    def play(self):
        for name, (command, url, source, share, *more) in self._kinds().items():
            words = ["-n", max(1, self.players * share // 1000), "--seconds", LONG, "--streams", self.counts[source]]
            self.runs[name] = Bench(self.server, command, url.format(source + "{i}"), *words, *more)
        # The load tool has one connection for each, and speaks no WebSocket and no DASH.
        names = self.names()
        for kind, share in ((WebSocket, 60), (Hls, 60), (LowLatency, 40), (Dash, 40)):
            for i in range(max(1, self.players * share // 1000)):
                name = names[i % len(names)]
                self.threads[f"{kind.__name__} {i} of {name}"] = kind(self.server, name)

    def wait_players(self, seconds=30):
        """Until all play."""
        for name, run in self.runs.items():
            assert run.process.poll() is None, f"{name}: the load tool should run: {run.process.communicate()[0]}"
        lasting = sum(max(1, self.players * row[3] // 1000) for row in self._kinds().values())
        seen = []

        def playing():
            seen[:] = [sum(one["clients"] for one in api.streams(self.server).values())]
            return seen[0] >= lasting

        wait_until(playing, seconds, lambda: f"{lasting} players; {seen} came\n{self.server.evidence(2000)}", 0.2)
        for name, thread in self.threads.items():
            wait_until(lambda thread=thread: thread.has_begun, 20, lambda: f"the first data of {name}: {thread.problems}")

    # ---- The end

    def leave(self, but=()):
        """All leave, the players first. What they have missed, as texts, but for threads of these kinds."""
        runs = [*self.runs.items(), *((f"publishers by {name}", run) for name, run in self.publishers.items())]
        problems = []
        for name, thread in self.threads.items():
            thread.stop()
            if not name.startswith(but):
                problems += [f"{name}: {text}" for text in thread.problems[:3]]
        for name, run in runs:
            problems += judge(name, run.stop(code=None))
        self.runs, self.threads, self.publishers = {}, {}, {}
        return problems


def judge(name, figures):
    bad = {key: figures[key] for key in ("failed", "lost", "stream_errors", "without_frame") if figures.get(key)}
    if (gap := (figures.get("longest_gap_ms") or {}).get("max", 0)) > LONGEST_GAP_MS * SLOW:
        bad["longest_gap_ms"] = gap
    return [f"{name}: {bad} {figures.get('reasons')}"] if bad else []


class Thread:
    """Does its step again and again; what it raises is a problem, once a step was done."""

    def __init__(self, server, name):
        self.server, self.name, self.has_begun, self.problems = server, name, False, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.over.is_set():
            try:
                self.step()
                self.has_begun = True
            except (OSError, AssertionError, ValueError) as error:
                if self.has_begun and not self.over.is_set():
                    self.problem(repr(error))
                self.over.wait(0.2)

    def problem(self, text):
        self.problems.append(f"at {datetime.datetime.now():%H:%M:%S.%f} {text[:300]}")

    def stop(self):
        self.over.set()
        self.thread.join(scaled(10))


class WebSocket(Thread):
    player = None
    got_ms = 0.0  # when it got something last

    def step(self):
        if self.player is None:
            self.player = http.WebSocket(self.server.http_port, f"/live/{self.name}.flv")
        tags = self.player.tags()
        assert tags or not self.player.ended, "its connection has ended"
        now_ms = time.monotonic() * 1000
        if self.has_begun and now_ms - self.got_ms > LONGEST_GAP_MS * SLOW:
            self.problem(f"{now_ms - self.got_ms:.0f} ms without media")
        self.got_ms = now_ms

    def stop(self):
        # It may be waiting for what does not come any more.
        silent_ms = time.monotonic() * 1000 - self.got_ms
        if self.has_begun and silent_ms > LONGEST_GAP_MS * SLOW:
            self.problem(f"no media in the last {silent_ms:.0f} ms")
        super().stop()
        if self.player:
            self.player.close()


class Segments(Thread):
    """A player that fetches files: each playlist, and each new segment of it. The numbers go on by one."""

    has_gaps = True  # in its playlists: a number of which there is no segment is there, too

    def __init__(self, server, name):
        self.seen = []
        super().__init__(server, name)

    def get(self, path):
        response = http.get(self.server.http_port, path)
        if response.status == 307:  # a connection that the process before an upgrade has accepted
            response = http.get(self.server.http_port, path.rpartition("/")[0] + response.headers["location"].removeprefix("."))
        assert response.status == 200, f"{path}: {response.status}"
        return response.body.decode("latin-1")

    def fetch(self, number, uri):
        if self.seen and number <= self.seen[-1]:
            return
        if self.has_gaps and self.seen and number != self.seen[-1] + 1:
            self.problem(f"segment {number} comes behind {self.seen[-1]}")
        self.seen.append(number)
        if uri:
            self.get(uri)

    def follow(self, text):
        """The media playlist: how it continues is checked by other tests."""
        number = int(re.search(r"#EXT-X-MEDIA-SEQUENCE:(\d+)", text)[1])
        segments, is_gap = 0, False
        for line in text.splitlines():
            is_gap |= line == "#EXT-X-GAP"
            if not line.startswith("#"):
                self.fetch(number + segments, None if is_gap else f"/live/{line}")
                segments, is_gap = segments + 1, False
        assert segments or self.has_begun, "no segments yet"
        assert "#EXT-X-ENDLIST" not in text, f"the list has ended: {text}"
        return number + segments


class Hls(Segments):
    def step(self):
        self.follow(self.get(f"/live/{self.name}.m3u8"))
        self.over.wait(0.4)


class LowLatency(Segments):
    """Asks for the next part, and waits for it with the server."""

    query, parts = "", None

    def step(self):
        try:
            text = self.get(f"/live/{self.name}.m3u8{self.query}")
        except AssertionError:
            self.query = ""
            raise
        segment = self.follow(text)
        open_part = len(re.findall("#EXT-X-PART:", text.rpartition("#EXTINF")[2]))
        self.query = f"?_HLS_msn={segment}&_HLS_part={open_part}"
        # One in which nothing came, as on a busy machine, has GAP=YES and no bytes.
        for uri in [uri for line in text.splitlines() if "GAP=YES" not in line for uri in re.findall('^#EXT-X-PART:.*URI="([^"]*)"', line)][-1:]:
            self.get(f"/live/{uri}")


class Dash(Segments):
    has_gaps = False

    def step(self):
        path = f"/live/{self.name}.mpd"
        manifest = dash.Manifest(self.get(path), path)
        for period in manifest.periods:
            for track in period:
                for segment in track.segments if track.id == "video" else ():
                    self.fetch(segment.number, segment.uri)
        self.over.wait(0.4)
