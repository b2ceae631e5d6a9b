"""A multivariant playlist beside the media of its playlists."""

from .multivariant import Multivariant

# How much more than said the peak and the average of live media may be (A1.28, A1.29).
PEAK, AVERAGE = 1.25, 1.10
_LEAST_SEGMENTS = 3


def _rates(media):
    """(peak, average) in bit/s."""
    rates = [(size * 8, seconds) for size, seconds in media.rates if seconds > 0]
    return max(bits / seconds for bits, seconds in rates), sum(bits for bits, _ in rates) / sum(seconds for _, seconds in rates)


def check(playlist: Multivariant, media, add):
    """media: URI of a media playlist as it stands in the multivariant one -> its Media."""
    for variant in playlist.variants:
        own = media.get(variant.uri)
        group = playlist.group("AUDIO", variant.attributes.get("AUDIO"))
        audio = [media[one["URI"]] for one in group if one.get("URI") in media]
        if own and len(own.rates) >= _LEAST_SEGMENTS and all(one.rates for one in audio):
            _bandwidth(variant, own, audio, add)
        if own and own.rates:
            _formats(variant, own, audio, add)


def _bandwidth(variant, own, audio, add):
    sums = [sum(values) for values in zip(_rates(own), max((_rates(one) for one in audio), default=(0, 0)))]
    for rule, name, measured, factor in (("bandwidth-peak", "BANDWIDTH", sums[0], PEAK),
                                         ("bandwidth-average", "AVERAGE-BANDWIDTH", sums[1], AVERAGE)):  # fmt: skip
        said = variant.number(name)
        if said and measured > said * factor:
            add(rule, f"at most {said * factor:.0f} by {name} of {variant.uri}", f"{measured:.0f}")


def _formats(variant, own, audio, add):
    """TS shows the kind of a codec only, fMP4 for some all of it."""
    said = {codec.lower() for codec in variant.codecs()}
    there = set(own.codecs).union(*(one.codecs for one in audio))
    missing = {codec for codec in there if not any(_is(codec, one) for one in said)}
    if said and missing:
        add("codecs-media", f"{', '.join(sorted(missing))} in CODECS of {variant.uri}", ", ".join(sorted(said)))
    size = variant.attributes.get("RESOLUTION")
    sizes = {f"{width}x{height}" for width, height in own.sizes}
    if size and sizes and size not in sizes:
        add("resolution-media", f"{', '.join(sorted(sizes))} of {variant.uri}", size)
    rate = variant.number("FRAME-RATE")
    if rate and own.frame_rate and abs(rate - own.frame_rate) > 0.1 * own.frame_rate:
        add("frame-rate-media", f"{own.frame_rate:.3f} of {variant.uri}", rate)


def _is(codec, said):
    family = {"avc3": "avc1", "hev1": "hvc1"}
    name, _, rest = codec.lower().partition(".")
    said_name, _, said_rest = said.partition(".")
    return family.get(name, name) == family.get(said_name, said_name) and (not rest or rest == said_rest)
