"""What an earlier run left of HLS: it has its time, as if its publisher had just gone, and then it goes."""

import signal

import pytest

from lib import hls, media, publishing, rtmp
from lib.timing import wait_until

PLAYLIST = "/live/%s.m3u8"


def publish_some(server, *names):
    """Streams of a few segments each, whose files are on disk."""
    for name in names:
        with rtmp.publisher(server, "live", name) as client:
            publishing.send_all(client, media.tags(media.plain()))
            hls.wait(server, PLAYLIST % name, lambda playlist: len(playlist.segments) >= 2, what="two segments")


def files_of(server, name):
    return sorted(path.name for path in (server.dir / "html" / "live").glob(f"{name}[.-]*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
def test_what_a_run_left_is_disposed_of(servers, number):
    server = servers(top="hls_roll ./state/hls.roll;\n", vhosts=hls.vhost(fragment="0.5", dispose="2"))
    publish_some(server, "gone", "back")
    roll = server.dir / "state" / "hls.roll"
    wait_until(lambda: roll.exists() and "gone" in roll.read_text(), 5, "the streams are on the roll")
    server.signal(number)
    server.wait_exit(10)
    assert len(files_of(server, "gone")) >= 3, f"playlist and segments should be left: {files_of(server, 'gone')}"
    server.start()
    with rtmp.publisher(server, "live", "back") as client:
        with publishing.Steady(client, media.from_keyframe(media.plain())):
            wait_until(lambda: not files_of(server, "gone"), 10, lambda: f"they go; left: {files_of(server, 'gone')}")
            server.wait_log("HLS of .*live/gone is disposed of")
            assert hls.get(server, PLAYLIST % "gone") is None, "its playlist should be gone too"
            hls.wait(server, PLAYLIST % "back", lambda p: p.segments and not p.ended, what="the stream that is back")
    wait_until(lambda: "gone" not in roll.read_text() and "back" in roll.read_text(), 5, "one stream is on the roll")


def test_a_roll_in_use_is_left_alone(servers):
    """A second server with the same file: it says so, and goes without."""
    first = servers(vhosts=hls.vhost(fragment="0.5"))
    path = first.dir / "objs" / "hls.roll"
    publish_some(first, "s")
    wait_until(lambda: path.exists() and "live\ts" in path.read_text(), 5, "the stream is on the roll")
    second = servers(top=f"hls_roll {path};\n", vhosts=hls.vhost(fragment="0.5"))
    second.wait_log("hls.roll is in use by another server")
    publish_some(second, "t")
    assert "live\tt" not in path.read_text()
