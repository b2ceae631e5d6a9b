"""The rules that research/hls_check.py looks for: a table, from which doc/hls-check.md has its own.

Paragraphs are those of draft-pantos-hls-rfc8216bis-22; A: Apple's HLS authoring specification; B.1: the draft's appendix
of low-latency servers; players: no rule of a text, what players do without it. An error is a MUST, a warning a SHOULD, or
a rule of the authoring specification."""

from typing import NamedTuple

ERROR, WARNING = "error", "warning"


class Rule(NamedTuple):
    id: str
    paragraph: str
    severity: str
    text: str


_TABLE = """
## Text
text-first-line | 4.4.1.1 | error | the first line is `#EXTM3U`
text-encoding | 4.1 | error | UTF-8, no byte order mark, no control characters
text-space | 4.1 | error | no spaces around a line, an attribute or a value
text-uri | 4.1 | error | a line without `#` is a URI of RFC 3986
tag-unknown | 6.3.1 | warning | a tag that begins with `#EXT` is one of the draft
tag-value | 4.4 | error | a tag has a value of its type, or none
tag-once | 4.4 | error | a tag of the whole playlist appears once
tag-place | 4.4.3 | error | no tag of a media playlist in a multivariant one, nor the reverse; sequence numbers before segments
attribute-list | 4.2 | error | an attribute list is `NAME=value`, separated by commas, each name once
attribute-type | 4.2 | error | an attribute's value has its type
attribute-hex | 4.2 | warning | hexadecimal digits are upper case
attribute-unknown | 6.3.1 | warning | an attribute is one of the draft, or begins with `X-`
attribute-required | 4.4 | error | required attributes are there
attribute-forbidden | 4.4 | error | no attribute is there that another one rules out
version-needed | 8 | error | `EXT-X-VERSION` is at least what the tags need
version-high | 6.2.1 | warning | `EXT-X-VERSION` is no higher than that

## Media playlist
target-missing | 4.4.3.1 | error | `EXT-X-TARGETDURATION` is there
segment-incomplete | 4.4.4.1 | error | each segment has one `EXTINF` and one URI
segment-too-long | 4.4.3.1 | error | `EXTINF`, rounded, is at most the target duration
segments-removed-sequence | 6.2.2 | error | a playlist that has discontinuities and loses segments has `EXT-X-DISCONTINUITY-SEQUENCE`
type-live | 6.2.2 | error | a playlist that loses segments has no `EXT-X-PLAYLIST-TYPE`
key-map-iv | 4.4.4.5 | error | `EXT-X-MAP` under `AES-128` has a key with an explicit IV
tags-behind-part | 4.4.4 | error | tags of a segment stand before its first part
hold-back | 4.4.3.8 | error | `HOLD-BACK` is at least three target durations
skip-until | 4.4.3.8 | error | `CAN-SKIP-UNTIL` is at least six target durations
part-inf | 4.4.3.7 | error | a playlist with parts has `EXT-X-PART-INF`
part-hold-back | 4.4.3.8 | error | a playlist with parts has `PART-HOLD-BACK`, at least two part targets
part-hold-back-three | A14.3 | warning | `PART-HOLD-BACK` is at least three part targets
part-too-long | 4.4.4.9 | error | a part is at most the part target long
part-too-short | 4.4.4.9 | error | a part is at least 85 % of it, unless independent, a gap, before a gap, or a segment's last
part-sum | 4.4.4.9 | error | the parts of a segment are together as long as it
part-old | 6.2.2 | warning | parts over three target durations from the end are not listed
part-list-short | players | warning | parts are listed for `PART-HOLD-BACK` and one segment
blocking-reload | B.1 | warning | a playlist with parts has `CAN-BLOCK-RELOAD=YES`
hint-missing | B.1 | warning | a playlist with parts hints the next one
hint-twice | 4.4.5.3 | warning | no two hints of one type
hint-ended | 4.4.5.3 | warning | nothing is hinted after `EXT-X-ENDLIST`
date-missing | A8.4 | warning | a live playlist has `EXT-X-PROGRAM-DATE-TIME`
date-discontinuity | 6.2.1 | warning | if there are dates, each discontinuity has one
date-ambiguous | 6.2.1 | error | a date is at most a second before the end of the segment before
date-drift | 6.2.1 | warning | dates are in step with durations, within 0.1 s

## Multivariant playlist
variant-uri | 4.4.6.2 | error | a URI follows each `EXT-X-STREAM-INF`
variant-average | 4.4.6.2 | warning | `AVERAGE-BANDWIDTH` is at most `BANDWIDTH`
variant-codecs | 4.4.6.2 | warning | each variant has `CODECS`
variant-average-missing | A9.14 | warning | each variant has `AVERAGE-BANDWIDTH`
variant-resolution | A9.15 | warning | each variant with video has `RESOLUTION` and `FRAME-RATE`
variant-captions | 4.4.6.2 | error | `CLOSED-CAPTIONS=NONE` is in all variants or in none
group-missing | 4.4.6.2 | error | the groups that a variant names are there
group-name | 4.4.6.1.1 | error | names in a group differ
group-default | 4.4.6.1.1 | error | one rendition of a group is the default
group-select | 4.4.6.1.1 | error | renditions of a group with `AUTOSELECT=YES` differ in language or characteristics
group-members | 4.4.6.1.1 | error | groups of one type have the same renditions
default-select | 4.4.6.1 | error | `DEFAULT=YES` goes with `AUTOSELECT=YES`
rendition-language | A8.10 | warning | audio and subtitles have `LANGUAGE`
rendition-channels | 4.4.6.1 | warning | audio has `CHANNELS`
independent-multivariant | A9.11 | warning | `EXT-X-INDEPENDENT-SEGMENTS` is in the multivariant playlist

## Over time
change-target | 6.2.1 | error | the target duration does not change
change-part-target | 6.2.1 | error | the part target does not change
change-control | 6.2.1 | error | `EXT-X-SERVER-CONTROL` does not change
change-head | 6.2.1 | error | version, type, start and independence do not change
change-segment | 6.2.1 | error | a listed segment keeps URI, duration, date, key and map
change-open | 6.2.1 | error | tags of the open segment are there with its first part
change-part | 6.2.1 | error | a listed part keeps URI and duration
change-ended | 6.2.1 | error | nothing is added after `EXT-X-ENDLIST`
sequence-step | 6.2.2 | error | `EXT-X-MEDIA-SEQUENCE` rises by what left, and never falls
discontinuity-step | 6.2.2 | error | `EXT-X-DISCONTINUITY-SEQUENCE` rises by what left, and never falls
remove-end | 6.2.2 | error | segments leave from the front only
remove-part | 6.2.2 | error | parts leave in their order
list-short | 6.2.2 | error | a playlist that loses segments lists three target durations
list-six | A8.11 | warning | a playlist that loses segments lists six
segment-late | 6.2.1 | error | a segment comes within 1.5 target durations of the one before
part-late | 6.2.1 | error | a part comes within a part target of the one before
hint-uri | 4.4.5.3 | error | the hinted URI is the next part's
gone-early | 6.2.2 | error | what left the playlist can be fetched as long as the draft says

## Requests
playlist-status | 6.2.1 | error | a playlist is answered with 200
reload-early | 6.2.5.2 | error | a blocking reload is answered when what was asked for is there
playlist-known | 4 | error | a playlist has a path that ends in `.m3u8`, or its media type
playlist-type | 4 | warning | its media type is `application/vnd.apple.mpegurl` or `audio/mpegurl`
playlist-gzip | 6.2.1 | warning | a playlist is sent with gzip to who accepts it
playlist-cache | players | warning | caches keep a live playlist for at most a target duration
media-status | 6.2.1 | error | what is listed can be fetched
media-redirect | A8.18 | warning | requests of media are not redirected
media-type | players | warning | media have the type of their format
media-cache | players | warning | caches may keep segments and parts
media-length | players | warning | segments and parts have `Content-Length`
media-range | players | warning | a range of a segment is answered with 206 and these bytes
media-head | players | warning | `HEAD` of a segment tells its length
media-tag | players | warning | a segment has an `ETag`, and is not sent again to who has it
cors | players | warning | pages of other sites may read the response

## Delivery directives and hints
directive-part-alone | 6.2.5.2 | error | `_HLS_part` without `_HLS_msn` is answered with 400
directive-far | 6.2.5.2 | warning | a number far ahead is answered with 400 at once
directive-nonsense | players | warning | what is no number is answered with 400 at once
directive-past | 6.2.5.2 | error | a number that is listed, or left, is answered with the whole playlist at once
directive-unknown | 6.2.5 | warning | an unknown directive is ignored
directive-segment | 6.2.5.2 | error | `_HLS_msn` alone is answered when there is that segment, or its first part
directive-overflow | 6.2.5.2 | error | a part behind the last one of a segment is the first one of the next
directive-ahead | players | warning | the last part of the open segment can be asked for, as hls.js does
reload-unavailable | 6.2.5.2 | warning | a blocked reload is answered with 503 after three target durations
skip-missing | 6.2.5.1 | error | `_HLS_skip=YES` is answered with a delta update if there is something to skip
skip-count | 6.2.5.1 | error | what is over `CAN-SKIP-UNTIL` from the end is skipped, nothing else
skip-kept | 6.2.5.1 | error | all else is as in the whole playlist
skip-key | players | warning | key and map of what is kept are there
hint-status | 6.2.6 | error | a hinted part is sent
hint-bytes | 4.4.5.3 | error | what is sent is the whole part
hint-trickle | 6.2.6 | error | no byte of it is sent before all can be sent
hint-late | 6.2.1 | warning | it is sent when the part is listed
hint-other | 6.2.6 | warning | what is not hinted is answered with 404 at once

## Media
media-format | 3.1 | error | a segment is MPEG-TS, fragmented MP4, packed audio or WebVTT, and can be read
media-map | 3.1.2 | error | fragmented MP4 has `EXT-X-MAP`
media-encrypted | 6.2.3 | error | what has a key can be decrypted with it
key-size | 5 | error | a key has 16 bytes
media-duration | 4.4.4.1 | error | `EXTINF`, and `DURATION` of a part, is that of the media, within 0.1 s
media-durations | A8.1 | warning | so are sums of `EXTINF`
media-jump | 6.2.1 | error | media begin where those before ended, or with a discontinuity
media-tracks | 6.2.1 | error | codecs change with a discontinuity only
media-independent | 4.4.2.1 | error | independent segments and parts begin with a keyframe
parts-joined | 4.4.4.9 | error | the parts of a segment are its bytes
ts-packets | 3.1.1 | error | whole packets of 188 bytes
ts-tables | 3.1.1 | error | PAT and PMT are there
ts-tables-first | 3.1.1 | warning | they come before all media
ts-split | players | warning | no PES packet is split over segments or parts
ts-continuity | players | warning | continuity counters run on over segments
mp4-decode-time | players | warning | `tfdt` is the end of the fragment before, within 1 ms
mp4-boxes | players | warning | `styp` is at the beginning of a segment only

## Multivariant playlist and media
bandwidth-peak | A1.29 | warning | the peak of segments is below 125 % of `BANDWIDTH`
bandwidth-average | A1.28 | warning | the average is below 110 % of `AVERAGE-BANDWIDTH`
codecs-media | 6.2.4 | error | `CODECS` has each format of the media
resolution-media | 4.4.6.2 | warning | `RESOLUTION` is that of the video
frame-rate-media | 4.4.6.2 | warning | `FRAME-RATE` is that of the video, within 10 %

## Renditions
rendition-target | 6.2.4 | error | all media playlists have one target duration
rendition-control | 6.2.4 | error | all have the same `EXT-X-SERVER-CONTROL`
rendition-dates | 6.2.4 | error | all have dates, or none has
rendition-date | 6.2.4 | error | the same media has the same date, within 0.1 s
rendition-discontinuity | 6.2.4 | error | the same media has the same discontinuity number
report-missing | B.1 | warning | a low-latency playlist reports every other one
report-old | 4.4.5.4 | error | a report is as new as the reported playlist
"""


def _parse(table):
    group = None
    for line in table.strip().splitlines():
        if line.startswith("## "):
            group = line[3:]
        elif line:
            yield group, Rule(*(cell.strip() for cell in line.split(" | ")))


GROUPS = {}
for _group, _rule in _parse(_TABLE):
    GROUPS.setdefault(_group, []).append(_rule)
RULES = {rule.id: rule for group in GROUPS.values() for rule in group}


def markdown():
    lines = []
    for group, rules in GROUPS.items():
        lines += [f"### {group}", "", "| rule | paragraph | | what holds |", "|---|---|---|---|"]
        lines += [f"| {rule.id} | {rule.paragraph} | {rule.severity} | {rule.text} |" for rule in rules]
        lines.append("")
    return "\n".join(lines)
