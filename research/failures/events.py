"""What happens to a cluster, and what is measured of it."""

import signal
import time
from dataclasses import dataclass, field
from typing import Callable

from .cluster import GROUPS, Cluster, Failed
from .network import Namespaces
from .players import Hls

BEFORE_S = 4
MEMBERS = ("redis", "origin0", "origin1", "edge0", "edge1")


@dataclass
class Event:
    name: str
    act: Callable  # (run): what happens; later things by run.later()
    after_s: int  # how long it is watched
    concerned: Callable = lambda player: True  # of the careful players
    setup: dict = field(default_factory=dict)  # of the cluster
    namespaces: bool = False


@dataclass
class Result:
    lost: int = 0
    reasons: set = field(default_factory=set)
    crowd: int = 0
    careful_lost: int = 0
    gap_s: float = 0
    others_gap_s: float | None = None
    usual_gap_s: float = 0
    registered_s: float | None = 0
    warnings: int = 0
    most_repeated: int = 0
    texts: list = field(default_factory=list)
    cpu_before: float = 0
    cpu_after: float = 0


class Run:
    """One event with a cluster of its own."""

    def __init__(self, event, cluster):
        self.event, self.cluster = event, cluster
        self.timers, self.at, self.since = [], 0, 0
        self.wanted = dict.fromkeys(GROUPS, cluster.origins[0])  # where each group is to be registered
        if cluster.exclusive:
            self.wanted["b"] = cluster.origins[1]

    def later(self, seconds, action):
        self.timers.append((self.at + seconds, action))

    def until_registered_from_now(self):
        self.since = time.monotonic()

    def move_encoders(self, group, origin):
        self.cluster.encoders[GROUPS.index(group)].move(origin)
        self.wanted[group] = origin

    def measure(self):
        cluster, event = self.cluster, self.event
        cluster.start().publish()
        if event.setup.get("hls"):
            cluster.start_nginx()
            cluster.careful = [Hls("a0", cluster.nginx_port)]
            cluster.careful[0].start()
        cluster.play(BEFORE_S + event.after_s + 2, careful=not cluster.careful)
        time.sleep(2)  # what came with the first frames
        earlier = {one.name: one.cpu_s() for one in cluster.members}
        began = time.monotonic()
        time.sleep(BEFORE_S)
        skipped = {one.name: one.log.stat().st_size for one in cluster.members}
        before = {one.name: one.cpu_s() for one in cluster.members}
        self.at = self.since = time.monotonic()
        event.act(self)
        after = dict(before)
        result = Result(registered_s=self.watch(after))
        end = time.monotonic()
        result.cpu_before = max(100 * (before[name] - earlier[name]) / (self.at - began) for name in before)
        result.cpu_after = max(100 * (after[name] - before[name]) / (end - self.at) for name in before)
        self.measure_players(result, end)
        self.measure_logs(result, skipped)
        for one in cluster.crowds:
            lost, reasons = one.lost()
            result.crowd += one.count
            result.lost += lost
            result.reasons |= reasons
        return result

    def watch(self, busy):
        """Seconds until all are registered for good; None: they are not at the end. busy: the processor time of each
        server, which is brought up to date."""
        missing_at, all_there = self.since, False
        while time.monotonic() < self.at + self.event.after_s:
            for moment, action in [one for one in self.timers if one[0] <= time.monotonic()]:
                self.timers.remove((moment, action))
                action()
            all_there = self.cluster.are_registered(self.wanted)
            if not all_there:
                missing_at = time.monotonic()
            for one in self.cluster.members:
                busy[one.name] = max(busy[one.name], one.cpu_s())
            time.sleep(0.1)
        return max(0, missing_at - self.since) if all_there else None

    def measure_players(self, result, end):
        theirs = [one for one in self.cluster.careful if self.event.concerned(one)]
        others = [one for one in self.cluster.careful if not self.event.concerned(one)]
        result.gap_s = max(one.longest_gap(self.at, end) for one in theirs)
        result.others_gap_s = max((one.longest_gap(self.at, end) for one in others), default=None)
        there = [one for one in self.cluster.careful if one.began < self.at]
        result.usual_gap_s = max((one.longest_gap(self.at - BEFORE_S, self.at) for one in there), default=0)
        result.careful_lost = sum(any(moment >= self.at for moment in one.ends) for one in self.cluster.careful)

    def measure_logs(self, result, skipped):
        lines = [(one.name, text) for one in self.cluster.members for text in one.warnings(skipped[one.name])]
        result.warnings = len(lines)
        result.most_repeated = max((lines.count(line) for line in set(lines)), default=0)
        result.texts = sorted(set(lines))


def of_group_a(player):
    return player.stream.startswith("a")


def of_edge0(player):
    return player.servers[0].name == "edge0"


def kill_origin(run):
    origin, other = run.cluster.origins
    origin.kill()
    if run.cluster.exclusive:
        run.move_encoders("a", other)
    else:
        run.wanted = dict.fromkeys(GROUPS, other)


def hang_origin(run):
    """Its encoders leave it after 5 s without an answer."""
    origin, other = run.cluster.origins
    origin.signal(signal.SIGSTOP)
    if run.cluster.exclusive:
        run.later(5, lambda: run.move_encoders("a", other))
    else:
        run.wanted = dict.fromkeys(GROUPS, other)


def kill_edge(run):
    edge, other = run.cluster.edges
    edge.kill()
    run.cluster.crowd(other, run.event.after_s)


def kill_redis(run):
    run.cluster.redis.kill()

    def restart():
        run.cluster.redis.start()
        run.until_registered_from_now()

    run.later(4, restart)


def hang_redis(run):
    run.cluster.redis.signal(signal.SIGSTOP)

    def go_on():
        run.cluster.redis.signal(signal.SIGCONT)
        run.until_registered_from_now()

    run.later(15, go_on)


def kill_nginx(run):
    run.cluster.nginx.kill()
    run.later(1, run.cluster.nginx.start)


def new_players_without_redis(run):
    """Of streams that were not pulled yet, so nobody knows where they are."""
    run.cluster.redis.kill()

    def come():
        for group in GROUPS:
            for edge in run.cluster.edges:
                run.cluster.add_careful(f"{group}{run.cluster.streams // 2 - 1}", edge)

    def restart():
        run.cluster.redis.start()
        run.until_registered_from_now()

    run.later(1.5, come)
    run.later(10, restart)


def cut(one, other, seconds):
    def act(run):
        network = run.cluster.network
        network.cut(one, other)

        def heal():
            network.join(one, other)
            run.until_registered_from_now()

        run.later(seconds, heal)

    return act


EVENTS = [
    Event("an origin is killed, its encoders connect to the other one", kill_origin, 12, of_group_a),
    Event("an origin is killed, both have all streams", kill_origin, 16, setup={"exclusive": False}),
    Event("an edge is killed, its players connect to the other one", kill_edge, 8, of_edge0),
    Event("Redis is killed, and restarted after 4 s", kill_redis, 12),
    Event("nginx is killed, and restarted after 1 s (HLS)", kill_nginx, 10, setup={"hls": True}),
    Event("Redis hangs for 15 s", hang_redis, 22),
    Event("an origin hangs, both have all streams", hang_origin, 18, setup={"exclusive": False}),
    Event("an origin hangs, its encoders connect to the other one after 5 s", hang_origin, 25, of_group_a),
    Event("Redis is away, the list of origins has a wrong address: new players", new_players_without_redis, 15,
          lambda player: not player.stream.endswith("0"), setup={"wrong": "127.0.0.1:1"}),
    Event("an origin is cut off from Redis for 15 s", cut("origin0", "redis", 15), 25, of_group_a, namespaces=True),
    Event("an edge is cut off from an origin for 15 s", cut("edge0", "origin0", 15), 22,
          lambda player: of_group_a(player) and of_edge0(player), namespaces=True),
]  # fmt: skip


def measure(event, directory, options, media):
    network = Namespaces(MEMBERS) if event.namespaces else None
    with Cluster(directory, options, media, network, **event.setup) as cluster:
        try:
            return Run(event, cluster).measure()
        except Failed as failed:
            there = [one for one in cluster.members if one.log.exists()]
            texts = [f"{one.name}: {text}" for one in there for text in one.warnings(0)[-5:]]
            raise Failed("\n".join([f"{event.name}: {failed}", *texts])) from None
