"""Low-latency HLS: requests that wait for a part, and what ends their wait. That playlists follow the rules is checked by
research/hls_check (test_hls_check_server.py)."""

import gzip
import signal
import time

import pytest

from lib import api, flv, hls, hls_checked, hooks, http, media, publishing, rtmp  # hls_checked: the path of research
from lib.timing import scaled, wait_until

from hls_check import playlist as checked

PATH = "/live/one.m3u8"
ON = {"fragment": "1", "window": "8", "low_latency": "on"}


def ask(server, query="", method="GET", **headers):
    return http.get(server.http_port, PATH + (f"?{query}" if query else ""), method=method, **headers)


def read(response):
    assert response.status == 200, response.describe()
    body = gzip.decompress(response.body) if response.headers.get("content-encoding") == "gzip" else response.body
    return checked.read(body.decode())


def publish(server):
    tags = media.tags(media.frequent_keyframes())
    return publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags)


def wait(server, segments=1):
    def there():
        response = ask(server)
        return response.status == 200 and len(read(response).segments) >= segments and read(response)

    return wait_until(there, 15, f"a playlist of {segments} segments")


@pytest.fixture
def published(servers):
    server = servers(vhosts=hls.vhost(storage="memory", **ON))
    with publish(server):
        wait(server, 2)
        yield server


FORMS = {"fmp4": {"use_fmp4": "on"}, "ts": {}, "ts-memory": {"storage": "memory"}}


@pytest.mark.parametrize("form", FORMS)
def test_a_reload_waits_for_its_part(servers, form):
    server = servers(vhosts=hls.vhost(**ON, **FORMS[form]))
    with publish(server):
        now = wait(server)
        for _ in range(8):
            number, part = now.next_part()
            response = ask(server, f"_HLS_msn={number}&_HLS_part={part}", Accept_Encoding="gzip")
            came = read(response)
            assert (number, part) < came.next_part() <= max((number, part + 1), (number + 1, 1)), f"this part and none later: {came.text}"
            assert response.headers["cache-control"] == f"public, max-age={6 * now.target}", response.describe()
            last = came.all()[-1].parts[-1]
            assert http.get(server.http_port, "/live/" + last.uri).status == 200, "it is there"
            now = came


def test_a_hinted_part_waits(published):
    for _ in range(5):
        now = read(ask(published))
        hinted = now.hint()
        response = http.get(published.http_port, "/live/" + hinted)
        assert response.status == 200, response.describe()
        assert "max-age" in response.headers["cache-control"] and "etag" in response.headers, response.describe()
        listed = [part.uri for segment in read(ask(published)).all() for part in segment.parts]
        assert hinted in listed, f"{hinted} should become a part: {listed}"
        again = http.get(published.http_port, "/live/" + hinted)
        assert again.body == response.body and again.headers["etag"] == response.headers["etag"]
    other = now.hint().replace("~p", "~p9")
    began = time.monotonic()
    unhinted = http.get(published.http_port, "/live/" + other)
    assert unhinted.status == 404 and unhinted.headers["cache-control"] == "max-age=1", unhinted.describe()
    assert time.monotonic() - began < scaled(0.3), "what is not hinted is not waited for"


def test_what_is_answered_at_once(published):
    number = wait(published).last_number()
    answers = {
        "_HLS_part=1": 400,
        "_HLS_msn=x": 400,
        f"_HLS_msn={1 << 64}": 400,
        "_HLS_msn=" + "9" * 4000: 400,
        f"_HLS_msn={number}&_HLS_part=-1": 400,
        f"_HLS_msn={number + 1}&_HLS_part=1000": 400,
        f"_HLS_msn={1 << 63}": 400,
        f"_HLS_msn={number + 10}": 400,
        "_HLS_skip=1": 400,
        "_HLS_msn=0": 200,
        f"_HLS_msn={number}": 200,
        f"_HLS_msn={max(0, number - 1)}&_HLS_part=999": 200,
        "_HLS_new=1": 200,
        "_HLS_skip=YES": 200,
    }
    for query, status in answers.items():
        began = time.monotonic()
        response = ask(published, query)
        assert response.status == status, f"{query[:40]}: {response.describe()}"
        assert time.monotonic() - began < scaled(0.3), f"{query[:40]} does not wait"
        if status == 400:
            assert response.headers["cache-control"] == "max-age=1", response.describe()


def ask_many(server, count, query):
    connections = [http.Connection(server.http_port, timeout=scaled(20)) for _ in range(count)]
    for connection in connections:
        connection.request("GET", f"{PATH}?{query}")
    return connections


def test_keyframes_far_apart(servers):
    """The first segment is no longer than others: it waits for no keyframe, and the target duration is the configured one."""
    server = servers(vhosts=hls.vhost(storage="memory", **ON))
    tags = media.tags(media.late_keyframes())  # none behind 3 s
    last = max(tag.timestamp for tag in tags if flv.is_keyframe(tag))
    tags = [tag for tag in tags if not flv.is_frame(tag) or tag.timestamp >= last]
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags):
        began = time.monotonic()
        now = wait(server, 1)
        assert time.monotonic() - began < scaled(4) and now.target == 1, now.text
        now = wait(server, 4)
    assert all(segment.duration < 1.5 for segment in now.segments), now.text


def test_hundreds_of_players_wait_for_one_part(published):
    number = wait(published).last_number() + 2
    connections = ask_many(published, 300, f"_HLS_msn={number}&_HLS_part=1")
    try:
        came = []
        for connection in connections:
            playlist = read(connection.read_response())
            came.append(time.monotonic())
            assert playlist.next_part() == (number, 2), playlist.text
        assert came[-1] - came[0] < scaled(0.5), f"{came[-1] - came[0]:.3f} s from the first answer to the last"
        # The connections go on.
        for connection in connections[:10]:
            connection.request("GET", PATH)
            read(connection.read_response())
    finally:
        for connection in connections:
            connection.close()


def test_players_that_leave_while_they_wait(published):
    number = wait(published).last_number() + 2
    for connection in ask_many(published, 50, f"_HLS_msn={number}"):
        connection.close()
    assert read(ask(published, f"_HLS_msn={number}")).next_part() == (number, 1)


def test_the_stream_ends_while_players_wait(servers):
    server = servers(vhosts=hls.vhost(rejoin=0, storage="memory", **ON))
    with publish(server) as publisher:
        number = wait(server).last_number() + 2
        connections = ask_many(server, 100, f"_HLS_msn={number}")
        publisher.stop()
        publisher.client.close()
        began = time.monotonic()
        for connection in connections:
            playlist = read(connection.read_response())
            assert playlist.ended, playlist.text
            connection.close()
        assert time.monotonic() - began < scaled(2), "they are answered at once"
    # Directives are ignored now.
    assert read(ask(server, "_HLS_msn=99999")).ended


def follow(server, seconds, now=None):
    """The playlists of so many seconds, each asked for by its next part, and the longest wait for one."""
    playlists, longest = [now or read(ask(server))], 0.0
    end = time.monotonic() + seconds
    with http.Connection(server.http_port, timeout=scaled(20)) as connection:
        while time.monotonic() < end:
            number, part = playlists[-1].next_part()
            began = time.monotonic()
            connection.request("GET", f"{PATH}?_HLS_msn={number}&_HLS_part={part}")
            playlists.append(read(connection.read_response()))
            longest = max(longest, time.monotonic() - began)
    return playlists, longest


def dates_do_not_go_back(playlist):
    ends = [(segment.date, segment.date + segment.duration) for segment in playlist.segments]
    return all(end <= begin + 0.002 for (_, end), (begin, _) in zip(ends, ends[1:]))


def test_a_publisher_that_pauses_and_goes_on(servers):
    """Its connection stays. What players wait for are gaps, by the clock; it goes on where its own times stood."""
    server = servers(vhosts=hls.vhost(rejoin=30_000, storage="memory", **ON))
    with publish(server) as publisher:
        wait(server, 2)
        publisher.stop()
        playlists, longest = follow(server, 3)
        assert longest < 1.5 * playlists[0].part_target + scaled(0.2), f"a part came after {longest:.2f} s"
        now = playlists[-1]
        assert [segment.gap for segment in now.segments][-2:] == [True, True], now.text
        assert all(part.gap and part.duration <= now.part_target for part in now.all()[-1].parts), now.text
        assert now.next_part() > playlists[0].next_part() and now.target == playlists[0].target
        later = publishing.Steady(publisher.client, publisher.tags, start_at=publisher.sent[-1].timestamp + 40)
        playlists, longest = follow(server, 3, now)
        later.stop()
    now = playlists[-1]
    assert longest < 1.5 * now.part_target + scaled(0.2), f"a part came after {longest:.2f} s"
    anew = [segment for segment in now.segments if segment.discontinuity]
    assert len(anew) == 1 and not anew[0].gap, now.text
    assert dates_do_not_go_back(now), now.text


def test_a_publisher_that_is_gone_for_a_while(servers):
    """Until it is back the playlist goes on; when it does not come it ends."""
    server = servers(vhosts=hls.vhost(rejoin=4_000, storage="memory", **ON))
    with publish(server):
        wait(server, 2)
    before = read(ask(server)).last_number()
    playlists, longest = follow(server, 2)
    assert longest < 1.5 * playlists[0].part_target + scaled(0.2), f"a part came after {longest:.2f} s"
    with publish(server):
        playlists, longest = follow(server, 3, playlists[-1])
        assert longest < 1.5 * playlists[0].part_target + scaled(0.2), f"a part came after {longest:.2f} s"
        gaps = [segment.gap for segment in playlists[-1].segments if segment.number > before]
        assert True in gaps and gaps[-1] is False, playlists[-1].text
        assert dates_do_not_go_back(playlists[-1]), playlists[-1].text
    now = wait_until(lambda: (found := read(ask(server))).ended and found, 10, "the end of the playlist")
    assert not now.hints and not now.open, now.text


def test_a_restart_keeps_what_never_changes(servers):
    """From the first version on, before the publisher is back."""
    server = servers(vhosts=hls.vhost(**ON))
    with publish(server):
        before = wait(server, 3)
    server.signal(signal.SIGKILL)
    server.process.wait()
    server.start()
    now = wait_until(lambda: ask(server).status == 200 and read(ask(server)), 10, "a playlist")
    assert (now.target, now.part_target, now.control) == (before.target, before.part_target, before.control), now.text
    with publish(server):
        came = wait_until(lambda: (found := read(ask(server))).last_number() > now.last_number() and found, 10, "a segment")
    assert (came.target, came.part_target, came.control) == (now.target, now.part_target, now.control), came.text
    assert came.all()[-1].parts and came.sequence >= now.sequence


GUARDS = {
    "nobody": "",
    "address": "security { enabled on; allow play all; allow publish all; }",
    "page": "refer { enabled on; }",
    "hook": "http_hooks { enabled on; on_play HOOK; }",
}


@pytest.mark.parametrize("guard", GUARDS)
def test_caches_of_all_viewers(servers, guard):
    """They must not keep what only some viewers may have."""
    whose = "public" if guard == "nobody" else "private"
    with hooks.HookServer() as asked:
        directives = GUARDS[guard].replace("HOOK", asked.url())
        server = servers(vhosts=hls.vhost(storage="memory", more=directives, **ON))
        check_caches(server, whose)


def check_caches(server, whose):
    with publish(server):
        now = wait(server, 2)
        number, part = now.next_part()
        hinted = http.get(server.http_port, "/live/" + now.hint())
        for response in (
            ask(server), ask(server, f"_HLS_msn={number}&_HLS_part={part}"), hinted,
            http.get(server.http_port, "/live/" + now.segments[-1].uri), http.get(server.http_port, "/live/" + now.hint()),
        ):  # fmt: skip
            assert response.status == 200 and response.headers["cache-control"].startswith(f"{whose}, max-age="), response.describe()


def test_viewers_share_a_text(servers):
    """Only the playlist's URL has their id."""
    server = servers(top=api.ON, vhosts=hls.vhost(ctx="on", **ON))
    with publish(server):
        wait_until(lambda: http.get_status(server.http_port, PATH) == 200, 15, "a playlist")
        texts = []
        for _ in range(2):
            multivariant = hls.Multivariant(ask(server, "_HLS_msn=1&token=x").body.decode())
            assert "_HLS_" not in multivariant.uri and multivariant.uri.endswith("&token=x"), multivariant.text
            url = multivariant.uri
            now = read(http.get(server.http_port, url))
            texts.append(url)
            assert "hls_ctx" not in now.text
        with http.Connection(server.http_port) as one, http.Connection(server.http_port) as other:
            for connection, url in zip((one, other), texts):
                connection.request("GET", f"{url}&_HLS_msn={now.last_number() + 2}")
            assert one.read_response().body == other.read_response().body
        assert len([viewer for viewer in api.clients(server) if viewer["type"] == "hls-play"]) == 2


def test_delta_updates_of_a_long_playlist(servers):
    server = servers(vhosts=hls.vhost(storage="memory", fragment="1", window="150", low_latency="on"))
    tags = media.tags(media.frequent_keyframes())
    with publishing.Steady(rtmp.publisher(server, "live", "one", timeout=scaled(10)), tags, speed=8):
        now = wait(server, 12)
        assert now.control["CAN-SKIP-UNTIL"] == str(6 * now.target), now.text
        update = read(ask(server, f"_HLS_msn={now.last_number() + 1}&_HLS_skip=YES"))
        assert update.skipped > 0 and update.sequence == now.sequence, update.text
        assert update.segments[0].number == now.sequence + update.skipped
