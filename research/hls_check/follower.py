"""Follows one media playlist as a player does: blocking reloads where the server has them, polling otherwise."""

import threading
import time

from . import http_rules, media_rules, playlist, syntax
from .client import ORIGIN, Client, with_directives
from .history import History

# A server may need a moment after a publisher came, and one failed request is no end.
_MOST_FAILURES = 5


class Follower(threading.Thread):
    """latest: the newest playlist; observers are called with each new one: observer(playlist, response)."""

    def __init__(self, url, name, findings, end, options, observers=()):
        super().__init__(daemon=True, name=f"follow {name}")
        self.url, self.name_, self.end, self.options = url, name, end, options
        self.observers = list(observers)
        self.findings = findings
        self.latest, self.latest_at = None, 0.0
        self.requests = 0
        self.history = History(self.add, options.slack)
        self.client = Client(insecure=options.insecure)

    def add(self, rule, expected, came):
        self.findings.add(rule, self.name_, expected, came)

    def run(self):
        answered_at, failures = None, 0
        while time.monotonic() < self.end and failures < _MOST_FAILURES:
            blocking = self._blocks()
            response = self.client.get(self._next_url(), Accept_Encoding="gzip", Origin=ORIGIN)
            self.requests += 1
            if blocking and response.done_at - response.sent_at > 3 * (self.latest.target or 0) + 1:
                self.add("reload-unavailable", f"503 after {3 * self.latest.target} s", f"{response.status} after {response.done_at - response.sent_at:.1f} s")
            elif blocking and response.status == 503:
                continue
            if response.status != 200:
                failures += 1
                self.add("playlist-status", 200, f"{response.status} {response.reason} for {response.url}")
                time.sleep(0.5)
                continue
            failures = 0
            self._came(response, answered_at, blocking)
            answered_at = response.done_at
            if self.latest.ended:
                return
            # More often than a player, to see more of the times.
            if not self._blocks():
                time.sleep(max(0.2, (self.latest.target or 2) / 4))

    def _blocks(self):
        return bool(self.latest and (self.latest.control or {}).get("CAN-BLOCK-RELOAD") == "YES")

    def _next_url(self):
        if not self._blocks():
            return self.url
        number, part = self.latest.next_part()
        if self.latest.part_target:
            return with_directives(self.url, msn=number, part=part)
        return with_directives(self.url, msn=number)

    def _came(self, response, answered_at, blocking):
        before = self.latest
        found = syntax.tags(response.body, self.add)
        if syntax.MULTIVARIANT in syntax.places(found):
            self.add("tag-place", "a media playlist", "tags of a multivariant one")
        now = playlist.build(found, self.add, response.body.decode(errors="replace"))
        media_rules.check(now, self.add)
        if blocking and not now.ended and now.next_part() <= before.next_part():
            self.add("reload-early", f"part {before.next_part()}", f"still without it after {response.done_at - response.sent_at:.3f} s")
        http_rules.playlist(response, now.target, not now.ended, blocking, self.add)
        self.history.update(now, response.done_at, None if blocking else answered_at)
        self.latest, self.latest_at = now, response.done_at
        for observer in self.observers:
            observer(now, response)
