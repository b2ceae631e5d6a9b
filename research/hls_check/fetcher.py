"""Fetches what a media playlist lists, beside its follower, and later what left it."""

import queue
import threading
import time
from urllib.parse import urljoin

from . import http_rules
from .client import ORIGIN, Client
from .media import Media

# Parts whose bytes are kept for the hints.
_MOST_PARTS = 200


class Fetcher(threading.Thread):
    def __init__(self, follower, options):
        super().__init__(daemon=True, name=f"fetch {follower.name_}")
        self.follower, self.options = follower, options
        self.media = Media(follower.add, self._fetch)
        self.client = Client(insecure=options.insecure)
        self.requests = 0
        self._parts = {}  # URI -> bytes, of the newest
        self._playlists = queue.SimpleQueue()
        self._tried = False
        self._seen_at = 0.0

    def saw(self, playlist, response):
        """Observes a follower."""
        self._playlists.put((playlist, response.done_at))

    def bytes_of(self, uri):
        """Of a part that was fetched, or None."""
        return self._parts.get(uri)

    def stop(self):
        """When all is fetched that was seen."""
        self._playlists.put((None, 0))
        self.join()

    def run(self):
        while True:
            try:
                playlist, self._seen_at = self._playlists.get(timeout=0.5)
                if playlist is None:
                    return
                self.media.update(playlist)
            except queue.Empty:
                pass
            history = self.follower.history
            for left in history.due(time.monotonic()):
                response = self._get(left.uri, left.byterange)
                history.answered(left, response.status or 599, response.done_at)

    def _get(self, uri, byterange, **headers):
        if byterange:
            length, _, offset = byterange.partition("@")
            headers["Range"] = f"bytes={int(offset or 0)}-{int(offset or 0) + int(length) - 1}"
        self.requests += 1
        return self.client.get(urljoin(self.follower.url, uri), Origin=ORIGIN, **headers)

    def _fetch(self, uri, byterange, what):
        """The bytes, or None."""
        response = self._get(uri, byterange)
        if response.status not in (200, 206):
            self._missing(uri, what, response)
            return None
        data = response.body
        http_rules.media(response, data, what, self.follower.add)
        if byterange and response.status == 200:
            length, _, offset = byterange.partition("@")
            data = data[int(offset or 0) : int(offset or 0) + int(length)]
        if what == "part" and not byterange:
            self._parts[uri] = data
            if len(self._parts) > _MOST_PARTS:
                del self._parts[next(iter(self._parts))]
        if what == "segment" and not byterange and not self._tried:
            self._tried = True
            self._try(uri, data, response.header("etag"))
        return data

    def _missing(self, uri, what, response):
        """What left the playlist since it was seen is not listed any more, and must still be there for a while."""
        latest = self.follower.latest
        listed = what in ("map", "key") or any(
            uri == segment.uri or uri in [part.uri for part in segment.parts] for segment in latest.all()
        )
        came = f"{response.status} {response.reason}"
        if listed:
            self.follower.add("media-status", f"200 for the {what} {uri}", came)
        elif response.done_at - self._seen_at < 3 * (latest.target or 0):
            self.follower.add("gone-early", f"200 for {3 * latest.target} s after it left", f"{came} for {uri}")

    def _try(self, uri, data, tag):
        """What a player and a cache may ask of a segment, once."""
        url, add = urljoin(self.follower.url, uri), self.follower.add
        http_rules.range_answer(self.client.get(url, Range="bytes=1-100"), data, add)
        http_rules.head_answer(self.client.get(url, method="HEAD"), data, add)
        http_rules.tag_answer(self.client.get(url, If_None_Match=tag) if tag else None, tag, add)
