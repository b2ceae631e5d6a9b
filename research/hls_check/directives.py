"""Requests with delivery directives (6.2.5), right and wrong ones, beside the stream that is followed."""

from urllib.parse import urljoin

from . import delta, playlist
from .client import Client, with_directives

# An answer "at once" takes less; it bounds the probes that a server may block.
AT_ONCE = 1.0
_TRIES = 4


class Directives:
    """Of one media playlist that has CAN-BLOCK-RELOAD or CAN-SKIP-UNTIL. client: for tests."""

    def __init__(self, url, add, options, client=None):
        self.url, self.add = url, add
        self.client = client or Client(insecure=options.insecure)
        self.requests = 0

    def run(self):
        """Everything once, within a few segments."""
        now = self._playlist()
        if not now or now.ended:
            return
        control = now.control or {}
        if control.get("CAN-BLOCK-RELOAD") == "YES":
            self._wrong(now)
            self._past(now)
            self._unknown()
            self._next_segment()
            if now.low_latency():
                self._overflow()
                self._last_of_segment()
        if "CAN-SKIP-UNTIL" in control:
            self._delta()

    def _ask(self, timeout=30, **directives):
        self.requests += 1
        return self.client.get(with_directives(self.url, **directives), timeout=timeout, Accept_Encoding="gzip")

    def _playlist(self, **directives):
        response = self._ask(**directives)
        return playlist.read(response.body) if response.status == 200 else None

    def _wrong(self, now):
        """What must be, or should be, refused at once."""
        far = now.next_part()[0] + 10
        cases = [("directive-part-alone", {"part": 0}), ("directive-far", {"msn": far})]
        cases += [("directive-nonsense", {"msn": value}) for value in ("abc", "-1", str(1 << 64), "9" * 4000)]
        cases += [("directive-nonsense", {"msn": now.next_part()[0], "part": "x"})]
        for rule, directives in cases:
            response = self._ask(timeout=AT_ONCE, **directives)
            if response.status not in (400, 414):
                text = ", ".join(f"_HLS_{name}={str(value)[:24]}" for name, value in directives.items())
                self.add(rule, f"400 for {text}", response.status or "no answer within a second")

    def _past(self, now):
        """What the playlist has, or had, is answered with all of it."""
        for number in {max(0, now.sequence - 1), now.sequence}:
            response = self._ask(timeout=AT_ONCE, msn=number)
            came = playlist.read(response.body) if response.status == 200 else None
            if not came or came.last_number() < now.last_number():
                self.add("directive-past", f"the playlist at once for _HLS_msn={number}", response.status or "no answer within a second")

    def _unknown(self):
        response = self._ask(timeout=AT_ONCE, unknown=1)
        if response.status != 200:
            self.add("directive-unknown", "200 for _HLS_unknown=1", response.status or "no answer within a second")

    def _next_segment(self):
        """A number alone: answered when there is a segment of it, or its first part. The one after the open one."""
        now = self._playlist()
        number = now.last_number() + 2 if now else 0
        response = self._ask(msn=number)
        came = playlist.read(response.body) if response.status == 200 else None
        if not came or came.all()[-1].number < number:
            self.add("directive-segment", f"a playlist with segment {number}", _of(response, came))

    def _overflow(self):
        """A part after the last one of a complete segment is the first one of the next."""
        now = self._playlist()
        last = now.segments[-1] if now and now.segments else None
        if not last or not last.parts:
            return
        response = self._ask(msn=last.number, part=len(last.parts))
        came = playlist.read(response.body) if response.status == 200 else None
        if not came or came.next_part() < (last.number + 1, 1):
            self.add("directive-overflow", f"a playlist with part 0 of {last.number + 1}", _of(response, came))

    def _last_of_segment(self):
        """hls.js without low latency asks for the last part of the open segment at once."""
        now = self._playlist()
        if not now or not now.part_target or not now.target:
            return
        number, part = now.next_part()[0], max(0, int(now.target / now.part_target) - 1)
        response = self._ask(msn=number, part=part)
        if response.status != 200:
            self.add("directive-ahead", f"200 for _HLS_msn={number}&_HLS_part={part}", _of(response, None))

    def _delta(self):
        """Whole, delta, whole: until both whole ones are the same."""
        for _ in range(_TRIES):
            whole, update, again = self._ask(), self._ask(skip="YES"), self._ask()
            if update.status != 200:
                self.add("skip-missing", "200 for _HLS_skip=YES", update.status)
                return
            if whole.status == again.status == 200 and whole.body == again.body:
                add = self.add
                now = playlist.read(update.body, lambda rule, *what: add(rule, *what) if rule == "version-needed" else None)
                if now.skipped and now.version < now.needs:
                    add("version-needed", f"{now.needs} for {now.needed_by}", now.version)
                delta.check(playlist.read(whole.body), now, add)
                return


def _of(response, came):
    if not came:
        return f"{response.status or response.reason} after {response.done_at - response.sent_at:.3f} s"
    number, index = came.next_part()
    return f"one before part {index} of segment {number}, after {response.done_at - response.sent_at:.3f} s"


def unhinted(url, uri, client, add):
    """What was never hinted is not there."""
    name, mark, query = uri.partition("?")
    stem, dot, extension = name.rpartition(".")
    other = (f"{stem}-unhinted{dot}{extension}" if dot else f"{name}-unhinted") + mark + query
    response = client.get(urljoin(url, other), timeout=AT_ONCE)
    if response.status not in (404, 410):
        add("hint-other", f"404 for {other}", response.status or "no answer within a second")
