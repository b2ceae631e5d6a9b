"""Lines, tags and attribute lists (sections 4.1 to 4.4): what each must be, and what is wrong with them."""

import re
from typing import NamedTuple

BOTH, MEDIA, SEGMENT, MULTIVARIANT = "both", "media", "segment", "multivariant"
NUMBER, DECIMAL, DATE, LIST, NOTHING = "number", "decimal", "date", "list", ""

TYPES = {
    "int": r"\d{1,20}", "hex": r"0[xX][0-9A-Fa-f]+", "float": r"\d+(\.\d+)?", "signed": r"-?\d+(\.\d+)?",
    "string": r'"[^"\r\n]*"', "uri": r'"[!-~]+"', "date": r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)"',
    "size": r"[1-9]\d*x[1-9]\d*", "range": r'"\d+(@\d+)?"', "iv": r"0[xX][0-9A-Fa-f]{32}", "yesno": "YES|NO", "yes": "YES",
    "codecs": r'"[\w.-]+(,[\w.-]+)*"', "groupornone": r'"[^"]+"|NONE', "rate": r"\d+(\.\d+)?", "any": r'"[^"\r\n]*"|[^",\s]+',
}  # fmt: skip
DATE_TIME = re.compile(TYPES["date"].replace('"', ""))

_STREAM = """BANDWIDTH! int, AVERAGE-BANDWIDTH int, SCORE float, CODECS codecs, SUPPLEMENTAL-CODECS string,
 RESOLUTION size, HDCP-LEVEL TYPE-0|TYPE-1|NONE, ALLOWED-CPC string, VIDEO-RANGE SDR|HLG|PQ, REQ-VIDEO-LAYOUT string,
 STABLE-VARIANT-ID string, VIDEO string, PATHWAY-ID string"""
_KEY = "URI uri, IV iv, KEYFORMAT string, KEYFORMATVERSIONS string"
_RANGED = "URI! uri, BYTERANGE range"

# Name: (where it may be, once in a playlist, type of its value, attributes as "NAME type", ! for required ones).
_TABLE = {
    "EXTM3U": (BOTH, True, NOTHING, ""),
    "EXT-X-VERSION": (BOTH, True, NUMBER, ""),
    "EXT-X-INDEPENDENT-SEGMENTS": (BOTH, True, NOTHING, ""),
    "EXT-X-START": (BOTH, True, LIST, "TIME-OFFSET! signed, PRECISE yesno"),
    "EXT-X-DEFINE": (BOTH, False, LIST, "NAME string, VALUE string, IMPORT string, QUERYPARAM string"),
    "EXT-X-TARGETDURATION": (MEDIA, True, NUMBER, ""),
    "EXT-X-MEDIA-SEQUENCE": (MEDIA, True, NUMBER, ""),
    "EXT-X-DISCONTINUITY-SEQUENCE": (MEDIA, True, NUMBER, ""),
    "EXT-X-ENDLIST": (MEDIA, True, NOTHING, ""),
    "EXT-X-PLAYLIST-TYPE": (MEDIA, True, "EVENT|VOD", ""),
    "EXT-X-I-FRAMES-ONLY": (MEDIA, True, NOTHING, ""),
    "EXT-X-PART-INF": (MEDIA, True, LIST, "PART-TARGET! float"),
    "EXT-X-SERVER-CONTROL": (MEDIA, True, LIST, "CAN-SKIP-UNTIL float, CAN-SKIP-DATERANGES yes, HOLD-BACK float, "
                             "PART-HOLD-BACK float, CAN-BLOCK-RELOAD yes"),
    "EXTINF": (SEGMENT, False, r"\d+(\.\d+)?,.*", ""),
    "EXT-X-BYTERANGE": (SEGMENT, False, r"\d+(@\d+)?", ""),
    "EXT-X-DISCONTINUITY": (SEGMENT, False, NOTHING, ""),
    "EXT-X-KEY": (SEGMENT, False, LIST, f"METHOD! NONE|AES-128|SAMPLE-AES|SAMPLE-AES-CTR|AES-256-GCM, {_KEY}"),
    "EXT-X-MAP": (SEGMENT, False, LIST, _RANGED),
    "EXT-X-PROGRAM-DATE-TIME": (SEGMENT, False, DATE, ""),
    "EXT-X-GAP": (SEGMENT, False, NOTHING, ""),
    "EXT-X-BITRATE": (SEGMENT, False, NUMBER, ""),
    "EXT-X-PART": (SEGMENT, False, LIST, _RANGED + ", DURATION! float, INDEPENDENT yes, GAP yes"),
    "EXT-X-DATERANGE": (MEDIA, False, LIST, "ID! string, CLASS string, START-DATE date, CUE string, END-DATE date, "
                        "DURATION float, PLANNED-DURATION float, SCTE35-CMD hex, SCTE35-OUT hex, SCTE35-IN hex, END-ON-NEXT yes"),
    "EXT-X-SKIP": (MEDIA, True, LIST, "SKIPPED-SEGMENTS! int, RECENTLY-REMOVED-DATERANGES string"),
    "EXT-X-PRELOAD-HINT": (MEDIA, False, LIST, "TYPE! PART|MAP, URI! uri, BYTERANGE-START int, BYTERANGE-LENGTH int"),
    "EXT-X-RENDITION-REPORT": (MEDIA, False, LIST, "URI! uri, LAST-MSN int, LAST-PART int"),
    "EXT-X-MEDIA": (MULTIVARIANT, False, LIST, "TYPE! AUDIO|VIDEO|SUBTITLES|CLOSED-CAPTIONS, URI uri, GROUP-ID! string, "
                    "LANGUAGE string, ASSOC-LANGUAGE string, NAME! string, STABLE-RENDITION-ID string, DEFAULT yesno, "
                    "AUTOSELECT yesno, FORCED yesno, INSTREAM-ID string, BIT-DEPTH int, SAMPLE-RATE int, "
                    "CHARACTERISTICS string, CHANNELS string"),
    "EXT-X-STREAM-INF": (MULTIVARIANT, False, LIST, _STREAM + ", FRAME-RATE rate, AUDIO string, SUBTITLES string, "
                         "CLOSED-CAPTIONS groupornone"),
    "EXT-X-I-FRAME-STREAM-INF": (MULTIVARIANT, False, LIST, _STREAM + ", URI! uri"),
    "EXT-X-SESSION-DATA": (MULTIVARIANT, False, LIST, "DATA-ID! string, VALUE string, URI uri, FORMAT JSON|RAW, LANGUAGE string"),
    "EXT-X-SESSION-KEY": (MULTIVARIANT, False, LIST, f"METHOD! AES-128|SAMPLE-AES|SAMPLE-AES-CTR|AES-256-GCM, {_KEY}"),
    "EXT-X-CONTENT-STEERING": (MULTIVARIANT, True, LIST, "SERVER-URI! uri, PATHWAY-ID string"),
}  # fmt: skip


class Form(NamedTuple):
    place: str
    once: bool
    value: str
    types: dict
    required: frozenset


def _form(place, once, value, attributes):
    pairs = [word.split() for word in attributes.split(",") if word.strip()]
    types = {name.strip("!"): kind for name, kind in pairs}
    return Form(place, once, value, types, frozenset(name.strip("!") for name, _ in pairs if name.endswith("!")))


FORMS = {name: _form(*row) for name, row in _TABLE.items()}


class Tag(NamedTuple):
    name: str  # "" for a URI
    value: str
    attributes: dict  # strings without their quotes


def attributes(text, form, add):
    """The attribute list; add(rule, expected, came) is told what is wrong."""
    found, rest = {}, text
    while rest:
        match = re.match(r'([A-Z0-9-]+)=("[^"\r\n]*"|[^",\s]+)(?:,(?=.)|$)', rest, re.ASCII)
        if not match:
            add("text-space" if re.search(r'(^|[,=])\s|\s(,|$)', re.sub('"[^"]*"', "", rest)) else "attribute-list", "NAME=value,...", rest)
            return found
        name, value = match[1], match[2]
        rest = rest[match.end() :]
        if name in found:
            add("attribute-list", f"{name} once", text)
        kind = form.types.get(name)
        if kind is None:
            if not name.startswith("X-"):
                add("attribute-unknown", ", ".join(form.types), name)
        elif not re.fullmatch(TYPES.get(kind, kind), value, re.ASCII):
            add("attribute-type", f"{name} is {kind}", value)
        elif kind in ("hex", "iv") and value[2:] != value[2:].upper():
            add("attribute-hex", value[:2] + value[2:].upper(), value)
        found[name] = value.strip('"')
    return found


def _value(name, colon, text, form, add):
    if form.value == NOTHING:
        if colon:
            add("tag-value", f"{name} without a value", text)
        return {}
    if text != text.lstrip():
        add("text-space", f"{name}:value", f"{name}:{text}")
        text = text.lstrip()
    if form.value == LIST:
        found = attributes(text, form, add)
        for missing in sorted(form.required - set(found)):
            add("attribute-required", f"{name} with {missing}", text)
        return found
    pattern = {NUMBER: r"\d{1,20}", DECIMAL: TYPES["float"], DATE: DATE_TIME.pattern}.get(form.value, form.value)
    if not re.fullmatch(pattern, text, re.ASCII if name != "EXTINF" else 0):
        add("tag-value", f"{name} with a {form.value}", text)
    return {}


def tags(text, add):
    """The tags and URIs in their order. text: str, or bytes of a response."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            add("text-encoding", "UTF-8", error)
            text = text.decode(errors="replace")
    if text.startswith("\ufeff"):
        add("text-encoding", "no byte order mark", "one")
        text = text[1:]
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0] != "#EXTM3U":
        add("text-first-line", "#EXTM3U", lines[0][:80])
    found, seen = [], set()
    for line in lines:
        if re.search(r"[\x00-\x1f\x7f-\x9f]", line):
            add("text-encoding", "no control characters", repr(line[:80]))
        if line != line.strip():
            add("text-space", line.strip()[:80], repr(line[:80]))
            line = line.strip()
        if not line or (line.startswith("#") and not line.startswith("#EXT")):
            continue
        if not line.startswith("#"):
            if not re.fullmatch(r"([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+", line):
                add("text-uri", "a URI", line[:80])
            found.append(Tag("", line, {}))
            continue
        name, colon, value = line[1:].partition(":")
        form = FORMS.get(name)
        if not form:
            add("tag-unknown", "a tag of the draft", name)
            continue
        if form.once and name in seen:
            add("tag-once", f"{name} once", "twice")
        seen.add(name)
        found.append(Tag(name, value.strip(), _value(name, colon, value, form, add)))
    return found


def places(found):
    """The kinds of playlist that the tags belong to."""
    return {FORMS[tag.name].place.replace(SEGMENT, MEDIA) for tag in found if tag.name} - {BOTH}
