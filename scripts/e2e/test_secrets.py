"""Secrets that clients and the configuration put into URLs: what a reader of the API, of the metrics and of the log finds of
them. A reader without credentials, on this machine or far away, finds none; nor does one with a token for reading. Each place
has a secret of its own, so that a test that fails names the place."""

import contextlib
import json

import pytest

from lib import api, http, media, publishing, rtc_raw, rtmp, rtsp
from lib.camera import Camera
from lib.destination import Destination
from lib.timing import wait_until
from lib.web import Web

ALL, READ = "all-of-it-0123456789", "read-only-0123456789"
AUTH = f"auth {{ enabled on; username ops; password zZ-api-password-Zz; tokens {ALL}; read_tokens {READ}; }}"
# A proxy's word: the reader is not this machine.
FAR = {"X_Forwarded_For": "192.0.2.7"}
CLOSED = "127.0.0.1:9"  # nobody listens there
ADDRESSES = ("startcode", "endcode", "startstack", "kstkesp", "kstkeip", "wchan")


def secret(place):
    return f"zZ-{place}-Zz"


def configuration(web, destination, camera, auth):
    s = secret
    hooks = "".join(f"on_{name} {web.url(f'/hook?token={s(name)}')}; " for name in ("connect", "publish", "play", "stop", "close"))
    top = f"""
        srs_log_level verbose;
        rtsp_server {{ enabled on; listen 127.0.0.1:RTMPS_PORT; }}
        rtc_server {{ enabled on; listen RTC_PORT; candidate 127.0.0.1; ice_server turn:{CLOSED} ice {s("ice")}; }}
        exporter {{ enabled on; listen 127.0.0.1:HTTPS_PORT; }}
        heartbeat {{ enabled on; interval 0.3; summaries on; url {web.url(f"/fails?token={s('heartbeat')}")};
            auth {{ token {s("heartbeat-token")}; }} }}
        redis {{ enabled on; server {CLOSED}; user u; password {s("redis-password")}; }}
        http_api {{ enabled on; listen 127.0.0.1:API_PORT; debug on; raw_api {{ enabled on; allow_reload on; }} {auth} }}
        """
    inputs = {
        "camera": f"rtsp://user:{s('camera-password')}@127.0.0.1:{camera.port}/cam?user=a&password={s('camera-query')}",
        "gone": f"rtsp://user:{s('gone-password')}@{CLOSED}/user=b&password={s('gone-path')}&channel=1?key={s('gone-query')}",
    }
    ingests = "".join(f"ingest {name} {{ enabled on; input {{ type rtsp; url {url}; }} }} " for name, url in inputs.items())
    targets = [
        f"rtmp://127.0.0.1:{destination.port}/live/[stream]?key={s('forward')}",
        f"rtmp://{CLOSED}/live/[stream]?key={s('forward-gone')}",
        f"rtsp://user:{s('forward-password')}@{CLOSED}/live/[stream]?key={s('forward-rtsp')}",
    ]
    vhosts = f"""
        vhost __defaultVhost__ {{
            http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }}
            rtc {{ enabled on; rtmp_to_rtc on; }}
            rtsp {{ enabled on; }}
            hls {{ enabled on; hls_fragment 1; hls_keys on; hls_key_url http://{CLOSED}/?token={s("hls-key")}; }}
            dvr {{ enabled on; dvr_path ./rec/[app]/[stream].[timestamp].flv; }}
            http_hooks {{ enabled on; secret {s("hook-secret")}; {hooks} on_dvr {web.url(f"/fails?token={s('on-dvr')}")}; }}
            forward {{ enabled on; destination {" ".join(targets)}; }}
            transcode {{ enabled on; ffmpeg /bin/false; engine sd {{ enabled on; vcodec copy; acodec copy;
                output rtmp://127.0.0.1:[port]/[app]/[stream]_[engine]?token={s("transcode")}; }} }}
            exec {{ enabled on; publish /bin/false rtmp://{CLOSED}/[app]/[stream]?token={s("exec")}; }}
            {ingests}
            ingest file {{ enabled on; ffmpeg /bin/false; input {{ type stream; url http://{CLOSED}/a.flv?token={s("input")}; }}
                engine {{ enabled off; output rtmp://127.0.0.1:[port]/live/file?token={s("output")}; }} }}
        }}
        vhost edge.example {{ cluster {{ mode remote; origin {CLOSED}; token_traverse off; }}
            http_remux {{ enabled on; mount [vhost]/[app]/[stream].flv; }} }}
        vhost shared.example {{ cluster {{ registry on; }} }}
        vhost signed.example {{ signed_urls {{ enabled on; secret {s("signed")}-0123456789abcdef; }} }}
        """
    return {"top": top, "vhosts": vhosts}


def wait_stream(server, name, frames=1):
    def has_it():
        found = api.streams(server, **access(server)).get(name)
        return found and found["frames"] >= frames

    wait_until(has_it, 10, f"the stream {name}", step=0.1)


def rtmp_clients(server, stack):
    s = secret
    tc_url = f"rtmp://127.0.0.1/live?token={s('publisher-tcurl')}"
    client = rtmp.Client("127.0.0.1", server.rtmp_port).handshake()
    stack.callback(client.close)
    client.connect("live", tc_url, pageUrl=f"http://page/?k={s('publisher-page')}", swfUrl=f"http://swf/?k={s('publisher-swf')}")
    client.stream_id = client.publish(f"pub?token={s('publisher-name')}")
    stack.enter_context(publishing.Steady(client, media.from_keyframe(media.frequent_keyframes())))
    wait_stream(server, "pub", 40)
    with contextlib.suppress(rtmp.RtmpError, OSError):
        rtmp.publisher(server, "live", f"pub?token={s('second-publisher')}", tc_url=f"rtmp://u:{s('tcurl-user')}@127.0.0.1/live").close()
    for name in (f"pub?token={s('player-name')}", f"pub...token...{s('player-dots')}"):
        page = f"http://page/?k={s('player-page')}#{s('player-fragment')}"
        player = rtmp.player(server, "live", name, tc_url=f"rtmp://127.0.0.1/live?token={s('player-tcurl')}", connect={"pageUrl": page})
        stack.callback(player.close)
    with contextlib.suppress(rtmp.RtmpError, OSError):  # the origin is away
        rtmp.player(server, "live", f"far?token={s('edge-rtmp')}", tc_url="rtmp://edge.example/live", timeout=2).close()
    for odd in (f"rtmp://127.0.0.1/li..ve/x?token={s('odd-tcurl')}", f"what?token={s('odd-url')}"):
        with contextlib.suppress(rtmp.RtmpError, OSError):
            rtmp.player(server, "live", f"a//b?token={s('odd-name')}", tc_url=odd, timeout=2).close()


def http_clients(server, stack):
    s = secret
    live = http.Live(server.http_port, f"/live/pub.flv?token={s('flv-query')}", Referer=f"http://page/?k={s('flv-referer')}")
    stack.callback(live.close)
    page = {"Referer": f"http://page/?k={s('hls-referer')}"}
    playlist = http.get(server.http_port, f"/live/pub.m3u8?token={s('hls-query')}", **page).body.decode()
    for path in [line for line in playlist.splitlines() if line and not line.startswith("#")][:1]:
        http.get(server.http_port, path if path.startswith("/") else f"/live/{path}", **page)
    for path in (f"/live/none.flv?token={s('flv-404')}", f"/none%3Ftoken={s('encoded')}", f"/%zz?token={s('bad-path')}"):
        with contextlib.suppress(OSError), http.Connection(server.http_port, timeout=2) as connection:
            connection.request("GET", path)
            connection.read_head()
    with contextlib.suppress(OSError), http.Connection(server.http_port, timeout=1) as connection:
        connection.request("GET", f"/edge.example/live/far2.flv?token={s('edge-flv')}")
        connection.read_head()
    for port in (server.http_port, server.api_port):
        with http.Connection(port) as connection:
            connection.request("POST", f"/rtc/v1/whep/?app=live&stream=pub&token={s('whep')}", b"v=0\r\nno offer\r\n", Content_Type="application/sdp")
            connection.read_response("POST")
        with http.Connection(port) as connection:
            url = f"webrtc://127.0.0.1/live/pub?token={s('rtc-play')}"
            connection.request("POST", "/rtc/v1/play/", json.dumps({"streamurl": url, "sdp": "v=0\r\n"}).encode())
            connection.read_response("POST")


def rtsp_clients(server, stack):
    s = secret
    tags = media.from_keyframe(media.with_b_frames())[:100]
    publisher = stack.enter_context(rtsp.Publisher(server.rtmps_port))
    publisher.record(f"rtsp://127.0.0.1:{server.rtmps_port}/live/rp?token={s('rtsp-publisher')}", tags)
    publishing.send_all(publisher, tags)
    wait_stream(server, "rp")
    player = stack.enter_context(rtsp.Client(server.rtmps_port))
    player.play(f"rtsp://127.0.0.1:{server.rtmps_port}/live/pub?token={s('rtsp-player')}")
    with rtsp.Client(server.rtmps_port) as client:
        client.request("DESCRIBE", f"rtsp://a:{s('rtsp-user')}@127.0.0.1/live/none?token={s('rtsp-404')}")
    with rtsp.Client(server.rtmps_port) as client, contextlib.suppress(rtsp.RtspError, OSError):
        client.request("SETUP", f"rtsp://127.0.0.1/live/pub/track?token={s('rtsp-bad')}", Transport="what")


def rtc_client(server, stack):
    """A player with its keys: what is shown of a session that plays."""
    certificate = rtc_raw.Certificate(server.dir)
    query = {"token": secret("whep-connected")}
    session = rtc_raw.Session(server, "live/pub", query=query, fingerprint=certificate.fingerprint)
    stack.enter_context(session).verify()
    with rtc_raw.Dtls(session, certificate) as dtls:
        assert dtls.run(rtc_raw.Dtls.established), f"the handshake should succeed; s_client says {dtls.told()}"
    wait_until(lambda: any(one["type"] == "rtc-play" for one in api.clients(server, **access(server))), 10, "a WHEP player in the API")


def access(server):
    return {"Authorization": f"Bearer {ALL}"} if AUTH in server.conf else {}


def paths(server, **headers):
    """What can be read, by the API's own listing."""
    listed = json.loads(http.get(server.api_port, "/api/v1/openapi.json", **headers).body)["paths"]
    found = [path for path, methods in listed.items() if "get" in methods and "pprof" not in path and "profile" not in path]
    streams = [one["id"] for one in api.ask(server, "/api/v1/streams?count=100", **headers)["streams"]]
    vhosts = [one["id"] for one in api.ask(server, "/api/v1/vhosts?count=100", **headers)["vhosts"]]
    clients = [one["id"] for one in api.clients(server, **headers)]
    of = {"streams": streams, "vhosts": vhosts, "clients": clients}
    for path in found:
        if "{" not in path:
            yield path
            continue
        ids = of.get(path.split("/")[3], ["x"])
        yield from (path.replace("{id}", one).replace("{stream}", "pub").replace("{name}", "x") for one in ids)
    yield from (f"/api/v1/{name}" for name in ("clients?closed=true&count=1000", "clients?search=pub", "streams?sort=name",
                                              "streams?callback=f", "clients?count=1000&sort=alive", "config?count=10000",
                                              "log?count=2000", "raw?rpc=raw", "raw?rpc=reload", "raw?rpc=reload-fetch", "edges?count=100"))  # fmt: skip


def readable(server, **headers):
    """Everything that a reader gets: by its path."""
    # Pictures, too: what is searched is ASCII.
    texts = {path: http.get(server.api_port, path, **headers).body.decode(errors="replace") for path in paths(server, **headers)}
    texts["metrics"] = http.get(server.https_port, "/metrics", **headers).body.decode()
    for path in ("/", "/console/", "/api/v1/versions"):
        texts[f"site {path}"] = http.get(server.http_port, path).body.decode(errors="replace")
    return texts


def leaks(texts):
    return sorted({f"{path}: {text[max(0, at - 60) : at + 40]!r}" for path, text in texts.items()
                   for at in [text.find("zZ-")] if at >= 0})  # fmt: skip


@contextlib.contextmanager
def everything(servers, auth=""):
    """A server with secrets at each place, and clients that brought theirs; some of them have left."""
    def answer(request):
        return (500, b"no") if request.path.startswith("/fails") else (200, b'{"code":0}')

    tags = media.from_keyframe(media.with_b_frames())
    with Web(answer) as web, Destination() as destination, contextlib.ExitStack() as stack:
        camera = stack.enter_context(Camera(tags, user="user", password=secret("camera-password"), speed=1))
        server = servers(**configuration(web, destination, camera, auth))
        rtmp_clients(server, stack)
        with contextlib.ExitStack() as short:
            http_clients(server, short)
            rtsp_clients(server, short)
            http_clients(server, stack)
        rtc_client(server, stack)
        wait_stream(server, "camera")
        wait_until(lambda: any("heartbeat" in line for line in server.log().splitlines()), 5, "a heartbeat failed")
        yield server


@pytest.mark.parametrize("who", [{}, FAR], ids=["here", "far"])
def test_without_credentials_nothing_is_read(servers, who):
    with everything(servers) as server:
        texts = readable(server, **who)
        streams = json.loads(texts["/api/v1/streams"])["streams"]
        assert {"pub", "camera"} <= {one["name"] for one in streams}, "the test should have been about something"
        if not who:
            assert len(json.loads(texts["/api/v1/log?count=2000"])["lines"]) > 100, "the log should be read, too"
        found = leaks(texts)
        assert not found, "\n".join(found)
        by_name = {one["name"]: one for one in streams}
        assert by_name["pub"]["tcUrl"] == "rtmp://127.0.0.1/live", "what is before the query stays"
        process = json.loads(texts["/api/v1/self_proc_stats"])["data"]
        assert {name: process[name] for name in ADDRESSES} == dict.fromkeys(ADDRESSES, 0), "addresses of the process"
        in_log = [line for line in server.log().splitlines() if "zZ-" in line]
        assert not in_log, "\n".join(in_log)


def test_with_credentials(servers):
    """Who may do everything sees what clients sent in full, and no passwords; who may read sees neither."""
    with everything(servers, AUTH) as server:
        found = leaks(readable(server, Authorization=f"Bearer {READ}"))
        assert not found, "\n".join(found)
        texts = readable(server, Authorization=f"Bearer {ALL}")
        everything_read = "\n".join(texts.values())
        for place in ("publisher-tcurl", "publisher-page", "player-tcurl", "player-page", "player-fragment", "flv-referer"):
            assert secret(place) in everything_read, f"{place} should be readable"
        for place in ("camera-password", "gone-password", "forward-password", "hook-secret", "signed", "ice", "api-password",
                      "heartbeat-token", "redis-password"):  # fmt: skip
            assert secret(place) not in everything_read, f"{place} is for nobody"
        for token in (ALL, READ):
            assert token not in everything_read, "tokens are for nobody"
