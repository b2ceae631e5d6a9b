"""gohlslib, the HLS library of MediaMTX, as player (scripts/e2e/gohlslib)."""

import json
import subprocess
from pathlib import Path

from . import golang
from .server import OBJS
from .timing import scaled

SOURCE = Path(__file__).resolve().parents[1] / "gohlslib"
PROGRAM = OBJS / "gohlslib" / "player"

is_there = golang.is_there


def build():
    return golang.build(SOURCE, PROGRAM)


def run(url, seconds):
    """What came (see its main.go)."""
    words = [str(build()), "-url", url, "-seconds", str(seconds)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=scaled(seconds + 20), check=False)
    assert done.returncode == 0, f"gohlslib: {done.stderr[-4000:]}"
    return json.loads(done.stdout)
