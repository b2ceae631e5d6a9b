"""One run: what the URL is, who follows its media playlists, and what is beside each other at the end."""

import threading
import time
from urllib.parse import urljoin, urlsplit

from . import measured, multivariant, renditions, syntax
from .client import Client
from .directives import Directives
from .fetcher import Fetcher
from .findings import Findings
from .follower import Follower
from .hints import Hints


class NoPlaylist(Exception):
    pass


class Session:
    def __init__(self, options):
        self.options = options
        self.findings = Findings()
        self.multivariant = None
        self.followers, self.fetchers, self.hints, self.directives = [], [], [], []
        self._threads = []  # of the directives

    def run(self):
        urls = self._urls()
        end = time.monotonic() + self.options.seconds
        for url in urls:
            self.followers.append(self._follower(url, end))
        for follower in self.followers:
            follower.start()
        for follower in self.followers:
            follower.join()
        for thread in self._threads:
            thread.join(timeout=30)
        for other in self.fetchers + self.hints:
            other.stop()
        self._compare()

    def summary(self):
        versions, fetched, asked = (sum(one.requests for one in many) for many in (self.followers, self.fetchers, self.directives))
        return (f"{len(self.followers)} media playlists, {versions} versions, {fetched} segments, parts, maps and keys, "
                f"{sum(len(one.answers) for one in self.hints)} hints, {asked} requests with directives")  # fmt: skip

    def _add(self, rule, expected, came):
        """A finding of what is no media playlist's own."""
        self.findings.add(rule, _path(self.options.url) + " (multivariant)", expected, came)

    def _urls(self):
        """Of the media playlists."""
        response = Client(insecure=self.options.insecure).get(self.options.url, Accept_Encoding="gzip")
        if response.status != 200:
            raise NoPlaylist(f"{self.options.url}: {response.status} {response.reason}")
        places = syntax.places(syntax.tags(response.body, lambda *_: None))
        if not places:
            raise NoPlaylist(f"{self.options.url} is no playlist: {response.body[:80]!r}")
        if syntax.MULTIVARIANT not in places:
            return [self.options.url]
        if syntax.MEDIA in places:
            self._add("tag-place", "tags of a multivariant playlist", "tags of a media playlist, too")
        self.multivariant = multivariant.build(syntax.tags(response.body, self._add), self._add)
        multivariant.check(self.multivariant, self._add)
        self._uris = {uri: urljoin(response.at, uri) for uri in self.multivariant.uris()}
        return list(dict.fromkeys(self._uris.values()))

    def _compare(self):
        playlists = {follower.name_: follower.latest for follower in self.followers if follower.latest}
        if not playlists:
            raise NoPlaylist(f"{', '.join(follower.url for follower in self.followers)}: no media playlist")
        renditions.check(playlists, self._add)
        renditions.check_dates({fetcher.follower.name_: fetcher.media.dates for fetcher in self.fetchers}, self._add)
        if self.multivariant and self.fetchers:
            media = {fetcher.follower.url: fetcher.media for fetcher in self.fetchers}
            measured.check(self.multivariant, {uri: media[url] for uri, url in self._uris.items()}, self._add)

    def _follower(self, url, end):
        # One playlist may be at many queries, and the multivariant one may be at the same path.
        same = [other for other in self.followers if _path(other.url) == _path(url)]
        follower = Follower(url, f"{_path(url)} ({len(same) + 1})" if same else _path(url), self.findings, end, self.options)
        follower.observers.append(lambda playlist, response: self._reports(follower, playlist, response))
        follower.observers.append(lambda playlist, _: self._directives(follower, playlist))
        if not self.options.playlists_only:
            fetcher = Fetcher(follower, self.options)
            hints = Hints(follower, fetcher, self.options)
            self.fetchers.append(fetcher)
            self.hints.append(hints)
            follower.observers += [hints.saw, fetcher.saw]
            fetcher.start()
            hints.start()
        return follower

    def _directives(self, follower, playlist):
        """Once, when it is known that the server has them."""
        if playlist.ended or not playlist.control or follower.url in [one.url for one in self.directives]:
            return
        self.directives.append(Directives(follower.url, follower.add, self.options))
        self._threads.append(threading.Thread(target=self.directives[-1].run, daemon=True))
        self._threads[-1].start()

    def _reports(self, follower, playlist, response):
        """Against what was known of the others when this version was asked for: a little too old is no error."""
        others = {_path(other.url): other.latest.next_part() for other in self.followers
                  if other is not follower and other.latest and other.latest_at < response.sent_at}  # fmt: skip
        renditions.check_reports(playlist, others, follower.add, lambda uri: _path(urljoin(follower.url, uri)))


def _path(url):
    return urlsplit(url).path
