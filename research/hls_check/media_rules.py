"""What must hold of a media playlist by itself."""

# Sums of decimals with three digits, and clocks.
EPSILON = 0.0015
DATE_TOLERANCE = 0.1


def check(playlist, add):
    if playlist.target is None:
        add("target-missing", "EXT-X-TARGETDURATION", "none")
        return
    _version(playlist, add)
    for segment in playlist.segments:
        if int(segment.duration + 0.5) > playlist.target:
            add("segment-too-long", f"at most {playlist.target}", f"{segment.duration} of {segment.uri}")
    _control(playlist, add)
    _dates(playlist, add)
    if playlist.low_latency():
        _low_latency(playlist, add)
        _parts(playlist, add)


def _version(playlist, add):
    if playlist.version < playlist.needs:
        add("version-needed", f"{playlist.needs} for {playlist.needed_by}", playlist.version)
    elif playlist.version > max(playlist.needs, 1):
        add("version-high", f"{playlist.needs} for {playlist.needed_by}", playlist.version)


def _control(playlist, add):
    hold, skip = (playlist.control_seconds(name) for name in ("HOLD-BACK", "CAN-SKIP-UNTIL"))
    if hold is not None and hold < 3 * playlist.target:
        add("hold-back", f"at least {3 * playlist.target}", hold)
    if skip is not None and skip < 6 * playlist.target:
        add("skip-until", f"at least {6 * playlist.target}", skip)


def _dates(playlist, add):
    if not playlist.ended and playlist.all() and not any(segment.date for segment in playlist.all()) and not playlist.skipped:
        add("date-missing", "EXT-X-PROGRAM-DATE-TIME", "none")
    if any(segment.date for segment in playlist.all()):
        for segment in playlist.all():
            if segment.discontinuity and segment.date is None:
                add("date-discontinuity", f"a date at segment {segment.number}", "none")
    end = None  # by the dates and durations before
    for segment in playlist.all():
        if segment.date is not None and end is not None:
            ahead = segment.date - end
            if ahead < -1:
                add("date-ambiguous", "no date of the segment before", f"{-ahead:.3f} s before its end, segment {segment.number}")
            elif abs(ahead) > DATE_TOLERANCE and not segment.discontinuity:
                add("date-drift", f"within {DATE_TOLERANCE} s", f"{ahead:+.3f} s at segment {segment.number}")
        begin = segment.date if segment.date is not None else end
        end = None if begin is None else begin + segment.known_duration()


def _low_latency(playlist, add):
    if not playlist.part_target:
        add("part-inf", "EXT-X-PART-INF", "none")
        return
    hold = playlist.control_seconds("PART-HOLD-BACK")
    if hold is None or hold < 2 * playlist.part_target - EPSILON:
        add("part-hold-back", f"at least {2 * playlist.part_target:.3f}", hold)
    elif hold < 3 * playlist.part_target - EPSILON:
        add("part-hold-back-three", f"at least {3 * playlist.part_target:.3f}", hold)
    if (playlist.control or {}).get("CAN-BLOCK-RELOAD") != "YES":
        add("blocking-reload", "CAN-BLOCK-RELOAD=YES", playlist.control)
    kinds = [hint.get("TYPE") for hint in playlist.hints]
    if len(set(kinds)) < len(kinds):
        add("hint-twice", "one hint of each type", kinds)
    if playlist.ended and kinds:
        add("hint-ended", "no hint", kinds)
    if not playlist.ended and "PART" not in kinds:
        add("hint-missing", "EXT-X-PRELOAD-HINT:TYPE=PART", kinds)


def _parts(playlist, add):
    target = playlist.part_target
    with_parts = [segment for segment in playlist.all() if segment.parts]
    for segment in with_parts if target else ():
        for index, part in enumerate(segment.parts):
            where = f"part {index} of segment {segment.number}"
            if part.duration > target + 1e-6:
                add("part-too-long", f"at most {target}", f"{part.duration}, {where}")
            last = index + 1 == len(segment.parts)
            before_gap = not last and segment.parts[index + 1].gap
            # The open segment's last one may turn out to be its last.
            if part.duration < 0.85 * target - 1e-6 and not (part.independent or part.gap or before_gap or last):
                add("part-too-short", f"at least {0.85 * target:.3f}", f"{part.duration}, {where}")
    for segment in with_parts[1:]:  # the first one's may have left in part
        total = sum(part.duration for part in segment.parts)
        tolerance = max(0.02, 0.001 * len(segment.parts))
        if segment.duration is not None and abs(total - segment.duration) > tolerance:
            add("part-sum", segment.duration, f"{total:.3f}, segment {segment.number}")
    _part_window(playlist, with_parts, add)


def _part_window(playlist, with_parts, add):
    """How far back from the end parts are listed."""
    if not with_parts or playlist.ended:
        return
    behind = sum(segment.known_duration() for segment in playlist.all() if segment.number > with_parts[0].number)
    # The end of the first listed part.
    behind += sum(part.duration for part in with_parts[0].parts[1:])
    if behind > 3 * playlist.target + EPSILON and behind - (with_parts[0].duration or 0) > 3 * playlist.target:
        add("part-old", f"within {3 * playlist.target} s", f"{behind:.3f} s")
    hold = playlist.control_seconds("PART-HOLD-BACK")
    all_listed = len(with_parts) == len(playlist.all())
    if hold and not all_listed and behind + with_parts[0].parts[0].duration < hold + playlist.target - EPSILON:
        add("part-list-short", f"{hold + playlist.target:.3f} s", f"{behind + with_parts[0].parts[0].duration:.3f} s")
