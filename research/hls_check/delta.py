"""A playlist delta update (6.2.5.1) beside the whole playlist of the same moment."""

from .media_rules import EPSILON


def _skippable(whole):
    """The least and the most segments that may be skipped. The draft may mean their beginning or their end, and counts
    from the end of the last complete segment or of the open one."""
    boundary, after, counts = whole.control_seconds("CAN-SKIP-UNTIL") or 0, 0.0, [0, 0]
    opened = whole.open.known_duration() if whole.open else 0.0
    for segment in reversed(whole.segments):
        counts[0] += after > boundary + EPSILON
        after += segment.duration
        counts[1] += after + opened > boundary + EPSILON
    return counts


def check(whole, delta, add):
    least, most = _skippable(whole)
    if not delta.skipped:
        if least:
            add("skip-missing", f"EXT-X-SKIP of {least} segments", "none")
        return
    if not least <= delta.skipped <= most:
        add("skip-count", f"{least} to {most}", delta.skipped)
    for name in ("target", "sequence", "discontinuity_sequence", "control", "part_target", "hints", "ended", "independent"):
        if getattr(whole, name) != getattr(delta, name):
            add("skip-kept", f"{name} {getattr(whole, name)}", getattr(delta, name))
    there = {segment.number: segment for segment in delta.all()}
    for segment in whole.all()[delta.skipped :]:
        other = there.get(segment.number)
        if not other:
            add("skip-kept", f"segment {segment.number}", "none")
            return
        for name in ("uri", "duration", "parts", "discontinuity", "date", "gap", "byterange"):
            if getattr(segment, name) != getattr(other, name):
                add("skip-kept", f"{name} {getattr(segment, name)} of segment {segment.number}", getattr(other, name))
                return
        if (segment.key, segment.map) != (other.key, other.map):
            add("skip-key", f"{segment.key} and {segment.map} of segment {segment.number}", f"{other.key} and {other.map}")
            return
