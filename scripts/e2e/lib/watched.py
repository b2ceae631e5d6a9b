"""Whether others notice what is done to a server: a stream on it is watched all the while."""

import time

from . import media
from .server import default_vhost
from .timing import SLOW, wait_until
from .watch import Watch

GAP_MS = 150


class Watched:
    """A server with a stream that is watched, shared by the tests of a file; a new one where a test broke it. servers: makes
    servers, and belongs to this."""

    def __init__(self, servers, top="", http_options="", **vhost):
        self.servers = servers
        self.options = {"top": top, "http": http_options, "vhosts": default_vhost("min_latency on;", **vhost)}
        self.server = self.watch = None
        self.checked = 0.0  # the time up to which the viewers have been looked at

    def up(self):
        if not (self.server and self.server.alive() and self.watch.process.poll() is None):
            if self.watch:
                self.watch.stop()
            self.server = self.servers(**self.options)
            self.watch = Watch(self.server, media.plain(), self.server.dir)
            wait_until(
                lambda: all(self.watch.seen(who) > 40 for who in Watch.VIEWERS),
                10,
                lambda: f"the viewers see the stream\n{self.watch.errors.read_text()}\n{self.server.evidence()}",
            )
            time.sleep(1)
            now = time.monotonic()
            self.usual = {who: self.watch.gap(who, now - 1.5, now) for who in Watch.VIEWERS}
            self.checked = now
        return self

    def down(self):
        if self.watch:
            self.watch.stop()
        self.servers.finish()

    def assert_undisturbed(self, since):
        """No gap, since that time and since the look before, that exceeds the usual one, or the sender's own, by more than
        the limit. A stall that is under way shows as a gap up to the end, so that the end is so far away."""
        time.sleep(GAP_MS * SLOW / 1000 + max(self.usual.values()) + 0.1)
        since, until = min(since, self.checked), time.monotonic()
        self.checked = until
        assert (
            self.server.alive()
        ), f"the server has ended with {self.server.process.returncode}\n{self.server.evidence()}"
        sender = self.watch.gap("send", since, until)
        for who in Watch.VIEWERS:
            gap, usual = self.watch.gap(who, since, until), max(self.usual[who], sender)
            assert (gap - usual) * 1000 <= GAP_MS * SLOW, (
                f"the {who} viewer's longest gap should grow by at most "
                f"{GAP_MS * SLOW:.0f} ms from {usual * 1000:.0f} ms; it was {gap * 1000:.0f} ms"
            )
        stamps = [event[3] for event in self.watch.events() if event[1] == "rtmp"]
        assert len(set(stamps)) > 40 and stamps[-1] > stamps[0], "the watched stream should go on"
