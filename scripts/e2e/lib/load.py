"""The load tool (objs/bench)."""

import itertools
import json
import subprocess

from .server import BENCH
from .timing import scaled

NUMBERS = itertools.count()


def bench(server, kind, url, *arguments, seconds=60):
    """One run of the load tool to its end; its figures."""
    assert BENCH.exists(), f"the load tool should be at {BENCH}"
    out = server.dir / f"bench{next(NUMBERS)}.json"
    words = [BENCH, kind, url, "-q", "--settle-ms", "0", "--json", out, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, check=False, timeout=scaled(seconds))
    assert done.returncode == 0, f"{words}: {done.stderr.decode()}{done.stdout.decode()}\n{server.evidence(2000)}"
    return json.loads(out.read_text())
