#!/usr/bin/env python3
"""Who notices what, for how long, when a part of a cluster fails: a Redis, two origins with the encoders of half of the
streams each, two edges with half of the players each, by RTMP and HTTP-FLV. One event after the other, each with a new
cluster.

    research/failures.py                              all events, in about six minutes: the table of doc/cluster.md
    research/failures.py --only "Redis"               the events with that in their name; --list prints the names
    research/failures.py --streams 8 --players 16     a smaller load
    research/failures.py --write doc/cluster.md       writes the table into the document
    research/failures.py --logs --keep DIR            prints the warnings of the servers, too, and keeps their logs

The load tool is the encoders and the players; beside it, players of this script record the arrival of every frame, one
of each edge, protocol and origin. An encoder connects to the other origin at once when its own one ends, as one with a
second URL does. Partitions are made by network namespaces, as root; where that is not permitted these events are left
out. make && make bench before; it uses redis-server, nginx and ffmpeg. Nothing else should run on the machine: what is
measured are milliseconds."""

import argparse
import pathlib
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from compare.load import make_stream  # noqa: E402
from failures.cluster import Failed  # noqa: E402
from failures.events import EVENTS, measure  # noqa: E402
from failures.network import NotPermitted  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- written by research/failures.py -->\n", "<!-- end of the table -->\n"
HEAD = ["what happens", "connections lost", "longest gap, s", "other players, s", "usual, s", "all registered after, s",
        "warnings in the logs", "CPU before and after, %"]  # fmt: skip
GOES_ON_S = 2  # the longest gap that a killed origin may cause


def cells(event, result):
    others = "" if result.others_gap_s is None else f"{result.others_gap_s:.2f}"
    registered = "not" if result.registered_s is None else f"{result.registered_s:.1f}"
    return [event.name, f"{result.lost} of {result.crowd}", f"{result.gap_s:.2f}", others, f"{result.usual_gap_s:.2f}",
            registered, result.warnings, f"{result.cpu_before:.0f}, {result.cpu_after:.0f}"]  # fmt: skip


def line(values):
    return "| " + " | ".join(map(str, values)) + " |"


def problems(event, result):
    """What must not be."""
    if result.most_repeated > 3:
        yield f"a warning was repeated {result.most_repeated} times: {result.texts}"
    if result.registered_s is None:
        yield "not all streams are registered at the end"
    if (result.lost or result.careful_lost) and "an edge is killed" not in event.name and "nginx" not in event.name:
        yield f"{result.lost} and {result.careful_lost} players of edges lost their connections: {result.reasons}"
    if "origin is killed" in event.name:
        if result.gap_s > GOES_ON_S:
            yield f"players should go on within {GOES_ON_S} s, the gap was {result.gap_s:.2f} s"
    if result.cpu_after > 2 * result.cpu_before + 20:
        yield f"a server took {result.cpu_after:.0f} % of a core, before {result.cpu_before:.0f} %"


def run(events, options):
    """The table's lines, and how many events had problems."""
    lines, bad = [line(HEAD), line(["---"] * len(HEAD))], 0
    with tempfile.TemporaryDirectory(prefix="failures-") as name:
        if options.keep:
            options.keep.mkdir()
            name = options.keep.resolve()
        media = make_stream(pathlib.Path(name), 10)
        for index, event in enumerate(events):
            directory = pathlib.Path(name) / str(index)
            directory.mkdir(parents=True)
            try:
                result = measure(event, directory, options, media)
            except NotPermitted as reason:
                print(f"left out: {event.name}: {reason}", file=sys.stderr)
                continue
            lines.append(line(cells(event, result)))
            print(lines[-1], file=sys.stderr, flush=True)
            for text in problems(event, result):
                bad += 1
                print(f"PROBLEM: {event.name}: {text}", file=sys.stderr)
            if options.logs:
                texts = sorted(result.reasons) + [f"{name}: {text}" for name, text in result.texts]
                print("".join(f"    {text}\n" for text in texts), end="", file=sys.stderr)
    return lines, bad


def write(path, lines):
    text = path.read_text()
    table = BEGIN + "\n" + "\n".join(lines) + "\n\n" + END
    if BEGIN not in text:
        raise SystemExit(f"{path} has no line {BEGIN}")
    path.write_text(re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: table, text, flags=re.DOTALL))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=50, help="an even number, 4 at least")
    parser.add_argument("--players", type=int, default=1000, help="a multiple of 8")
    parser.add_argument("--latency", type=int, default=50, metavar="MS", help="mw_latency of the edges")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--logs", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="a new directory, for configurations and logs")
    parser.add_argument("--objs", type=pathlib.Path, default=ROOT / "objs")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    options.objs = options.objs.resolve()
    events = [one for one in EVENTS if options.only in one.name]
    if options.list:
        print("\n".join(one.name for one in events))
        return 0
    for program in ("redis-server", "redis-cli", "nginx", "ffmpeg", options.objs / "srs", options.objs / "bench"):
        if not shutil.which(program):
            parser.error(f"there is no {program}")
    try:
        lines, bad = run(events, options)
    except Failed as failed:
        print(f"research/failures.py: {failed}", file=sys.stderr)
        return 1
    if options.write:
        write(options.write, lines)
    else:
        print("\n".join(lines))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
