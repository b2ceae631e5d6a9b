"""All bad input there is, one case after the other, on one server, while a stream is watched by RTMP, HTTP-FLV, HLS and
WHEP and a caller asks the API: nobody notices, and the memory comes back."""

import bisect
import time

import pytest

from lib import catalogue, rtc
from lib.server import default_vhost
from lib.timing import SLOW, scaled, wait_until
from lib.watch import Watch

GAP_MS = 150
API_MS = 100
MEMORY_KB = 10_000  # that a case may leave behind
# All together: what the allocator's pools and the log of closed sessions grow by once.
MEMORY_ALL_KB = 30_000
# Of memory: half-open sessions end after ten seconds.
SETTLE_SECONDS = 15
# A case's last bytes may be read after it has returned.
AFTERMATH_SECONDS = 0.3


@pytest.fixture
def server(servers):
    wanted = rtc.options()
    top = wanted["top"].replace(
        "listen RTC_PORT;", "listen RTC_PORT; protocol all; tcp { enabled on; listen 127.0.0.1:RTC_PORT; }"
    )
    vhost = rtc.VHOST % "" + "hls { enabled on; hls_fragment 1; hls_window 5; hls_path ./html; }"
    return servers(top=top, vhosts=default_vhost(vhost=vhost, publish="firstpkt_timeout 3000; normal_timeout 3000;"))


class Gaps:
    """Of each bystander: the times of its events, and the longest time without one within a window."""

    def __init__(self, events):
        self.times = {who: [] for who in (*Watch.BYSTANDERS, "send")}
        self.answers = []
        for seconds, who, _, number in events:
            self.times[who].append(seconds)
            if who == "api":
                self.answers.append((seconds, number / 1e6))

    def longest(self, who, since, until):
        times = self.times[who]
        inside = times[max(bisect.bisect_left(times, since) - 1, 0) : bisect.bisect_right(times, until) + 1]
        return max((b - a for a, b in zip(inside, inside[1:])), default=until - since)

    def slowest_answer(self, since, until):
        return max((took for seconds, took in self.answers if since <= seconds <= until + API_MS / 1000), default=0)


def complaints(gaps, usual, name, since, until):
    # The sender shares the bystanders' process: what held it up was the machine.
    late = max(0.0, gaps.longest("send", since, until) - usual["send"])
    for who in Watch.BYSTANDERS:
        gap = gaps.longest(who, since, until)
        grown = (gap - usual[who] - late) * 1000
        if grown > GAP_MS * SLOW:
            yield f"{name}: the longest gap of {who} was {gap * 1000:.0f} ms, as a rule {usual[who] * 1000:.0f} ms"
    answer = (gaps.slowest_answer(since, until) - late) * 1000
    if answer > API_MS * SLOW:
        yield f"{name}: an answer of the API took {answer:.0f} ms"


def settled_memory(server, wanted_kb, until):
    """The first reading of at most wanted_kb, or the last one before the time until."""
    while (memory := server.rss_kb()) > wanted_kb and SLOW == 1 and time.monotonic() < until:
        time.sleep(0.1)
    return memory


@pytest.mark.serial
@pytest.mark.long
def test_nobody_notices_any_bad_input(server, watch):
    watched = watch(server, all_kinds=True)
    wait_until(
        lambda: all(watched.seen(who) > 40 for who in Watch.BYSTANDERS),
        20,
        lambda: f"all bystanders are there\n{watched.errors.read_text()}\n{server.evidence()}",
        0.2,
    )
    begin = time.monotonic()
    time.sleep(scaled(5))
    quiet = (begin, time.monotonic())
    windows, found = [], []
    first = memory = server.rss_kb()
    for name, misbehave in catalogue.CASES.items():
        since = time.monotonic()
        try:
            misbehave(server)
        except (AssertionError, OSError) as error:
            found.append(f"{name}: {str(error)[:300]}")
        until = time.monotonic()
        after = settled_memory(server, memory + MEMORY_KB, since + scaled(SETTLE_SECONDS))
        if SLOW == 1 and after > memory + MEMORY_KB:
            found.append(f"{name}: memory was {memory} kB before it, and is {after} kB after it")
        memory = min(after, memory + MEMORY_KB)
        watched.check()
        assert server.alive(), f"{name}: the server has ended\n{server.evidence()}"
        windows.append((name, since, max(until + AFTERMATH_SECONDS, time.monotonic())))
    time.sleep(2 * AFTERMATH_SECONDS)
    after = settled_memory(server, first + MEMORY_ALL_KB, time.monotonic() + scaled(SETTLE_SECONDS))
    if SLOW == 1 and after > first + MEMORY_ALL_KB:
        found.append(f"memory was {first} kB before all cases, and is {after} kB after them")
    gaps = Gaps(watched.events())
    usual = {who: gaps.longest(who, *quiet) for who in gaps.times}
    found += [text for window in windows for text in complaints(gaps, usual, *window)]
    for name, since, until in windows:
        print(
            f"{until - since:6.2f} s  "
            + "  ".join(f"{who} {gaps.longest(who, since, until) * 1000:4.0f}" for who in usual)
            + f"  answer {gaps.slowest_answer(since, until) * 1000:4.0f}  {name}"
        )
    assert not found, f"{len(found)} of {len(windows)} cases were noticed; usual gaps {usual}:\n" + "\n".join(found)
