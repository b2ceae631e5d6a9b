#!/usr/bin/env python3
"""Counts the instructions of the server's hot loops (objs/hot under valgrind's callgrind) and compares them with those
in counts.json.

    research/hot/counts.py              compare; ends with 1 when a loop takes 5 % more or less than it did
    research/hot/counts.py --write      these are the figures from now on
    research/hot/counts.py --self-test  does the comparison notice what it should?

The counts do not depend on the machine's mood, but they do on the compiler, the C library and the server's own flags.
So counts.json keeps a table for each toolchain. With a toolchain that has none, nothing is compared: the figures are
shown, and how to keep them. The table of Debian 12's g++ 12.2 is the one that is kept up.

Fewer instructions fail too: then the figures are taken anew, so that the next loss is measured from there.

Calls of malloc and its like are counted as well, in the loops that may have none for each unit: what a viewer is sent costs
no allocation. That holds with every toolchain.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COUNTS = HERE / "counts.json"
BOUND = 0.05
# The C library chooses its memcpy by the processor: the same one everywhere.
# At most one in so many units: what grows does so now and then.
UNITS_PER_ALLOCATION = 100
WITHOUT_ALLOCATIONS = ("fan_out", "rtp_fan_out", "flv_encode", "websocket_flv_encode", "ts_encode")
ALLOCATES = re.compile(r"(malloc|calloc|realloc|aligned_alloc|posix_memalign|memalign)('\d+)?")
PLAIN = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM"


def setting(objs, name):
    found = re.search(rf"^CONFIG_{name} := *(.*)$", (objs / "config.mk").read_text(), re.MULTILINE)
    return found[1].strip() if found else ""


def toolchain(objs):
    compiler = subprocess.run([setting(objs, "CXX") or "g++", "--version"], capture_output=True, text=True, check=True)
    libc = os.confstr("CS_GNU_LIBC_VERSION")
    # Without its first word, the name it was called by: c++, g++, g++-12.
    return f"g++ {compiler.stdout.splitlines()[0].split(' ', 1)[1]}, {libc}, {os.uname().machine}"


def allocations(text):
    """How many a count of callgrind has. It names a function once, by its number after that."""
    names, called, found = {}, "", 0
    for line in text.splitlines():
        if named := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line):
            names.setdefault(named[2], named[3])
            called = names[named[2]] if named[1] == "cfn" else ""
        elif calls := re.match(r"calls=(\d+)", line):
            found += int(calls[1]) if ALLOCATES.fullmatch(called) else 0
    return found


def count(program):
    """name -> (instructions per unit, unit); and a line for each loop that allocates too often."""
    with tempfile.TemporaryDirectory(prefix="hot-") as directory:
        out = pathlib.Path(directory) / "out"
        words = ["valgrind", "--tool=callgrind", "--dump-before=loop_*", f"--callgrind-out-file={out}", str(program)]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "GLIBC_TUNABLES": PLAIN},
                              check=False, timeout=300)  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"counts: {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        loops = [line.split(" ", 2) for line in done.stdout.splitlines()]
        figures, complaints = {}, []
        # The count put down before a loop is that of what ran before it.
        for index, (name, units, unit) in enumerate(loops):
            text = pathlib.Path(f"{out}.{index + 2}").read_text()
            following = loops[index + 1][0] if index + 1 < len(loops) else "end"
            if f"--dump-before=loop_{following}" not in text:
                raise SystemExit(f"counts: the count behind {name} is not where it should be")
            if name in WITHOUT_ALLOCATIONS and allocations(text) > int(units) // UNITS_PER_ALLOCATION:
                complaints.append(f"  {name}: {allocations(text)} allocations in {units} times ({unit}), there should be none")
            figures[name] = (round(int(re.search(r"^totals: (\d+)", text, re.MULTILINE)[1]) / int(units), 1), unit)
    return figures, complaints


def compare(expected, figures):
    """A line for each loop, and whether any is out of bounds."""
    lines, bad = [], False
    for name in sorted({*expected, *figures}):
        if name not in figures or name not in expected:
            where = "counts.json" if name in expected else "objs/hot"
            lines.append(f"  {name}: only in {where}")
            bad = True
            continue
        came, unit = figures[name]
        change = came / expected[name] - 1
        wrong = abs(change) > BOUND
        bad |= wrong
        verdict = f"OUT OF BOUNDS: expected {expected[name]:g}, came {came:g} ({change:+.1%})" if wrong else f"{change:+.1%}"
        lines.append(f"  {name}: {came:g} instructions per {unit}, {verdict}")
    return lines, bad


def self_test():
    kept = {"a": 100, "b": 200}
    cases = [
        ({"a": (100, "x"), "b": (200, "x")}, False),
        ({"a": (104.9, "x"), "b": (190.1, "x")}, False),
        ({"a": (107, "x"), "b": (200, "x")}, True),
        ({"a": (100, "x"), "b": (180, "x")}, True),
        ({"a": (100, "x")}, True),
        ({"a": (100, "x"), "b": (200, "x"), "c": (1, "x")}, True),
    ]
    for figures, expected in cases:
        lines, bad = compare(kept, figures)
        if bad != expected:
            print(f"self-test: {figures} against {kept}: expected bad={expected}, came {bad}: {lines}")
            return 1
    if "expected 100, came 107 (+7.0%)" not in compare(kept, cases[2][0])[0][0]:
        print(f"self-test: the message does not say what was expected: {compare(kept, cases[2][0])[0]}")
        return 1
    lines = ["fn=(1) a", "cfn=(2) malloc", "calls=3 0", "16 9", "cfn=(3) mallocate", "calls=7 0"]
    lines += ["fn=(4) b", "cfn=(2)", "calls=4 0", "cfn=(5) realloc'2", "calls=1 1"]
    text = "\n".join(lines)
    if allocations(text) != 8:
        print(f"self-test: 8 allocations should be found, {allocations(text)} were")
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objs", type=pathlib.Path, default=ROOT / "objs")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if not shutil.which("valgrind"):
        raise SystemExit("counts: valgrind is not there: apt install valgrind")
    wrong = [name for name in ("DEBUG", "SANITIZER", "VALGRIND", "GCOV", "GPROF", "EXTRA_FLAGS")
             if setting(options.objs, name) not in ("", "off", "no")]  # fmt: skip
    if wrong:
        print(f"counts: {options.objs} is built with {', '.join(wrong).lower()}: its instructions are not the server's")
        return 1 if options.write else 0
    tables = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    tools = toolchain(options.objs)
    figures, complaints = count(options.objs / "hot")
    print("\n".join(complaints) or f"counts: no allocations in {', '.join(WITHOUT_ALLOCATIONS)}")
    if options.write:
        tables[tools] = {name: figure for name, (figure, _) in figures.items()}
        COUNTS.write_text(json.dumps(tables, indent=4) + "\n")
        print(f"counts: kept for {tools}")
    elif tools not in tables:
        print(f"counts: there are no figures for {tools}, so these were not compared:")
        print("\n".join(f"  {name}: {figure:g} instructions per {unit}" for name, (figure, unit) in figures.items()))
        print("To keep them, on a commit that is known to be good: research/hot/counts.py --write")
        return int(bool(complaints))
    lines, bad = compare(tables.get(tools), figures)
    print("\n".join(lines))
    if bad:
        print("counts: where the change is meant, take the figures anew: research/hot/counts.py --write")
    return int(bad or bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
