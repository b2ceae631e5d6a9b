"""Rooms: many streams with few players each, what each of them takes, and how that changes with their number."""

import time

from .delivery import cpu_us
from .load import KBPS

OPEN_S = 2  # publishers come within a GOP, so that theirs are of all ages and take the average memory together
WARM_S, IDLE_S = 1, 2


class Rooms:
    def __init__(self, servers, load, options):
        self.servers, self.load, self.o = servers, load, options

    def words(self, running, seconds=None):
        return ["--seconds", seconds or self.o.seconds, "--settle-ms", self.o.settle * 1000, "--server-pid", running.pid]

    def players(self, running, url, streams, players, seconds=None):
        """A run of players, so many of each stream; the publishers are there."""
        run = self.load.run("play", url, "-n", streams * players, "--streams", streams, "--ramp", self.o.ramp,
                            *self.words(running, seconds))  # fmt: skip
        return {**run, "players_per_stream": players}

    def run(self, start, protocol, streams, players):
        with start() as running:
            if protocol == "floor":
                publish, play = f"tcp://127.0.0.1:{running.http}", f"http://127.0.0.1:{running.http}/{{i}}.flv"
            else:
                publish, play = running.rtmp_url("s{i}"), running.play_url(protocol, "s{i}")
            with self.load.publisher(publish, count=streams, open_s=OPEN_S):
                return self.players(running, play, streams, players)

    def grow(self, start, streams, players):
        """What so many rooms take beside the same process without any, after one room has touched the code that all of
        them use. Without players it is ingest alone. Memory without that of files, which the load tool maps too: its
        share of the libraries would make each stream of few look smaller."""
        with start() as running:
            with self.load.beside("publish", running.rtmp_url("warm"), *self.load.source(), wait_s=WARM_S):
                self.load.run("play", running.rtmp_url("warm"), "--seconds", WARM_S)
            before, idle_kb = cpu_us(running.pid), running.memory_kb("Pss_Anon")
            time.sleep(IDLE_S)
            idle = {"idle_cpu_percent": (cpu_us(running.pid) - before) / IDLE_S / 10_000, "idle_kb": idle_kb}
            url = running.rtmp_url("s{i}")
            if players == 0:
                run = self.load.run("publish", url, *self.load.source(), "-n", streams, "--ramp", streams / OPEN_S,
                                    *self.words(running))  # fmt: skip
                return {**run, **idle, "players_per_stream": 0}
            with self.load.publisher(url, count=streams, open_s=OPEN_S):
                return {**self.players(running, url, streams, players), **idle}

    def everything(self, start, streams, seconds):
        """Each stream is published by RTMP, made into HLS, recorded as MP4, and played by one player of HTTP-FLV. seconds: of
        whole segments, since streams end theirs at different times."""
        with self.servers.output() as out:
            with start() as running, self.load.publisher(running.rtmp_url("s{i}"), count=streams, open_s=OPEN_S):
                run = self.players(running, running.play_url("http", "s{i}"), streams, 1, seconds)
            files = [path for path in out.rglob("*") if path.is_file()]
            run["published_bytes"] = round(streams * KBPS * 1000 / 8 * run["window_s"])
            for kind in ("mp4", "ts"):
                run[f"{kind}_bytes"] = sum(path.stat().st_size for path in files if path.suffix == f".{kind}")
        return run

    def latency(self, start, protocol, streams, players):
        """The latency of one stream more, which has so many players, beside streams with one player each."""
        url = "s{i}"
        with start() as running, self.load.publisher(running.rtmp_url(url), count=streams, open_s=OPEN_S):
            others = ["-n", streams, "--ramp", self.o.ramp, "--seconds", 3600]
            with self.load.beside("play", running.play_url(protocol, url), *others, wait_s=streams / self.o.ramp + 1):
                return self.load.run("latency", running.play_url(protocol), "--publish", running.rtmp_url(), "-n", players,
                                     *self.words(running))  # fmt: skip
