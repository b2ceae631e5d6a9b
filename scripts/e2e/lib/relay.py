"""A bad network: a UDP relay that loses, repeats, reorders, delays and is too slow, the same in every run of a seed. A
process of its own, so that what a test decodes does not delay its packets.

    python relay.py PORT --loss 10 --duplicate 2 --reorder 5 --jitter 200 --seed 1     relays from 127.0.0.1 to that port
    python relay.py PORT --delay 50 --kbps 900 --after 8 --until 13

prints the port that it listens at, and when it is terminated, as JSON, what it did. Each client has a socket of its own
towards the server. What is delayed by jitter keeps its order, as in a queue that grows and shrinks; a reordered packet
alone is late by REORDER_MS. A slow link has a queue of QUEUE_MS, and loses what does not fit."""

import argparse
import heapq
import itertools
import json
import random
import selectors
import signal
import socket
import subprocess
import sys
import time
from typing import NamedTuple

REORDER_MS = 30
QUEUE_MS = 300
CLIENTS = 64


class Harm(NamedTuple):
    """Percent of the packets of each direction; ms."""

    loss: float = 0
    duplicate: float = 0
    reorder: float = 0
    jitter: float = 0
    delay: float = 0  # of each packet, at all times
    kbps: float = 0  # of the link to the client; 0: without a limit
    after: float = 0  # s from the first packet on in which nothing happens
    until: float = 0  # s from the first packet on after which nothing happens; 0: never
    move: float = 0  # s from the first packet on after which the client has another address at the server, as of a NAT


class Direction:
    """Decides, packet by packet, what becomes of it. Pure: times are handed in, s."""

    def __init__(self, harm, seed):
        self.harm, self.dice = harm, random.Random(seed)
        self.first = self.last = None
        self.busy = 0  # the slow link has sent all before that time
        self.began = 0  # the first packet, s since 1970
        self.counts = {"packets": 0, "bytes": 0, "lost": 0, "duplicated": 0, "reordered": 0, "overflowed": 0}

    def due(self, now, size=0):
        """When it is to be sent on: none, one or two times."""
        # The same number of throws for each packet, whatever happens to it.
        lost, doubled, late, jitter = (self.dice.random() for _ in range(4))
        if self.first is None:
            self.first, self.began = now, time.time()
        self.counts["packets"] += 1
        self.counts["bytes"] += size
        since, delay = now - self.first, self.harm.delay / 1000
        if since < self.harm.after or (self.harm.until and since >= self.harm.until):
            self.last = max(now + delay, self.last or 0)
            return [self.last]
        if lost * 100 < self.harm.loss:
            self.counts["lost"] += 1
            return []
        sent = now
        if self.harm.kbps:
            if self.busy - now > QUEUE_MS / 1000:
                self.counts["overflowed"] += 1
                return []
            sent = self.busy = max(now, self.busy) + size * 8 / 1000 / self.harm.kbps
        at = max(sent + delay + jitter * self.harm.jitter / 1000, self.last or 0)
        self.last = at
        times = [at]
        if late * 100 < self.harm.reorder:
            self.counts["reordered"] += 1
            times = [at + REORDER_MS / 1000]
        if doubled * 100 < self.harm.duplicate:
            self.counts["duplicated"] += 1
            times.append(times[0] + 0.001)
        return times


class Relay:
    def __init__(self, target, harm, seed):
        self.target, self.harm, self.seed = ("127.0.0.1", target), harm, seed
        self.selector = selectors.DefaultSelector()
        self.socket = self._socket()
        self.clients = {}  # address -> [socket towards the server, direction to it, direction back]
        self.moved = set()  # of these
        self.waiting, self.count = [], itertools.count()
        self.ended = False

    def _socket(self):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        made.bind(("127.0.0.1", 0))
        made.setblocking(False)
        self.selector.register(made, selectors.EVENT_READ)
        return made

    def port(self):
        return self.socket.getsockname()[1]

    def client(self, address):
        if address not in self.clients:
            if len(self.clients) == CLIENTS:
                return None
            there, back = (f"{self.seed}.{len(self.clients)}.{way}" for way in ("there", "back"))
            ways = Direction(self.harm._replace(kbps=0), there), Direction(self.harm, back)
            self.clients[address] = [self._socket(), *ways]
        return self.clients[address]

    def move_due(self):
        for address, client in self.clients.items():
            first = client[1].first
            if address in self.moved or first is None or time.monotonic() - first < self.harm.move:
                continue
            self.moved.add(address)
            self.selector.unregister(client[0])
            client[0].close()
            client[0] = self._socket()

    def take(self, source):
        while True:
            try:
                data, address = source.recvfrom(65536)
            except BlockingIOError:
                return
            except OSError:
                continue  # an ICMP error: whom we sent to has gone
            now = time.monotonic()
            if source is self.socket:
                client = self.client(address)
                if client:
                    self.plan(client[1].due(now, len(data)), client[0], self.target, data)
            else:
                for peer, (sending, _, back) in self.clients.items():
                    if sending is source:
                        self.plan(back.due(now, len(data)), self.socket, peer, data)

    def plan(self, times, sending, address, data):
        for at in times:
            heapq.heappush(self.waiting, (at, next(self.count), sending, address, data))

    def send_due(self):
        now = time.monotonic()
        while self.waiting and self.waiting[0][0] <= now:
            _, _, sending, address, data = heapq.heappop(self.waiting)
            try:
                sending.sendto(data, address)
            except OSError:
                pass  # as lost as any
        return max(0, self.waiting[0][0] - now) if self.waiting else 0.2

    def run(self):
        while not self.ended:
            if self.harm.move:
                self.move_due()
            for key, _ in self.selector.select(self.send_due()):
                self.take(key.fileobj)
        ways = [{"there": there, "back": back} for _, there, back in self.clients.values()]
        return [{name: {**way.counts, "began": way.began} for name, way in one.items()} for one in ways]


class Running:
    """The process, from the test's side."""

    def __init__(self, target, harm=Harm(), seed=1):
        words = [f"--{name}={value}" for name, value in harm._asdict().items()]
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(target), f"--seed={seed}", *words], stdout=subprocess.PIPE, text=True
        )
        self.port = int(self.process.stdout.readline())

    def finish(self):
        """What it did: of each client, there and back."""
        self.process.terminate()
        out, _ = self.process.communicate(timeout=30)
        return json.loads(out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target", type=int)
    parser.add_argument("--seed", type=int, default=1)
    for name in Harm._fields:
        parser.add_argument(f"--{name}", type=float, default=0)
    options = parser.parse_args()
    relay = Relay(options.target, Harm(*(getattr(options, name) for name in Harm._fields)), options.seed)

    def end(*_):
        relay.ended = True

    signal.signal(signal.SIGTERM, end)
    print(relay.port(), flush=True)
    print(json.dumps(relay.run()), flush=True)


if __name__ == "__main__":
    main()
