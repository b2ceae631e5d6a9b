"""A link between two network namespaces: of a rate, a delay and a loss, with a queue that drops what does not fit. Both ends
are TUN interfaces; a thread passes their packets on. For root, where there is /dev/net/tun."""

import contextlib
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time

NEAR, FAR = "10.98.0.1", "10.98.0.2"
_NEW = 0x40000000  # CLONE_NEWNET
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 1, 0x1000


def _call(function, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments):
        raise OSError(ctypes.get_errno(), function)


class Namespace:
    """With its end of the link. What a thread starts within entered() is in it."""

    def __init__(self, address):
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            _call("unshare", _NEW)
            self.handle = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(self.tun, _TUNSETIFF, struct.pack("16sH22x", b"tun-link", _IFF_TUN | _IFF_NO_PI))
            words = f"ip link set lo up && ip address add {address}/24 dev tun-link && ip link set tun-link up && ip route add default dev tun-link"
            subprocess.run(words, shell=True, check=True)
        finally:
            _call("setns", before, _NEW)
            os.close(before)

    @contextlib.contextmanager
    def entered(self):
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _call("setns", self.handle, _NEW)
        try:
            yield
        finally:
            _call("setns", before, _NEW)
            os.close(before)

    def close(self):
        os.close(self.tun)
        os.close(self.handle)


class Link:
    """down_mbps: from near to far; up_mbps: back. rtt_ms: there and back, without a queue. queue_ms: how much waits at most."""

    def __init__(self, down_mbps, up_mbps=None, rtt_ms=40, loss=0.0, queue_ms=200):
        self.near, self.far = Namespace(NEAR), Namespace(FAR)
        self.rate = {self.near.tun: down_mbps * 1e6, self.far.tun: (up_mbps or down_mbps) * 1e6}
        self.delay, self.loss, self.queue = rtt_ms / 2000, loss, queue_ms / 1000
        self.free = dict.fromkeys(self.rate, 0.0)  # when the line is free
        self.passed = dict.fromkeys(self.rate, 0)  # bytes
        self.random = random.Random(1)
        self.ends = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        due, count = [], 0
        other = {self.near.tun: self.far.tun, self.far.tun: self.near.tun}
        while not self.ends:
            now = time.monotonic()
            wait = min(0.05, max(0, due[0][0] - now)) if due else 0.05
            for tun in select.select(list(other), [], [], wait)[0]:
                for _ in range(64):
                    try:
                        packet = os.read(tun, 65536)
                    except BlockingIOError:
                        break
                    now = time.monotonic()
                    begins = max(now, self.free[tun])
                    if begins - now > self.queue:
                        continue
                    self.free[tun] = begins + len(packet) * 8 / self.rate[tun]
                    if self.random.random() < self.loss:
                        continue
                    self.passed[tun] += len(packet)
                    count += 1
                    heapq.heappush(due, (self.free[tun] + self.delay, count, other[tun], packet))
            now = time.monotonic()
            while due and due[0][0] <= now:
                _, _, tun, packet = heapq.heappop(due)
                with contextlib.suppress(OSError):
                    os.write(tun, packet)

    def close(self):
        self.ends = True
        self.thread.join()
        self.near.close()
        self.far.close()


def is_there():
    return os.geteuid() == 0 and os.access("/dev/net/tun", os.R_OK | os.W_OK)


@contextlib.contextmanager
def between(*arguments, **options):
    link = Link(*arguments, **options)
    try:
        yield link
    finally:
        link.close()
