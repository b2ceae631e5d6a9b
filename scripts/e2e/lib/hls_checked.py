"""For the tests of research/hls_check: what it finds in texts, responses and media that they hand to it."""

import sys

from .server import ROOT

sys.path.insert(0, str(ROOT / "research"))
from hls_check import client  # noqa: E402
from hls_check.findings import Findings  # noqa: E402


def low_latency(first=7, complete=7, parts=2):
    """Segments of 2 s with four parts each from first on, parts in the last three and the open one."""
    lines = ["#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-TARGETDURATION:2",
             "#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=12.0,PART-HOLD-BACK=1.500,CAN-BLOCK-RELOAD=YES",
             "#EXT-X-PART-INF:PART-TARGET=0.500", f"#EXT-X-MEDIA-SEQUENCE:{first}", '#EXT-X-MAP:URI="init.mp4"']  # fmt: skip
    last = first + complete - 1
    for number in range(first, last + 2):
        minute, second = divmod(number * 2, 60)
        date = [f"#EXT-X-PROGRAM-DATE-TIME:2026-11-28T10:{minute:02}:{second:02}.000Z"]
        listed = parts if number > last else 4 if number > last - 3 else 0
        if listed or number <= last:
            lines += date
        for index in range(listed):
            independent = ",INDEPENDENT=YES" if index == 0 else ""
            lines.append(f'#EXT-X-PART:DURATION=0.500,URI="p{number * 4 + index}.m4s"{independent}')
        if number <= last:
            lines += ["#EXTINF:2.000,", f"{number}.m4s"]
    lines += [f'#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p{(last + 1) * 4 + parts}.m4s"']
    lines += ['#EXT-X-RENDITION-REPORT:URI="audio.m3u8",' + f"LAST-MSN={last + 1},LAST-PART={parts - 1}"]
    return "\n".join(lines) + "\n"


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
