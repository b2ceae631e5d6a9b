#!/usr/bin/env python3
"""Runs the server for so many minutes while publishers and viewers of every protocol come and go, it is reloaded, and
faults happen to it; fails when it grows, dies, loses somebody or does not end well.

    research/soak.py 30 --json soak.json --plot doc/plots/soak.svg
    research/soak.py --self-test          does the verdict see a leak, and none where there is none?

Every second it samples memory (PSS, RSS, its own dirty pages), descriptors, by the debug API coroutines and stalls of
the loop, and how long a small HTTP request takes. After a warm-up, a fifth of the run and at least 40 s, neither its own
pages nor descriptors nor coroutines may grow, by the median of slopes (research/soak/verdict.py); memory only where
no sanitizer keeps what was freed. Afterwards, with everybody gone, descriptors must be where they were before anybody
came. What comes and goes: research/soak/actors.py. Needs objs/srs and objs/bench, openssl for a certificate, ffmpeg
for a stream that WebRTC can play, matplotlib for --plot.
"""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from compare.load import make_stream  # noqa: E402
from soak import verdict  # noqa: E402
from soak.actors import Crew  # noqa: E402
from soak.soaked_server import SoakedServer  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_SHOWN = 10
# Opened when first needed, and then for good: the roll of HLS streams, locked, and the bell of the threads that convert
# sound for WebRTC.
OPENED_LATER = ("/hls.roll", "anon_inode:[eventfd]")


def say(text):
    print(text, file=sys.stderr, flush=True)


def soak(server, crew, minutes):
    """The samples, one a second."""
    samples, began, told = [], time.monotonic(), 0
    while (t := time.monotonic() - began) < minutes * 60 and server.alive():
        samples.append(server.sample(t))
        if t >= told:
            told += 15 if minutes < 5 else 60
            last = samples[-1]
            say(f"{t:5.0f} s  PSS {last['pss_kb']} kB, own {last['own_kb']} kB, {last['descriptors']} descriptors, "
                f"{'?' if last['coroutines'] is None else last['coroutines']} coroutines, "
                f"{last['turn_ms']} ms a request, {len(crew.problems)} problems")  # fmt: skip
        time.sleep(max(0.0, began + len(samples) - time.monotonic()))
    return samples


def come_back(server, before, seconds=20):
    """Descriptors once everybody is gone: they must be where they were."""
    end = time.monotonic() + seconds
    while server.descriptors() > before and time.monotonic() < end:
        time.sleep(0.5)
    return server.descriptors()


def run(options, directory):
    media = make_stream(directory, 10) if shutil.which("ffmpeg") else None
    if not media:
        say("soak: no ffmpeg, so nobody comes by WebRTC")
    server = SoakedServer(options.objs.resolve(), directory, bool(media))
    bench = options.objs.resolve() / "bench"
    server.start()
    crew = Crew(server, bench, media)
    try:
        server.turn_ms()  # what a first request opens for good, it opens now
        time.sleep(1)
        before, there = server.descriptors(), set(server.open_files())
        # For whoever comes to watch.
        crew.start(*crew.all_the_time())
        time.sleep(1.5)
        crew.start(*crew.everybody())
        samples = soak(server, crew, options.minutes)
    finally:
        crew.finish()
    problems, warm_up = crew.problems, max(40.0, options.minutes * 12)
    lines, good = verdict.check(samples, warm_up, ["own_kb"] if server.sanitized else [])
    if not server.alive():
        problems.append(f"the server ended with {server.process.returncode}:\n{server.last_words()}")
    else:
        new = set(server.open_files()) - there
        before += sum(any(name.endswith(end) for name in new) for end in OPENED_LATER)
        after = come_back(server, before)
        lines.append(f"descriptors with everybody gone: {after}, before anybody came {before}")
        if after > before:
            new = set(server.open_files()) - there
            problems.append(f"{after - before} descriptors did not come back, of these: {new}")
        code = server.stop()
        if code != 0:
            problems.append(f"it should end with 0 after TERM, and ended with {code}:\n{server.last_words()}")
    if samples and samples[-1]["stalls"] is not None:
        last = samples[-1]
        lines.append(f"stalls of the loop, by its watchdog: {last['stalls']}, longest {last['longest_stall_ms']} ms")
        lines += [f"    {s['ms']} ms, {s['cause']}, {s['coroutine']}" for s in last["last_stalls"]]
    for sample in samples:
        del sample["last_stalls"]
    turns = sorted(s["turn_ms"] for s in samples if s["turn_ms"] is not None)
    if turns:
        lines.append(f"a small request: median {turns[len(turns) // 2]} ms, longest {turns[-1]} ms")
    if len(turns) < len(samples):
        problems.append(f"{len(samples) - len(turns)} small requests were not answered")
    return {"minutes": options.minutes, "warm_up_s": warm_up, "counts": crew.counts, "figures": lines,
            "problems": problems, "good": good and not problems, "samples": samples}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float, nargs="?")
    parser.add_argument("--objs", type=pathlib.Path, default=ROOT / "objs")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return verdict.self_test()
    if not options.minutes or options.minutes < 1:
        parser.error("how many minutes? One at least")
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        kept = run(options, pathlib.Path(name))
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1) + "\n")
    if options.plot:
        from soak import plot

        plot.draw(kept, options.plot)
    print("came and went: " + ", ".join(f"{number} {what}" for what, number in sorted(kept["counts"].items())))
    print("\n".join(kept["figures"]))
    for problem in kept["problems"][:MOST_SHOWN]:
        print(f"PROBLEM: {problem}")
    print(f"soak of {options.minutes:g} min: {'flat' if kept['good'] else 'FAILED'}")
    return 0 if kept["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
