#!/usr/bin/env python3
"""Measures this server beside the floors (research/floor), nginx with its rtmp module, and MediaMTX where it was built
(research/compare/get_mediamtx.sh), one after the other, with the same load; HLS delivery beside nginx, by wrk.

    research/compare.py --estimate              what would be measured, and how long it takes
    research/compare.py --json FILE             everything: about an hour on two cores
    research/compare.py --json FILE --resume    go on where that was interrupted; what is in FILE is not measured again
    research/compare.py --only players,latency --players 1000 --servers ours,floor      a part
    research/compare.py --before OLD/objs/srs   beside another build of this server
    research/compare.py --quick                 small and short: does it work at all
    research/compare.py --json FILE --report    measure nothing: tables and plots of what is in FILE
    ... --markdown doc/figures.md --plots doc/plots         put tables (between the page's two marks) and plots there

The server runs on core 0 and the load (research/bench) on core 1, where there are two. Each run starts its server anew,
so that memory is counted from its beginning. A figure is the median of the repeats, which go round all servers; losses
are their sum. It ends with 1 when a target of ours is missed (not with --quick) or when a viewer of ours was dropped or
starved.
"""

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import shlex
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from compare import figures, report  # noqa: E402
from compare.cases import Cases  # noqa: E402
from compare.load import Load  # noqa: E402
from compare.servers import Failure, Servers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent


def say(text):
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def alone():
    """Two comparisons at once would measure each other."""
    with open(pathlib.Path(tempfile.gettempdir()) / "compare.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Failure("another comparison is running on this machine") from None
        yield


def measured_by(words):
    """Without what says where the figures go: that is nobody else's path."""
    kept, words = [], iter(words)
    for word in words:
        name, _, value = word.partition("=")
        if name not in ("--json", "--markdown", "--plots", "--before"):
            kept.append(word)
        elif not value:
            next(words, None)
    return kept


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(n) for n in text.split(",") if n]  # noqa: E731
    words = lambda text: text.split(",")  # noqa: E731
    parser.add_argument("--objs", type=pathlib.Path, default=ROOT / "objs", help="where srs, bench and floor are")
    parser.add_argument("--only", type=words, default=list(Cases.GROUPS), help=", ".join(Cases.GROUPS))
    parser.add_argument("--servers", type=words, default=["floor", "ours", "nginx-rtmp", "MediaMTX", "nginx"])
    parser.add_argument("--players", type=numbers, default=[1000, 5000, 10000, 18000])
    parser.add_argument("--other-players", type=numbers, default=[1000, 5000], help="of nginx; MediaMTX: the first")
    parser.add_argument("--lowlatency-players", type=numbers, default=[1000, 5000])
    parser.add_argument("--rate3m-players", type=int, default=500)
    parser.add_argument("--rooms", type=numbers, default=[300, 1000],
                        help="streams with one, two and three players each; others: the first")  # fmt: skip
    parser.add_argument("--growth", type=numbers, default=[100, 300, 1000, 2000], help="streams with 0, 1 and 3 players each")
    parser.add_argument("--everything", type=int, default=1000, help="streams, each HLS, recorded as MP4, and played")
    parser.add_argument("--publishers", type=int, default=500, help="in segments of 50 bytes a fifth of it")
    parser.add_argument("--recorded", type=int, default=500, help="streams; also twice as many, and on a late disk")
    parser.add_argument("--segmented", type=int, default=200, help="streams made into HLS")
    parser.add_argument("--viewers", type=int, default=100, help="of the latency measurement")
    parser.add_argument("--webrtc-players", type=int, default=400)
    parser.add_argument("--webrtc-publishers", type=int, default=100)
    parser.add_argument("--rtsp-udp-players", type=int, default=1000)
    parser.add_argument("--rtsp-publishers", type=int, default=200)
    parser.add_argument("--srt-players", type=numbers, default=[1000, 3000], help="MediaMTX: the first")
    parser.add_argument("--srt-rate3m-players", type=int, default=200)
    parser.add_argument("--srt-publishers", type=int, default=200)
    parser.add_argument("--edge-players", type=int, default=4000, help="of each of two edges")
    parser.add_argument("--hls-connections", type=numbers, default=[100, 2000], help="of HLS delivery, by wrk")
    parser.add_argument("--hls-players", type=int, default=10000, help="of one live stream; 0: none")
    parser.add_argument("--waiting-players", type=numbers, default=[2000, 10000], help="of low-latency HLS")
    parser.add_argument("--waiting-others", type=int, default=500, help="the same of MediaMTX")
    parser.add_argument("--http2-players", type=int, default=1000, help="of low-latency HLS over HTTP/2")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="measured per run")
    parser.add_argument("--settle", type=int, default=3, help="seconds between the last connection and measuring")
    parser.add_argument("--ramp", type=int, default=1500, help="players connecting per second")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME=DIRECTIVES",
                        help="ours with these at the top of its configuration, measured wherever ours is")  # fmt: skip
    parser.add_argument("--before", type=pathlib.Path, metavar="PROGRAM",
                        help="another build of this server (objs/srs of another commit), measured wherever ours is")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small and short, no targets")
    parser.add_argument("--estimate", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--plots", type=pathlib.Path, metavar="DIR")
    options = parser.parse_args()
    options.before = options.before and options.before.resolve()
    options.variant = [variant.split("=", 1) for variant in options.variant]
    options.command = "research/compare.py " + shlex.join(measured_by(sys.argv[1:]))
    if unknown := set(options.only) - set(Cases.GROUPS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(Cases.GROUPS)}")
    if (options.resume or options.report) and not options.json:
        parser.error("--resume and --report need --json FILE")
    if options.quick:
        options.players, options.other_players, options.lowlatency_players = [100], [100], [100]
        options.rate3m_players, options.publishers, options.viewers, options.rooms = 20, 20, 20, [20]
        options.hls_connections, options.rtsp_udp_players, options.rtsp_publishers = [20], 20, 10
        options.srt_players, options.srt_rate3m_players, options.srt_publishers = [20], 10, 10
        options.edge_players, options.growth, options.everything = 20, [10, 20], 20
        options.hls_players = options.http2_players = options.waiting_others = 20
        options.waiting_players = [20]
        options.recorded, options.segmented, options.webrtc_players, options.webrtc_publishers = 20, 10, 20, 10
        # In one second a viewer whose pass falls on an edge of it has a third less than the others.
        options.repeats, options.seconds, options.settle = 1, 3, 1
    return options


def in_order(cases):
    """(case, repeat): the repeats go round all of them, so that a slow minute of the machine does not hit one alone."""
    return [(case, i) for i in range(max((c.repeats for c in cases), default=0)) for case in cases if i < case.repeats]


def headline(run):
    for key, unit in (("server_cpu_ms_per_s_per_publisher", "ms/s each"), ("server_cpu_ms_per_mbit", "ms/Mbit"), ("cpu_us", "us/request"),
                      ("video_latency_ms", ""), ("start_ms", "ms to start"), ("first_frame_ms", "")):  # fmt: skip
        if key in run:
            return f"{run[key]} {unit}".strip()
    return "nothing measured"


def measure(cases, raw, keep):
    turns = [(case, i) for case, i in in_order(cases) if len(raw.get(case.key, [])) <= i]
    left, began = sum(case.seconds for case, _ in turns), time.monotonic()
    say(f"{len(turns)} runs, about {left / 60:.0f} min")
    for number, (case, repeat) in enumerate(turns, 1):
        run = case.run()
        raw.setdefault(case.key, []).append(run)
        keep()
        left -= case.seconds
        say(f"[{number}/{len(turns)}, {left / 60:.1f} min left] {case.group}: {case.server}"
            f"{f', {case.count}' if case.count else ''}, {repeat + 1}: {headline(run)}")  # fmt: skip
        for reason, times in run.get("reasons", {}).items():
            say(f"    {times} x {reason}")
    say(f"measured in {(time.monotonic() - began) / 60:.1f} min")


def draw(options, groups):
    if not options.plots:
        return []
    from compare import plots

    base = options.markdown.resolve().parent if options.markdown else pathlib.Path.cwd()
    return [(title, os.path.relpath(path.resolve(), base)) for title, path in plots.draw(groups, options.plots)]


def present(options, kept):
    groups = figures.summarise(kept["raw"])
    targets = figures.check(groups, options.quick)
    plots = draw(options, groups)
    kept["targets"] = [{"what": what, "figure": f, "limit": limit, "met": ok} for what, f, limit, ok in targets]
    print(report.markdown(kept["machine"], groups, targets, plots))
    if options.markdown:
        text = report.markdown(kept["machine"], groups, targets, plots, report.missed_targets)
        report.put_between_marks(options.markdown, text)
    return 0 if all(ok for *_, ok in targets) else 1


def main():
    options = parse_options()
    kept = {"machine": {}, "raw": {}}
    if (options.resume or options.report) and options.json.exists():
        kept = json.loads(options.json.read_text())

    def keep():
        if options.json:
            options.json.write_text(json.dumps(kept, indent=1) + "\n")

    if not options.report:
        with tempfile.TemporaryDirectory(prefix="compare-") as name, alone():
            directory, objs = pathlib.Path(name), options.objs.resolve()
            servers = Servers(objs, directory)
            for server, there in servers.there().items():
                if not there:
                    say(f"{server} is not there, so it is not measured")
            load = Load(objs, directory, options.seconds)
            cases = Cases(servers, load, options).list
            if options.estimate:
                for case in cases:
                    print(f"{case.repeats} x {case.seconds:4.0f} s  {case.key}")
                print(f"{sum(case.seconds * case.repeats for case in cases) / 60:.0f} min")
                return 0
            kept["machine"] = report.machine(servers, load, options)
            measure(cases, kept["raw"], keep)
    code = present(options, kept)
    keep()
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"compare: {failure}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit("compare: interrupted; with --json FILE --resume it goes on from here")
