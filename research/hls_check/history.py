"""A media playlist over time: each version beside the one before (6.2.1, 6.2.2), and what is still to be fetched."""

from typing import NamedTuple

from .media_rules import EPSILON


class Left(NamedTuple):
    """What left a playlist, and until when it is to be fetched."""

    uri: str
    byterange: str | None
    until: float


class History:
    """Times are seconds of any clock. slack: what is added to each limit, for the network and this program."""

    def __init__(self, add, slack=0.1):
        self.add, self.slack = add, slack
        self.previous = None
        self.left = []
        self._appeared = {}  # number: time
        self._longest = 0.0
        self._segment_at = self._part_at = None
        self._is_late = {}

    def update(self, playlist, now, absent_at=None):
        """A whole playlist that came at now. absent_at: the last time when what is new in it is known not to have been
        there: that of the response before; now (the default) where the server blocks until something is new."""
        before, self.previous = self.previous, playlist
        self._longest = max(self._longest, playlist.duration())
        if before is None:
            self._first(playlist, now)
            return
        absent_at = now if absent_at is None else absent_at
        self._head(before, playlist)
        if before.ended:
            if not playlist.ended or playlist.last_number() != before.last_number():
                self.add("change-ended", "no change", f"segment {playlist.last_number()}")
            return
        if self._sequence(before, playlist):
            self._segments(before, playlist)
            self._parts(before, playlist, now)
            self._hint(before, playlist)
            self._removed(before, playlist)
        self._times(before, playlist, now, absent_at)

    def due(self, now):
        """What left and should still be there, and soon need not be."""
        found = [one for one in self.left if now >= one.until - 1]
        self.left = [one for one in self.left if now < one.until - 1]
        return [one for one in found if now < one.until]

    def answered(self, left, status, now):
        if status >= 400 and now < left.until:
            self.add("gone-early", f"200 for {left.until - now:.1f} s more", f"{status} for {left.uri}")

    # --- steps of an update

    def _first(self, playlist, now):
        """When its segments appeared is known to one target duration."""
        after = playlist.target or 0
        for segment in reversed(playlist.segments):
            self._appeared[segment.number] = now - after
            after += segment.duration
        self._segment_at = self._part_at = now

    def _head(self, before, now):
        for rule, name in (("change-target", "target"), ("change-part-target", "part_target"), ("change-control", "control")):
            if getattr(before, name) != getattr(now, name):
                self.add(rule, getattr(before, name), getattr(now, name))
        for name in ("version", "type", "start", "independent"):
            if getattr(before, name) != getattr(now, name):
                self.add("change-head", f"{name} {getattr(before, name)}", getattr(now, name))

    def _sequence(self, before, now):
        """Whether the numbers can be relied on."""
        uris = [segment.uri for segment in before.segments]
        said = now.sequence - before.sequence
        first = now.segments[0].uri if now.segments else None
        left = uris.index(first) if first in uris else None
        if said < 0 or (left is not None and said != left):
            self.add("sequence-step", f"{before.sequence} + {left}" if left is not None else f"at least {before.sequence}", now.sequence)
            return False
        return True

    def _segments(self, before, now):
        there = {segment.number: segment for segment in now.all()}
        uris = [segment.uri for segment in now.segments]
        for index, old in enumerate(before.segments):
            new = there.get(old.number)
            if old.number < now.sequence:
                continue
            if new is None or new.uri is None:
                self.add("remove-end", f"segment {old.number}, {old.uri}", f"the last is {now.last_number()}")
            elif old.uri not in uris and new.uri in [later.uri for later in before.segments[index + 1 :]]:
                self.add("remove-end", f"{old.uri} as segment {old.number}", "it left, what follows did not")
                return
            else:
                self._same(old, new)
        if before.open and before.open.number in there:
            old, new = before.open.tags(), there[before.open.number].tags()
            for name in old:
                if old[name] != new[name]:
                    self.add("change-open", f"{name} {old[name]} of segment {before.open.number}", new[name])
        for old in before.all():
            new = there.get(old.number)
            if new and new.discontinuity_number != old.discontinuity_number:
                self.add("discontinuity-step", f"{old.discontinuity_number} of segment {old.number}", new.discontinuity_number)
                return

    def _same(self, old, new):
        for name in ("uri", "duration", "gap", "byterange", "discontinuity", "key", "map", "date"):
            # A date may be given to what is now the first one.
            if getattr(old, name) != getattr(new, name) and (name != "date" or old.date is not None):
                self.add("change-segment", f"{name} {getattr(old, name)} of segment {old.number}", getattr(new, name))
                return

    def _parts(self, before, now, time):
        there = {segment.number: segment for segment in now.all()}
        listed = [segment.number for segment in now.all() if segment.parts]
        for old in before.all():
            new = there.get(old.number)
            if not old.parts or not new:
                continue
            gone = next((count for count in range(len(old.parts) + 1)
                         if new.parts[: len(old.parts) - count] == old.parts[count:]), 0)  # fmt: skip
            if gone == len(old.parts) and new.parts:
                moved = any(part in new.parts[:index] for index, part in enumerate(old.parts))
                self.add("remove-part" if moved else "change-part", old.parts, new.parts)
            elif gone and (listed and listed[0] < old.number or before.open is old):
                self.add("remove-part", f"parts of segment {listed[0] if listed else old.number} leave first", f"segment {old.number}'s left")
            self.left += [Left(part.uri, part.byterange, time + 3 * (now.target or 0)) for part in old.parts[:gone] if not part.gap]

    def _hint(self, before, now):
        hinted = before.hint()
        if not hinted or now.next_part() <= before.next_part():
            return
        number, index = before.next_part()
        there = {segment.number: segment for segment in now.all()}
        segment = there.get(number)
        if segment and segment.uri and len(segment.parts) <= index:
            segment, index = there.get(number + 1), 0
        if segment and len(segment.parts) > index and segment.parts[index].uri != hinted:
            self.add("hint-uri", hinted, segment.parts[index].uri)

    def _removed(self, before, now):
        gone = [segment for segment in before.segments if segment.number < now.sequence]
        if not gone:
            return
        for segment in gone:
            if segment.number in self._appeared and not segment.gap:
                until = self._appeared[segment.number] + segment.duration + self._longest
                self.left.append(Left(segment.uri, segment.byterange, until))
        if now.type:
            self.add("type-live", "no EXT-X-PLAYLIST-TYPE", now.type)
        if now.discontinuity_sequence is None and any(segment.discontinuity for segment in now.all() + gone):
            self.add("segments-removed-sequence", "EXT-X-DISCONTINUITY-SEQUENCE", "none")
        if now.ended:
            return
        length = sum(segment.duration for segment in now.segments)
        if length < 3 * (now.target or 0) - EPSILON:
            self.add("list-short", f"at least {3 * now.target} s", f"{length:.3f} s")
        if len(now.segments) < 6:
            self.add("list-six", 6, len(now.segments))

    def _times(self, before, now, time, absent_at):
        new = now.last_number() > before.last_number()
        absent = absent_at if new else time
        if now.target and not now.ended:
            self._late("segment-late", absent - self._segment_at, 1.5 * now.target, f"segment {before.last_number() + 1}")
        for segment in now.segments:
            self._appeared.setdefault(segment.number, time)
        new_part = now.next_part() > before.next_part()
        if now.part_target and not now.ended:
            number, index = before.next_part()
            self._late("part-late", (absent_at if new_part else time) - self._part_at, now.part_target, f"part {index} of {number}")
        if new:
            self._segment_at = time
        if new_part:
            self._part_at = time

    def _late(self, rule, waited, limit, what):
        if waited > limit + self.slack and self._is_late.get(rule) != what:
            self._is_late[rule] = what
            self.add(rule, f"within {limit:.3f} s", f"{what} after {waited:.3f} s")
