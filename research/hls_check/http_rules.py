"""What must hold of the responses: of playlists, of media, and of a few requests that a player may make."""

import re

_PLAYLIST = ("application/vnd.apple.mpegurl", "audio/mpegurl")
_MEDIA = {b"\x47": ("video/mp2t",), b"mp4": ("video/mp4", "audio/mp4", "video/iso.segment", "audio/iso.segment", "application/mp4"),
          b"WEB": ("text/vtt",)}  # fmt: skip


def _kept_for(response):
    """Seconds that a cache may keep it; None: not said; 0: not at all."""
    said = response.header("cache-control").lower()
    if re.search(r"no-store|no-cache|private", said):
        return 0
    found = re.search(r"s-maxage=(\d+)", said) or re.search(r"max-age=(\d+)", said)
    return int(found[1]) if found else None


def playlist(response, target, live, blocking, add):
    """blocking: an answer to a blocking reload, whose URL never means anything else."""
    kind = response.header("content-type").partition(";")[0].strip().lower()
    path = response.url.partition("?")[0].lower()
    if kind not in _PLAYLIST:
        rule = "playlist-type" if kind == "application/x-mpegurl" or path.endswith((".m3u8", ".m3u")) else "playlist-known"
        add(rule, " or ".join(_PLAYLIST), kind or "no Content-Type")
    if response.header("content-encoding") != "gzip":
        add("playlist-gzip", "Content-Encoding: gzip", response.header("content-encoding") or "none")
    if not response.header("access-control-allow-origin"):
        add("cors", "Access-Control-Allow-Origin", "none")
    kept = _kept_for(response)
    if live and target and not blocking and kept is not None and kept > target:
        add("playlist-cache", f"max-age at most {target}", response.header("cache-control"))


def media(response, data, what, add):
    """what: "segment", "part", "map" or "key"."""
    if response.redirects:
        add("media-redirect", "no redirect", f"{response.redirects} to {response.at}")
    if not response.header("access-control-allow-origin"):
        add("cors", "Access-Control-Allow-Origin", "none")
    if what == "key":
        return
    kind = response.header("content-type").partition(";")[0].strip().lower()
    # Encrypted bytes may begin like anything.
    is_ts = data[:1] == b"\x47" and data[188:189] in (b"\x47", b"")
    magic = b"\x47" if is_ts else b"mp4" if data[4:8] in (b"styp", b"ftyp", b"moof") else data[:3]
    if magic in _MEDIA and kind not in _MEDIA[magic]:
        add("media-type", " or ".join(_MEDIA[magic]), kind or "no Content-Type")
    if _kept_for(response) == 0:
        add("media-cache", "a response that caches may keep", response.header("cache-control"))
    if not response.header("content-length"):
        add("media-length", "Content-Length", "none")


def range_answer(response, whole, add):
    """The answer to Range: bytes=1-100 of a segment."""
    if response.status == 206 and response.body != whole[1:101]:
        add("media-range", "100 bytes from the second on", f"{len(response.body)} bytes")
    elif response.status != 206:
        add("media-range", 206, response.status)


def head_answer(response, whole, add):
    if response.status != 200 or response.header("content-length") != str(len(whole)):
        add("media-head", f"200 and {len(whole)} bytes", f"{response.status} and {response.header('content-length') or 'no length'}")


def tag_answer(response, tag, add):
    """The answer to If-None-Match with the ETag of the first response."""
    if not tag:
        add("media-tag", "ETag", "none")
    elif response.status != 304:
        add("media-tag", "304", response.status)
