"""Who may publish and play: by address (security) and by web page (refer), for every protocol. The sources of
connections are addresses of this machine, 127.0.0.1 to 127.0.0.4."""

import pytest

from lib import api, http, media, publishing, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until

PUBLISHER, PLAYER, DENIED = "127.0.0.2", "127.0.0.3", "127.0.0.4"
REMUX = {"flv": "/live/s.flv", "ts": "/live/s.ts", "websocket": "/live/s.flv"}
RULES = f"""
security {{
    enabled on;
    allow publish {PUBLISHER};
    allow play 127.0.0.0/8;
    deny play {DENIED};
}}
"""


PROXY = "127.0.0.5"


def vhost(more):
    return default_vhost(
        f"{more} hls {{ enabled on; hls_fragment 1; hls_window 20; hls_path ./html; }}", play="mw_latency 0;"
    )


@pytest.fixture
def live(servers):
    """Makes a server with these directives in its vhost, and publishes live/s to it from PUBLISHER."""
    running = []

    def start(more, top=api.ON, **connect):
        server = servers(top=top, vhosts=vhost(more))
        client = rtmp.Client("127.0.0.1", server.rtmp_port, source=PUBLISHER).handshake()
        client.connect("live", **connect)
        client.set_chunk_size(60000)
        client.stream_id = client.publish("s")
        steady = publishing.Steady(client, media.from_keyframe(media.frequent_keyframes()))
        running.append(steady.__enter__())
        server.steady = steady
        return server

    yield start
    for steady in running:
        steady.__exit__(None, None, None)
        assert steady.error is None, f"the publisher was disturbed: {steady.error}"


def publishes(server, source, name="t", **connect):
    """"yes", or the code of its refusal."""
    client = rtmp.Client("127.0.0.1", server.rtmp_port, source=source).handshake()
    with client:
        try:
            client.connect("live", **connect)
            client.publish(name)
            return "yes"
        except rtmp.Refused as refusal:
            return refusal.code


def plays(server, kind, source, page=None):
    """"yes", or how the player was refused."""
    if kind == "rtmp":
        with rtmp.Client("127.0.0.1", server.rtmp_port, source=source).handshake() as client:
            try:
                client.connect("live", **({"pageUrl": page} if page else {}))
                client.play("s")
                return "yes"
            except rtmp.Refused as refusal:
                return refusal.code
    if kind == "websocket":
        fields = {"Origin": page} if page else {}
        with http.WebSocket(server.http_port, REMUX[kind], source=source, **fields) as viewer:
            return "yes" if viewer.response.status == 101 else viewer.response.status
    fields = {"Referer": page} if page else {}
    if kind == "hls":
        response = http.get(server.http_port, "/live/s.m3u8", source=source, **fields)
        return "yes" if response.status == 200 else response.status
    with http.Connection(server.http_port, source=source) as connection:
        connection.request("GET", REMUX[kind], **fields)
        head = connection.read_head()
        return "yes" if head.status == 200 else head.status


KINDS = ("rtmp", "flv", "ts", "websocket", "hls")
REFUSED = {"rtmp": "NetStream.Play.Failed", "flv": 403, "ts": 403, "websocket": 403, "hls": 403}


def wait_hls(server):
    wait_until(
        lambda: http.get(server.http_port, "/live/s.m3u8", source=PLAYER, Referer="http://good.example/").status == 200,
        10,
        "the first segment is complete",
    )


def test_addresses(live):
    server = live(RULES)
    assert publishes(server, "127.0.0.1") == "NetStream.Publish.BadName", "only one address is allowed to publish"
    assert publishes(server, PUBLISHER) == "yes"
    wait_hls(server)
    for kind in KINDS:
        assert plays(server, kind, PLAYER) == "yes", f"{kind}: {PLAYER} is allowed to play"
        assert plays(server, kind, DENIED) == REFUSED[kind], f"{kind}: {DENIED} is denied"
    api.ended(server, r"publish from 127\.0\.0\.1 is allowed by none of 2 rules", reason="refused-address")
    api.ended(server, f"play from {DENIED} is denied by the rule deny play {DENIED}", reason="refused-address")


def test_a_forged_address_is_none(live):
    """Whoever has not been told to trust a proxy believes no word about whom a request is for."""
    server = live(RULES)
    forged = {"X_Forwarded_For": PLAYER, "X_Real_IP": PLAYER, "Forwarded": f"for={PLAYER}", "True_Client_IP": PLAYER}
    for path in (REMUX["flv"], "/live/s.ts"):
        response = http.get(server.http_port, path, source=DENIED, **forged)
        assert response.status == 403, f"{path}: {response.describe()}"


def test_a_trusted_proxy_says_who_it_is_for(live):
    """The rightmost address that is no proxy's; and only from the proxy."""
    server = live(RULES, top=f"trusted_proxies {PROXY} 10.0.0.0/8; http_api {{ enabled on; listen 127.0.0.1:API_PORT; }}")
    for source, field, status in (
        (PROXY, DENIED, 403),
        (PROXY, f"{PLAYER}, {DENIED}", 403),
        (PROXY, f"{PLAYER}, {DENIED}, 10.1.2.3", 403),
        (PROXY, f"{DENIED}, {PLAYER}", 200),
        (PROXY, f"{DENIED}, {PLAYER}, 10.1.2.3", 200),
        (PROXY, "nonsense", 200),
        (DENIED, PLAYER, 403),
        (PLAYER, DENIED, 200),
    ):
        wait_until(lambda: http.get(server.http_port, "/live/s.m3u8", source=PLAYER).status == 200, 10, "HLS is there")
        got = http.get(server.http_port, "/live/s.m3u8", source=source, X_Forwarded_For=field)
        assert got.status == status, f"from {source}, for '{field}': expected {status}, got {got.describe()}"
    # Nobody becomes this machine itself by a field.
    for source in (PROXY, "127.0.0.1"):
        got = http.get(server.api_port, "/api/v1/config", source=source, X_Forwarded_For="127.0.0.1")
        assert got.status == 403, f"/api/v1/config from {source} through a proxy: expected 403, got {got.describe()}"


def test_hls_of_another_address(live):
    """What was given to one that may play is of no use to one that may not."""
    server = live(RULES)
    wait_hls(server)

    def get(path, source):
        return http.get(server.http_port, path, source=source)

    master = get("/live/s.m3u8", PLAYER).body.decode()
    inner = next(line for line in master.splitlines() if line and not line.startswith("#"))
    inner = inner if inner.startswith("/") else "/live/" + inner
    playlist = get(inner, PLAYER)
    assert playlist.status == 200, playlist.describe()
    segment = next(line for line in playlist.body.decode().splitlines() if line and not line.startswith("#"))
    segment = segment if segment.startswith("/") else "/live/" + segment
    assert get(segment, PLAYER).status == 200
    for path in (inner, segment):
        assert get(path, DENIED).status == 403, f"{path} should be refused to {DENIED}"
    # What lies on the disk is no way around either.
    (server.dir / "html" / "old.ts").write_bytes(b"old")
    (server.dir / "html" / "page.html").write_bytes(b"page")
    assert get("/old.ts", PLAYER).status == 200
    assert get("/old.ts", DENIED).status == 403, "a media file is play"
    assert get("/page.html", DENIED).status == 200, "a page is not"


@pytest.mark.parametrize(
    "rules, wanted",
    [
        ("enabled on;", ("NetStream.Publish.BadName", 403)),
        ("enabled off; deny play all; deny publish all;", ("yes", "yes")),
        ("enabled on; deny publish all;", ("NetStream.Publish.BadName", "yes")),
        ("enabled on; deny play 127.0.0.0/8;", ("yes", 403)),
        ("enabled on; deny play ::/64;", ("yes", "yes")),
        ("enabled on; allow play all;", ("NetStream.Publish.BadName", "yes")),
        ("enabled on; allow publish all; allow play 10.0.0.0/8;", ("yes", 403)),
        ("enabled on; allow play all publish all; deny play 127.0.0.1;", ("yes", 403)),
    ],
)
def test_what_rules_mean(servers, rules, wanted):
    server = servers(vhosts=default_vhost(f"security {{ {rules} }}", remux="wait_publisher_timeout 100;"))
    # Without a stream: whoever is let in waits for one, in vain.
    played = plays(server, "flv", "127.0.0.1")
    got = publishes(server, "127.0.0.1", "s"), "yes" if played == 404 else played
    assert got == wanted, f"publish and play should be {wanted}, they are {got}"


def test_rules_change_with_a_reload(live):
    """For who comes; who is in stays."""
    server = live(RULES)
    player = publishing.Collector(rtmp.player(server, "live", "s", source=PLAYER, timeout=scaled(20)))
    wait_until(lambda: len(player.tags) > 10, 5, "the player sees the stream")
    text = server.conf_path.read_text()
    api.reload(server, text.replace(f"deny play {DENIED};", f"deny play {PLAYER};"))
    assert plays(server, "rtmp", PLAYER) == REFUSED["rtmp"] and plays(server, "rtmp", DENIED) == "yes"
    seen = len(player.tags)
    wait_until(lambda: len(player.tags) > seen + 20, 5, "who was in goes on")


GOOD, SUB, BAD = "http://good.example/page", "https://www.good.example:8443/", "http://evilgood.example/good.example"


def test_web_pages(live):
    server = live("refer { enabled on; all good.example other.example; play good.example; }", pageUrl=GOOD)
    assert publishes(server, "127.0.0.1", pageUrl="http://other.example/") == "yes"
    assert publishes(server, "127.0.0.1") == "NetStream.Publish.BadName", "an encoder tells of no page"
    assert publishes(server, "127.0.0.1", pageUrl=BAD) == "NetStream.Publish.BadName"
    wait_hls(server)
    for kind in KINDS:
        for page in (GOOD, SUB):
            assert plays(server, kind, "127.0.0.1", page) == "yes", f"{kind} from {page}"
        for page in (BAD, "http://other.example/", None):
            assert plays(server, kind, "127.0.0.1", page) == REFUSED[kind], f"{kind} from {page}"
    api.ended(server, r"play from the web page of evilgood\.example is not allowed", reason="refused-refer")
