"""The order of the tests for workers beside each other: the long tests first, so that none of them begins last.

python scripts/e2e/lib/order.py REPORT.xml...      keeps in durations.json what pytest's reports (--junitxml) say

A test that the table does not have counts as short, so that the table may be old."""

import itertools
import json
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "durations.json"
LONG = 2.5  # s; the table has no shorter test


def arranged(items, workers):
    """The dealing of xdist's worksteal gives each worker one stretch of the list. Each stretch begins with its share of the
    long tests, each at another place of them: those that compute much do not all run at once."""
    table = json.loads(TABLE.read_text())
    long = sorted((item for item in items if item.nodeid in table), key=lambda item: -table[item.nodeid])
    short = iter([item for item in items if item.nodeid not in table])
    out = []
    for worker in range(workers):
        share = long[worker::workers]
        turn = worker * len(share) // workers
        share = share[turn:] + share[:turn]
        size = (len(items) - len(out)) // (workers - worker)
        out += share + list(itertools.islice(short, max(0, size - len(share))))
    return out + list(short)


def read(reports):
    seconds = {}
    for report in reports:
        for case in tree.parse(report).iter("testcase"):
            if float(case.get("time")) >= LONG:
                seconds[f"{case.get('classname')}.py::{case.get('name')}"] = round(float(case.get("time")), 1)
    return dict(sorted(seconds.items(), key=lambda pair: (-pair[1], pair[0])))


if __name__ == "__main__":
    TABLE.write_text(json.dumps(read(sys.argv[1:]), indent=1) + "\n")
