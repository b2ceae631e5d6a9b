"""research/failover, which measures who notices the end of an origin or an edge: a small run of it."""

import os
import subprocess
import sys

import pytest

from lib.server import BENCH, OBJS, ROOT
from lib.timing import scaled


@pytest.mark.long
def test_an_edge_is_killed():
    """All players lose their connections, and get frames from the other edge."""
    if not BENCH.exists():
        pytest.skip("make bench makes the publishers")
    words = [sys.executable, ROOT / "research/failover", "--streams", "3", "--only", "an edge is killed"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=scaled(120), check=False, env={**os.environ, "SRS_OBJS": str(OBJS)})
    assert done.returncode == 0, f"it failed:\n{done.stderr[-3000:]}"
    cells = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("|").split("|")]
    assert cells[:3] == ["an edge is killed", "6", "6"], f"six players, who all lose their connections: {done.stdout}"
    assert cells[5] == "0" and 0 < int(cells[3]) <= int(cells[4]) < scaled(5000), f"all go on within 5 s: {done.stdout}"
