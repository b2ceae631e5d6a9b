"""gosrt, the SRT library of MediaMTX, as publisher and player (scripts/e2e/gosrt)."""

import json
import subprocess
from pathlib import Path

from . import golang
from .server import OBJS
from .timing import scaled

SOURCE = Path(__file__).resolve().parents[1] / "gosrt"
PROGRAM = OBJS / "gosrt" / "peer"

is_there = golang.is_there


def build():
    return golang.build(SOURCE, PROGRAM)


class Peer:
    """A run of it. words: flags of its main.go."""

    def __init__(self, server, stream_id, *words):
        words = [build(), "-address", f"127.0.0.1:{server.rtc_port}", "-streamid", stream_id, *map(str, words)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, seconds):
        """Its statistics, once it has ended by itself."""
        try:
            out, errors = self.process.communicate(timeout=scaled(seconds))
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        assert self.process.returncode == 0, f"gosrt: {errors}"
        return json.loads(out)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
