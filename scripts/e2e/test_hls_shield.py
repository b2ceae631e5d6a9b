"""HLS behind an nginx with a cache, configured as doc/hls.md says: low latency for many players, what is kept and what
is not, and several servers behind it. And what each kind of response tells caches and pages."""

import collections
import re
import time

from lib import hls, hls_checked, http, media, nginx, publishing, rtmp  # hls_checked: the path of research
from lib.edges import edge, origin
from lib.load import bench
from lib.timing import scaled, wait_until

from hls_check import playlist as checked

PLAYERS = 200
LOW_LATENCY = {"fragment": "1", "window": "12", "low_latency": "on", "use_fmp4": "on", "storage": "memory"}
PATH = "/live/one.m3u8"


def publish(server, name="one"):
    tags = media.tags(media.frequent_keyframes())
    return publishing.Steady(rtmp.publisher(server, "live", name, timeout=scaled(10)), tags)


def read(port, path=PATH):
    response = http.get(port, path)
    return checked.read(response.body.decode()) if response.status == 200 else None


def wait(port, path=PATH, segments=2):
    def there():
        playlist = read(port, path)
        return playlist and len(playlist.segments) >= segments and playlist

    return wait_until(there, 20, f"a playlist of {segments} segments")


def test_many_players_behind_a_shield(servers, tmp_path):
    """What a shield is for: the bytes of the stream leave the server once."""
    top = f"max_waiting_requests {2 * PLAYERS}; address_limits {{ waiting_requests {2 * PLAYERS}; }}\n"
    server = servers(top=top, vhosts=hls.vhost(**LOW_LATENCY))
    with publish(server), nginx.shield(tmp_path, server) as shield:
        wait(server.http_port)
        url = f"http://127.0.0.1:{shield.port}{PATH}"
        result = bench(server, "low-latency-hls", url, "-n", PLAYERS, "--seconds", 6)
    assert (result["connected"], result["failed"], result["lost"]) == (PLAYERS, 0, 0), result
    assert (result["parts_refused"], result["parts_missed"]) == (0, 0), result
    assert result["parts"] >= PLAYERS * 5, f"each player gets the parts as they come: {result}"
    requests = shield.requests()
    assert {status for _, _, status, _ in requests} == {"200"}, "nothing is refused"
    of_parts = collections.Counter(cache for cache, _, _, uri in requests if ".m3u8" not in uri)
    names = {uri for _, _, _, uri in requests if ".m3u8" not in uri}
    all_parts = sum(of_parts.values())
    fetched = all_parts - of_parts["HIT"]
    reloads = [cache for cache, _, _, uri in requests if "_HLS_msn" in uri]
    print(f"{all_parts} requests for {len(names)} parts, {fetched} of them of the server; "
          f"{len(reloads)} reloads, {len(reloads) - reloads.count('HIT')} of them of the server; "
          f"from request to part {result['fetch_ms']}, after it was due {result['part_ms']}")  # fmt: skip
    assert of_parts["HIT"] >= 0.9 * all_parts, f"most parts come from the cache: {of_parts}"
    # The lock of nginx would let them wait for half a second.
    assert result["fetch_ms"]["p50"] < 1000 * scaled(0.2), result


def test_what_is_not_there_is_not_kept(servers, tmp_path):
    server = servers(vhosts=hls.vhost(**LOW_LATENCY))
    with publish(server), nginx.shield(tmp_path, server) as shield:
        hint = wait(server.http_port).hint()
        number = int(re.search(r"~p(\d+)", hint)[1])
        later = "/live/" + hint.replace(f"~p{number}", f"~p{number + 4}")
        assert http.get(shield.port, later).status == 404
        wait_until(lambda: http.get(server.http_port, later).status == 200, 10, f"{later} is there")
        time.sleep(1.1)
        assert http.get(shield.port, later).status == 200, "the 404 was kept"
        far = http.get(shield.port, PATH + "?_HLS_msn=99999")
        assert far.status == 400 and far.headers["cache-control"] == "max-age=1", far.describe()


def test_viewers_with_an_id_are_counted_by_the_server(servers, tmp_path):
    """With hls_ctx on each gets an id of its own through the cache, too."""
    server = servers(vhosts=hls.vhost(ctx="on", **LOW_LATENCY))
    with publish(server), nginx.shield(tmp_path, server) as shield:
        wait_until(lambda: http.get_status(server.http_port, PATH) == 200, 20, "a playlist")
        uris = {hls.Multivariant(http.get(shield.port, PATH).body.decode()).uri for _ in range(3)}
        assert len(uris) == 3, f"three ids: {uris}"


def test_edges_behind_a_shield(servers, tmp_path):
    """All requests for a stream go to one of them; streams are spread over both."""
    first = origin(servers)
    # Unlike each other: the hashes of cam0, cam1 ... differ in few bits, and may all be of one edge.
    names = ["north", "gate", "kitchen2", "roof-west", "x", "main.hall", "yard_07"]
    more = hls.vhost(fmp4_file="[app]/[stream]-[timestamp].m4s", **LOW_LATENCY)
    more = re.search(r"hls \{.*?\}", more)[0]
    edges = [edge(servers, first, vhost=more) for _ in range(2)]
    publishers = [publish(first, name) for name in names]
    try:
        with nginx.shield(tmp_path, *edges) as shield:
            for name in names:
                path = f"/live/{name}.m3u8"
                now = wait(shield.port, path, segments=1)
                for _ in range(4):
                    number, part = now.next_part()
                    came = read(shield.port, f"{path}?_HLS_msn={number}&_HLS_part={part}")
                    assert came.next_part() > (number, part), came.text
                    for one in (came.all()[-1].parts[-1].uri, came.segments[-1].uri):
                        assert http.get(shield.port, f"/live/{one}").status == 200, f"{one} of {came.text}"
                    now = came
            of_stream = collections.defaultdict(set)
            for _, address, _, uri in shield.requests():
                if address != "-":
                    of_stream[next(name for name in names if uri.startswith(f"/live/{name}"))].add(address)
    finally:
        for one in publishers:
            one.stop()
    assert set(of_stream) == set(names) and all(len(addresses) == 1 for addresses in of_stream.values()), of_stream
    assert len(set.union(*of_stream.values())) == 2, f"both edges serve: {of_stream}"


# Of each kind: its Cache-Control, whether it has an ETag and serves ranges.
KINDS = {
    "newest playlist": (r"public, max-age=1", False),
    "reload": (r"public, max-age=6", False),
    "part": (r"public, max-age=\d+", True),
    "segment": (r"public, max-age=\d+", True),
    "initialisation segment": (r"public, max-age=\d+", True),
    "ordinary playlist": (r"no-cache, no-store, must-revalidate", False),
    "ordinary segment": (r"public, max-age=\d+", True),
    "key": (r"no-store", True),
    "refused": (r"max-age=1", False),
}


def told(port, path, kind):
    """One kind of response: to GET, HEAD, and where it has an ETag, to a range and a condition."""
    cache_control, has_tag = KINDS[kind]
    response = http.get(port, path, Origin="http://page.example")
    what = f"{kind}, {path}: {response.describe()}"
    assert response.status == (400 if kind == "refused" else 200), what
    assert re.fullmatch(cache_control, response.headers["cache-control"]), what
    assert ("etag" in response.headers) == has_tag, what
    assert response.headers["access-control-allow-origin"] == "*", what
    exposed = {name.strip().lower() for name in response.headers["access-control-expose-headers"].split(",")}
    assert {"date", "age"} <= exposed and "date" in response.headers, what
    head = http.get(port, path, method="HEAD")
    assert head.status == response.status and not head.body, f"HEAD of {what}; {head.describe()}"
    assert head.headers["cache-control"] == response.headers["cache-control"], f"HEAD of {what}; {head.describe()}"
    if not has_tag:
        return
    assert head.headers["content-length"] == str(len(response.body)), f"HEAD of {what}; {head.describe()}"
    ranged = http.get(port, path, Range="bytes=2-5")
    assert (ranged.status, ranged.body) == (206, response.body[2:6]), f"a range of {what}; {ranged.describe()}"
    assert http.get(port, path, If_None_Match=response.headers["etag"]).status == 304, what


def test_what_caches_and_pages_are_told(servers):
    low = servers(vhosts=hls.vhost(**LOW_LATENCY))
    ordinary = servers(vhosts=hls.vhost(storage="memory", fragment="1", keys="on"))
    with publish(low), publish(ordinary):
        now = wait(low.http_port)
        plain = hls.wait(ordinary, PATH, lambda playlist: playlist.segments)
        paths = {
            "newest playlist": (low.http_port, PATH),
            "reload": (low.http_port, f"{PATH}?_HLS_msn={now.last_number()}"),
            "part": (low.http_port, "/live/" + now.all()[-1].parts[-1].uri),
            "segment": (low.http_port, "/live/" + now.segments[-1].uri),
            "initialisation segment": (low.http_port, "/live/" + re.search(r'EXT-X-MAP:URI="(.*?)"', now.text)[1]),
            "ordinary playlist": (ordinary.http_port, PATH),
            "ordinary segment": (ordinary.http_port, "/live/" + plain.segments[-1].uri),
            "key": (ordinary.http_port, "/live/" + plain.segments[-1].key.uri),
            "refused": (low.http_port, f"{PATH}?_HLS_part=1"),
        }
        assert set(paths) == set(KINDS)
        for kind, (port, path) in paths.items():
            told(port, path, kind)
