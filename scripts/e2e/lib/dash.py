"""DASH: configurations, manifests read strictly, segments fetched, and what must hold of both. The schema of MPEG is in no
registry: its rules for what the server writes are here (elements in their order, attributes with their types)."""

import datetime
import re
import xml.etree.ElementTree as xml
from typing import NamedTuple
from urllib.parse import urljoin

from . import http
from .timing import wait_until

MPD = "{urn:mpeg:dash:schema:mpd:2011}"
DURATION = r"PT\d+\.\d{3,6}S"
DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"
NUMBER, RATIO, TEXT = r"\d+", r"\d+(/\d+)?", r".+"
# Element -> its elements in their order, with * where there may be several; its attributes: those with ! must be there.
SCHEMA = {
    "MPD": (
        "Location ServiceDescription Period* UTCTiming",
        {
            "profiles!": r"urn:mpeg:dash:profile:isoff-live:2011(,urn:mpeg:dash:profile:cmaf:2019)?", "type!": "dynamic",
            "availabilityStartTime!": "1970-01-01T00:00:00Z", "publishTime!": DATE, "minimumUpdatePeriod": DURATION,
            "mediaPresentationDuration": DURATION, "timeShiftBufferDepth!": DURATION, "suggestedPresentationDelay!": DURATION,
            "minBufferTime!": DURATION,
        },
    ),
    "Location": ("", {}),
    "ServiceDescription": ("Latency PlaybackRate", {"id!": NUMBER}),
    "Latency": ("", {"referenceId!": NUMBER, "target!": NUMBER}),
    "PlaybackRate": ("", {"min!": r"\d\.\d+", "max!": r"\d\.\d+"}),
    "Period": ("AdaptationSet*", {"id!": TEXT, "start!": DURATION}),
    "AdaptationSet": (
        "Label ProducerReferenceTime Role Representation*",
        {
            "id!": NUMBER, "contentType!": "video|audio", "mimeType!": "(video|audio)/mp4", "segmentAlignment!": "true",
            "startWithSAP!": "1", "lang": r"[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*",
        },
    ),
    "Label": ("", {}),
    "ProducerReferenceTime": ("", {"id!": NUMBER, "type!": "encoder", "wallClockTime!": DATE, "presentationTime!": NUMBER}),
    "Role": ("", {"schemeIdUri!": "urn:mpeg:dash:role:2011", "value!": "main|alternate"}),
    "SegmentTemplate": (
        "SegmentTimeline",
        {
            "timescale!": NUMBER, "presentationTimeOffset!": NUMBER, "availabilityTimeOffset": r"\d+\.\d+",
            "availabilityTimeComplete": "false", "startNumber!": NUMBER, "initialization!": TEXT, "media!": TEXT,
        },
    ),
    "SegmentTimeline": ("S*", {}),
    "S": ("", {"t": NUMBER, "d!": NUMBER, "r": NUMBER}),
    "Representation": (
        "AudioChannelConfiguration SegmentTemplate",
        {
            "id!": r"\S+", "bandwidth!": NUMBER, "codecs": TEXT, "width": NUMBER, "height": NUMBER, "frameRate": RATIO,
            "audioSamplingRate": NUMBER,
        },
    ),
    "AudioChannelConfiguration": ("", {"schemeIdUri!": "urn:mpeg:dash:23003:3:audio_channel_configuration:2011", "value!": NUMBER}),
    "UTCTiming": ("", {"schemeIdUri!": "urn:mpeg:dash:utc:http-xsdate:2014", "value!": TEXT}),
}  # fmt: skip


def check_schema(element):
    name = element.tag.removeprefix(MPD)
    assert element.tag.startswith(MPD) and name in SCHEMA, f"what is {element.tag}?"
    order, attributes = SCHEMA[name]
    forms = {key.rstrip("!"): form for key, form in attributes.items()}
    missing = {key.rstrip("!") for key in attributes if key.endswith("!")} - set(element.attrib)
    assert not missing, f"{name} lacks {missing}"
    for key, value in element.attrib.items():
        assert key in forms and re.fullmatch(forms[key], value, re.ASCII), f"{name}@{key}={value!r}"
    children = " ".join(child.tag.removeprefix(MPD) for child in element)
    pattern = "".join(f"({one.rstrip('*')} )" + ("+" if one.endswith("*") else "?") for one in order.split())
    assert re.fullmatch(pattern, children + " " if children else ""), f"{name} has {children}, and not {order}"
    for child in element:
        check_schema(child)


def seconds(duration):
    return float(duration[2:-1])


class Segment(NamedTuple):
    number: int
    uri: str
    begin: float  # since 1970, s
    duration: float
    time: int  # ticks


class Track:
    """A Representation, with its AdaptationSet."""

    def __init__(self, period, start, adaptation, representation, url):
        template = representation.find(MPD + "SegmentTemplate")
        self.id, self.codecs = representation.get("id"), representation.get("codecs")
        self.kind, self.language = adaptation.get("contentType"), adaptation.get("lang")
        self.label = getattr(adaptation.find(MPD + "Label"), "text", None)
        self.attributes = representation.attrib
        self.timescale, self.offset = int(template.get("timescale")), int(template.get("presentationTimeOffset"))
        self.early = float(template.get("availabilityTimeOffset", 0))
        self.initialization = urljoin(url, template.get("initialization"))
        self.segments = []
        number, end = int(template.get("startNumber")), 0
        assert "$Number$" in template.get("media"), template.get("media")
        for row in template.find(MPD + "SegmentTimeline"):
            time, length = int(row.get("t", end)), int(row.get("d"))
            assert time >= end and length > 0, f"{self.id}: times go on: {row.attrib} behind {end}"
            for _ in range(int(row.get("r", 0)) + 1):
                uri = template.get("media").replace("$RepresentationID$", self.id).replace("$Number$", str(number))
                begin = start + (time - self.offset) / self.timescale
                self.segments.append(Segment(number, urljoin(url, uri), begin, length / self.timescale, time))
                number, time = number + 1, time + length
            end = time
        self.period, self.set = period, adaptation.get("id")


class Manifest:
    def __init__(self, text, url="/live/one.mpd"):
        self.text, self.url = text, url
        root = self.root = xml.fromstring(text)
        check_schema(root)
        assert ("minimumUpdatePeriod" in root.attrib) != ("mediaPresentationDuration" in root.attrib), text
        self.ended = "mediaPresentationDuration" in root.attrib
        self.update = seconds(root.get("minimumUpdatePeriod", "PT0S"))
        self.depth = seconds(root.get("timeShiftBufferDepth"))
        self.published = datetime.datetime.fromisoformat(root.get("publishTime")).timestamp()
        self.location = getattr(root.find(MPD + "Location"), "text", None)
        self.time_url = urljoin(url, root.find(MPD + "UTCTiming").get("value"))
        self.low_latency = root.find(MPD + "ServiceDescription") is not None
        self.periods = []
        for period in root.findall(MPD + "Period"):
            start = seconds(period.get("start"))
            sets = [(one, quality) for one in period.findall(MPD + "AdaptationSet") for quality in one.findall(MPD + "Representation")]
            self.periods.append([Track(period.get("id"), start, one, quality, url) for one, quality in sets])
            ids = [track.id for track in self.periods[-1]]
            assert ids and len(set(ids)) == len(ids), f"ids are unique in a Period: {text}"
        starts = [seconds(period.get("start")) for period in root.findall(MPD + "Period")]
        assert starts == sorted(set(starts)), f"Periods in their order: {text}"

    def track(self, id="video", period=-1):
        found = [track for track in self.periods[period] if track.id == id]
        return found[0] if found else None

    def numbers(self, id="video"):
        return [segment.number for period in self.periods for track in period if track.id == id for segment in track.segments]


def vhost(hls="", rejoin=300, more="", ctx="off", **directives):
    """dash_ of directive names is left out; hls: the block of HLS, which is off unless it says enabled on."""
    settings = {"fragment": "1", "path": "./html", **directives}
    text = " ".join(f"dash_{name} {value};" for name, value in settings.items())
    return (
        f"vhost __defaultVhost__ {{ hls {{ hls_path ./html; hls_ctx {ctx}; {hls} }} dash {{ enabled on; {text} }} "
        f"play {{ rejoin_timeout {rejoin}; }} {more} }}\n"
    )


def get(server, path="/live/one.mpd"):
    """The manifest, or None where there is none (404)."""
    response = http.get(server.http_port, path)
    if response.status == 404:
        return None
    assert response.status == 200, f"{path}: {response.describe()}"
    assert response.headers["content-type"] == "application/dash+xml", response.describe()
    return Manifest(response.body.decode(), path)


def wait(server, condition, seconds=15, what="what was waited for", path="/live/one.mpd"):
    """The first manifest that the condition holds of."""
    last = []

    def look():
        manifest = get(server, path)
        last[:] = [manifest.text if manifest else "404"]
        return manifest and condition(manifest) and manifest

    return wait_until(look, seconds, lambda: f"{what}: {last}", 0.05)


def fetch(server, uri):
    response = http.get(server.http_port, uri)
    assert response.status == 200, f"{uri}: {response.describe()}"
    return response.body
