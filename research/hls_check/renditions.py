"""Media playlists of one multivariant playlist beside each other (6.2.4), and their reports of each other (4.4.5.4)."""

from .media_rules import DATE_TOLERANCE
from .playlist import number


def check(playlists, add):
    """playlists: name -> one version of each, of about the same moment."""
    names = list(playlists)
    for name in names[1:]:
        one, other = playlists[names[0]], playlists[name]
        if one.target != other.target:
            add("rendition-target", f"{one.target}, as {names[0]}", f"{other.target} of {name}")
        if one.control != other.control:
            add("rendition-control", f"{one.control}, as {names[0]}", f"{other.control} of {name}")
        dated = [any(segment.date for segment in playlist.all()) for playlist in (one, other)]
        if dated[0] != dated[1] and one.all() and other.all():
            add("rendition-dates", f"dates: {dated[0]}, as {names[0]}", f"{dated[1]} of {name}")
        _discontinuities(one, other, name, add)


def _discontinuities(one, other, name, add):
    numbers = [(date, segment.discontinuity_number) for segment, date in one.dates()]
    for segment, date in other.dates():
        for when, count in numbers:
            if abs(when - date) < DATE_TOLERANCE and count != segment.discontinuity_number:
                add("rendition-discontinuity", f"{count} at {when:.3f}", f"{segment.discontinuity_number} of {name}")
                return


def check_dates(mappings, add):
    """mappings: name -> {discontinuity number: date of media time 0}."""
    names = list(mappings)
    for name in names[1:]:
        for count in mappings[names[0]].keys() & mappings[name].keys():
            apart = mappings[name][count] - mappings[names[0]][count]
            if abs(apart) > DATE_TOLERANCE:
                add("rendition-date", f"within {DATE_TOLERANCE} s of {names[0]}", f"{apart:+.3f} s of {name}")


def check_reports(playlist, others, add, resolve=lambda uri: uri):
    """others: absolute URI -> next_part() of the version that was known when this one was asked for."""
    if not playlist.low_latency() or playlist.ended:
        return
    reports = {resolve(report.get("URI", "")): report for report in playlist.reports}
    for uri, (following, parts) in others.items():
        report = reports.get(uri)
        if report is None:
            add("report-missing", f"a report of {uri}", sorted(reports))
            continue
        last = number(report.get("LAST-MSN", ""), playlist.last_number() + bool(playlist.open))
        last_part = number(report.get("LAST-PART", ""), None)
        known = (following, parts - 1) if parts else (following - 1, None)
        if last < known[0] or (last == known[0] and None not in (known[1], last_part) and last_part < known[1]):
            add("report-old", f"at least {known}", f"{(last, last_part)} for {uri}")
