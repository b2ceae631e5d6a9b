"""research/hls_check.py: requests with delivery directives, and hints, each answered wrongly once."""

from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest

from lib.hls_checked import Found, low_latency, names, response

from hls_check import directives, hints, rules

FIRST, COMPLETE, PARTS = 7, 14, 2
OPEN = FIRST + COMPLETE


def text(number=OPEN, parts=PARTS):
    """The playlist while that segment is the open one."""
    return low_latency(first=FIRST, complete=number - FIRST, parts=parts)


def skipping(whole, count):
    """The delta update without so many segments."""
    head, blocks = whole.partition("#EXT-X-PROGRAM")[0], whole.split("#EXT-X-PROGRAM")[1:]
    left = "".join("#EXT-X-PROGRAM" + block for block in blocks[count:])
    return head.replace("VERSION:6", "VERSION:9") + f"#EXT-X-SKIP:SKIPPED-SEGMENTS={count}\n" + left


def after(number, part):
    """The first playlist with that part."""
    if number < OPEN or (number == OPEN and (part or 0) < PARTS):
        return text()
    return text(number + 1, 1) if (part or 0) > 3 else text(number, (part or 0) + 1)


class Server:
    """A client whose server has directives. broken: status and body of the responses to one kind of request."""

    def __init__(self, **broken):
        self.broken, self.kinds = broken, []

    def get(self, url, *_, **__):
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        kind, status, body = self._answer(*(asked.get(f"_HLS_{name}") for name in ("msn", "part", "skip")), "_HLS_unknown" in asked)
        self.kinds.append(kind)
        return response(body, status, url=url)._replace(**self.broken.get(kind, {}))

    def _answer(self, msn, part, skip, unknown):
        if msn is None and part is not None:
            return "alone", 400, ""
        if any(value is not None and not (value.isdigit() and int(value) < 1 << 63) for value in (msn, part)):
            return "nonsense", 400, ""
        if msn is None:
            return ("skip", 200, skipping(text(), 7)) if skip else ("unknown" if unknown else "whole", 200, text())
        number = int(msn)
        if number > OPEN + 2:
            return "far", 400, ""
        if part is None:
            return ("past" if number < OPEN else "segment"), 200, after(number, None)
        if number < OPEN:
            return "overflow", 200, after(number + 1, 0)
        return "ahead", 200, after(number, int(part))


def body(text):
    return {"body": text.encode()}


def delta(right="", wrong="", count=7):
    made = skipping(text(), count)
    assert right in made, made
    return body(made.replace(right, wrong, 1))


NOTHING = {"status": 0, "body": b""}
# (rule, kind of request, what its response has instead)
ANSWERS = [
    ("directive-part-alone", "alone", {"status": 200, **body(text())}),
    ("directive-nonsense", "nonsense", {"status": 200, **body(text())}),
    ("directive-nonsense", "nonsense", NOTHING),
    ("directive-far", "far", NOTHING),
    ("directive-past", "past", {"status": 400}),
    ("directive-past", "past", NOTHING),
    ("directive-past", "past", body(text(OPEN - 2))),
    ("directive-unknown", "unknown", {"status": 400}),
    ("directive-segment", "segment", body(text())),
    ("directive-segment", "segment", {"status": 503}),
    ("directive-overflow", "overflow", body(text(OPEN - 1, 4))),
    ("directive-overflow", "overflow", {"status": 404}),
    ("directive-ahead", "ahead", {"status": 400}),
    ("skip-missing", "skip", body(text())),
    ("skip-missing", "skip", {"status": 400}),
    ("skip-count", "skip", delta(count=6)),
    ("skip-count", "skip", delta(count=10)),
    ("skip-kept", "skip", delta("MEDIA-SEQUENCE:7", "MEDIA-SEQUENCE:14")),
    ("skip-kept", "skip", delta("CAN-SKIP-UNTIL=12.0", "CAN-SKIP-UNTIL=14.0")),
    ("skip-kept", "skip", delta("18.m4s", "18b.m4s")),
    ("skip-kept", "skip", delta('#EXT-X-PART:DURATION=0.500,URI="p72.m4s",INDEPENDENT=YES\n')),
    ("skip-kept", "skip", delta("#EXT-X-PRELOAD-HINT", "#EXT-X-ENDLIST\n#EXT-X-PRELOAD-HINT")),
    ("skip-key", "skip", delta('#EXT-X-MAP:URI="init.mp4"\n')),
    ("version-needed", "skip", delta("VERSION:9", "VERSION:8")),
]  # fmt: skip


def of_answers(**broken):
    found = Found()
    server = Server(**broken)
    directives.Directives("http://x/live.m3u8", found, SimpleNamespace(insecure=False), server).run()
    return found.ids(), server.kinds


@pytest.mark.parametrize("rule, kind, broken", ANSWERS, ids=names(ANSWERS))
def test_a_wrong_answer(rule, kind, broken):
    found, _ = of_answers(**{kind: broken})
    assert rule in found, f"{rule} should be found, {sorted(found)} was"


def test_right_answers():
    found, kinds = of_answers()
    assert found == set()
    assert set(kinds) == {"whole", "alone", "nonsense", "far", "past", "unknown", "segment", "overflow", "ahead", "skip"}


# --- hints

PART = b"a part"
HINTS = [
    ("hint-status", {"status": 404}),
    ("hint-bytes", {"body": PART[:-1]}),
    ("hint-trickle", {"first_at": 9.7}),
    ("hint-late", {"done_at": 10.2, "first_at": 10.2}),
]  # fmt: skip


def of_hint(broken):
    """Asked for at 9.5, listed and sent at 10."""
    found = Found()
    answer = response(PART, at=9.5, took=0.5)._replace(**broken)
    hints.check("p5", answer, 10.0, PART, 0.5, 0.1, found)
    return found.ids()


@pytest.mark.parametrize("rule, broken", HINTS, ids=names(HINTS))
def test_hints(rule, broken):
    assert of_hint({}) == set()
    assert of_hint({"sent_at": 11.0, "first_at": 11.0, "done_at": 11.05}) == set(), "it was asked for too late"
    assert of_hint(broken) == {rule}


def of_unhinted(**answer):
    found, asked = Found(), []

    def get(url, **_):
        asked.append(url)
        return response(**answer)

    directives.unhinted("http://x/a/live.m3u8", "p5.m4s?s=1", SimpleNamespace(get=get), found)
    assert asked == ["http://x/a/p5-unhinted.m4s?s=1"]
    return found.ids()


def test_what_is_not_hinted():
    assert of_unhinted(status=404) == set()
    assert of_unhinted(status=200) == of_unhinted(status=0) == {"hint-other"}


ALL = (*ANSWERS, *HINTS, ("hint-other",))
assert {case[0] for case in ALL} <= set(rules.RULES)
