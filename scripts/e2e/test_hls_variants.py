"""HLS of several streams that are variants of one: hls_variants, their multivariant playlist, numbers and times that mean
the same in each, variants that leave and return, and who may play them."""

import contextlib
import json
import re
import subprocess
from urllib.parse import urljoin, urlsplit

import pytest

from lib import api, edges, flv, hls, hooks, http, media, publishing, rtmp, signed_urls, variants_page
from lib.server import ROOT, run_once
from lib.timing import SLOW, scaled, wait_until

PATH = "/live/x.m3u8"
NAMES = ["x_540p", "x_360p", "x_180p"]
GROUP = "live/x_540p live/x_360p live/x_180p"
FORMS = {
    "ts-disk": {},
    "fmp4-memory": {"use_fmp4": "on", "storage": "memory"},
    "fmp4-parts": {"use_fmp4": "on", "storage": "memory", "low_latency": "on"},
}


def steady(server, name, start_at=0):
    tags = media.tags(media.ladder(name.rpartition("_")[2]))
    return publishing.Steady(rtmp.publisher(server, "live", name, timeout=scaled(10)), tags, start_at=start_at)


@contextlib.contextmanager
def published(server, names=NAMES):
    """As one encoder does it: it connects for all of them, and then sends."""
    tags = {name: media.tags(media.ladder(name.rpartition("_")[2])) for name in names}
    clients = {name: rtmp.publisher(server, "live", name, timeout=scaled(10)) for name in names}
    with contextlib.ExitStack() as stack:
        for name, client in clients.items():
            stack.enter_context(publishing.Steady(client, tags[name]))
        yield


def group_of(server, path=PATH):
    """The multivariant playlist; None where there is none."""
    response = http.get(server.http_port, path)
    assert response.status in (200, 404), response.describe()
    return hls.Multivariant(response.body.decode()) if response.status == 200 else None


def names_of(multivariant):
    return [urlsplit(uri).path.removeprefix("/live/").removesuffix(".m3u8") for uri in multivariant.variants]


def wait_names(server, names, seconds=15):
    """Until the multivariant playlist names these streams, in this order."""
    last = []

    def look():
        multivariant = group_of(server)
        last[:] = names_of(multivariant) if multivariant else ["404"]
        return last == names and multivariant

    return wait_until(look, seconds, lambda: f"{names}; there are {last}", 0.1)


def start_check(server, directory, seconds):
    out = directory / "found.json"
    words = [ROOT / "research/hls_check.py", server.http_url(PATH[1:]), "--seconds", seconds, "--slack", 0.3 * SLOW, "--json", out]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True), out


def errors_of(process, out):
    """What it printed, and the rules that are broken whose breach is an error."""
    text, _ = process.communicate(timeout=scaled(60))
    assert process.returncode in (0, 1), text
    assert ", 0 segments" not in text, f"segments should be fetched: {text}"
    return text, {one["rule"] for one in json.loads(out.read_text())["findings"] if one["severity"] == "error"}


def wait_text(server, path):
    answer = wait_until(lambda: (r := http.get(server.http_port, path)).status == 200 and r, 15, f"200 of {path}")
    return answer.body.decode()


def playlists_of(server, names=NAMES):
    """Of their complete segments, without what low latency adds."""
    texts = {name: wait_text(server, f"/live/{name}.m3u8") for name in names}
    playlists = {}
    for name, text in texts.items():
        lines = re.sub(r"#EXT-X-(SERVER-CONTROL|PART|PART-INF|PRELOAD-HINT|RENDITION-REPORT):.*\n", "", text).splitlines()
        while lines[-1].startswith("#") and lines[-1] != "#EXT-X-ENDLIST":
            lines.pop()
        playlists[name] = hls.Playlist("\n".join(lines) + "\n")
    return playlists


def assert_equal_numbers(playlists, apart=0.0):
    """Segments of equal numbers begin at the same time, by their dates, or so many seconds apart at most."""
    rows = {name: {one.sequence: one for one in playlist.segments} for name, playlist in playlists.items()}
    common = set.intersection(*(set(row) for row in rows.values()))
    texts = "\n".join(playlist.text for playlist in playlists.values())
    assert len(common) >= 2, f"numbers in common, there are {sorted(common)}:\n{texts}"
    for number in common:
        dates = [row[number].date for row in rows.values()]
        assert max(dates) - min(dates) <= apart + 0.002, f"segment {number} begins at {dates}:\n{texts}"
    assert len({playlist.target for playlist in playlists.values()}) == 1, texts


@pytest.mark.quiet
@pytest.mark.parametrize("form", FORMS)
def test_renditions_of_one_encoder(servers, tmp_path, form):
    """What the multivariant playlist says, that no rule of HLS is broken over all of them, and that numbers are equal."""
    server = servers(vhosts=hls.vhost(fragment="2", window="12", ctx="off", variants=GROUP, **FORMS[form]))
    with published(server):
        multivariant = wait_names(server, NAMES)
        assert multivariant.independent == (form != "fmp4-parts"), multivariant.text
        sizes = [f"{width}x{height}" for width, height in media.LADDER.values()]
        variants = list(multivariant.variants.values())
        assert [variant["RESOLUTION"] for variant in variants] == sizes, multivariant.text
        for variant in variants:
            assert variant["FRAME-RATE"] == "25.000" and variant["CODECS"].endswith(",mp4a.40.2"), multivariant.text
        rates = [int(variant["BANDWIDTH"]) for variant in variants]
        assert rates == sorted(rates, reverse=True), multivariant.text
        text, errors = errors_of(*start_check(server, tmp_path, 12))
        assert not errors and text.splitlines()[-1].startswith("3 media"), text
        # Each is asked for at another moment.
        playlists = playlists_of(server)
    assert_equal_numbers(playlists)
    assert {playlist.discontinuities for playlist in playlists.values()} == {0}
    for one, other in zip(playlists[NAMES[0]].segments, playlists[NAMES[1]].segments[-len(playlists[NAMES[0]].segments):]):
        assert one.sequence != other.sequence or one.duration == other.duration, f"{one} {other}"


@pytest.mark.quiet
@pytest.mark.parametrize("form", ["ts-disk", "fmp4-parts"])
def test_encoders_of_their_own_come_later(servers, tmp_path, form):
    """Their times begin at 0 again, and their keyframes are where they are: numbers, dates and times are the group's."""
    server = servers(vhosts=hls.vhost(fragment="2", window="12", ctx="off", variants=GROUP, **FORMS[form]))
    with steady(server, NAMES[0]):
        wait_until(lambda: len(playlists_of(server, NAMES[:1])[NAMES[0]].segments) >= 3, 20, "segments of the first")
        with steady(server, NAMES[1], start_at=70_000):
            wait_names(server, NAMES[:2])
            with steady(server, NAMES[2]):
                wait_names(server, NAMES)
                text, errors = errors_of(*start_check(server, tmp_path, 10))
                # That of other encoders is not exactly as long.
                assert not errors, text
                playlists = playlists_of(server)
    assert_equal_numbers(playlists, apart=2)


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_a_late_keyframe_of_one_is_the_target_duration_of_all(servers, storage):
    server = servers(vhosts=hls.vhost(fragment="1", storage=storage, variants=GROUP, wait_keyframe="on"))
    late = media.tags(media.ladder("540p"))
    keyframes = [tag for tag in late if flv.is_keyframe(tag)]
    late = [tag for tag in late if tag not in keyframes[4:7]]
    with rtmp.publisher(server, "live", NAMES[0], timeout=scaled(10)) as one, rtmp.publisher(server, "live", NAMES[1], timeout=scaled(10)) as other:
        with publishing.Steady(one, late), publishing.Steady(other, media.tags(media.ladder("360p"))):
            wait_names(server, NAMES[:2])
            wait_until(lambda: hls.get(server, f"/live/{NAMES[0]}.m3u8").target >= 4, 20, "a long segment")
            targets = [hls.get(server, f"/live/{name}.m3u8").target for name in NAMES[:2]]
            assert targets[0] == targets[1] == 4, targets


def test_a_variant_leaves_and_returns(servers):
    server = servers(vhosts=hls.vhost(fragment="1", window="8", ctx="off", rejoin=30_000, variants=GROUP))
    middle = f"/live/{NAMES[1]}.m3u8"
    with steady(server, NAMES[0]), steady(server, NAMES[2]):
        with steady(server, NAMES[1]):
            wait_names(server, NAMES)
            before = hls.wait(server, middle, lambda found: len(found.segments) >= 3, 15)
        answer = wait_until(lambda: (r := http.get(server.http_port, middle)).status == 404 and r, 5, "404 of its playlist")
        assert b"other variants are" in answer.body and answer.headers["cache-control"] == "max-age=1", answer.describe()
        assert names_of(group_of(server)) == [NAMES[0], NAMES[2], NAMES[1]], "those that are there come first"
        hls.fetch(server, middle, before.segments[-1].uri)
        wait_names(server, [NAMES[0], NAMES[2]], 10)
        with steady(server, NAMES[1]):
            again = hls.wait(server, middle, lambda found: len(found.segments) >= 3, 15)
            wait_names(server, NAMES)
            assert_equal_numbers(playlists_of(server), apart=1)
        assert again.sequence > before.sequence + len(before.segments), f"{before.text}\n{again.text}"
        assert again.discontinuities == 0 and not again.segments[0].discontinuity, again.text
        for other in (NAMES[0], NAMES[2]):
            playlist = hls.get(server, f"/live/{other}.m3u8")
            assert not any(one.discontinuity or one.gap for one in playlist.segments), playlist.text


def test_all_variants_leave(servers):
    """As a stream that ends: each playlist gets its end, and the multivariant one stays until all are disposed of."""
    server = servers(vhosts=hls.vhost(fragment="1", ctx="off", rejoin=500, variants=GROUP, dispose="6"))
    with published(server):
        wait_names(server, NAMES)
    for name in NAMES:
        hls.wait_end(server, f"/live/{name}.m3u8")
    assert sorted(names_of(group_of(server))) == sorted(NAMES)
    wait_until(lambda: group_of(server) is None, 20, "no multivariant playlist")
    with steady(server, NAMES[2]):
        wait_names(server, [NAMES[2]])


def test_patterns_and_names_of_streams(servers):
    """By bitrate, and only so many; a stream with the group's name keeps its playlist where viewers have no context."""
    server = servers(vhosts=hls.vhost(fragment="1", ctx="off", storage="memory", variants="[stream] [stream]_*"))
    with published(server, ["x_180p", "x_540p"]), steady(server, "y_360p"):
        wait_names(server, ["x_540p", "x_180p"])
        wait_until(lambda: (found := group_of(server, "/live/y.m3u8")) and names_of(found) == ["y_360p"], 15, "a group of one")
        tags = media.tags(media.plain())
        with publishing.Steady(rtmp.publisher(server, "live", "x", timeout=scaled(10)), tags):
            hls.wait(server, PATH, lambda found: found.segments, 20)
            names = names_of(group_of(server, "/live/x~master.m3u8"))
            assert sorted(names) == ["x", "x_180p", "x_540p"], names
    assert http.get_status(server.http_port, "/live/z.m3u8") == 404


def test_there_are_only_so_many_variants(servers):
    server = servers(vhosts=hls.vhost(fragment="1", ctx="off", storage="memory", variants="[stream]_*"))
    tags = media.tags(media.ladder("180p"))
    with contextlib.ExitStack() as stack:
        for number in range(20):
            client = stack.enter_context(rtmp.publisher(server, "live", f"x_{number}", timeout=scaled(10)))
            publishing.send_all(client, tags[:100])
        wait_until(lambda: (found := group_of(server)) and len(found.variants) == 16, 15, "16 variants")
        server.wait_log(r"HLS of .*live/x_\d+: it is not among the variants of .*live/x: there are 16 of them")
        assert sorted(names_of(group_of(server))) == sorted(f"x_{number}" for number in range(16)), "who came first"
        assert http.get_status(server.http_port, "/live/x_19.m3u8") == 200, "it has its own playlist"


def test_a_viewer_of_the_group_is_one_viewer(servers):
    with hooks.HookServer() as asked:
        block = f"hls {{ enabled on; hls_fragment 1; hls_path ./html; hls_variants {GROUP}; }}"
        server = servers(top=api.ON, vhosts=hooks.vhost(hls=block, on_play=asked.url("on_play"), on_stop=asked.url("on_stop")))
        with published(server):
            wait_until(lambda: http.get_status(server.http_port, PATH + "?u=0") == 200, 15, "a playlist")
            wait_until(lambda: len(group_of(server, PATH + "?u=0").variants) == 3, 15, "three variants")
            multivariant = group_of(server, PATH + "?u=1")
            contexts = {urlsplit(uri).query for uri in multivariant.variants}
            assert len(contexts) == 1 and contexts.pop().endswith("&u=1"), multivariant.text
            for uri in multivariant.variants:
                playlist = hls.get(server, uri)
                hls.fetch(server, uri, playlist.segments[-1].uri)
            (played,) = asked.wait("on_play", param="?u=1")
            assert (played["app"], played["stream"]) == ("live", "x"), played
            # A variant by itself is another play.
            assert http.get_status(server.http_port, "/live/x_180p.m3u8?u=2") == 200
            (alone,) = asked.wait("on_play", param="?u=2")
            assert alone["stream"] == "x_180p", alone
            assert len(asked.bodies("on_play", param="?u=1")) == 1, asked.bodies("on_play")
            assert {name: one.get("hls_variant_of") for name, one in api.streams(server).items()} == {
                "x": None, **dict.fromkeys(NAMES, "live/x")}, "the group is a stream that is only played"  # fmt: skip
            viewers = [one for one in api.clients(server) if one["id"] == played["client_id"]]
            assert [one["name"] for one in viewers] == ["x"] and viewers[0]["send_bytes"] > 1000, viewers
            assert http.get(server.http_port, PATH, method="HEAD").status == 200


def test_which_signature_opens_what(servers):
    """That of the group opens its variants; that of a variant only this one."""
    block = f"hls {{ enabled on; hls_fragment 1; hls_storage memory; hls_variants {GROUP}; }}"
    signed = f"signed_urls {{ enabled on; secret {signed_urls.SECRET}; publish off; }}"
    server = servers(vhosts=f"vhost __defaultVhost__ {{ {block} {signed} }}\n")

    def get(path):
        return http.get(server.http_port, path)

    with published(server):
        query = signed_urls.query("play", "x")
        wait_until(lambda: get(f"{PATH}?{query}").status == 200, 15, "a playlist")
        wait_until(lambda: len(group_of(server, f"{PATH}?{query}").variants) == 3, 15, "three variants")
        multivariant = group_of(server, f"{PATH}?{query}")
        for uri in multivariant.variants:
            assert get(uri).status == 200, get(uri).describe()
            segment = hls.Playlist(get(uri).body.decode()).segments[-1].uri
            assert get(urljoin(uri, segment)).status == 200
            for bad in ("", "?hls_ctx=zzzzzzzz", f"?{query}"):
                assert get(urljoin(uri, segment).partition("?")[0] + bad).status == 403, f"{segment} with {bad}"
        for bad in ("", f"?{signed_urls.query('play', 'x_540p')}", f"?{signed_urls.query('play', 'y')}"):
            assert get(PATH + bad).status == 403, bad
        # The group's signature is not that of a variant by itself, nor a variant's that of another one.
        assert get(f"/live/x_540p.m3u8?{query}").status == 403
        own = signed_urls.query("play", "x_180p")
        answer = get(f"/live/x_180p.m3u8?{own}")
        assert answer.status == 200, answer.describe()
        own_uri = hls.Multivariant(answer.body.decode()).uri
        assert get(own_uri).status == 200 and "x_180p" in own_uri
        context = urlsplit(own_uri).query.split("&")[0]
        for other in ("x_540p.m3u8", "x_360p.m3u8", "x.m3u8"):
            assert get(f"/live/{other}?{context}").status == 403, other
            assert get(f"/live/{other}?{context}&{own}").status == 403, other
        high = hls.Playlist(get(next(iter(multivariant.variants))).body.decode()).segments[-1].uri
        assert get(urljoin(PATH, high).partition("?")[0] + f"?{context}").status == 403, "a segment of another variant"
        # After a restart players go on with what they have.
        path, _, rest = next(iter(multivariant.variants)).partition("?")
        assert get(f"{path}?hls_ctx=oldone&{rest.partition('&')[2]}").status == 200
        assert get(f"/live/x_180p.m3u8?hls_ctx=older&{own}").status == 200
        assert get(f"/live/x_540p.m3u8?hls_ctx=older&{own}").status == 403


def test_an_edge_fetches_the_variants(servers):
    """The first request for the group's playlist has all of its streams fetched."""
    origin = edges.origin(servers)
    block = f"hls {{ enabled on; hls_fragment 1; hls_storage memory; hls_variants {GROUP}; }}"
    edge = edges.edge(servers, origin, vhost=block)
    with published(origin, NAMES[:2]):
        api.wait_stream(origin, NAMES[1])
        answer = http.get(edge.http_port, PATH)
        assert answer.status == 200, answer.describe()
        multivariant = hls.Multivariant(answer.body.decode())
        assert names_of(multivariant) == NAMES[:2], multivariant.text
        for uri in multivariant.variants:
            assert hls.get(edge, uri).segments
        playlists = {name: hls.wait(edge, uri, lambda found: len(found.segments) >= 3) for name, uri in zip(NAMES, multivariant.variants)}
        assert_equal_numbers(playlists, apart=1)
        # All are fetched as long as one of them is played.
        first = next(iter(multivariant.variants))
        for _ in range(13):
            hls.wait(edge, first, lambda found, last=hls.get(edge, first).segments[-1].sequence: found.segments[-1].sequence > last)
        assert hls.get(edge, list(multivariant.variants)[1]).segments[-1].sequence >= hls.get(edge, first).segments[-1].sequence - 1
    assert http.get_status(edge.http_port, "/live/y.m3u8") == 404


@pytest.mark.parametrize(
    "line, text",
    [
        ("live/x_1;", "have no beginning in common"),
        ("live/x_1 other/x_2;", "not of one application"),
        ("live/x_1 live/x_2; hls_variants live/x_2 live/x_2_a;", "is in two groups"),
        ("[stream]*;", "behind a text"),
        ("[stream]_*; hls_ctx off; hls_variants live/x live/x_1;", "with hls_ctx off the playlist of live/x is that of the stream alone"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, line, text):
    conf = tmp_path / "t.conf"
    conf.write_text(f"listen 1935; vhost v {{ hls {{ enabled on; hls_variants {line} }} }}")
    code, said = run_once("-t", "-c", str(conf))
    assert text in said and code == (0 if "with hls_ctx off" in text else 1), said


@pytest.mark.quiet
@pytest.mark.parametrize("player, form", [("hls.js", "ts-disk"), ("hls.js", "fmp4-memory"), ("shaka", "fmp4-parts")])
def test_a_player_changes_between_variants(servers, tool, tmp_path, player, form):
    """Up and down, away from one that ends, and back to it when it returns: without a stall."""
    if not variants_page.is_there(player):
        pytest.skip(f"scripts/test installs {player} and Chromium")
    server = servers(top=api.ON, vhosts=hls.vhost(fragment="1", window="10", ctx="on", variants=GROUP, **FORMS[form]))
    heights = [height for _, height in media.LADDER.values()]
    with steady(server, NAMES[0]), steady(server, NAMES[1]), contextlib.ExitStack() as third:
        third.enter_context(steady(server, NAMES[2]))
        wait_names(server, NAMES)
        url = f"/live/{NAMES[0]}.m3u8?hls_ctx=somebody"
        wait_until(lambda: http.get(server.http_port, url).body.count(b"#EXTINF") >= 7, 15, "as much as the player stays behind")
        page = variants_page.Page(tool, tmp_path, player, server.http_url(PATH[1:]))
        try:
            assert sorted(page.shows(None, among=heights)["known"]) == sorted(heights), page.last()
            for height in (heights[0], heights[2], heights[1], heights[2]):
                page.commands.append(height)
                page.shows(height)
            third.close()
            page.shows(None, 50, among=heights[:2])
            assert any(re.search("levelLoadError|404", error["details"]) for error in page.last()["errors"]), f"404 of the playlist: {page.last()}"
            third.enter_context(steady(server, NAMES[2]))
            wait_names(server, NAMES)
            page.commands.append(heights[2])
            # Its keyframes are elsewhere now: the player may have to pass over a part of a second.
            page.shows(heights[2], 50, may_stall=True)
        finally:
            page.close()
        viewers = [one for one in api.clients(server) if one["type"] == "hls-play" and one["ip"]]
        # Parts have no id of a viewer: only playlists are counted.
        least = 5_000 if form == "fmp4-parts" else 50_000
        assert sum(one["send_bytes"] > least for one in viewers) == 1, f"the browser is one viewer: {viewers}"
