"""What is measured on whom. A case is one run of one server, repeated; its figures are kept raw, by its key."""

import dataclasses
import statistics
import time
from collections.abc import Callable

from .delivery import LONG_SECONDS, PUBLISH_SECONDS, SHORT_SECONDS, Delivery
from .edges import EDGES, Edges
from .figures import FLOOR, FLOOR_OF_UDP, FLOOR_OF_WHIP
from .load import KBPS
from .low_latency_hls import WARM_S as LOW_LATENCY_WARM_S
from .low_latency_hls import LowLatencyHls
from .rooms import IDLE_S, WARM_S, Rooms
from .servers import SRT_TOP

INTERVAL_MS = 350  # mw_latency, the default
PICTURE_MS = 40
TURN_MS = 40  # how often ours reads a publisher, unless min_latency
MERGED, EVERY_PICTURE = f"mw_latency {INTERVAL_MS};", "mw_latency 0;"
PUBLISHER_S, START_S = 2.5, 0.5
GOP_S = 2  # of the measured stream
SEGMENT_S = 10
TLS_RAMP = 300  # handshakes per second
SRT_RAMP = 500  # the same
PASSPHRASE = "correct horse"
SRT_SECRET_VHOST = f'srt {{ enabled on; passphrase "{PASSPHRASE}"; }}'
DELETED_S = 2  # for what removing files leaves to the system


def of_segments(seconds):
    """As long, or longer: whole segments."""
    return -(-seconds // SEGMENT_S) * SEGMENT_S


@dataclasses.dataclass
class Case:
    group: str
    server: str  # as tables name it: "ours, RTMP"
    count: int  # of players or publishers
    seconds: float  # that one run takes, about
    run: Callable[[], dict]
    repeats: int

    @property
    def key(self):
        return f"{self.group} / {self.server} / {self.count}"


class Cases:
    """All of them, for these options."""

    def __init__(self, servers, load, options):
        self.servers, self.load, self.o = servers, load, options
        self.there = servers.there()
        self.list = []
        for group in self.GROUPS:
            if group in options.only:
                getattr(self, group)()

    GROUPS = ("players", "lowlatency", "rate3m", "rooms", "growth", "everything", "publishers", "segments", "recording", "latency",
              "firstframe", "start", "whep", "whip", "rtcrooms", "rtsp", "srt", "edges", "delivery", "lowlatencyhls")  # fmt: skip

    def add(self, group, server, count, seconds, run, repeats=None):
        repeats, peer = repeats or self.o.repeats, server.split(",")[0]
        if peer in self.o.servers:
            self.list.append(Case(group, server, count, seconds, run, repeats))
        if peer != "ours":
            return
        if self.o.before:
            self.list.append(Case(group, server.replace("ours", "before", 1), count, seconds, self.by_before(run), repeats))
        for name, text in self.o.variant:
            self.list.append(Case(group, server.replace("ours", name, 1), count, seconds, self.by_variant(run, text), repeats))

    def by_before(self, run):
        """The same run, with the other build of this server wherever ours is started."""
        def body():
            with self.servers.replaced(self.o.before):
                return run()
        return body

    def by_variant(self, run, directives):
        def body():
            with self.servers.configured(directives):
                return run()
        return body

    def add_players(self, group, server, start, counts, protocol="rtmp", kbps=KBPS):
        repeats = min(2, self.o.repeats) if group == "rate3m" else None  # far from its limits: the time is better spent
        def run(count):
            return lambda: self.play(start, count, protocol, kbps)

        for count in counts:
            seconds = START_S + PUBLISHER_S + count / self.o.ramp + self.o.settle + self.o.seconds
            self.add(group, server, count, seconds, run(count), repeats)

    def play(self, start, count, protocol, kbps):
        words = ["-n", count, "--ramp", self.o.ramp, "--seconds", self.o.seconds, "--settle-ms", self.o.settle * 1000]
        with start() as server:
            words += ["--server-pid", server.pid]
            if protocol == "floor":
                return self.load.run("play", f"http://127.0.0.1:{server.http}/s.flv", *words)
            with self.load.publisher(server.rtmp_url(), kbps):
                return self.load.run("play", server.play_url(protocol), *words)

    def ours(self, play, **more):
        return lambda: self.servers.ours(play, **more)

    def add_all_players(self, group, interval_ms, play, counts, others, kbps=KBPS):
        self.add_players(group, "floor", lambda: self.servers.floor(kbps, interval_ms), counts, "floor", kbps)
        for name, protocol in (("RTMP", "rtmp"), ("HTTP-FLV", "http")):
            self.add_players(group, f"ours, {name}", self.ours(play), counts, protocol, kbps)
        if self.there["nginx"]:
            self.add_players(group, "nginx-rtmp, RTMP", self.servers.nginx, others, kbps=kbps)
        if self.there["mediamtx"]:
            self.add_players(group, "MediaMTX, RTMP", self.servers.mediamtx, others[:1], kbps=kbps)

    def players(self):
        self.add_all_players("players", INTERVAL_MS, MERGED, self.o.players, self.o.other_players)

    def lowlatency(self):
        """Every video frame is sent at once, audio rides with it. nginx and MediaMTX write each frame."""
        counts = self.o.lowlatency_players
        self.add_all_players("lowlatency", PICTURE_MS, EVERY_PICTURE, counts, counts[:1])

    def rate3m(self):
        self.add_all_players("rate3m", INTERVAL_MS, MERGED, [self.o.rate3m_players], [self.o.rate3m_players], 3000)

    # ---- Publishers

    def add_publishers(self, group, count, *words, repeats=None):
        def run(start, tcp=False):
            def body():
                with start() as server:
                    url = f"tcp://127.0.0.1:{server.rtmp}" if tcp else server.rtmp_url("p{i}")
                    return self.load.run("publish", url, *self.load.source(), "-n", count, "--ramp", ramp, "--seconds",
                                         self.o.seconds, "--settle-ms", self.o.settle * 1000, "--server-pid", server.pid,
                                         *words)  # fmt: skip
            return body

        # Spread over one GOP, so that at any time theirs are of all ages and take the average memory together.
        ramp = count / GOP_S
        seconds = START_S + GOP_S + self.o.settle + self.o.seconds
        peers = {"floor": run(self.servers.floor_publish, True),
                 f"floor, turns of {TURN_MS} ms": run(lambda: self.servers.floor_publish("-turns", TURN_MS), True),
                 "floor, io_uring 10 ms": run(lambda: self.servers.floor_publish("-uring", 10), True),
                 "ours": run(self.ours(MERGED))}  # fmt: skip
        if self.there["nginx"]:
            peers["nginx-rtmp"] = run(self.servers.nginx)
        if self.there["mediamtx"]:
            peers["MediaMTX"] = run(self.servers.mediamtx)
        for name, body in peers.items():
            self.add(group, name, count, seconds, body, repeats)

    # ---- Rooms: many publishers with few players each

    def rooms(self):
        for players in (1, 2, 3):
            for streams in self.o.rooms:
                self.add_rooms(streams, players)

    def add_rooms(self, streams, players):
        rooms = Rooms(self.servers, self.load, self.o)

        def run(start, protocol="rtmp"):
            return lambda: rooms.run(start, protocol, streams, players)

        peers = {"floor": run(lambda: self.servers.floor_rooms(KBPS, INTERVAL_MS), "floor"),
                 "ours, RTMP": run(self.ours(MERGED)), "ours, HTTP-FLV": run(self.ours(MERGED), "http")}  # fmt: skip
        first = streams == self.o.rooms[0] or self.o.quick
        if self.there["nginx"] and (first or players == 1):
            peers["nginx-rtmp, RTMP"] = run(self.servers.nginx)
        if self.there["mediamtx"] and first:
            peers["MediaMTX, RTMP"] = run(self.servers.mediamtx)
        for name, body in peers.items():
            self.add(f"rooms{players}", name, streams, self.seconds_of_rooms(streams * players), body)

    def seconds_of_rooms(self, players):
        return START_S + GOP_S + PUBLISHER_S + players / self.o.ramp + self.o.settle + self.o.seconds

    def growth(self):
        """How what a room takes changes with the number of rooms."""
        rooms = Rooms(self.servers, self.load, self.o)

        def run(streams, players):
            return lambda: rooms.grow(self.ours(MERGED), streams, players)

        for players in (0, 1, 3):
            for streams in self.o.growth:
                seconds = 2 * WARM_S + IDLE_S + self.seconds_of_rooms(streams * players)
                self.add(f"growth{players}", "ours, RTMP", streams, seconds, run(streams, players))

    def everything(self):
        """Streams that are each made into HLS, recorded as MP4, and played by one player of HTTP-FLV."""
        rooms, streams, files = Rooms(self.servers, self.load, self.o), self.o.everything, f"{self.servers.directory}/out"
        vhost = (f"hls {{ enabled on; hls_path {files}; }} "  # segments of 10 s, a minute of them
                 f"dvr {{ enabled on; dvr_path {files}/[app]/[stream].mp4; }}")  # fmt: skip
        measured = of_segments(self.o.seconds)

        def body():
            return rooms.everything(self.ours(MERGED, vhost=vhost), streams, measured)

        self.add("everything", "ours", streams, self.seconds_of_rooms(streams) + measured - self.o.seconds, body)

    def publishers(self):
        self.add_publishers("publishers", self.o.publishers)

    def segments(self):
        """The same in writes of 50 bytes. Fewer of them: the load tool's core is full before the server's is."""
        self.add_publishers("segments", self.o.publishers // 5, "--segment", 50, repeats=1)

    # ---- Recording and segmenting

    def recording(self):
        """The same publishers, each recorded or made into HLS segments, beside ingest alone."""
        files = f"{self.servers.directory}/out"
        dvr = "dvr {{ enabled on; dvr_path %s/[app]/[stream].{}; }}" % files
        hls = f"hls {{ enabled on; hls_path {files}; }}"  # segments of 10 s, a minute of them
        peers = {"ours, ingest alone": (self.ours(MERGED), "both"),
                 "ours, FLV": (self.ours(MERGED, vhost=dvr.format("flv")), "record"),
                 "ours, MP4": (self.ours(MERGED, vhost=dvr.format("mp4")), "record"),
                 "ours, HLS": (self.ours(MERGED, vhost=hls), "hls")}
        if self.there["nginx"]:
            record = f"record all; record_path {files}; record_unique off;"
            make_hls = f"hls on; hls_path {files}; hls_fragment 10s; hls_playlist_length 60s;"
            peers["nginx-rtmp, ingest alone"] = self.servers.nginx, "both"
            peers["nginx-rtmp, FLV"] = lambda: self.servers.nginx(record), "record"
            peers["nginx-rtmp, HLS"] = lambda: self.servers.nginx(make_hls), "hls"
        if self.there["mediamtx"]:
            recorded = f"    record: yes\n    recordPath: {files}/%path/%Y-%m-%d_%H-%M-%S-%f\n"
            served = (f"hlsAddress: 127.0.0.1:{self.servers.http_port}\nhlsAlwaysRemux: yes\nhlsVariant: mpegts\n"
                      "hlsSegmentDuration: 10s")  # fmt: skip
            peers["MediaMTX, ingest alone"] = self.servers.mediamtx, "both"
            peers["MediaMTX, fMP4"] = lambda: self.servers.mediamtx(path=recorded), "record"
            peers["MediaMTX, HLS in memory"] = lambda: self.servers.mediamtx(top=served), "hls"
        counts = {"record": [self.o.recorded], "hls": [self.o.segmented],
                  "both": sorted({self.o.recorded, self.o.segmented})}  # fmt: skip
        for name, (start, kind) in peers.items():
            for count in counts[kind]:
                self.add_recording(name, start, count)
        for name in ("ours, FLV", "ours, MP4"):
            self.add_recording(name, peers[name][0], 2 * self.o.recorded, 1)
        late = self.ours(MERGED, vhost=dvr.format("flv"), environment={"DISK_FAULT": "path=/out/ op=any delay_ms=2000"},
                         top="stall_warn 5; http_api { enabled on; debug on; listen 127.0.0.1:{api}; }")  # fmt: skip
        self.add_recording("ours, FLV, disk 2 s late", late, self.o.recorded, 1)

    def add_recording(self, server, start, count, repeats=None):
        # Whole segments: a window that has one end of a segment more or less would measure that.
        measured = of_segments(self.o.seconds) if count == self.o.segmented else self.o.seconds

        def body():
            with self.servers.output() as out:
                with start() as running:
                    run = self.load.run("publish", running.rtmp_url("p{i}"), *self.load.source(), "-n", count, "--ramp",
                                        count / GOP_S, "--seconds", measured, "--settle-ms",
                                        self.o.settle * 1000, "--server-pid", running.pid)  # fmt: skip
                    run["stalls"] = running.stalls()
                run["written_bytes"] = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
            if self.o.seconds > 1:
                time.sleep(DELETED_S)
            return run

        seconds = START_S + GOP_S + self.o.settle + measured + DELETED_S
        self.add("recording", server, count, seconds, body, repeats)

    # ---- Waiting

    def latency(self):
        def run(start, protocol="rtmp"):
            def body():
                with start() as server:
                    return self.load.run("latency", server.play_url(protocol), "--publish", server.rtmp_url(), "-n",
                                         self.o.viewers, "--ramp", 100, "--seconds", self.o.seconds,
                                         "--settle-ms", self.o.settle * 1000)  # fmt: skip
            return body

        peers = {}
        for name, protocol in (("RTMP", "rtmp"), ("HTTP-FLV", "http")):
            nothing_waits = self.ours("", vhost="min_latency on; tcp_nodelay on;")
            peers[f"ours, min_latency on, {name}"] = run(nothing_waits, protocol)
            peers[f"ours, mw_latency 0, {name}"] = run(self.ours(EVERY_PICTURE), protocol)
        peers[f"ours, mw_latency {INTERVAL_MS}, RTMP"] = run(self.ours(MERGED))
        if self.there["nginx"]:
            peers["nginx-rtmp, RTMP"] = run(self.servers.nginx)
        if self.there["mediamtx"]:
            peers["MediaMTX, RTMP"] = run(self.servers.mediamtx)
        seconds = START_S + PUBLISHER_S + self.o.viewers / 100 + self.o.settle + self.o.seconds
        for name, body in peers.items():
            self.add("latency", name, self.o.viewers, seconds, body, 1)
        rooms, streams = Rooms(self.servers, self.load, self.o), self.o.rooms[0]
        for name, protocol in (("RTMP", "rtmp"), ("HTTP-FLV", "http")):
            def body(protocol=protocol):
                return rooms.latency(self.ours(MERGED), protocol, streams, 3)

            self.add("latency", f"ours, mw_latency {INTERVAL_MS}, {name}, beside rooms", streams, seconds + 4, body, 1)

    def firstframe(self):
        def run(start, protocol="rtmp"):
            def body():
                with start() as server, self.load.publisher(server.rtmp_url()):
                    return self.load.run("play", server.play_url(protocol), "-n", self.o.viewers * 2, "--ramp", 50,
                                         "--seconds", 1, "--settle-ms", 500)  # fmt: skip
            return body

        peers = {"ours, RTMP": run(self.ours(MERGED)), "ours, HTTP-FLV": run(self.ours(MERGED), "http")}
        if self.there["nginx"]:
            peers["nginx-rtmp, RTMP"] = run(self.servers.nginx)
        if self.there["mediamtx"]:
            peers["MediaMTX, RTMP"] = run(self.servers.mediamtx)
        seconds = START_S + PUBLISHER_S + self.o.viewers / 25 + 1.5
        for name, body in peers.items():
            self.add("firstframe", name, self.o.viewers * 2, seconds, body, 1)

    def start(self):
        def run(start):
            def body():
                times = []
                for _ in range(9):
                    with start() as server:
                        times.append(server.start_ms)
                with start() as server:
                    time.sleep(2)
                    return {"start_ms": round(statistics.median(times), 1), "worst_start_ms": round(max(times), 1),
                            "idle_pss_kb": server.memory_kb()}  # fmt: skip
            return body

        peers = {"ours": run(self.ours(MERGED))}
        if self.there["nginx"]:
            peers["nginx-rtmp"] = run(self.servers.nginx)
        if self.there["mediamtx"]:
            peers["MediaMTX"] = run(self.servers.mediamtx)
        for name, body in peers.items():
            self.add("start", name, 0, 5, body, 1)

    # ---- WebRTC

    @staticmethod
    def webrtc_url(running, server, kind, stream="s"):
        if server.startswith("MediaMTX"):
            return f"http://127.0.0.1:{running.http}/live/{stream}/{kind}"
        return running.whip_url(kind, stream)

    def webrtc_peers(self):
        peers = {"ours": self.servers.ours_webrtc}
        if self.there["mediamtx"]:
            peers["MediaMTX"] = self.servers.mediamtx_webrtc
        return peers

    def whep(self):
        """Players by WebRTC of what RTMP publishes (AAC to Opus on the way; MediaMTX does not do that), and of what WebRTC
        publishes."""
        count, words = self.o.webrtc_players, ["--settle-ms", self.o.settle * 1000, "--seconds", self.o.seconds]

        def play(running, url, *more):
            return self.load.run("whep", url, "-n", count, "--ramp", 100, "--server-pid", running.pid, *words, *more)

        def floor(sound_ms):
            """The same packets: the audio of AAC becomes packets of 40 ms, that of WHIP has 20."""
            def body():
                with self.servers.floor_srtp(KBPS, sound_ms) as running:
                    return play(running, f"udp://127.0.0.1:{running.rtc}")
            return body

        def run(server, start, source, *more):
            def body():
                with start() as running:
                    url = running.rtmp_url() if source == "RTMP" else self.webrtc_url(running, server, "whip")
                    with self.load.publisher(url, command="publish" if source == "RTMP" else "whip"):
                        return play(running, self.webrtc_url(running, server, "whep"), *more)
            return body

        seconds = START_S + PUBLISHER_S + count / 100 + self.o.settle + self.o.seconds + 1
        self.add("whep", FLOOR, count, seconds, floor(40))
        self.add("whep", FLOOR_OF_WHIP, count, seconds, floor(20))
        for server, start in self.webrtc_peers().items():
            if server == "ours":
                self.add("whep", "ours, from RTMP", count, seconds, run(server, start, "RTMP"))
            self.add("whep", f"{server}, from WHIP", count, seconds, run(server, start, "WHIP"))
            self.add("whep", f"{server}, from WHIP, NACK", count, seconds, run(server, start, "WHIP", "--nack"), 1)

    def whip(self):
        count = self.o.webrtc_publishers

        def run(server, start):
            def body():
                with start() as running:
                    url = self.webrtc_url(running, server, "whip", "p{i}")
                    return self.load.run("whip", url, *self.load.source()[:2], "-n", count, "--ramp", count / GOP_S,
                                         "--seconds", self.o.seconds, "--settle-ms", self.o.settle * 1000,
                                         "--server-pid", running.pid)  # fmt: skip
            return body

        seconds = START_S + GOP_S + self.o.settle + self.o.seconds + 1
        for server, start in self.webrtc_peers().items():
            self.add("whip", server, count, seconds, run(server, start))

    def rtcrooms(self):
        """Rooms of WebRTC: publishers with three players each, and meetings of ten where everybody plays everybody else."""
        self.add_rtc_rooms("rtcrooms", 3)
        self.add_rtc_rooms("meetings", 9)

    def add_rtc_rooms(self, group, players):
        streams = self.o.webrtc_publishers

        def run(start, server):
            def body():
                with start() as running:
                    if server == FLOOR:
                        publish = play = f"udp://127.0.0.1:{running.rtc}/{{i}}"
                    else:
                        publish, play = (self.webrtc_url(running, server, kind, "p{i}") for kind in ("whip", "whep"))
                    with self.load.publisher(publish, command="whip", count=streams, open_s=GOP_S):
                        run = self.load.run("whep", play, "-n", streams * players, "--streams", streams, "--ramp", 100,
                                            "--seconds", self.o.seconds, "--settle-ms", self.o.settle * 1000,
                                            "--server-pid", running.pid)  # fmt: skip
                run["players_per_stream"] = players
                return run
            return body

        seconds = START_S + GOP_S + PUBLISHER_S + streams * players / 100 + self.o.settle + self.o.seconds + 1
        for server, start in {FLOOR: self.servers.floor_srtp_rooms, **self.webrtc_peers()}.items():
            self.add(group, server, streams, seconds, run(start, server))

    # ---- RTSP

    def rtsp(self):
        """Players of what RTMP publishes, interleaved and by UDP, and publishers."""
        peers = {"ours": lambda: self.servers.ours_rtsp(MERGED)}
        if self.there["mediamtx"]:
            peers["MediaMTX"] = self.servers.mediamtx_rtsp
        self.add_players("rtsp", FLOOR, lambda: self.servers.floor(KBPS, INTERVAL_MS), self.o.players, "floor")
        self.add_rtsp_udp(FLOOR_OF_UDP, lambda: self.servers.floor_datagrams(KBPS, INTERVAL_MS), True)
        for name, start in peers.items():
            counts = self.o.players if name == "ours" else self.o.other_players[:1]
            self.add_players("rtsp", f"{name}, interleaved", start, counts, "rtsp")
            self.add_rtsp_udp(f"{name}, UDP", start)
        for name, start in {FLOOR: self.servers.floor_publish, **peers}.items():
            self.add_rtsp_publishers(name, start)

    def add_rtsp_udp(self, server, start, is_floor=False):
        count = self.o.rtsp_udp_players

        def body():
            with start() as running:
                words = ["-n", count, "--ramp", self.o.ramp, "--seconds", self.o.seconds, "--settle-ms",
                         self.o.settle * 1000, "--server-pid", running.pid]  # fmt: skip
                if is_floor:
                    return self.load.run("play", f"udp://127.0.0.1:{running.rtp}", *words)
                with self.load.publisher(running.rtmp_url()):
                    return self.load.run("play", running.rtsp_url(), "--udp", *words)

        self.add("rtsp", server, count, START_S + PUBLISHER_S + count / self.o.ramp + self.o.settle + self.o.seconds, body)

    def add_rtsp_publishers(self, server, start):
        count = self.o.rtsp_publishers

        def body():
            with start() as running:
                url = f"tcp://127.0.0.1:{running.rtmp}" if server == FLOOR else running.rtsp_url("p{i}")
                return self.load.run("publish", url, *self.load.source(), "-n", count, "--ramp", count / GOP_S, "--seconds",
                                     self.o.seconds, "--settle-ms", self.o.settle * 1000, "--server-pid",
                                     running.pid)  # fmt: skip

        self.add("rtsp_publish", server, count, START_S + GOP_S + self.o.settle + self.o.seconds, body)

    # ---- SRT

    def srt(self):
        """Players of what RTMP publishes, and publishers. All bytes of the floor are media; a transport stream takes some
        more for the same frames, which the time per Mbit leaves out."""
        counts, few = self.o.srt_players, [self.o.srt_rate3m_players]
        for group, interval_ms, play, players, kbps in (("srt", INTERVAL_MS, MERGED, counts, KBPS),
                                                        ("srtlow", PICTURE_MS, EVERY_PICTURE, counts, KBPS),
                                                        ("srt3m", INTERVAL_MS, MERGED, few, 3000)):  # fmt: skip
            for count in players:
                self.add_srt(group, FLOOR, count, lambda k=kbps, i=interval_ms: self.servers.floor_srt(k, i), kbps)
                self.add_srt(group, "ours", count, lambda p=play: self.servers.ours_srt(p), kbps)
            if self.there["mediamtx"]:
                self.add_srt(group, "MediaMTX", players[0], self.servers.mediamtx_srt, kbps)
        self.add_srt("srt", "ours, encrypted", counts[0], lambda: self.servers.ours(MERGED, SRT_SECRET_VHOST, SRT_TOP), KBPS,
                     "--passphrase", PASSPHRASE)  # fmt: skip
        self.add_srt("srt", "ours, 1 % lost", max(counts[0] // 2, 1), lambda: self.servers.ours_srt(MERGED), KBPS,
                     "--loss", 1, "--latency", 400)  # fmt: skip
        if self.load.has_ffmpeg:
            peers = {FLOOR: lambda: self.servers.floor_srt(KBPS, INTERVAL_MS), "ours": lambda: self.servers.ours_srt(MERGED)}
            if self.there["mediamtx"]:
                peers["MediaMTX"] = self.servers.mediamtx_srt
            for server, start in peers.items():
                self.add_srt_publishers(server, start)

    def add_srt(self, group, server, count, start, kbps, *more):
        ramp = min(self.o.ramp, SRT_RAMP)
        words = ["-n", count, "--ramp", ramp, "--seconds", self.o.seconds, "--settle-ms", self.o.settle * 1000, *more]

        def body():
            with start() as running:
                if server == FLOOR:
                    return self.load.run("srt-play", f"udp://127.0.0.1:{running.srt}", *words, "--server-pid", running.pid)
                with self.load.publisher(running.rtmp_url(), kbps):
                    return self.load.run("srt-play", running.srt_url(), *words, "--server-pid", running.pid)

        self.add(group, server, count, START_S + PUBLISHER_S + count / ramp + self.o.settle + self.o.seconds, body)

    def add_srt_publishers(self, server, start):
        count = self.o.srt_publishers
        seconds = GOP_S + self.o.settle + self.o.seconds

        def body():
            with start() as running:
                url = f"udp://127.0.0.1:{running.srt}" if server == FLOOR else running.srt_url("p{i}", publish=True)
                return self.load.run("srt-publish", url, "--file", self.load.transport_stream(seconds + 10), "-n", count,
                                     "--ramp", count / GOP_S, "--seconds", self.o.seconds, "--settle-ms",
                                     self.o.settle * 1000, "--server-pid", running.pid)  # fmt: skip

        self.add("srt_publish", server, count, START_S + seconds, body)

    # ---- Edges

    def edges(self):
        """Two edges of one origin, each with so many players; the floor once with as many as one edge."""
        count = self.o.edge_players
        edges = Edges(self.servers, self.load)
        words = ["--ramp", self.o.ramp, "--seconds", self.o.seconds, "--settle-ms", self.o.settle * 1000]

        def run(protocol):
            return lambda: edges.run(protocol, count, MERGED, words)

        self.add_players("edges", FLOOR, lambda: self.servers.floor(KBPS, INTERVAL_MS), [count], "floor")
        seconds = START_S * (EDGES + 1) + PUBLISHER_S + count / self.o.ramp + self.o.settle + self.o.seconds
        for name, protocol in (("RTMP", "rtmp"), ("HTTP-FLV", "http")):
            self.add("edges", f"ours, {name}", count, seconds, run(protocol))

    # ---- HLS delivery

    def delivery(self):
        """Requests for one playlist and one segment of a live stream; nginx has copies of them in files."""
        if not Delivery.there():
            return
        delivery = Delivery(self.servers, self.load)
        if self.o.hls_players:
            self.add_hls_players(delivery)

        def ours(what, storage, tls, count):
            return lambda: delivery.ours(what, storage, tls, count)

        def nginx(what, tls, count):
            return lambda: delivery.nginx(what, tls, count)

        seconds = START_S + SHORT_SECONDS + LONG_SECONDS
        for count in self.o.hls_connections:
            for tls in (False, True):
                how = ", TLS" if tls else ""
                for what, storage in (("playlist", "memory"), ("segment", "disk"), ("segment", "memory")):
                    name = what if what == "playlist" else f"{what}, {storage}"
                    body = ours(what, storage, tls, count)
                    self.add("delivery", f"ours, {name}{how}", count, seconds + PUBLISH_SECONDS, body)
                if self.there["nginx"]:
                    for what in ("playlist", "segment"):
                        self.add("delivery", f"nginx, {what}{how}", count, seconds, nginx(what, tls, count))

    def add_hls_players(self, delivery):
        """Players of one live stream, who ask for its playlist and then its new segment every two seconds."""
        count = self.o.hls_players
        words = ["--ramp", self.o.ramp, "--seconds", self.o.seconds, "--settle-ms", self.o.settle * 1000]
        seconds = START_S + PUBLISHER_S + PUBLISH_SECONDS + count / self.o.ramp + self.o.settle + self.o.seconds

        def ours(storage):
            return lambda: delivery.players(storage, count, words)

        for storage in ("disk", "memory"):
            self.add("hlsplayers", f"ours, {storage}", count, seconds, ours(storage))
        if self.there["nginx"]:
            self.add("hlsplayers", "nginx", count, seconds, lambda: delivery.nginx_players(count, words))

    # ---- Low-latency HLS

    def lowlatencyhls(self):
        """Players that wait for each part of one live stream, over HTTP/1.1, and over HTTP/2 with TLS."""
        for server in ("floor", "ours", "MediaMTX"):
            counts = self.o.waiting_players if server != "MediaMTX" else [self.o.waiting_others]
            for count in counts:
                self.add_waiting_players(server, "", False, count)
        for server in ("floor", "ours", "MediaMTX"):
            count = self.o.http2_players if server != "MediaMTX" else self.o.waiting_others
            self.add_waiting_players(server, ", HTTP/2", True, count)

    def add_waiting_players(self, server, how, tls, count):
        if server == "MediaMTX" and not self.there["mediamtx"]:
            return
        players = LowLatencyHls(self.servers, self.load)
        ramp = min(self.o.ramp, TLS_RAMP) if tls else self.o.ramp
        words = ["--ramp", ramp, "--seconds", self.o.seconds, "--settle-ms", self.o.settle * 1000]
        seconds = START_S + LOW_LATENCY_WARM_S + count / ramp + self.o.settle + self.o.seconds
        self.add("lowlatencyhls", server + how, count, seconds, lambda: players.run(server, tls, count, words))
