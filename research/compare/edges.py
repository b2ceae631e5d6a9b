"""Two edges of one origin, each with its players: what an edge costs beside the floor, and what both cost the origin."""

import concurrent.futures
import contextlib
import json
import time
import urllib.request

from .delivery import cpu_us
from .load import Load
from .servers import Servers

API = "http_api { enabled on; listen 127.0.0.1:{api}; }"
EDGES = 2


class Edges:
    def __init__(self, servers, load):
        self.origin = servers
        self.load = load
        self.edges = []  # (Servers, Load): each has a directory and ports of its own
        last_port = servers.last_port
        for number in range(EDGES):
            directory = servers.directory / f"edge{number}"
            directory.mkdir(exist_ok=True)
            edge = Servers(servers.objs, directory, first=last_port + 1)
            last_port = edge.last_port
            self.edges.append((edge, Load(load.objs, directory, load.seconds)))

    def run(self, protocol, count, play, words):
        """The figures of the edge that took more processor time, and what the origin had to do for both. words: of the
        load tool."""
        for edge, _ in self.edges:
            edge.program = self.origin.program
        with contextlib.ExitStack() as opened:
            origin = opened.enter_context(self.origin.ours(play, top=API))
            cluster = f"cluster {{ mode remote; origin 127.0.0.1:{origin.rtmp}; }}"
            edges = [(opened.enter_context(edge.ours(play, vhost=cluster)), load) for edge, load in self.edges]
            opened.enter_context(self.load.publisher(origin.rtmp_url()))
            with concurrent.futures.ThreadPoolExecutor(EDGES) as pool:
                began, began_s = cpu_us(origin.pid), time.monotonic()
                runs = list(pool.map(lambda one: one[1].run("play", one[0].play_url(protocol), "-n", count, "--server-pid",
                                                            one[0].pid, *words), edges))  # fmt: skip
                percent = (cpu_us(origin.pid) - began) / (time.monotonic() - began_s) / 10_000
                pulls = self.players_of(origin)
        run = max(runs, key=lambda one: one["server_cpu_ms_per_mbit"])
        for key in ("failed", "lost", "stream_errors", "without_frame"):
            run[key] = sum(one[key] for one in runs)
        return {**run, "origin_cpu_percent": round(percent, 2), "origin_players": pulls}

    @staticmethod
    def players_of(origin):
        with urllib.request.urlopen(f"http://127.0.0.1:{origin.api}/api/v1/streams", timeout=5) as answer:
            streams = json.load(answer)["streams"]
        return sum(stream["clients"] for stream in streams) - len(streams)  # the publisher is one of its clients
