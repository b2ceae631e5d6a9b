"""The key that a guard is asked about is the one that the client gets: guards x protocols x ways to name a vhost. The
table is that of doc/security.md ("Which key is asked")."""

import contextlib
import json
import urllib.parse

import pytest

from lib import hooks, http, media, publishing, rtmp, rtsp
from lib.destination import Destination
from lib.rtc_offers import SDP, offer
from lib.timing import wait_until


# Of RTMP: app and tcUrl of connect, and the stream's name.
RTMP = {
    "host": lambda v: ("live", f"rtmp://{v}/live", "s"),
    "app": lambda v: (f"live?vhost={v}", f"rtmp://127.0.0.1/live?vhost={v}", "s"),
    "app alone": lambda v: (f"live?vhost={v}", "rtmp://127.0.0.1/live", "s"),
    "tcUrl alone": lambda v: ("live", f"rtmp://127.0.0.1/live?vhost={v}", "s"),
    "app with dots": lambda v: (f"live...vhost...{v}", f"rtmp://127.0.0.1/live...vhost...{v}", "s"),
    "stream": lambda v: ("live", None, f"s?vhost={v}"),
    "domain": lambda v: ("live", None, f"s?domain={v}"),
    "dots": lambda v: ("live", None, f"s...vhost...{v}"),
    "stream over app": lambda v: ("live?vhost=free", "rtmp://free/live?vhost=free", f"s?vhost={v}"),
    "the last": lambda v: ("live", None, f"s?vhost=free&vhost={v}"),
    "another app": lambda v: ("other", None, f"/sub/s?vhost={v}"),
}
# Of HTTP: Host, and the query.
HTTP = {
    "Host": lambda v: (v, ""),
    "query": lambda v: ("127.0.0.1", f"vhost={v}"),
    "domain": lambda v: ("127.0.0.1", f"domain={v}"),
    "encoded": lambda v: ("127.0.0.1", f"%76host={urllib.parse.quote(v).replace('o', '%6F')}"),
    "the first": lambda v: ("127.0.0.1", f"vhost={v}&vhost=free&domain=free"),
    "query over Host": lambda v: ("free", f"vhost={v}"),
}
WHIP = {**HTTP, "stream": None, "stream over query": None}
RTSP = {
    "host": lambda v: f"{v}/live/s",
    "query": lambda v: f"127.0.0.1/live/s?vhost={v}",
    "domain": lambda v: f"127.0.0.1/live/s?domain={v}",
    "query over host": lambda v: f"free/live/s?vhost={v}",
}


def by_rtmp(server, action, app, tc_url, name, first=None):
    """first: what it plays before, on the same connection."""
    with rtmp.Client("127.0.0.1", server.rtmp_port).handshake() as client:
        try:
            client.connect(app, tc_url)
            if first:
                client.send_command("deleteStream", None, client.play(first), answered=False)
            client.publish(name) if action == "publish" else client.play(name)
        except rtmp.Refused:
            return "refused"
        return "admitted"


def verdict(status):
    """404: nobody publishes it, as a client is told that was admitted."""
    assert status in (200, 201, 403, 404), status
    return "refused" if status == 403 else "admitted"


def by_http(server, path, host, query):
    with http.Connection(server.http_port) as connection:
        connection.request("GET", f"{path}?{query}", Host=host)
        return verdict(connection.read_head().status)


def by_websocket(server, host, query):
    with http.WebSocket(server.http_port, f"/live/s.flv?{query}", wait=False, Host=host) as viewer:
        status = viewer.read_head().status
        return verdict(200 if status == 101 else status)


def by_whip(server, action, way, vhost):
    kind, name = ("whip", "chromium_whip") if action == "publish" else ("whep", "chromium_whep")
    host, query = HTTP[way](vhost) if WHIP[way] else ("127.0.0.1", "vhost=free" if "over" in way else "")
    stream = "s" if WHIP[way] else urllib.parse.quote(f"s?vhost={vhost}")
    with http.Connection(server.api_port) as connection:
        target = f"/rtc/v1/{kind}/?app=live&stream={stream}&{query}"
        connection.request("POST", target, offer(name), Host=host, **SDP)
        return verdict(connection.read_response().status)


def by_json(server, action, url):
    name = "chromium_whip" if action == "publish" else "chromium_whep"
    body = json.dumps({"sdp": offer(name).decode(), "streamurl": f"webrtc://{url}"}).encode()
    with http.Connection(server.api_port) as connection:
        connection.request("POST", f"/rtc/v1/{action}/", body, Host="127.0.0.1")
        code = json.loads(connection.read_response().body)["code"]
    return "admitted" if code == 0 else "refused"


def by_rtsp(server, action, url):
    url = f"rtsp://{url}"
    with rtsp.Publisher(server.rtc_port) as client:
        if action == "publish":
            return verdict(client.announce(url, media.tags(media.plain())).status)
        return verdict(client.request("DESCRIBE", url, Accept="application/sdp").status)


def cases():
    """Of each protocol and way: what it is called, the action, and what tries it at a server and a vhost."""
    for action in ("publish", "play"):
        for way, make in RTMP.items():
            yield f"rtmp {way}", action, lambda s, v, a=action, m=make: by_rtmp(s, a, *m(v))
        for way in ("stream", "domain", "dots"):
            yield f"rtmp second {way}", action, lambda s, v, a=action, m=RTMP[way]: by_rtmp(s, a, *m(v), first="free")
        for way in WHIP:
            yield f"whip {way}", action, lambda s, v, a=action, w=way: by_whip(s, a, w, v)
        for way, make in RTSP.items():
            yield f"rtsp {way}", action, lambda s, v, a=action, m=make: by_rtsp(s, a, m(v))
            yield f"rtc json {way}", action, lambda s, v, a=action, m=make: by_json(s, a, m(v))


def http_cases():
    for way, make in HTTP.items():
        for kind in ("flv", "ts"):
            yield f"{kind} {way}", "play", lambda s, v, m=make, k=kind: by_http(s, f"/live/s.{k}", *m(v))
        yield f"websocket {way}", "play", lambda s, v, m=make: by_websocket(s, *m(v))


def vhost(name, more=""):
    return (
        f"vhost {name} {{ http_remux {{ enabled on; wait_publisher off; }} rtsp {{ enabled on; }} rtc {{ enabled on; }}"
        f" hls {{ enabled on; hls_fragment 1; hls_path ./html/{name}; }} {more} }}\n"
    )


TOP = """
http_api { enabled on; listen 127.0.0.1:API_PORT; }
rtsp_server { enabled on; listen 127.0.0.1:RTC_PORT; }
rtc_server { enabled on; listen 127.0.0.1:RTC_PORT; candidate 127.0.0.1; }
"""
GUARDS = {
    "security": "security { enabled on; deny play all; deny publish all; }",
    "refer": "refer { enabled on; all example.com; }",
    "signed": "signed_urls { enabled on; secret correct-horse-battery; }",
    "hooks": "http_hooks { enabled on; on_publish URL; on_play URL; }",
    "connect": "http_hooks { enabled on; on_connect URL; }",
    "token": "cluster { mode remote; origin ORIGIN; token_traverse on; }",
}
RTMP_ALONE = ("connect",)


def differences(server, cases, wanted):
    """Of these cases and of these vhosts with what is expected."""
    return {
        f"{action} by {name}, {place}": f"{got}, it should be {expected}"
        for name, action, attempt in cases
        for place, expected in wanted(name).items()
        if (got := attempt(server, place)) != expected
    }


@pytest.mark.parametrize("guard", GUARDS)
def test_every_way_to_a_vhost_asks_its_guard(servers, guard):
    refusing = hooks.answer('{"code":1,"msg":"not here"}')
    with hooks.HookServer(no=refusing) as hook, Destination(reject="not here") as origin:
        block = GUARDS[guard].replace("URL", hook.url("no")).replace("ORIGIN", origin.address)
        server = servers(top=TOP, vhosts=vhost("__defaultVhost__") + vhost("free") + vhost("kept", block))

        def wanted(name):
            applies = guard not in RTMP_ALONE or name.startswith("rtmp")
            return {"kept": "refused" if applies else "admitted", "free": "admitted"}

        with publishing.Steady(rtmp.publisher(server, "live", "free"), media.from_keyframe(media.plain())):
            found = differences(server, cases(), wanted)
        if guard == "token":  # other vhosts say 404 before they ask
            found |= differences(server, http_cases(), lambda _: {"kept": "refused"})
        assert not found, json.dumps(found, indent=1)
        assert {body["vhost"] for body in hook.bodies()} <= {"kept"}, "hooks of another vhost were called"
        if guard in ("hooks", "connect"):
            assert hook.bodies(), "the hooks were not asked"
        for values in origin.connects:
            asked = urllib.parse.urlsplit(values[0]["tcUrl"])
            named = urllib.parse.parse_qs(asked.query).get("vhost", [asked.hostname])[-1]
            named = named if "...vhost..." not in asked.path else asked.path.rpartition("...")[2]
            assert named == "kept", f"an origin was asked about another vhost: {values[0]['tcUrl']}"
        assert bool(origin.connects) == (guard == "token")


# Of players alone: so that there is a playlist.
OF_PLAYERS = {
    "security": "security { enabled on; allow publish all; deny play all; }",
    "refer": "refer { enabled on; play example.com; }",
    "signed": "signed_urls { enabled on; publish off; secret correct-horse-battery; }",
    "hooks": "http_hooks { enabled on; on_play URL; }",
}


def test_every_way_to_a_published_stream_asks_its_guard(servers):
    refusing = hooks.answer('{"code":1,"msg":"not here"}')
    with hooks.HookServer(no=refusing) as hook, contextlib.ExitStack() as stack:
        blocks = {name: block.replace("URL", hook.url("no")) for name, block in OF_PLAYERS.items()}
        server = servers(top=TOP, vhosts=vhost("__defaultVhost__") + vhost("free") + "".join(map(vhost, blocks, blocks.values())))
        for place in ("free", *blocks):
            client = rtmp.publisher(server, "live", f"s?vhost={place}")
            stack.enter_context(publishing.Steady(client, media.from_keyframe(media.frequent_keyframes())))
        for place in ("free", *blocks):
            complete = lambda place=place: list((server.dir / "html" / place).rglob("*.m3u8"))  # noqa: E731
            wait_until(complete, 10, f"the playlist of {place} is there")

        def wanted(_):
            return {place: "admitted" if place == "free" else "refused" for place in ("free", *blocks)}

        playlists = [(f"m3u8 {way}", "play", lambda s, v, m=make: by_http(s, "/live/s.m3u8", *m(v))) for way, make in HTTP.items()]
        found = differences(server, [*http_cases(), *playlists], wanted)
        assert not found, json.dumps(found, indent=1)
        assert {body["vhost"] for body in hook.bodies()} == {"hooks"}
