"""The load tool (objs/bench)."""

import itertools
import json
import os
import signal
import subprocess
from pathlib import Path

from .server import BENCH
from .timing import scaled

_count = itertools.count()


class Bench:
    """A run of the load tool."""

    def __init__(self, server, kind, url, *arguments):
        assert BENCH.exists(), f"the load tool should be at {BENCH}"
        self.server = server
        self.out = server.dir / f"bench{next(_count)}.json"
        self.words = [BENCH, kind, url, "-q", "--settle-ms", "0", "--json", self.out, *map(str, arguments)]
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self, seconds, code=0):
        """Its figures, once it has ended by itself. code: None: whether or not somebody was lost."""
        try:
            text = self.process.communicate(timeout=scaled(seconds))[0]
        except subprocess.TimeoutExpired:
            self.process.kill()
            text = f"killed after {scaled(seconds)} s: {self.process.communicate()[0]}"
        assert self.process.returncode in ((0, 1) if code is None else (code,)), f"{self.words}: {text}\n{self.server.evidence(2000)}"
        return json.loads(self.out.read_text())

    def stop(self, code=0):
        """Its figures, of a run that is ended early."""
        self.process.send_signal(signal.SIGINT)
        return self.finish(20, code)

    def dropped(self):
        """Datagrams for which its sockets had no room: lost by the load tool, not on the way to it."""
        links = Path(f"/proc/{self.process.pid}/fd").iterdir()
        inodes = {os.readlink(link).removeprefix("socket:[").rstrip("]") for link in links}
        rows = [line.split() for name in ("udp", "udp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
        return sum(int(row[12]) for row in rows if row[9] in inodes)

    def discard(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def bench(server, kind, url, *arguments, seconds=60):
    """One run of the load tool to its end; its figures."""
    return Bench(server, kind, url, *arguments).finish(seconds)
