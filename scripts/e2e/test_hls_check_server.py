"""research/hls_check.py on this server: no rule is broken whose breach is an error."""

import json
import subprocess

import pytest

from lib import hls, http, media, publishing, rtmp
from lib.server import ROOT
from lib.timing import SLOW, scaled, wait_until

FORMS = {
    "ts-keys": {"keys": "on", "fragments_per_key": 2, "ctx": "on"},
    "fmp4-keys-memory": {"use_fmp4": "on", "keys": "on", "storage": "memory"},
    "fmp4": {"use_fmp4": "on"},
}


def check(server, path, directory, seconds=10):
    """The findings by rule."""
    out = directory / "found.json"
    words = [ROOT / "research/hls_check.py", server.http_url(path), "--seconds", seconds, "--slack", 0.3 * SLOW, "--json", out]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=scaled(60), check=False)
    assert done.returncode in (0, 1), done.stderr
    assert ", 0 segments" not in done.stdout, f"segments should be fetched: {done.stdout}"
    return done.stdout, {one["rule"]: one for one in json.loads(out.read_text())["findings"]}


@pytest.mark.quiet
@pytest.mark.parametrize("form", FORMS)
def test_no_rule_is_broken(servers, tmp_path, form):
    """Two audio tracks: two or three media playlists of one multivariant playlist."""
    server = servers(vhosts=hls.vhost(fragment="1", window="6", **FORMS[form]))
    # Without its end, which has a gap before it begins anew.
    tags = media.tags(media.two_audio_tracks(20))
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        path = "/live/one.m3u8" if FORMS[form].get("ctx") == "on" else "/live/one~master.m3u8"
        wait_until(lambda: http.get_status(server.http_port, path) == 200, 15, "a playlist")
        text, found = check(server, path[1:], tmp_path)
    errors = {rule for rule, one in found.items() if one["severity"] == "error"}
    assert not errors, text
    assert text.splitlines()[-1].startswith("2 media" if form.startswith("ts") else "3 media"), text
    # What this server does not do.
    assert set(found) <= {"date-missing", "independent-multivariant", "attribute-hex", "rendition-language"}, text
