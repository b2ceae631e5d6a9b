"""A media playlist as a model, made from its tags; what is wrong with the order of the tags is found on the way."""

import datetime
from dataclasses import dataclass, field
from typing import NamedTuple

from . import syntax


def number(text, default=None):
    try:
        return float(text) if "." in text else int(text)
    except (TypeError, ValueError):
        return default


def seconds_of(date):
    """Since 1970, of a date of ISO 8601; None if it is none."""
    try:
        return datetime.datetime.fromisoformat(date).timestamp()
    except ValueError:
        return None


class Key(NamedTuple):
    method: str
    uri: str
    iv: str | None
    format: str = "identity"


class Map(NamedTuple):
    uri: str
    byterange: str | None
    key: Key | None


class Part(NamedTuple):
    uri: str
    duration: float
    independent: bool
    gap: bool
    byterange: str | None


@dataclass
class Segment:
    """The last one of a playlist may be open: parts, and no URI yet."""

    number: int
    uri: str | None = None
    duration: float | None = None
    discontinuity: bool = False
    discontinuity_number: int = 0
    key: Key | None = None
    map: Map | None = None
    date: float | None = None
    gap: bool = False
    byterange: str | None = None
    parts: list = field(default_factory=list)

    def known_duration(self):
        return self.duration if self.duration is not None else sum(part.duration for part in self.parts)

    def tags(self):
        """What stands before the first part, and may not change."""
        return {"discontinuity": self.discontinuity, "key": self.key, "map": self.map, "date": self.date}


@dataclass
class MediaPlaylist:
    version: int = 1
    target: int | None = None
    sequence: int = 0
    discontinuity_sequence: int | None = None
    type: str | None = None
    ended: bool = False
    independent: bool = False
    start: str | None = None
    part_target: float | None = None
    has_part_inf: bool = False
    control: dict | None = None
    skipped: int = 0
    segments: list = field(default_factory=list)  # the complete ones
    open: Segment | None = None
    hints: list = field(default_factory=list)
    reports: list = field(default_factory=list)
    needs: int = 1  # the version
    needed_by: str = "nothing"
    text: str = ""

    def all(self):
        return self.segments + ([self.open] if self.open else [])

    def low_latency(self):
        return self.has_part_inf or any(segment.parts for segment in self.all())

    def last_number(self):
        """Of the last complete segment."""
        return self.sequence + self.skipped + len(self.segments) - 1

    def next_part(self):
        """(media sequence number, part index) of the part that comes next."""
        return self.last_number() + 1, len(self.open.parts) if self.open else 0

    def duration(self):
        return sum(segment.known_duration() for segment in self.all())

    def hint(self):
        return next((hint["URI"] for hint in self.hints if hint.get("TYPE") == "PART" and "URI" in hint), None)

    def control_seconds(self, name):
        return number((self.control or {}).get(name, ""))

    def dates(self):
        """(segment, date of its beginning) of each that has one, or follows one without a discontinuity."""
        found, date = [], None
        for segment in self.all():
            date = segment.date if segment.date is not None else None if segment.discontinuity else date
            if date is not None:
                found.append((segment, date))
                date += segment.known_duration()
        return found


class Builder:
    def __init__(self, tags, add):
        self.add = add
        self.list = MediaPlaylist()
        self.segment = Segment(0)
        self.key = self.map = None
        self.discontinuities = 0
        self.pending = set()  # tags that have no URI yet
        for tag in tags:
            if tag.name:
                handler = getattr(self, "_" + tag.name.removeprefix("EXT-X-").lower().replace("-", "_"), None)
                if handler:
                    handler(tag)
            else:
                self._uri(tag.value)
        self._finish()

    def need(self, version, what):
        if version > self.list.needs:
            self.list.needs, self.list.needed_by = version, what

    def _in_head(self, tag):
        if self.list.segments or self.segment.parts or (self.segment.discontinuity and tag.name.endswith("-SEQUENCE")):
            self.add("tag-place", f"{tag.name} before segments", "behind one")

    def _before_parts(self, tag):
        if self.segment.parts:
            self.add("tags-behind-part", f"{tag.name} before the parts of segment {len(self.list.segments)}", "behind one")
        self.pending.add(tag.name)

    def _version(self, tag):
        self.list.version = number(tag.value, 1)

    def _targetduration(self, tag):
        self.list.target = number(tag.value)

    def _media_sequence(self, tag):
        self._in_head(tag)
        self.list.sequence = number(tag.value, 0)

    def _discontinuity_sequence(self, tag):
        self._in_head(tag)
        self.list.discontinuity_sequence = number(tag.value, 0)

    def _playlist_type(self, tag):
        self.list.type = tag.value

    def _endlist(self, _):
        self.list.ended = True

    def _independent_segments(self, _):
        self.list.independent = True

    def _start(self, tag):
        self.list.start = tag.value

    def _i_frames_only(self, _):
        self.need(4, "EXT-X-I-FRAMES-ONLY")

    def _define(self, tag):
        self.need(11 if "QUERYPARAM" in tag.attributes else 8, "EXT-X-DEFINE")

    def _part_inf(self, tag):
        self.list.has_part_inf = True
        self.list.part_target = number(tag.attributes.get("PART-TARGET", ""))

    def _server_control(self, tag):
        self.list.control = tag.attributes
        if "CAN-SKIP-DATERANGES" in tag.attributes and "CAN-SKIP-UNTIL" not in tag.attributes:
            self.add("attribute-required", "CAN-SKIP-UNTIL beside CAN-SKIP-DATERANGES", tag.value)

    def _skip(self, tag):
        self.list.skipped = number(tag.attributes.get("SKIPPED-SEGMENTS", ""), 0)
        self.need(10 if "RECENTLY-REMOVED-DATERANGES" in tag.attributes else 9, "EXT-X-SKIP")

    def _extinf(self, tag):
        text = tag.value.partition(",")[0]
        if self.segment.duration is not None:
            self.add("segment-incomplete", "a URI after EXTINF", "another EXTINF")
        self.segment.duration = number(text, 0.0)
        self.pending.add(tag.name)
        if "." in text:
            self.need(3, "a fraction in EXTINF")

    def _byterange(self, tag):
        self.segment.byterange = tag.value
        self.pending.add(tag.name)
        self.need(4, "EXT-X-BYTERANGE")

    def _discontinuity(self, tag):
        self._before_parts(tag)
        self.segment.discontinuity = True
        self.discontinuities += 1

    def _key(self, tag):
        self._before_parts(tag)
        found = tag.attributes
        method = found.get("METHOD", "NONE")
        if method == "NONE" and len(found) > 1:
            self.add("attribute-forbidden", "METHOD=NONE alone", tag.value)
        if method != "NONE" and "URI" not in found:
            self.add("attribute-required", f"a URI with METHOD={method}", tag.value)
        if "IV" in found:
            self.need(2, "IV in EXT-X-KEY")
        if "KEYFORMAT" in found or "KEYFORMATVERSIONS" in found:
            self.need(5, "KEYFORMAT")
        key = Key(method, found.get("URI", ""), found.get("IV"), found.get("KEYFORMAT", "identity"))
        self.key = None if method == "NONE" else key

    def _map(self, tag):
        self._before_parts(tag)
        self.need(6, "EXT-X-MAP")
        if self.key and self.key.method == "AES-128" and not self.key.iv:
            self.add("key-map-iv", "IV in the key of EXT-X-MAP", tag.value)
        self.map = Map(tag.attributes.get("URI", ""), tag.attributes.get("BYTERANGE"), self.key)

    def _program_date_time(self, tag):
        self._before_parts(tag)
        self.segment.date = seconds_of(tag.value)

    def _gap(self, tag):
        self.segment.gap = True
        self.pending.add(tag.name)

    def _part(self, tag):
        found = tag.attributes
        self._begin_segment()
        part = Part(found.get("URI", ""), number(found.get("DURATION", ""), 0.0), "INDEPENDENT" in found, "GAP" in found,
                    found.get("BYTERANGE"))  # fmt: skip
        self.segment.parts.append(part)

    def _preload_hint(self, tag):
        self.list.hints.append(tag.attributes)

    def _rendition_report(self, tag):
        self.list.reports.append(tag.attributes)

    def _begin_segment(self):
        """Its tags are complete."""
        self.segment.key, self.segment.map = self.key, self.map
        self.segment.discontinuity_number = (self.list.discontinuity_sequence or 0) + self.discontinuities

    def _uri(self, uri):
        self._begin_segment()
        self.segment.uri = uri
        if self.segment.duration is None:
            self.add("segment-incomplete", f"EXTINF before {uri}", "none")
            self.segment.duration = 0.0
        self.list.segments.append(self.segment)
        self.segment, self.pending = Segment(0), set()

    def _finish(self):
        if self.segment.parts:
            self.list.open = self.segment
        if "EXTINF" in self.pending or "EXT-X-GAP" in self.pending:
            self.add("segment-incomplete", "a URI after EXTINF", "the end of the playlist")
        for index, segment in enumerate(self.list.all()):
            segment.number = self.list.sequence + self.list.skipped + index


def build(tags, add, text=""):
    made = Builder(tags, add).list
    made.text = text
    return made


def read(text, add=lambda *_: None):
    """A media playlist from its text."""
    return build(syntax.tags(text, add), add, text)
