"""WebRTC's HTTP side: WHIP, WHEP and the older JSON API, with the offers of real clients (src/protocol/sdp/corpus). What
answers look like, every status, what a bad offer costs, and the pages that the server brings along."""

import hashlib
import hmac
import json
import re
import time
import urllib.parse

import pytest

from lib import api, browser, hooks, http, rtc, rtc_plain, rtc_raw
from lib.rtc_offers import SDP, bad_offers, call, offer
from lib.server import default_vhost
from lib.timing import SLOW, VALGRIND, wait_until

PUBLISHERS = ["chromium_whip", "chromium_simulcast", "aiortc_whip", "pion_whip", "ffmpeg_whip", "safari_whip", "obs_whip", "obs_simulcast", "gstreamer_whip"]
PLAYERS = ["chromium_whep", "aiortc_whep", "pion_whep", "firefox_whep"]
FRAGMENT = {"Content_Type": "application/trickle-ice-sdpfrag"}


def post(server, stream="one", name="chromium_whip", kind="whip", more="", port=None, **headers):
    return call(port or server.api_port, "POST", f"/rtc/v1/{kind}/?app=live&stream={stream}{more}", offer(name), **{**SDP, **headers})


def expect(response, status, text=""):
    assert response.status == status, f"expected {status}, it was {response.describe()}"
    assert text in response.body.decode(), f"expected {text!r} in {response.describe()}"
    return response


def sections(sdp):
    """Of each m= line: its words, and its lines."""
    found = []
    for line in sdp.split("\r\n"):
        if line.startswith("m="):
            found.append((line[2:].split(" "), []))
        elif found:
            found[-1][1].append(line)
    return found


def assert_answers(answer, wanted, role):
    """That the answer fits the offer (RFC 3264, 8829): each m= line in its place, formats out of those offered."""
    offered, answered = sections(wanted), sections(answer)
    assert [words[0] for words, _ in offered] == [words[0] for words, _ in answered], answer
    accepted = []
    for (theirs, their_lines), (ours, lines) in zip(offered, answered, strict=True):
        assert ours[2] == theirs[2] and set(ours[3:]) <= set(theirs[3:]), f"{ours} answers {theirs}"
        mid = [line for line in lines if line.startswith("a=mid:")]
        assert mid == [line for line in their_lines if line.startswith("a=mid:")], answer
        if ours[1] == "0":
            continue
        accepted.append(mid[0][6:])
        assert f"a={role}" in lines, f"expected {role} in {lines}"
        setup = "active" if "a=setup:passive" in their_lines else "passive"
        for line in ("a=rtcp-mux", "a=end-of-candidates", f"a=setup:{setup}"):
            assert line in lines, f"expected {line} in {lines}"
        # OBS refuses an answer with fewer layers. Without the extension they cannot be told apart.
        layers = [line for line in their_lines if line.startswith(("a=rid:", "a=simulcast:")) or "sdes:rtp-stream-id" in line]
        expected = [line.replace("send", "recv") for line in layers if "a=simulcast" in "".join(layers)]
        assert [line for line in lines if line in expected] == expected, f"expected the layers {expected} in {lines}"
        for name in ("ice-ufrag", "ice-pwd", "fingerprint:sha-256", "candidate", "rtpmap"):
            assert any(line.startswith(f"a={name}") for line in lines), f"expected {name} in {lines}"
    assert len(accepted) == 2, f"audio and video should be accepted: {answer}"
    assert f"a=group:BUNDLE {' '.join(accepted)}\r\n" in answer and "a=ice-lite\r\n" in answer, answer


def clients(server, kind):
    return [one for one in api.clients(server) if one["type"] == kind]


def test_publishers_of_all_kinds(servers):
    server = servers(**rtc.options())
    for name in PUBLISHERS:
        answer = expect(post(server, name, name), 201)
        assert_answers(answer.body.decode(), offer(name).decode(), "recvonly")
        assert answer.headers["content-type"] == "application/sdp", answer.describe()
    assert len(clients(server, "rtc-publish")) == len(PUBLISHERS)


def test_players_of_all_kinds(servers):
    server = servers(**rtc.options())
    expect(post(server), 201)
    for name in PLAYERS:
        answer = expect(post(server, name=name, kind="whep"), 201).body.decode()
        assert_answers(answer, offer(name).decode(), "sendonly")
        assert len(set(re.findall(r"a=ssrc:(\d+) cname:", answer))) >= 2, f"a player is told the SSRCs: {answer}"
    expect(post(server, name="chromium_whep", kind="whip-play"), 201)


def test_parameter_sets_of_an_offer(servers):
    """Encoders may tell them there alone: players are told at once, and the video frame is known when it is connected."""
    server = servers(**rtc_plain.options())
    sets = ";sprop-parameter-sets=Z0LAHtiQKAv+XARAAAADAEAAAAyDxYuJgA==,aMiIyyA="
    with rtc_raw.Session(server, kind="whip", direction="sendonly", fmtp=sets) as publisher:
        assert "sprop" not in publisher.answer, f"what the publisher told is not for the answer: {publisher.answer}"
        with rtc_raw.Session(server) as player:
            assert f"{sets}\r\n" in player.answer, f"players should be told the parameter sets: {player.answer}"
        publisher.verify()
        video = api.wait_stream(server, "one", lambda stream: stream["video"])["video"]
        assert (video["width"], video["height"]) == (640, 360), f"the video frame is known from the offer: {video}"
        with rtc_raw.Session(server) as player:
            assert f"{sets}\r\n" in player.answer, f"players should be told the parameter sets: {player.answer}"


def test_a_session_from_begin_to_end(servers):
    server = servers(**rtc.options(top="") | {})
    for port in (server.api_port, server.http_port):
        answer = expect(post(server, port=port), 201)
        location = answer.headers["location"]
        parts = urllib.parse.urlsplit(location)
        fields = urllib.parse.parse_qs(parts.query)
        assert parts.path == "/rtc/v1/whip/" and fields["action"] == ["delete"] and fields["app"] == ["live"], location
        assert {"token", "session", "stream"} <= fields.keys(), location
        assert re.fullmatch('"[^"]+"', answer.headers["etag"]), answer.describe()
        for name in ("Location", "ETag", "Link"):
            assert name in answer.headers["access-control-expose-headers"], answer.describe()
        (client,) = clients(server, "rtc-publish")
        assert client["id"] == fields["session"][0] and client["publish"] and client["url"] == "/live/one", client
        etag = {"If_Match": answer.headers["etag"]}
        candidate = b"m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=candidate:1 1 udp 1 192.0.2.9 4 typ host\r\n"
        expect(call(port, "PATCH", location, candidate, **FRAGMENT, **etag), 204)
        expect(call(port, "PATCH", location, candidate, **FRAGMENT), 428)
        expect(call(port, "PATCH", location, candidate, **FRAGMENT, If_Match='"other"'), 412)
        expect(call(port, "PATCH", location, candidate, **SDP, **etag), 415)
        expect(call(port, "PATCH", location, b"hello", **FRAGMENT, **etag), 400)
        restart = b"a=ice-ufrag:anew\r\na=ice-pwd:0123456789012345678901\r\n" + candidate
        restarted = expect(call(port, "PATCH", location, restart, **FRAGMENT, If_Match="*"), 200, "a=ice-ufrag:")
        assert restarted.headers["content-type"] == "application/trickle-ice-sdpfrag", restarted.describe()
        assert restarted.headers["etag"] != answer.headers["etag"], "another ICE session has another entity tag"
        assert "a=candidate:" in restarted.body.decode(), restarted.describe()
        expect(call(port, "PATCH", location, candidate, **FRAGMENT, **etag), 412)
        token = fields["token"][0]
        expect(call(port, "DELETE", location.replace(token, "x" * len(token))), 403)
        expect(call(port, "DELETE", location), 200)
        expect(call(port, "DELETE", location), 404)
        expect(call(port, "PATCH", location, candidate, **FRAGMENT, **etag), 404)
        wait_until(lambda: not clients(server, "rtc-publish"), 5, "the session has left the API")


def test_statuses(servers):
    server = servers(**rtc.options())
    port, at = server.api_port, "/rtc/v1/whip/?app=live&stream=one"
    expect(call(port, "POST", at, b"offer", Content_Type="text/plain"), 415)
    expect(call(port, "POST", at, b"{}"), 415)
    expect(call(port, "POST", "/rtc/v1/whip/?app=a%2F..%2Fb", offer(), **SDP), 400, "app")
    expect(call(port, "POST", at + "&eip=a/b", offer(), **SDP), 400, "eip")
    expect(call(port, "POST", at + "&vcodec=h261", offer(), **SDP), 400, "vcodec")
    expect(call(port, "POST", at + "&layer=" + 17 * "q", offer(), **SDP), 400, "layer")
    for height in ("0", "-1", "360p", "99999999999"):
        expect(call(port, "POST", at + "&maxheight=" + height, offer(), **SDP), 400, "maxheight")
    expect(call(port, "POST", at, offer("chromium_whep"), **SDP), 400, "recvonly")
    for where in (server.api_port, server.http_port):
        expect(call(where, "GET", at), 405)
        options = expect(call(where, "OPTIONS", at, Origin="https://a.example", Access_Control_Request_Method="POST"), 204)
        assert options.headers["accept-post"] == "application/sdp", options.describe()
        assert "PATCH" in options.headers["access-control-allow-methods"], options.describe()
    document = json.loads(expect(http.get(port, "/api/v1/openapi.json"), 200).body)["paths"]
    for path in ("/rtc/v1/whip/", "/rtc/v1/whep/"):
        assert "201" in document[path]["post"]["responses"] and "delete" in document[path], document[path]


def test_not_where_it_is_switched_off(servers):
    server = servers(top=rtc.TOP, vhosts=default_vhost())
    expect(post(server), 404, "WebRTC")
    server.stop()
    server = servers(top=api.CONF % "", vhosts=default_vhost(vhost="rtc { enabled on; }"))
    expect(post(server), 404, "rtc_server")


def test_rules_and_limits_are_for_webrtc_too(servers, certificate):
    """Of addresses, and how many there may be; by the API's TLS port."""
    key, cert = certificate
    top = rtc.TOP.replace("API_PORT;", f"API_PORT; https {{ enabled on; listen 127.0.0.1:HTTPS_PORT; key {key}; cert {cert}; }}", 1)
    rules = "security { enabled on; deny play 127.0.0.1; }"
    limits = "address_limits { exempt none; rtc_offers 7; }\n"
    server = servers(top=top + limits, vhosts=default_vhost(vhost=rtc.VHOST % "" + rules))
    expect(post(server, kind="whep"), 403)
    with http.Connection(server.https_port, tls=True) as connection:
        places = []
        for number in range(10):
            path = f"/rtc/v1/whip/?app=live&stream=s{number}"
            connection.request("POST", path, offer(), **SDP)
            response = connection.read_response()
            if response.status != 201:
                break
            places.append(response.headers["location"])
        expect(response, 503, "rtc_offers")
        assert len(places) == 7 and response.headers["retry-after"], f"seven offers: {places}, {response.describe()}"
        connection.request("DELETE", places[0])
        expect(connection.read_response("DELETE"), 200)
        wait_until(lambda: connection.request("POST", path, offer(), **SDP) or connection.read_response().status == 201, 5, "a place is free")


def test_bad_offers_are_refused_quickly(servers):
    """By the server's processor time, so that a busy machine does not count: 50 ms for each at most."""
    server = servers(**rtc.options())
    times = 20
    for what, text in bad_offers():
        before = server.cpu_seconds()
        for _ in range(times):
            status = call(server.api_port, "POST", "/rtc/v1/whip/?app=live&stream=one", text.encode(), **SDP).status
            assert 400 <= status < 500, f"an offer with {what} should be refused with 4xx, it was {status}"
        each = (server.cpu_seconds() - before) / times
        assert VALGRIND or each < 0.05 * SLOW, f"an offer with {what} took {each * 1000:.1f} ms"
    assert not clients(server, "rtc-publish")
    expect(post(server), 201)


def test_the_older_api(servers):
    server = servers(**rtc.options())

    def ask(path, port, **more):
        body = {"api": f"http://127.0.0.1:{port}{path}", "streamurl": "webrtc://127.0.0.1/live/one", "clientip": None, **more}
        response = call(port, "POST", path, json.dumps(body).encode(), Content_Type="application/json")
        return response, json.loads(response.body)

    response, answer = ask("/rtc/v1/publish/", server.api_port, sdp=offer().decode())
    expect(response, 200)
    assert answer["code"] == 0 and all(isinstance(answer[name], str) for name in ("server", "service", "pid", "sdp", "sessionid")), answer
    assert_answers(answer["sdp"], offer().decode(), "recvonly")
    versions = json.loads(http.get(server.api_port, "/api/v1/versions").body)
    assert all(answer[name] == versions[name] for name in ("server", "service", "pid")), f"{answer} and {versions}"
    assert [one["id"] for one in clients(server, "rtc-publish")] == [answer["sessionid"]]
    response, answer = ask("/rtc/v1/play/", server.http_port, sdp=offer("chromium_whep").decode(), streamurl="webrtc://127.0.0.1:1985/live/one?eip=203.0.113.5:99")
    expect(response, 200)
    assert "203.0.113.5 99 typ host" in answer["sdp"], answer["sdp"]
    for more in ({}, {"sdp": "x"}, {"sdp": offer().decode(), "streamurl": "http://127.0.0.1"}):
        response, answer = ask("/rtc/v1/publish/", server.api_port, **more)
        assert response.status == 400 and answer["code"] != 0 and answer["error"], response.describe()


@pytest.mark.parametrize("streamurl", ["http://127.0.0.1/live/%s", "127.0.0.1/live/%s", "rtmp://127.0.0.1/live/%s"])
def test_the_older_api_takes_any_scheme_or_none(servers, streamurl):
    server = servers(**rtc.options())
    body = {"streamurl": streamurl % "one", "sdp": offer().decode()}
    response = call(server.api_port, "POST", "/rtc/v1/publish/", json.dumps(body).encode(), Content_Type="application/json")
    assert json.loads(expect(response, 200).body)["code"] == 0, response.describe()
    assert [one["name"] for one in clients(server, "rtc-publish")] == ["one"], clients(server, "rtc-publish")


@pytest.mark.parametrize("content_type", [{"Content_Type": "text/plain;charset=UTF-8"}, {}], ids=["text/plain", "none"])
def test_an_offer_under_another_name(servers, content_type):
    """fetch(url, {method: "POST", body: sdp}) of a page says text/plain."""
    server = servers(**rtc.options())
    for kind, name in (("whip", "chromium_whip"), ("whep", "chromium_whep")):
        answer = call(server.api_port, "POST", f"/rtc/v1/{kind}/?app=live&stream=one", offer(name), **content_type)
        assert expect(answer, 201).body.startswith(b"v=0"), answer.describe()


def test_candidates(servers):
    server = servers(**rtc.options())

    def hosts(more=""):
        answer = expect(post(server, "c" + str(len(more)), more=more), 201).body.decode()
        return [tuple(line.split()[4:6]) for line in sections(answer)[0][1] if line.startswith("a=candidate:")]

    assert hosts() == [("127.0.0.1", str(server.rtc_port))]
    assert hosts("&eip=203.0.113.5")[0] == ("203.0.113.5", str(server.rtc_port))
    assert hosts("&eip=203.0.113.5:777")[0] == ("203.0.113.5", "777")
    assert hosts("&eip=[2001:db8::7]:777")[0] == ("2001:db8::7", "777")


def test_signatures_and_tokens(servers):
    """A signed URL's parameters may stand in the URL, or in the bearer token, where WHIP clients have a field for one."""
    server = servers(top=rtc.TOP, vhosts=default_vhost(vhost=rtc.VHOST % "" + "signed_urls { enabled on; secret s3cret; }"))
    expires = int(time.time()) + 60
    text = f"publish\n__defaultVhost__/live/one\n{expires}\n"
    good = f"expires={expires}&sign={hmac.new(b's3cret', text.encode(), hashlib.sha256).hexdigest()}"
    expect(post(server), 403)
    expect(post(server, Authorization="Bearer nonsense"), 403)
    expect(post(server, Authorization=f"Bearer {good}0"), 403)
    expect(post(server, "other", Authorization=f"Bearer {good}"), 403)
    location = expect(post(server, Authorization=f"Bearer {good}"), 201).headers["location"]
    expect(call(server.api_port, "DELETE", location), 200)
    expect(post(server, more="&" + good), 201)


def test_hooks_are_asked_and_told(servers):
    """Before the session is made, with its id and the URL's parameters; and of its end, once."""
    with hooks.HookServer(on_play=hooks.answer("1")) as asked:
        urls = " ".join(f"{name} http://127.0.0.1:{asked.port}/{name};" for name in ("on_publish", "on_unpublish", "on_play", "on_stop"))
        server = servers(top=rtc.TOP, vhosts=default_vhost(vhost=rtc.VHOST % "" + f"http_hooks {{ enabled on; {urls} }}"))
        expect(call(server.api_port, "POST", "/rtc/v1/whip/?app=live&stream=one", b"v=1", **SDP), 400)
        location = expect(post(server, more="&k=v", Authorization="Bearer t0ken"), 201).headers["location"]
        expect(post(server, name="chromium_whep", kind="whep"), 403)
        expect(call(server.api_port, "DELETE", location), 200)
        asked.wait("on_unpublish", 1)
        (published,), (ended,) = asked.bodies("on_publish"), asked.bodies("on_unpublish")
        for body in (published, ended):
            assert body["client_id"] in location and body["stream_url"] == "/live/one", f"{body} of {location}"
            assert body["param"] == "app=live&stream=one&k=v&token=t0ken", body
        assert len(asked.bodies("on_play")) == 1 and not asked.bodies("on_stop"), "who was refused has no end"
        assert not clients(server, "rtc-play")


@pytest.mark.skipif(not browser.program(), reason="scripts/test installs Chromium")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_pages(servers, tool, tmp_path, certificate, scheme):
    """Chromium publishes by the server's own page, with its fake camera, and plays by the other one."""
    key, cert = certificate
    server = servers(**rtc.options(), http=f"https {{ enabled on; listen 127.0.0.1:HTTPS_PORT; key {key}; cert {cert}; }}")
    base = f"{scheme}://127.0.0.1:{server.https_port if scheme == 'https' else server.http_port}/players"
    flags = [*browser.FLAGS.split(), *rtc.FLAGS.split(), "--ignore-certificate-errors"]
    for page, query in (("whip", "&codec=VP8"), ("whep", "")):
        tool([browser.program(), *flags, f"--user-data-dir={tmp_path}/{page}", f"{base}/{page}.html?autostart{query}"])
        kind = "rtc-publish" if page == "whip" else "rtc-play"
        moved = "recv_bytes" if page == "whip" else "send_bytes"
        wait_until(
            lambda kind=kind, moved=moved: any(one[moved] > 100_000 for one in clients(server, kind)),
            30,
            lambda kind=kind: f"100 kB of {kind}: {clients(server, kind)}",
            0.2,
        )
