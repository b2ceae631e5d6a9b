"""A multivariant playlist: its model, and what must hold of it by itself."""

from dataclasses import dataclass, field

from . import syntax
from .playlist import number

_GROUPS = {"AUDIO": "AUDIO", "VIDEO": "VIDEO", "SUBTITLES": "SUBTITLES", "CLOSED-CAPTIONS": "CLOSED-CAPTIONS"}
_AUDIO_CODECS = ("mp4a", "ac-3", "ec-3", "opus", "flac", "alac", "mp3")


@dataclass
class Variant:
    attributes: dict
    uri: str

    def codecs(self):
        return [codec for codec in self.attributes.get("CODECS", "").split(",") if codec]

    def has_video(self):
        return not self.codecs() or any(not codec.lower().startswith(_AUDIO_CODECS) for codec in self.codecs())

    def number(self, name):
        return number(self.attributes.get(name, ""))


@dataclass
class Multivariant:
    variants: list = field(default_factory=list)
    media: list = field(default_factory=list)
    independent: bool = False

    def group(self, kind, name):
        return [one for one in self.media if one.get("TYPE") == kind and one.get("GROUP-ID") == name]

    def uris(self):
        """Of media playlists, each once, in their order."""
        found = [variant.uri for variant in self.variants] + [one["URI"] for one in self.media if "URI" in one]
        return list(dict.fromkeys(found))


def build(tags, add):
    made, waiting = Multivariant(), None
    for tag in tags:
        if waiting is not None and tag.name:
            add("variant-uri", "a URI after EXT-X-STREAM-INF", tag.name)
            waiting = None
        if tag.name == "EXT-X-STREAM-INF":
            waiting = tag.attributes
        elif tag.name == "EXT-X-MEDIA":
            made.media.append(tag.attributes)
        elif tag.name == "EXT-X-INDEPENDENT-SEGMENTS":
            made.independent = True
        elif not tag.name and waiting is not None:
            made.variants.append(Variant(waiting, tag.value))
            waiting = None
        elif not tag.name:
            add("variant-uri", "EXT-X-STREAM-INF before it", tag.value)
    if waiting is not None:
        add("variant-uri", "a URI after EXT-X-STREAM-INF", "the end of the playlist")
    return made


def read(text, add=lambda *_: None):
    return build(syntax.tags(text, add), add)


def check(playlist, add):
    for variant in playlist.variants:
        _variant(playlist, variant, add)
    captions = [variant.attributes.get("CLOSED-CAPTIONS") == "NONE" for variant in playlist.variants]
    if any(captions) and not all(captions):
        add("variant-captions", "CLOSED-CAPTIONS=NONE in each variant", captions)
    for media in playlist.media:
        _media(media, add)
    for kind in _GROUPS:
        groups = dict.fromkeys(one.get("GROUP-ID") for one in playlist.media if one.get("TYPE") == kind)
        members = {name: playlist.group(kind, name) for name in groups}
        for name, renditions in members.items():
            _group(name, renditions, add)
        names = [sorted(one.get("NAME", "") for one in renditions) for renditions in members.values()]
        if any(other != names[0] for other in names[1:]):
            add("group-members", names[0], names)
    if not playlist.independent:
        add("independent-multivariant", "EXT-X-INDEPENDENT-SEGMENTS", "none")


def _variant(playlist, variant, add):
    found, where = variant.attributes, variant.uri
    for attribute, kind in _GROUPS.items():
        name = found.get(attribute)
        if name and not (name == "NONE" and attribute == "CLOSED-CAPTIONS") and not playlist.group(kind, name):
            add("group-missing", f"EXT-X-MEDIA of {attribute}={name}", f"none, for {where}")
    average, peak = variant.number("AVERAGE-BANDWIDTH"), variant.number("BANDWIDTH")
    if average is None:
        add("variant-average-missing", "AVERAGE-BANDWIDTH", f"none, {where}")
    elif peak is not None and average > peak:
        add("variant-average", f"at most {peak}", average)
    if "CODECS" not in found:
        add("variant-codecs", "CODECS", f"none, {where}")
    if variant.has_video() and not {"RESOLUTION", "FRAME-RATE"} <= set(found):
        add("variant-resolution", "RESOLUTION, FRAME-RATE", ", ".join(found))


def _media(found, add):
    kind, name = found.get("TYPE"), found.get("NAME")
    if found.get("DEFAULT") == "YES" and found.get("AUTOSELECT", "YES") != "YES":
        add("default-select", "AUTOSELECT=YES", f"{found['AUTOSELECT']} of {name}")
    if kind in ("AUDIO", "SUBTITLES") and "LANGUAGE" not in found:
        add("rendition-language", "LANGUAGE", f"none, {name}")
    if kind == "AUDIO" and "CHANNELS" not in found:
        add("rendition-channels", "CHANNELS", f"none, {name}")
    for attribute, kinds in (("URI", ("SUBTITLES",)), ("INSTREAM-ID", ("CLOSED-CAPTIONS",))):
        if kind in kinds and attribute not in found:
            add("attribute-required", f"{attribute} with TYPE={kind}", f"none, {name}")
    forbidden = {"CLOSED-CAPTIONS": ("URI",)}.get(kind, ("INSTREAM-ID",))
    for attribute in {*forbidden, *(() if kind == "SUBTITLES" else ("FORCED",))} & set(found):
        add("attribute-forbidden", f"no {attribute} with TYPE={kind}", found[attribute])


def _group(group, renditions, add):
    names = [one.get("NAME") for one in renditions]
    if len(set(names)) < len(names):
        add("group-name", "different names", f"{names} in {group}")
    defaults = [one.get("NAME") for one in renditions if one.get("DEFAULT") == "YES"]
    if len(defaults) > 1:
        add("group-default", "one default", f"{defaults} in {group}")
    what = ("LANGUAGE", "ASSOC-LANGUAGE", "FORCED", "CHARACTERISTICS")
    chosen = [tuple(one.get(name) for name in what) for one in renditions if one.get("AUTOSELECT") == "YES"]
    if len(set(chosen)) < len(chosen):
        add("group-select", "different languages or characteristics", f"{chosen} in {group}")
