"""For the tests of research/hls_check: what it finds in texts, responses and media that they hand to it."""

import sys

from .server import ROOT

sys.path.insert(0, str(ROOT / "research"))
from hls_check import client  # noqa: E402
from hls_check.findings import Findings  # noqa: E402


# Headers of the response with a playlist.
PLAYLIST = {"content_type": "application/vnd.apple.mpegurl", "content_encoding": "gzip", "access_control_allow_origin": "*",
            "cache_control": "max-age=2"}  # fmt: skip


class Found:
    """The ids of the rules that were found broken."""

    def __init__(self):
        self.findings = Findings()

    def __call__(self, rule, expected, came):
        self.findings.add(rule, "x", expected, came)

    def ids(self):
        return self.findings.ids()


def response(body="", status=200, at=0.0, url="http://x/live.m3u8", took=0.0, **headers):
    """headers: content_type="..." and such."""
    body = body.encode() if isinstance(body, str) else body
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.Response(url, status, "", fields, body, at, at + took, at + took, 0, url)


def names(cases):
    """Of parameters, for cases that begin with a rule."""
    return [f"{index}-{case[0]}" for index, case in enumerate(cases)]
