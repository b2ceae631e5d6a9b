"""Preload hints (4.4.5.3, 6.2.6): each is asked for as soon as it is seen, and put beside the part that it becomes."""

import threading
from urllib.parse import urljoin

from .client import Client
from .directives import unhinted


class Hints(threading.Thread):
    """Beside a follower, whose playlists it observes, and its fetcher, which knows the parts' bytes."""

    def __init__(self, follower, fetcher, options):
        super().__init__(daemon=True, name=f"hints {follower.name_}")
        self.follower, self.fetcher, self.options = follower, fetcher, options
        self.client = Client(insecure=options.insecure)
        self.answers = {}  # URI -> Response
        self.listed = {}  # URI of a part -> when it was seen
        self.part_target = None
        self._next = None
        self._changed = threading.Condition()
        self._ended = False

    def saw(self, playlist, response):
        with self._changed:
            self.part_target = playlist.part_target
            for segment in playlist.all():
                for part in segment.parts:
                    if not part.gap:  # the stream paused: there is nothing to send
                        self.listed.setdefault(part.uri, response.done_at)
            self._next = playlist.hint()
            self._changed.notify()

    def stop(self):
        """What is still blocked is left."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self.join(timeout=2)
        self.judge()

    def run(self):
        tried = False
        while True:
            with self._changed:
                while not self._ended and (not self._next or self._next in self.answers):
                    self._changed.wait(1)
                if self._ended:
                    return
                uri = self._next
            if not tried:
                tried = True
                unhinted(self.follower.url, uri, Client(insecure=self.options.insecure), self.follower.add)
            self.answers[uri] = self.client.get(urljoin(self.follower.url, uri), timeout=20)

    def judge(self):
        for uri, response in list(self.answers.items()):
            if uri in self.listed:
                check(uri, response, self.listed[uri], self.fetcher.bytes_of(uri), self.part_target, self.options.slack, self.follower.add)


def check(uri, response, listed_at, data, part_target, slack, add):
    """listed_at: when the part was seen in a playlist. data: of the part, None if they are not known."""
    if response.status not in (200, 206):
        add("hint-status", f"200 for {uri}, which became a part", response.status or response.reason)
        return
    if data is not None and response.body != data:
        add("hint-bytes", f"{len(data)} bytes of {uri}", f"{len(response.body)}, or others")
    if response.done_at - response.first_at > max(slack, (part_target or 0) / 2):
        add("hint-trickle", "all bytes at once", f"{response.done_at - response.first_at:.3f} s from the first byte to the last of {uri}")
    if response.done_at - max(listed_at, response.sent_at) > slack:
        add("hint-late", f"{uri} when it is listed", f"{response.done_at - max(listed_at, response.sent_at):.3f} s later")

