"""Signed URLs: publishing and playing by RTMP, HTTP-FLV, HTTP-TS and HLS need a signature that is right, of this
stream, not expired, and for this address where it names one. The signatures are Python's own."""

import subprocess
import sys
import time
from urllib.parse import urljoin, urlsplit

import pytest

from lib import hls, http, media, publishing, rtmp
from lib.server import ROOT, run_once
from lib.signed_urls import SECRET, query
from lib.timing import wait_until

def vhost(more="", hls_block="", directives="secret old-one correct-horse;"):
    return (
        "vhost __defaultVhost__ { http_remux { enabled on; } play { rejoin_timeout 300; } "
        f"signed_urls {{ enabled on; {directives} }} {hls_block} {more} }}\n"
    )


def bad_queries(action):
    good = query(action)
    sign = good.rpartition("sign=")[2]
    return {
        "none": "",
        "no signature": good.partition("&")[0],
        "another secret": query(action, secret="wrong"),
        "expired": query(action, seconds=-2),
        "another stream": query(action, stream="two"),
        "another action": query("play" if action == "publish" else "publish"),
        "another vhost": query(action, vhost="other"),
        "another address": query(action, ip="192.0.2.1"),
        "a later expiry": good.replace("expires=", "expires=1"),
        "half a signature": good.replace(sign, sign[:32]),
        "upper case": good.replace(sign, sign.upper()),
    }


def test_publish_and_play(servers):
    server = servers(vhosts=vhost())
    for why, bad in bad_queries("publish").items():
        with pytest.raises(rtmp.Refused):
            rtmp.publisher(server, "live", f"one?{bad}").close()
            pytest.fail(f"a publisher with {why} was let in")
    with rtmp.publisher(server, "live", f"one?{query('publish', secret='old-one')}") as publisher:
        publishing.send_all(publisher, media.tags(media.plain())[:100])
        for why, bad in bad_queries("play").items():
            with pytest.raises(rtmp.Refused):
                rtmp.player(server, "live", f"one?{bad}").close()
                pytest.fail(f"a player with {why} was let in")
            for extension in ("flv", "ts"):
                answer = http.get(server.http_port, f"/live/one.{extension}?{bad}")
                assert answer.status == 403, f"{why}, .{extension}: {answer.describe()}"
        good = query("play", ip="127.0.0.1")
        with rtmp.player(server, "live", f"one?{good}") as player:
            assert player.tags()
        with http.Live(server.http_port, f"/live/one.flv?token=x&{good}") as player:
            assert player.response.status == 200 and player.tags()
        with http.Live(server.http_port, f"/live/one.ts?{good}") as player:
            assert player.response.status == 200 and player.data()
        # In the app's parameters, as some encoders have it.
        with rtmp.Client("127.0.0.1", server.rtmp_port).handshake() as player:
            player.connect(f"live?{good}")
            player.play("one")
            assert player.tags()
    # The secret stands in no log line, nor does a signature.
    assert SECRET not in server.log() and "sign=" not in server.log()


def test_one_direction_only(servers):
    server = servers(vhosts=vhost(directives=f"secret {SECRET}; play off;"))
    with pytest.raises(rtmp.Refused):
        rtmp.publisher(server, "live", "one")
    with rtmp.publisher(server, "live", f"one?{query('publish')}") as publisher:
        publishing.send_all(publisher, media.tags(media.plain())[:100])
        with rtmp.player(server, "live", "one") as player:
            assert player.tags()


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_hls(servers, storage):
    """Playlists by signature; segments, keys and initialisation segments follow the playlist's right."""
    block = f"hls {{ enabled on; hls_fragment 1; hls_storage {storage}; hls_path ./hls; hls_keys on; hls_use_fmp4 on; }}"
    server = servers(vhosts=vhost(hls_block=block, directives=f"secret {SECRET}; publish off;"))
    for name in ("one", "two"):
        with rtmp.publisher(server, "live", name) as publisher:
            publishing.send_all(publisher, media.from_keyframe(media.plain()), 20)

    def get(path):
        return http.get(server.http_port, path)

    def playlist(name, seconds=60):
        master = get(f"/live/{name}.m3u8?{query('play', name, seconds)}")
        assert master.status == 200, master.describe()
        return urljoin(f"/live/{name}.m3u8", master.body.decode().splitlines()[-1])

    wait_until(lambda: get(f"/live/one.m3u8?{query('play')}").status == 200, 10, "HLS is there")
    for why, bad in bad_queries("play").items():
        for more in ("", "&hls_ctx=abcd"):
            answer = get(f"/live/one.m3u8?{bad}{more}")
            assert answer.status == 403, f"{why}: {answer.describe()}"
    # A viewer that was let in goes on when its URL has expired.
    address = playlist("one", 2)
    answer = get(address)
    assert answer.status == 200, answer.describe()
    time.sleep(3.1)
    answer = get(address)
    assert answer.status == 200, f"a viewer stays one when its URL expires: {answer.describe()}"
    listed = hls.Playlist(answer.body.decode())
    resources = {part for segment in listed.segments for part in (segment.uri, segment.map, segment.key.uri)}
    assert len(resources) >= 4, f"segments, a map and keys: {resources}"
    context = urlsplit(listed.segments[0].uri).query
    other = urlsplit(playlist("two")).query.partition("&")[0]
    assert get(f"/live/two.m3u8?{other}&{query('play', 'two')}").status == 200
    for uri in resources:
        path = urljoin("/live/one.m3u8", uri)
        assert get(path).status == 200, get(path).describe()
        for bad in ("", other, "hls_ctx=zzzzzzzz", query("play")):
            answer = get(f"{path.partition('?')[0]}?{bad}")
            assert answer.status == 403, f"{uri} with {bad}: {answer.describe()}"
    answer = get(f"/live/two.m3u8?{context}")
    assert answer.status == 403, f"the viewer of one stream is none of another: {answer.describe()}"


def test_what_would_leave_a_door_open_is_an_error(tmp_path):
    def problems(block, hls_block="", http_server="http_server { enabled on; dir ./html; }"):
        conf = tmp_path / "t.conf"
        conf.write_text(f"listen 1935; {http_server}\nvhost v {{ signed_urls {{ {block} }} {hls_block} }}")
        return run_once("-t", "-c", str(conf))

    code, text = problems("enabled on;")
    assert code == 1 and "without a secret" in text, text
    signed = "enabled on; secret x;"
    for hls_block, why in (
        ("hls { enabled on; hls_path ./html/hls; }", "without a signature http_server's dir serves"),
        ("hls { enabled on; hls_path ./hls; hls_ctx off; }", "needs hls_ctx on"),
        ("hls { enabled on; hls_storage memory; hls_ts_ctx off; }", "needs hls_ctx on"),
    ):
        code, text = problems(signed, hls_block)
        assert code == 1 and why in text, f"{hls_block}: {text}"
    for hls_block in ("hls { enabled on; hls_path ./hls; }", "hls { enabled on; hls_storage memory; }"):
        code, text = problems(signed, hls_block)
        assert code == 0, f"{hls_block}: {text}"


def test_the_helper_makes_good_ones(servers):
    server = servers(vhosts=vhost())

    def make(action, url, *more):
        words = [sys.executable, ROOT / "scripts/sign_url", "--secret", SECRET, *more, action, url]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    url = make("publish", server.rtmp_url("live/one"))
    with rtmp.publisher(server, "live", url.rpartition("/")[2]) as publisher:
        publishing.send_all(publisher, media.tags(media.plain())[:100])
        url = make("play", server.http_url("live/one.flv?a=b"), "--ip", "127.0.0.1", "--seconds", "5")
        with http.Live(server.http_port, url[url.index("/live") :]) as player:
            assert player.response.status == 200, player.response.describe()
