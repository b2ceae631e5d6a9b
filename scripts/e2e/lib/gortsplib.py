"""gortsplib, the RTSP library of MediaMTX, as player and publisher at once (scripts/e2e/gortsplib)."""

from pathlib import Path

from . import golang
from .server import OBJS

SOURCE = Path(__file__).resolve().parents[1] / "gortsplib"
PROGRAM = OBJS / "gortsplib" / "relay"


def build():
    return golang.build(SOURCE, PROGRAM)


def relay(source, to, play="tcp", record="tcp", seconds=10):
    """The command that plays one URL and publishes to another."""
    return [str(build()), "-from", source, "-to", to, "-play", play, "-record", record, "-seconds", str(seconds)]
