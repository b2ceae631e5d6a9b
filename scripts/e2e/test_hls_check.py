"""research/hls_check.py: each of its rules is broken once, in a playlist that is otherwise right, and found. What is right is
found right."""

import time
from types import SimpleNamespace

import pytest

from lib.hls_checked import PLAYLIST, Found, low_latency, names, response
from lib.server import ROOT

import test_hls_check_directives
import test_hls_check_media
from hls_check import follower, history, media_rules, multivariant, playlist, renditions, rules, syntax
from hls_check.findings import Findings

LIVE = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-TARGETDURATION:2
#EXT-X-MEDIA-SEQUENCE:7
#EXT-X-DISCONTINUITY-SEQUENCE:1
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-KEY:METHOD=AES-128,URI="k?a=b",IV=0x0000000000000000000000000000000A
#EXT-X-MAP:URI="init.mp4"
#EXT-X-PROGRAM-DATE-TIME:2026-11-28T10:00:00.000Z
#EXTINF:2.000,
7.m4s
#EXTINF:2.000,
8.m4s
#EXTINF:2.000,
9.m4s
#EXT-X-DISCONTINUITY
#EXT-X-KEY:METHOD=NONE
#EXT-X-PROGRAM-DATE-TIME:2026-11-28T10:01:00.000Z
#EXTINF:2.000,a title
10.m4s
#EXTINF:2.000,
11.m4s
#EXTINF:2.000,
12.m4s
"""


LL = low_latency()
MASTER = """#EXTM3U
#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="en.m3u8"
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="German",LANGUAGE="de",AUTOSELECT=YES,CHANNELS="2",URI="de.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=900,AVERAGE-BANDWIDTH=800,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=25.000,AUDIO="a"
low.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=9000,AVERAGE-BANDWIDTH=8000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=25.000,AUDIO="a"
high.m3u8
"""
OTHER_GROUP = '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="b",NAME="English",LANGUAGE="en",CHANNELS="2",URI="b.m3u8"\n'
CAPTIONS = '#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="c",NAME="c",INSTREAM-ID="CC1"\n'
PART45 = '#EXT-X-PART:DURATION=0.500,URI="p45.m4s"'
LOW = 'FRAME-RATE=25.000,AUDIO="a"\nlow'


def of_media(text):
    found = Found()
    media_rules.check(playlist.read(text, found), found)
    return found.ids()


def of_master(text):
    found = Found()
    multivariant.check(multivariant.read(text, found), found)
    return found.ids()


# (rule, playlist, what stands there, what breaks it)
TEXTS = [
    ("text-first-line", LIVE, "#EXTM3U\n", "#EXTM3U8\n"),
    ("text-first-line", LIVE, "#EXTM3U\n", "\n#EXTM3U\n"),
    ("text-encoding", LIVE, "#EXTM3U\n", "\ufeff#EXTM3U\n"),
    ("text-encoding", LIVE, "a title", "a\x01title"),
    ("text-space", LIVE, "DURATION:2\n", "DURATION:2 \n"),
    ("text-space", LIVE, "DURATION:2\n", "DURATION: 2\n"),
    ("text-space", LIVE, ',IV=', ', IV='),
    ("text-uri", LIVE, "9.m4s", "9 .m4s"),
    ("text-uri", LIVE, "9.m4s", "%9.m4s"),
    ("tag-unknown", LIVE, "#EXT-X-INDEPENDENT-SEGMENTS", "#EXT-X-INDEPENDENT"),
    ("tag-value", LIVE, "DURATION:2\n", "DURATION:2.0\n"),
    ("tag-value", LIVE, "EXTINF:2.000,\n", "EXTINF:2.000\n"),
    ("tag-value", LIVE, "SEQUENCE:7", "SEQUENCE:-7"),
    ("tag-value", LIVE, "DISCONTINUITY\n", "DISCONTINUITY:1\n"),
    ("tag-value", LIVE, "10:00:00.000Z", "10:00:00.000"),
    ("tag-once", LIVE, "#EXT-X-VERSION:6\n", "#EXT-X-VERSION:6\n#EXT-X-VERSION:6\n"),
    ("tag-place", LIVE, "#EXT-X-DISCONTINUITY\n", "#EXT-X-DISCONTINUITY\n#EXT-X-DISCONTINUITY-SEQUENCE:3\n"),
    ("tag-place", LIVE, "8.m4s\n", "8.m4s\n#EXT-X-MEDIA-SEQUENCE:7\n"),
    ("attribute-list", LIVE, ",IV=", ",,IV="),
    ("attribute-list", LIVE, ",IV=", ',URI="k",IV='),
    ("attribute-type", LIVE, 'URI="k?a=b"', "URI=k?a=b"),
    ("attribute-type", LIVE, "IV=0x00", "IV=0x"),
    ("attribute-hex", LIVE, "000A", "000a"),
    ("attribute-unknown", LIVE, ",IV=", ",IVS=1,IV="),
    ("attribute-required", LIVE, 'METHOD=AES-128,URI="k?a=b"', "METHOD=AES-128"),
    ("attribute-required", LL, "CAN-SKIP-UNTIL=12.0,", "CAN-SKIP-DATERANGES=YES,"),
    ("attribute-required", MASTER, "BANDWIDTH=900,AVERAGE-BANDWIDTH=800,", ""),
    ("attribute-required", MASTER, "#EXT-X-STREAM", CAPTIONS.replace(',INSTREAM-ID="CC1"', "") + "#EXT-X-STREAM"),
    ("attribute-forbidden", LIVE, "METHOD=NONE", 'METHOD=NONE,URI="k"'),
    ("attribute-forbidden", MASTER, "#EXT-X-STREAM", CAPTIONS.replace('"CC1"', '"CC1",URI="x"') + "#EXT-X-STREAM"),
    ("version-needed", LIVE, "VERSION:6", "VERSION:5"),
    ("version-needed", LIVE, "#EXT-X-VERSION:6\n", ""),
    ("version-high", LIVE, "VERSION:6", "VERSION:7"),
    ("target-missing", LIVE, "#EXT-X-TARGETDURATION:2\n", ""),
    ("segment-incomplete", LIVE, "#EXTINF:2.000,\n8.m4s", "8.m4s"),
    ("segment-incomplete", LIVE, "8.m4s\n", ""),
    ("segment-incomplete", LIVE, "12.m4s\n", ""),
    ("segment-too-long", LIVE, "EXTINF:2.000,\n8", "EXTINF:2.500,\n8"),
    ("key-map-iv", LIVE, ",IV=0x0000000000000000000000000000000A", ""),
    ("tags-behind-part", LL, PART45, PART45 + "\n#EXT-X-DISCONTINUITY"),
    ("hold-back", LL, ",PART-HOLD", ",HOLD-BACK=5.9,PART-HOLD"),
    ("skip-until", LL, "UNTIL=12.0", "UNTIL=11.9"),
    ("part-inf", LL, "#EXT-X-PART-INF:PART-TARGET=0.500\n", ""),
    ("part-hold-back", LL, "PART-HOLD-BACK=1.500,", ""),
    ("part-hold-back", LL, "PART-HOLD-BACK=1.500,", "PART-HOLD-BACK=0.900,"),
    ("part-hold-back-three", LL, "PART-HOLD-BACK=1.500,", "PART-HOLD-BACK=1.250,"),
    ("part-too-long", LL, '0.500,URI="p46', '0.501,URI="p46'),
    ("part-too-short", LL, '0.500,URI="p46', '0.400,URI="p46'),
    ("part-sum", LL, '#EXT-X-PART:DURATION=0.500,URI="p51.m4s"\n', ""),
    ("part-old", low_latency(complete=9).replace("#EXTINF:2.000,\n10.m4s", '#EXT-X-PART:DURATION=0.5,URI="p"\n#EXTINF:2.000,\n10.m4s'), "", ""),
    ("part-list-short", low_latency(parts=0).replace("LAST-PART=-1", "LAST-PART=0"), "BACK=1.500", "BACK=4.500"),
    ("blocking-reload", LL, ",CAN-BLOCK-RELOAD=YES", ""),
    ("hint-missing", LL, "#EXT-X-PRELOAD-HINT:TYPE=PART", "#EXT-X-PRELOAD-HINT:TYPE=MAP"),
    ("hint-twice", LL, "#EXT-X-RENDITION", '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="p"\n#EXT-X-RENDITION'),
    ("hint-ended", LL, "#EXT-X-RENDITION", "#EXT-X-ENDLIST\n#EXT-X-RENDITION"),
    ("date-missing", LIVE.replace("#EXT-X-PROGRAM-DATE-TIME:2026-11-28T10:01:00.000Z\n", ""), "#EXT-X-PROGRAM-DATE-TIME:2026-11-28T10:00:00.000Z\n", ""),
    ("date-discontinuity", LIVE, "#EXT-X-PROGRAM-DATE-TIME:2026-11-28T10:01:00.000Z\n", ""),
    ("date-ambiguous", LIVE, "T10:01:00", "T10:00:04"),
    ("date-drift", LIVE, "#EXTINF:2.000,\n9", "#EXT-X-PROGRAM-DATE-TIME:2026-11-28T10:00:04.200Z\n#EXTINF:2.000,\n9"),
    ("variant-uri", MASTER, "low.m3u8\n", ""),
    ("variant-uri", MASTER, "high.m3u8\n", ""),
    ("variant-uri", MASTER, "high.m3u8\n", "high.m3u8\nhigher.m3u8\n"),
    ("variant-average", MASTER, "AVERAGE-BANDWIDTH=800,", "AVERAGE-BANDWIDTH=901,"),
    ("variant-average-missing", MASTER, "AVERAGE-BANDWIDTH=800,", ""),
    ("variant-codecs", MASTER, 'CODECS="avc1.64001f,mp4a.40.2",', ""),
    ("variant-resolution", MASTER, "RESOLUTION=640x360,", ""),
    ("variant-resolution", MASTER, "FRAME-RATE=25.000,", ""),
    ("variant-captions", MASTER, LOW, "CLOSED-CAPTIONS=NONE," + LOW),
    ("group-missing", MASTER, 'AUDIO="a"\nlow', 'AUDIO="b"\nlow'),
    ("group-missing", MASTER, 'AUDIO="a"\nlow', 'AUDIO="a",SUBTITLES="a"\nlow'),
    ("group-name", MASTER, "German", "English"),
    ("group-default", MASTER, 'LANGUAGE="de"', 'LANGUAGE="de",DEFAULT=YES'),
    ("group-select", MASTER, 'LANGUAGE="de"', 'LANGUAGE="en"'),
    ("group-members", MASTER, "#EXT-X-STREAM", OTHER_GROUP + "#EXT-X-STREAM"),
    ("default-select", MASTER, "DEFAULT=YES,AUTOSELECT=YES", "DEFAULT=YES,AUTOSELECT=NO"),
    ("rendition-language", MASTER, 'LANGUAGE="de",', ""),
    ("rendition-channels", MASTER, ',CHANNELS="2"', ""),
    ("independent-multivariant", MASTER, "#EXT-X-INDEPENDENT-SEGMENTS\n", ""),
]  # fmt: skip
assert any(case[2] for case in TEXTS)


def replaced(text, right, wrong):
    assert right in text, f"{right!r} should be in\n{text}"
    return text.replace(right, wrong, 1) if right else text


@pytest.mark.parametrize("rule, text, right, wrong", TEXTS, ids=names(TEXTS))
def test_a_broken_text(rule, text, right, wrong):
    check = of_master if text is MASTER else of_media
    found = check(replaced(text, right, wrong))
    assert rule in found, f"{rule} should be found, {sorted(found)} was"
    if right:
        assert rule not in check(text), f"{rule} is found without what breaks it"


def test_right_texts():
    assert of_media(LIVE) == set(), LIVE
    assert of_media(LIVE.replace("\n", "\r\n")) == set(), LIVE
    assert of_media(LL) == set(), LL
    for parts in range(5):
        assert of_media(low_latency(parts=parts, complete=20).replace("PART=-1", "PART=0")) == set()
    assert of_master(MASTER) == set(), MASTER


def test_the_kind_of_a_playlist():
    kinds = [syntax.places(syntax.tags(text, Found())) for text in (LIVE, LL, MASTER)]
    assert kinds == [{syntax.MEDIA}, {syntax.MEDIA}, {syntax.MULTIVARIANT}]


# --- over time


def over_time(*versions, slack=0.1):
    """versions: (time, text) or (time, text, absent_at)."""
    found = Found()
    over = history.History(found, slack)
    for at, text, *absent in versions:
        over.update(playlist.read(text), at, *absent)
    return found.ids(), over


NEXT = low_latency(parts=3)
LIVE_NEXT = LIVE.replace("SEQUENCE:7", "SEQUENCE:8").replace("#EXTINF:2.000,\n7.m4s\n", "").replace("10:00:00", "10:00:02")
LIVE_NEXT += "#EXTINF:2.000,\n13.m4s\n"
HEAD = "#EXT-X-MEDIA-SEQUENCE:8\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n"
ALL_LISTED = LIVE + "#EXTINF:2.000,\n13.m4s\n"
# (rule, version before, version after, seconds between them); what is right has None.
CHANGES = [
    (None, LIVE, LIVE_NEXT, 2),
    (None, LIVE, ALL_LISTED, 2),
    (None, LIVE, LIVE + "#EXT-X-ENDLIST\n", 9),
    (None, LL, NEXT, 0.5),
    (None, low_latency(parts=4), low_latency(complete=8, parts=0), 0.3),
    (None, low_latency(parts=4), low_latency(complete=8, parts=1), 0.5),
    (None, low_latency(parts=4), low_latency(first=8, parts=1), 0.5),
    ("change-target", LIVE, ALL_LISTED.replace("DURATION:2", "DURATION:3"), 2),
    ("change-part-target", LL, NEXT.replace("TARGET=0.500", "TARGET=0.501"), 0.5),
    ("change-control", LL, NEXT.replace("HOLD-BACK=1.500", "HOLD-BACK=1.600"), 0.5),
    ("change-head", LIVE, ALL_LISTED.replace("VERSION:6", "VERSION:7"), 2),
    ("change-head", LIVE, ALL_LISTED.replace("#EXT-X-INDEPENDENT-SEGMENTS\n", ""), 2),
    ("change-segment", LIVE, ALL_LISTED.replace("\n9.m4s", "\n9b.m4s"), 2),
    ("change-segment", LIVE, ALL_LISTED.replace("2.000,\n9", "1.999,\n9"), 2),
    ("change-segment", LIVE, ALL_LISTED.replace("10:01:00", "10:01:01"), 2),
    ("change-segment", LIVE, ALL_LISTED.replace("k?a=b", "k?a=c"), 2),
    ("change-segment", LIVE, ALL_LISTED.replace("init.mp4", "init2.mp4"), 2),
    ("change-open", LL.replace("#EXT-X-PROGRAM-DATE-TIME:2026-11-28T10:00:28.000Z\n", ""), NEXT, 0.5),
    ("change-part", LL, NEXT.replace("p57.m4s", "p57b.m4s"), 0.5),
    ("change-part", LL, NEXT.replace('0.500,URI="p57', '0.499,URI="p57'), 0.5),
    ("change-ended", LIVE + "#EXT-X-ENDLIST\n", LIVE + "#EXTINF:2.000,\n13.m4s\n#EXT-X-ENDLIST\n", 2),
    ("sequence-step", LIVE, LIVE_NEXT.replace("MEDIA-SEQUENCE:8", "MEDIA-SEQUENCE:9"), 2),
    ("sequence-step", LIVE, LIVE_NEXT.replace("MEDIA-SEQUENCE:8", "MEDIA-SEQUENCE:7"), 2),
    ("sequence-step", LIVE, low_latency(first=2), 2),
    ("discontinuity-step", LIVE, LIVE_NEXT.replace("DISCONTINUITY-SEQUENCE:1", "DISCONTINUITY-SEQUENCE:2"), 2),
    ("remove-end", LIVE, LIVE.replace("#EXTINF:2.000,\n12.m4s\n", ""), 2),
    ("remove-end", LIVE, ALL_LISTED.replace("#EXTINF:2.000,\n9.m4s\n", ""), 2),
    ("remove-part", LL, NEXT.replace('#EXT-X-PART:DURATION=0.500,URI="p56.m4s",INDEPENDENT=YES\n', ""), 0.5),
    ("remove-part", LL, NEXT.replace('#EXT-X-PART:DURATION=0.500,URI="p53.m4s"\n', ""), 0.5),
    ("list-short", LIVE, LIVE_NEXT.replace("DURATION:2", "DURATION:5"), 2),
    ("list-six", LIVE, LIVE_NEXT.replace("#EXTINF:2.000,\n13.m4s\n", ""), 2),
    ("type-live", LIVE, LIVE_NEXT.replace(HEAD, HEAD + "#EXT-X-PLAYLIST-TYPE:EVENT\n"), 2),
    ("segments-removed-sequence", LIVE, LIVE_NEXT.replace("#EXT-X-DISCONTINUITY-SEQUENCE:1\n", ""), 2),
    ("segment-late", LIVE, ALL_LISTED, 3.2),
    ("segment-late", LIVE, LIVE, 3.2),
    ("part-late", LL, NEXT, 0.7),
    ("part-late", LL, LL, 0.7),
    ("hint-uri", LL, NEXT.replace('URI="p58', 'URI="p58b'), 0.5),
    ("hint-uri", low_latency(parts=4).replace('PART,URI="p60', 'PART,URI="p60b'), low_latency(complete=8, parts=1), 0.5),
]  # fmt: skip


@pytest.mark.parametrize("rule, before, after, seconds", CHANGES, ids=names(CHANGES))
def test_a_change(rule, before, after, seconds):
    found, _ = over_time((100, before), (100 + seconds, after))
    assert found == set() if rule is None else rule in found, f"{rule} should be found, {sorted(found)} was"


def test_polling_knows_when_a_segment_was_not_there():
    """What came between two polls was there just after the first, perhaps."""
    assert over_time((100, LIVE), (102.9, LIVE), (105, ALL_LISTED, 102.9))[0] == set()
    assert over_time((100, LIVE), (102.9, LIVE), (105, ALL_LISTED, 104))[0] == {"segment-late"}


def test_what_left_is_to_be_fetched():
    """Segment 7 appeared at about 88; it stays for its 2 s and the 12 s of the playlist."""
    _, over = over_time((100, LIVE), (102, LIVE_NEXT))
    assert [(one.uri, one.until) for one in over.left] == [("7.m4s", 100 - 2 - 10 + 2 + 12)]
    found = Found()
    over = history.History(found)
    over.update(playlist.read(ALL_LISTED), 100)
    later = ALL_LISTED.replace("SEQUENCE:7", "SEQUENCE:13").partition("#EXTINF")[0] + "#EXTINF:2.000,\n13.m4s\n"
    over.update(playlist.read(later), 101)
    assert [one.uri for one in over.left][-1] == "12.m4s"
    until = over.left[-1].until
    assert not over.due(until - 1.5), "only that which need not be there soon"
    last = over.due(until - 0.5)
    assert [one.uri for one in last] == ["12.m4s"] and not over.left
    over.answered(last[0], 200, until - 0.5)
    over.answered(last[0], 404, until + 0.1)
    assert "gone-early" not in found.ids()
    over.answered(last[0], 404, until - 0.5)
    assert "gone-early" in found.ids()


def test_parts_that_left_are_to_be_fetched():
    _, over = over_time((100, low_latency(parts=4)), (100.5, low_latency(complete=8, parts=1)))
    assert [(one.uri, one.until) for one in over.left] == [(f"p{number}.m4s", 106.5) for number in range(44, 48)]


# --- several playlists


def of_renditions(one, other):
    found = Found()
    renditions.check({"one": playlist.read(one), "other": playlist.read(other)}, found)
    return found.ids()


UNDATED = "\n".join(line for line in LIVE.splitlines() if "DATE-TIME" not in line)
RENDITIONS = [
    (None, LIVE, LIVE.replace("SEQUENCE:7", "SEQUENCE:70")),
    (None, LL, NEXT),
    ("rendition-target", LIVE, LIVE.replace("DURATION:2", "DURATION:3")),
    ("rendition-control", LL, LL.replace("UNTIL=12.0", "UNTIL=13.0")),
    ("rendition-control", LL, LL.replace("#EXT-X-SERVER-CONTROL", "#X")),
    ("rendition-dates", LIVE, UNDATED),
    ("rendition-discontinuity", LIVE, LIVE.replace("DISCONTINUITY-SEQUENCE:1", "DISCONTINUITY-SEQUENCE:2")),
]  # fmt: skip


@pytest.mark.parametrize("rule, one, other", RENDITIONS, ids=names(RENDITIONS))
def test_renditions(rule, one, other):
    assert of_renditions(one, other) == ({rule} if rule else set())


def of_dates(**mappings):
    found = Found()
    renditions.check_dates(mappings, found)
    return found.ids()


def test_dates_of_renditions():
    assert of_dates(video={0: 100.0, 1: 50.0}, audio={0: 100.05, 2: 9.0}) == set()
    assert of_dates(video={0: 100.0, 1: 50.0}, audio={0: 100.0, 1: 50.2}) == {"rendition-date"}


def of_reports(**others):
    found = Found()
    renditions.check_reports(playlist.read(LL), others, found, lambda uri: uri.removesuffix(".m3u8"))
    return found.ids()


def test_reports():
    """LL is at part 1 of segment 14."""
    assert of_reports(audio=(14, 2)) == of_reports(audio=(14, 0)) == of_reports(audio=(13, 4)) == set()
    assert of_reports(audio=(14, 3)) == of_reports(audio=(15, 1)) == {"report-old"}
    assert of_reports(audio=(14, 2), other=(14, 2)) == {"report-missing"}


# --- requests


class Served:
    """A client that is given these responses, one after the other."""

    def __init__(self, *responses):
        self.responses, self.asked = list(responses), []

    def get(self, url, *_, **__):
        self.asked.append(url)
        return self.responses.pop(0)


def follow(*responses):
    """The rules that were found broken, and what was asked for."""
    findings = Findings()
    options = SimpleNamespace(slack=0.1, insecure=False)
    one = follower.Follower("http://x/live.m3u8?a=b", "x", findings, time.monotonic() + 60, options)
    one.client = Served(*responses)
    one.run()
    return findings.ids(), one.client.asked


LL_ENDED = NEXT.replace("#EXT-X-PRELOAD-HINT", "#X") + "#EXT-X-ENDLIST\n"
REQUESTS = [
    (None, response(LL, at=0, **PLAYLIST), response(NEXT, at=0.5, **PLAYLIST), response(LL_ENDED, at=0.9, **PLAYLIST)),
    ("playlist-status", response(LL, at=0, **PLAYLIST), response(status=500), response(LL_ENDED, at=0.4, **PLAYLIST)),
    (None, response(LL, at=0, **PLAYLIST), response(status=503, took=6.1), response(LL_ENDED, at=0.4, **PLAYLIST)),
    ("reload-unavailable", response(LL, at=0, **PLAYLIST), response(NEXT, took=7.5, **PLAYLIST), response(LL_ENDED, at=8, **PLAYLIST)),
    ("reload-early", response(LL, at=0, **PLAYLIST), response(LL, at=0.1, **PLAYLIST), response(LL_ENDED, at=0.4, **PLAYLIST)),
]  # fmt: skip


@pytest.mark.parametrize("rule, answers", [(case[0], case[1:]) for case in REQUESTS])
def test_following(rule, answers):
    found, asked = follow(*answers)
    assert found - {"part-late", "segment-late"} == ({rule} if rule else set())
    assert asked[:2] == ["http://x/live.m3u8?a=b", "http://x/live.m3u8?_HLS_msn=14&_HLS_part=2&a=b"]


# --- the table


def test_each_rule_can_be_broken():
    """A rule that no test breaks is none."""
    broken = {case[0] for case in (*TEXTS, *CHANGES, *RENDITIONS, *REQUESTS)}
    broken |= {case[0] for case in (*test_hls_check_media.ALL, *test_hls_check_directives.ALL)}
    broken |= {"gone-early", "rendition-date", "report-old", "report-missing"}
    assert broken - {None} == set(rules.RULES), sorted((broken - {None}) ^ set(rules.RULES))


def test_the_document_has_the_table():
    page = (ROOT / "doc/hls-check.md").read_text()
    assert rules.markdown() in page, "research/hls_check.py --rules prints the table"
