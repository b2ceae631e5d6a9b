"""Whose files are: what one vhost's streams wrote is served by that vhost's rules, whatever host a request names and by
whatever path it comes, live, when the stream has ended, and after a restart. The sources of requests are addresses of
this machine."""

import contextlib
import os
import time
from urllib.parse import quote, urljoin

import pytest

from lib import hls, hooks, http, media, publishing, rtmp
from lib.signed_urls import SECRET, query
from lib.timing import wait_until

PLAYER, DENIED = "127.0.0.3", "127.0.0.4"
RULES = f"security {{ enabled on; allow publish all; allow play all; deny play {DENIED}; }}"
FILES = (
    "hls { enabled on; hls_path ./html; hls_fragment 1; hls_window 3600; hls_dispose 0; hls_ctx %s; } "
    "dvr { enabled on; dvr_path ./html/[app]/[stream].[timestamp].flv; } play { rejoin_timeout 300; }"
)
HOSTS = ("a.com", "b.com", "A.COM", "a.com.", "unknown.example", "127.0.0.1")


def vhosts(a, ctx="off"):
    """a.com has these directives; b.com and the default vhost are public. All write into http_server's directory."""
    files = FILES % ctx
    return f"vhost __defaultVhost__ {{ }} vhost a.com {{ {a} {files} }} vhost b.com {{ {files} }}\n"


def publish(server, vhost, stream):
    client = rtmp.publisher(server, "live", stream, tc_url=f"rtmp://{vhost}/live", source=PLAYER)
    return publishing.Steady(client, media.from_keyframe(media.frequent_keyframes()), speed=10)


def get(server, path, source=PLAYER, host="a.com", port=None):
    return http.get(port or server.http_port, path, source=source, Host=host)


def written(server, stream, kinds=(".ts", ".m3u8", ".flv")):
    """One complete file of each kind, by its path for HTTP."""
    found = {}
    for path in sorted((server.dir / "html" / "live").glob("*")):
        if path.name.startswith(stream) and path.suffix in kinds:
            found.setdefault(path.suffix, f"/live/{path.name}")
    return [found[kind] for kind in kinds] if len(found) == len(kinds) else None


def ways(server, path, links):
    """Requests that all lead to this file: (port, host, path)."""
    port, second = server.http_port, server.rtmps_port
    name = path.rpartition("/")[2]
    yield from ((port, host, path) for host in HOSTS)
    yield second, "b.com", path
    for host in ("b.com", "a.com"):
        yield from ((port, host, f"{path}?{key}=b.com") for key in ("vhost", "domain"))
        yield port, host, f"/live//{name}"
        yield port, host, f"/./live/./{name}"
        yield port, host, "/live/" + "".join(f"%{ord(letter):02x}" for letter in name)
        if links:
            yield from ((port, host, f"/{quote(link)}") for link in links[path])


def forget_owner(file):
    """As of a copy, or on a file system without attributes."""
    with contextlib.suppress(OSError):
        os.removexattr(file, "user.srs.stream")


def make_links(server, paths):
    html = server.dir / "html"
    if not (html / "by").exists():
        (html / "by").symlink_to("live")
    links = {}
    for number, path in enumerate(paths):
        name = path.rpartition("/")[2]
        for kind in (path.rpartition(".")[2], "txt"):
            (html / f"soft{number}.{kind}").symlink_to(f"live/{name}")
        os.link(html / path[1:], html / f"hard{number}.bin")
        suffix = path.rpartition(".")[2]
        links[path] = [f"by/{name}", f"soft{number}.{suffix}", f"soft{number}.txt", f"hard{number}.bin"]
    return links


def check(server, paths, links, refused, what):
    for path in paths:
        for port, host, way in ways(server, path, links):
            for source, status in ((PLAYER, 200), (DENIED, 403 if refused else 200)):
                if (got := get(server, way, source, host, port)).status in (status, 206):
                    continue
                pytest.fail(f"{what}: {way} of {host} for {source} should be {status}: {got.describe()}")


def test_a_file_is_served_by_the_rules_of_who_wrote_it(servers):
    """Of the server that wrote them, of the next, and where the file system has forgotten who wrote them."""
    server = servers.make(vhosts=vhosts(RULES))
    first = f"listen 127.0.0.1:{server.http_port};"
    server.conf_path.write_text(server.conf.replace(first, f"{first[:-1]} 127.0.0.1:{server.rtmps_port};"))
    server.start()
    with publish(server, "a.com", "secret") as one, publish(server, "b.com", "open") as two:
        live = [wait_until(lambda s=s: written(server, s, (".ts", ".m3u8")), 15, f"{s} on disk") for s in ("secret", "open")]
        check(server, live[0], None, True, "while it is published")
        check(server, live[1], None, False, "while it is published")
        assert one.error is None and two.error is None
    secret, public = (wait_until(lambda s=s: written(server, s), 15, f"{s} is recorded") for s in ("secret", "open"))
    links = make_links(server, secret + public)
    (server.dir / "html" / "page.html").write_text("page")
    check(server, secret, links, True, "when it has ended")
    check(server, public, links, False, "when it has ended")
    server.stop()
    server.start()
    check(server, secret, links, True, "after a restart")
    check(server, public, links, False, "after a restart")
    # Copies, and other file systems, do not say whose they are: their names do.
    for path in secret + public:
        forget_owner(server.dir / "html" / path[1:])
    for path in links:
        for link in links[path]:
            if link.startswith("hard"):
                (server.dir / "html" / link).unlink()
        links[path] = [link for link in links[path] if not link.startswith("hard")]
    check(server, secret, links, True, "by its name alone")
    check(server, public, links, True, "by its name alone it may be of either: the stricter one decides")
    assert get(server, "/page.html", DENIED, "b.com").status == 200, "pages are everybody's"


def test_directories_of_their_own_tell_whose_files_are(servers):
    """Without attributes: [vhost] in patterns, and media files of no pattern in a directory that one vhost writes."""
    a = "hls { enabled on; hls_path ./html/a; hls_fragment 1; } " + RULES
    b = "dvr { enabled on; dvr_path ./html/[vhost]/[app]/[stream].flv; }"
    c = f"dvr {{ enabled on; dvr_path ./html/[vhost]/[app]/[stream].flv; }} {RULES}"
    d = f"http_static {{ enabled on; mount [vhost]/; dir ./html/d; }} {RULES}"
    blocks = {"__defaultVhost__": "", "a.com": a, "b.com": b, "c.com": c, "d.com": d}
    server = servers(vhosts="".join(f"vhost {name} {{ {block} }}\n" for name, block in blocks.items()))
    html = server.dir / "html"
    cases = {
        "a/old.mp4": 403, "b.com/live/one.flv": 200, "c.com/live/one.flv": 403, "d/film.mp4": 403,
        "a/page.html": 200, "d/page.html": 200,
    }  # fmt: skip
    for path in cases:
        (html / path).parent.mkdir(parents=True, exist_ok=True)
        (html / path).write_bytes(b"bytes")
    for path, status in cases.items():
        for host in (*HOSTS, "c.com", "d.com"):
            got = get(server, f"/{path}", DENIED, host)
            assert got.status == status, f"/{path} of {host} should be {status}: {got.describe()}"
            assert get(server, f"/{path}", PLAYER, host).status == 200
    assert get(server, "/film.mp4", DENIED, "d.com").status == 403 and get(server, "/film.mp4", PLAYER, "d.com").status == 200


def test_hooks_and_contexts_hold_by_any_host(servers):
    """The playlist of a live stream by another host, or another path to it, is that of its own vhost: the hook is asked,
    once for a viewer, and what it refuses stays refused."""
    verdicts = {"code": 0}

    def verdict(server, socket, call):
        socket.sendall(hooks.answer(str(verdicts["code"])))

    with hooks.HookServer(play=verdict) as asked:
        more = f"http_hooks {{ enabled on; on_play {asked.url('play')}; }}"
        server = servers(vhosts=vhosts(more, "on"))
        with publish(server, "a.com", "s"), publish(server, "b.com", "t"):
            wait_until(lambda: written(server, "s", (".ts", ".m3u8")), 15, "HLS is there")
            wait_until(lambda: written(server, "t", (".ts", ".m3u8")), 15, "HLS is there")
            (server.dir / "html" / "by").symlink_to("live")
            for host in ("b.com", "unknown.example"):
                for path in ("/live/s.m3u8", "/live//s.m3u8", "/by/s.m3u8", "/live/s.m3u8?vhost=b.com"):
                    asked.calls.clear()
                    master = get(server, path, host=host)
                    assert master.status == 200 and b"hls_ctx=" in master.body, master.describe()
                    inner = urljoin(path, master.body.decode().splitlines()[-1])
                    answer = get(server, inner, host=host)
                    playlist = hls.Playlist(answer.body.decode())
                    assert len(asked.bodies("on_play")) == 1 and asked.bodies("on_play")[0]["vhost"] == "a.com"
                    segment = get(server, urljoin(path, playlist.segments[0].uri), host=host)
                    assert segment.status == 200 and len(segment.body) > 1000, segment.describe()
            verdicts["code"] = 1
            for host in ("a.com", *HOSTS):
                for path in ("/live/s.m3u8", "/live//s.m3u8", "/by/s.m3u8", "/live/s.m3u8?hls_ctx=invented"):
                    got = get(server, path, host=host)
                    assert got.status == 403, f"{path} of {host}: the hook refuses: {got.describe()}"
            assert get(server, "/live/t.m3u8", host="b.com").status == 200, "the other vhost has no hook"


def test_recordings_of_signed_streams_need_a_signature(servers):
    signed = f"signed_urls {{ enabled on; secret {SECRET}; publish off; }}"
    record = "dvr { enabled on; dvr_path ./html/[app]/[stream].[timestamp].flv; }"
    server = servers(vhosts=f"vhost __defaultVhost__ {{ }} vhost a.com {{ {signed} {record} }} vhost b.com {{ {record} }}")
    with publish(server, "a.com", "one"), publish(server, "a.com", "two"), publish(server, "b.com", "open"):
        time.sleep(0.3)
    one, two, public = (
        wait_until(lambda s=s: written(server, s, (".flv",)), 15, f"{s} is recorded")[0] for s in ("one", "two", "open")
    )

    def check_all(public_status):
        for host in HOSTS:
            assert get(server, one, host=host).status == 403, f"{host}: the URL is not signed"
            good, other = query("play", "one", vhost="a.com"), query("play", "two", vhost="a.com")
            assert get(server, f"{one}?{good}", host=host).status == 200, get(server, f"{one}?{good}", host=host).describe()
            assert get(server, f"{one}?{other}", host=host).status == 403, "signed for another stream"
            assert get(server, f"{two}?{other}", host=host).status == 200
            assert get(server, public, host=host).status == public_status

    check_all(200)
    for path in (one, two, public):
        forget_owner(server.dir / "html" / path[1:])
    check_all(403)


def test_a_vhost_that_is_gone_leaves_its_files_to_nobody(servers):
    server = servers(vhosts=vhosts(RULES))
    with publish(server, "a.com", "secret"):
        time.sleep(0.3)
    (recording,) = wait_until(lambda: written(server, "secret", (".flv",)), 15, "it is recorded")
    assert get(server, recording, host="b.com").status == 200
    server.stop()
    server.conf_path.write_text(server.conf.replace(vhosts(RULES), "vhost b.com { http_remux { enabled on; } }\n"))
    server.start()
    for source in (PLAYER, DENIED):
        assert get(server, recording, source, "b.com").status == 403
    (server.dir / "html" / "intro.mp4").write_bytes(b"of the operator")
    assert get(server, "/intro.mp4", DENIED, "b.com").status == 200, "what no stream wrote goes by the host's rules"
