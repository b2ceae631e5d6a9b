"""One run: what the URL is, who follows its media playlists, and what is beside each other at the end."""

import time
from urllib.parse import urljoin, urlsplit

from . import measured, multivariant, renditions, syntax
from .client import Client
from .fetcher import Fetcher
from .findings import Findings
from .follower import Follower


class NoPlaylist(Exception):
    pass


class Session:
    def __init__(self, options):
        self.options = options
        self.findings = Findings()
        self.multivariant = None
        self.followers = []
        self.fetchers = []

    def run(self):
        response = Client(insecure=self.options.insecure).get(self.options.url, Accept_Encoding="gzip")
        if response.status != 200:
            raise NoPlaylist(f"{self.options.url}: {response.status} {response.reason}")
        name = _path(self.options.url)

        def add(rule, expected, came):
            self.findings.add(rule, name, expected, came)

        tags = syntax.tags(response.body, lambda *_: None)
        places = syntax.places(tags)
        if not places:
            raise NoPlaylist(f"{self.options.url} is no playlist: {response.body[:80]!r}")
        end = time.monotonic() + self.options.seconds
        urls = [self.options.url]
        if syntax.MULTIVARIANT in places:
            name += " (multivariant)"
            tags = syntax.tags(response.body, add)
            if syntax.MEDIA in places:
                add("tag-place", "tags of a multivariant playlist", "tags of a media playlist, too")
            self.multivariant = multivariant.build(tags, add)
            multivariant.check(self.multivariant, add)
            urls = list(dict.fromkeys(urljoin(response.at, uri) for uri in self.multivariant.uris()))
        for url in urls:
            self.followers.append(self._follower(url, end))
        for follower in self.followers:
            follower.start()
        for follower in self.followers:
            follower.join()
        for fetcher in self.fetchers:
            fetcher.stop()
        playlists = {follower.name_: follower.latest for follower in self.followers if follower.latest}
        if not playlists:
            raise NoPlaylist(f"{', '.join(urls)}: no media playlist")
        renditions.check(playlists, add)
        renditions.check_dates({fetcher.follower.name_: fetcher.media.dates for fetcher in self.fetchers}, add)
        if self.multivariant and self.fetchers:
            media = {fetcher.follower.url: fetcher.media for fetcher in self.fetchers}
            by_uri = {uri: media[urljoin(response.at, uri)] for uri in self.multivariant.uris()}
            measured.check(self.multivariant, by_uri, add)

    def summary(self):
        versions, fetched = (sum(one.requests for one in many) for many in (self.followers, self.fetchers))
        return f"{len(self.followers)} media playlists, {versions} versions, {fetched} segments, parts, maps and keys"

    def _follower(self, url, end):
        # One playlist may be at many queries, and the multivariant one may be at the same path.
        same = [other for other in self.followers if _path(other.url) == _path(url)]
        follower = Follower(url, f"{_path(url)} ({len(same) + 1})" if same else _path(url), self.findings, end, self.options)
        follower.observers.append(lambda playlist, response: self._reports(follower, playlist, response))
        if not self.options.playlists_only:
            self.fetchers.append(Fetcher(follower, self.options))
            follower.observers.append(self.fetchers[-1].saw)
            self.fetchers[-1].start()
        return follower

    def _reports(self, follower, playlist, response):
        """Against what was known of the others when this version was asked for: a little too old is no error."""
        others = {_path(other.url): other.latest.next_part() for other in self.followers
                  if other is not follower and other.latest and other.latest_at < response.sent_at}  # fmt: skip
        renditions.check_reports(playlist, others, follower.add, lambda uri: _path(urljoin(follower.url, uri)))


def _path(url):
    return urlsplit(url).path
