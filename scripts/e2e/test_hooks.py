"""Hooks: what HTTP servers are asked and told, field by field, by clients of every kind; signatures; pairs that stay
balanced; hook servers that are down, slow, wrong or hostile, which the streams of others never feel."""

import contextlib
import json
import time

import pytest

from lib import api, dvr, flv, hooks, http, media, ports, publishing, rtc, rtc_raw, rtmp
from lib.metrics import EXPORTER, Metrics
from lib.timing import scaled, wait_until

ALL = ("on_connect", "on_close", "on_publish", "on_unpublish", "on_play", "on_stop")


def asking(server, *names, **more):
    return {name: server.url("hook") for name in names or ALL} | more


def check_common(body, client_ip="127.0.0.1"):
    assert body["server_id"] and body["service_id"], f"who the server is: {body}"
    assert len(body["client_id"]) == 8, f"a session's id: {body}"
    assert (body["ip"], body["vhost"], body["app"]) == (client_ip, "__defaultVhost__", "live"), body


def check_stream(body, stream, param=""):
    check_common(body)
    assert (body["stream"], body["param"], body["stream_url"]) == (stream, param, f"/live/{stream}"), body
    assert body["stream_id"].startswith("vid-"), body


COMMON = {"server_id", "service_id", "action", "client_id", "ip", "vhost", "app"}
STREAM = COMMON | {"tcUrl", "stream", "param", "stream_url", "stream_id"}
REPORT = {"report_id"}
FIELDS = {
    "on_connect": COMMON | {"tcUrl", "stream", "param", "pageUrl"},
    "on_close": COMMON | REPORT | {"send_bytes", "recv_bytes"},
    "on_publish": STREAM,
    "on_unpublish": STREAM | REPORT,
    "on_play": STREAM | {"pageUrl", "clients"},
    "on_stop": STREAM | REPORT | {"clients"},
    "on_dvr": STREAM | REPORT | {"cwd", "file"},
    "on_hls": STREAM | REPORT | {"cwd", "file", "duration", "url", "m3u8", "m3u8_url", "seq_no"},
}


def without_id(report):
    return {key: value for key, value in report.items() if key != "report_id"}


def test_rtmp_publisher_and_player(servers):
    with hooks.HookServer() as asked:
        server = servers(vhosts=hooks.vhost(**asking(asked)))
        with rtmp.publisher(server, "live", "one?token=a&x=1") as publisher:
            tags = media.tags(media.plain())[:200]
            publishing.send_all(publisher, tags)
            with rtmp.Client("127.0.0.1", server.rtmp_port).handshake() as player:
                player.connect("live", pageUrl="http://page/x")
                player.play("one")
                player.tags()
        asked.wait("on_close", 2)
        for body in asked.bodies():
            assert set(body) == FIELDS[body["action"]], f"the fields of {body['action']}: {body}"
        (published,) = asked.bodies("on_publish")
        check_stream(published, "one", "?token=a&x=1")
        assert published["tcUrl"] == f"rtmp://127.0.0.1:{server.rtmp_port}/live", published
        (unpublished,) = asked.bodies("on_unpublish")
        assert without_id(unpublished) == published | {"action": "on_unpublish"}, unpublished
        (played,) = asked.bodies("on_play")
        check_stream(played, "one")
        assert played["pageUrl"] == "http://page/x", played
        (stopped,) = asked.bodies("on_stop")
        check_stream(stopped, "one")
        assert stopped["client_id"] == played["client_id"], stopped
        assert (played["clients"], stopped["clients"]) == (2, 2), "publisher and player, also when it has gone"
        for publishes in (True, False):
            who = (published if publishes else played)["client_id"]
            mine = [body for body in asked.bodies() if body["client_id"] == who]
            want = ["on_connect", *(("on_publish", "on_unpublish") if publishes else ("on_play", "on_stop")), "on_close"]
            assert [body["action"] for body in mine] == want, f"in this order: {mine}"
            check_common(mine[0])
            received, sent = mine[-1]["recv_bytes"], mine[-1]["send_bytes"]
            media_bytes = sum(len(tag.body) for tag in tags)
            assert received > (media_bytes if publishes else 3000), f"bytes of the handshake and more: {mine[-1]}"
            assert sent > 3000, f"bytes of the handshake and more: {mine[-1]}"
        posts = {(call.method, call.headers["content-type"]) for call in asked.calls}
        assert posts == {("POST", "application/json")}, posts


def test_http_players(servers):
    with hooks.HookServer() as asked:
        server = servers(
            vhosts=hooks.vhost(
                hls="hls { enabled on; hls_fragment 1; hls_path ./html; }", **asking(asked, "on_play", "on_stop")
            )
        )
        with rtmp.publisher(server, "live", "one") as publisher, publishing.Steady(
            publisher, media.from_keyframe(media.frequent_keyframes())
        ):
            with http.Live(server.http_port, "/live/one.flv?k=v", Referer="http://page/") as player:
                player.tags()
                (played,) = asked.wait("on_play", param="?k=v")
                check_stream(played, "one", "?k=v")
                assert (played["pageUrl"], played["tcUrl"]) == ("http://page/", "rtmp://127.0.0.1/live"), played
                assert set(played) == FIELDS["on_play"], played
            (stopped,) = asked.wait("on_stop", client_id=played["client_id"])
            assert set(stopped) == FIELDS["on_stop"], stopped

            # HLS: once per viewer, however much it fetches; its end is its silence.
            wait_until(lambda: http.get(server.http_port, "/live/one.m3u8?u=1").status == 200, 15, "HLS is there")
            assert http.get(server.http_port, "/live/one.m3u8?u=head", method="HEAD").status == 200
            master = http.get(server.http_port, "/live/one.m3u8?u=2").body.decode()
            context = master.partition("hls_ctx=")[2][:8]
            for _ in range(3):
                answer = http.get(server.http_port, f"/live/one.m3u8?hls_ctx={context}&u=2")
                assert answer.status == 200, answer.describe()
            (played,) = asked.wait("on_play", param="?u=2")
            check_stream(played, "one", "?u=2")
            assert played["client_id"] == context, f"the viewer's id is {context}: {played}"
            assert len(asked.bodies("on_play", client_id=context)) == 1, asked.bodies("on_play")
            # One that the server does not know (it was restarted) is asked about, once, and has an id of the server's.
            for _ in range(2):
                assert http.get(server.http_port, "/live/one.m3u8?hls_ctx=oldone").status == 200
            (played,) = asked.wait("on_play", param="?hls_ctx=oldone")
            check_stream(played, "one", "?hls_ctx=oldone")
            other = http.get(server.http_port, f"/live/one.m3u8?hls_ctx={'a' * 30}")
            assert other.status == 400, f"no id of ours: {other.describe()}"
            assert not asked.bodies("on_play", param="?u=head"), "a HEAD is no viewer"
        server.stop()
        began = sorted(body["client_id"] for body in asked.bodies("on_play"))
        ended = sorted(body["client_id"] for body in asked.bodies("on_stop"))
        assert began == ended, f"each on_play has its on_stop, also at the server's end: {began}, {ended}"


def test_every_url_must_accept(servers):
    with hooks.HookServer(no=hooks.answer('{"code":7}')) as asked:
        urls = f"{asked.url('yes')} {asked.url('no')} {asked.url('never')}"
        server = servers(top=api.ON, vhosts=hooks.vhost(on_publish=urls, on_unpublish=asked.url("end")))
        with pytest.raises(rtmp.Refused) as refused:
            rtmp.publisher(server, "live", "one")
        assert "on_publish" in str(refused.value) and "7" in str(refused.value), refused.value
        assert [call.target for call in asked.calls] == ["/yes", "/no"], "in turn, up to the refusal"
        api.ended(server, "on_publish: code 7", reason="refused-hook")
        assert not asked.bodies("on_unpublish")


def test_a_refusal_refuses_whatever_fail_open_says(servers):
    with hooks.HookServer(no=hooks.answer('{"code":1}'), forbidden=hooks.answer("0", "403 Forbidden")) as asked:
        for name in ("no", "forbidden"):
            server = servers(vhosts=hooks.vhost(on_publish=asked.url(name), fail_open="on_publish"))
            with pytest.raises(rtmp.Refused):
                rtmp.publisher(server, "live", "one")


@pytest.mark.parametrize(
    "answer, accepted",
    [
        ("0", True),
        ('{"code": 0, "data": {}}', True),
        ("1", False),
        ('{"code": "0"}', False),
        ("ok", False),
        ("", False),
        ("[0]", False),
    ],
)
@pytest.mark.parametrize("status", ["200 OK", "201 Created"])
def test_what_accepts(servers, answer, accepted, status):
    """201 is what NestJS, for one, answers each POST with."""
    with hooks.HookServer(hook=hooks.answer(answer, status)) as asked:
        server = servers(vhosts=hooks.vhost(**asking(asked, "on_publish")))
        try:
            rtmp.publisher(server, "live", "one").close()
            came = True
        except rtmp.Refused:
            came = False
        assert came == accepted, f"an answer of {answer!r} {'accepts' if accepted else 'refuses'}"


def test_players_and_connections_are_refused(servers):
    no = hooks.answer('{"code":1}')
    with hooks.HookServer(play=no, connect=no) as asked:
        server = servers(vhosts=hooks.vhost(on_play=asked.url("play"), on_stop=asked.url("stop")))
        with rtmp.publisher(server, "live", "one") as publisher:
            publishing.send_all(publisher, media.tags(media.plain())[:100])
            with pytest.raises(rtmp.Refused):
                rtmp.player(server, "live", "one")
            answer = http.get(server.http_port, "/live/one.flv")
            assert (answer.status, b"on_play" in answer.body) == (403, True), answer.describe()
        assert not asked.bodies("on_stop"), "what did not begin has no end"
        server = servers(vhosts=hooks.vhost(on_connect=asked.url("connect"), on_close=asked.url("close")))
        with pytest.raises(rtmp.Refused):
            rtmp.publisher(server, "live", "one")
        assert "on_close" not in asked.actions(), asked.actions()


def test_signature(servers):
    with hooks.HookServer() as asked:
        server = servers(vhosts=hooks.vhost(secret="s3cret", **asking(asked)))
        rtmp.publisher(server, "live", "one").close()
        asked.wait("on_close")
        assert len(asked.calls) == 4, asked.actions()
        for call in asked.calls:
            header = call.headers["x-srs-signature"]
            assert hooks.verify("s3cret", header, call.body), f"{header} of {call.body}"
            assert not hooks.verify("other", header, call.body) and not hooks.verify("s3cret", header, call.body + b" ")


def test_recordings_and_segments(servers):
    """on_dvr, on_hls and on_hls_notify, of a real recording and real segments."""
    with hooks.HookServer() as asked:
        notify = f"http://127.0.0.1:{asked.port}/cache/[server_id]/[service_id]/[app]/[stream]/[ts_url][param]"
        server = servers(
            top="server_id vid-test; http_api { enabled on; listen 127.0.0.1:API_PORT; }",
            vhosts=hooks.vhost(
                hls="hls { enabled on; hls_fragment 1; hls_path ./html; hls_nb_notify 16; }",
                dvr="dvr { enabled on; dvr_path ./rec/[app]/[stream].[timestamp].flv; }",
                secret="s3cret",
                on_hls_notify=notify,
                **asking(asked, "on_publish", "on_unpublish", "on_close", "on_dvr", "on_hls"),
            ),
        )
        tags = media.from_keyframe(media.plain())
        with rtmp.publisher(server, "live", "one?token=a") as publisher:
            publishing.send_all(publisher, tags, 20)
        asked.wait("on_close")
        ends = [action for action in asked.actions() if action in ("on_dvr", "on_unpublish", "on_close")]
        assert ends == ["on_dvr", "on_unpublish", "on_close"], f"the recording before the end, as with SRS: {ends}"
        (recorded,) = asked.wait("on_dvr")
        (publish,) = asked.bodies("on_publish")
        (file,) = dvr.wait_files(server, 1)
        about = json.loads(http.get(server.api_port, "/api/v1/versions").body)
        ids = (publish["server_id"], publish["service_id"])
        assert ids == (about["server"], about["service"]) and ids[0] == "vid-test", f"as the API has it: {about}"
        who = {key: publish[key] for key in publish if key != "action"}
        assert without_id(recorded) == who | {
            "action": "on_dvr",
            "cwd": str(server.dir.resolve()),
            "file": f"./rec/live/{file.name}",
        }, recorded
        flv.assert_same(tags, flv.read_file(server.dir / recorded["file"]), "the recording that on_dvr names")

        segments = asked.wait("on_hls", 2)
        for number, body in enumerate(segments):
            assert set(body) == FIELDS["on_hls"], body
            assert {key: body[key] for key in who} == who, body
            assert body["seq_no"] == number and body["m3u8"] == "./html/live/one.m3u8", body
            assert body["m3u8_url"] == "live/one.m3u8" and body["cwd"] == str(server.dir.resolve()), body
            assert body["url"] == f"live/{(server.dir / body['file']).name}", f"with the app before it: {body}"
            text = (server.dir / body["m3u8"]).read_text()
            assert f"#EXTINF:{body['duration']:.5f},\n{body['url'].removeprefix('live/')}\n" in text, f"{body} in\n{text}"
            assert (server.dir / body["file"]).stat().st_size % 188 == 0, body
        notified = [call for call in asked.calls if call.method == "GET"]
        wanted = [f"/cache/vid-test/{publish['service_id']}/live/one/{body['url'].removeprefix('live/')}?token=a" for body in segments]
        assert [call.target for call in notified] == wanted, notified
        assert all(hooks.verify("s3cret", call.headers["x-srs-signature"], b"") for call in notified)


def test_notify_reads_no_more_than_it_was_told(servers):
    with hooks.HookServer(cache=hooks.huge) as asked:
        server = servers(
            top=EXPORTER % "",
            vhosts=hooks.vhost(
                hls="hls { enabled on; hls_fragment 1; hls_path ./html; hls_nb_notify 100; }",
                on_hls_notify=asked.url("cache"),
            )
        )
        with rtmp.publisher(server, "live", "one") as publisher:
            publishing.send_all(publisher, media.from_keyframe(media.plain()), 20)
        wait_until(lambda: len(asked.calls) >= 3, 10, lambda: f"segments are notified: {asked.calls}")

        def answered():
            metrics = Metrics(server)
            calls, under_way = (metrics.value(f"srs_hook_{name}", hook="on_hls_notify") for name in ("calls_total", "in_flight"))
            return metrics if calls and calls >= 3 and not under_way else None

        failures = wait_until(answered, 10, "three answers have come").value("srs_hook_failures_total", hook="on_hls_notify")
        assert failures == 0, f"an answer that is cut is no failure: {failures}"


# ---- Whom a hook may not hurt

FAULTS = {
    "slow": hooks.slow(30),
    "garbage": hooks.garbage,
    "redirect": hooks.answer("", "302 Found", Location="http://127.0.0.1:1/"),
    "huge": hooks.huge,
    "cut": hooks.cut,
    "closing": lambda server, peer, call: None,
    "error": hooks.answer("0", "500 Internal Server Error"),
    "down": None,
}


def others_packets(server, name="other"):
    """A publisher and two players of a vhost without hooks, at real speed: what came in the end is what was sent."""
    tags = [tag for tag in media.from_keyframe(media.plain()) if tag.timestamp < 3000]
    publisher = rtmp.publisher(server, "live", name, tc_url="rtmp://free/live")
    players = [
        publishing.Collector(rtmp.player(server, "live", name, tc_url="rtmp://free/live")),
        publishing.Collector(http.Live(server.http_port, f"/live/{name}.flv?vhost=free", wait=False)),
    ]
    return tags, publisher, players


FREE = "vhost free { http_remux { enabled on; wait_publisher on; } play { rejoin_timeout 300; mw_latency 50; } }\n"


@pytest.mark.parametrize("policy", ["closed", "open"])
def test_a_hook_that_fails(servers, policy):
    """Each fault in turn, on one server, while others publish and play."""
    down = ports.take(1)[0]
    with hooks.HookServer(**FAULTS) as asked:
        blocks = ""
        for name in FAULTS:
            url = f"http://127.0.0.1:{down}/x" if name == "down" else asked.url(name)
            fail_open = "fail_open on_publish on_connect on_play;" if policy == "open" else ""
            blocks += (
                f"vhost {name} {{ http_hooks {{ enabled on; timeout 700; {fail_open} "
                f"on_publish {url}; on_unpublish {url}; retries 1; }} }}\n"
            )
        server = servers(vhosts=blocks + FREE)
        tags, other, players = others_packets(server)
        fds = server.fds()
        with other, publishing.Steady(other, tags) as sending:
            for name in FAULTS:
                began = time.monotonic()
                if policy == "open":
                    rtmp.publisher(server, "live", "one", tc_url=f"rtmp://{name}/live").close()
                else:
                    with pytest.raises(rtmp.Refused) as refused:
                        rtmp.publisher(server, "live", "one", tc_url=f"rtmp://{name}/live")
                    assert "on_publish" in str(refused.value), refused.value
                took = time.monotonic() - began
                assert took < scaled(10), f"{name} took {took:.1f} s; the time limit of hooks is 0.7 s"
            # A crowd at the slow one: each of them is refused in its time, and nothing is left of them.
            crowd = [rtmp.Client("127.0.0.1", server.rtmp_port).handshake() for _ in range(100)]
            for client in crowd:
                client.connect("live", "rtmp://slow/live")
            for client in crowd:
                client.send_command("publish", None, "crowd", "live", stream_id=1, csid=4)
            wait_until(lambda: asked.most_open >= 32, 10, lambda: f"many at once are asked: {asked.most_open}")
            assert asked.most_open <= 72, f"not more than 64 at once to one host, {asked.most_open} were"
            for client in crowd:
                client.close()
            wait_until(lambda: server.fds() <= fds + 15, 20, lambda: f"{fds} descriptors before, {server.fds()} now")
            assert sending.error is None, f"the other publisher was disturbed: {sending.error!r}"
            sending.stop()
            sent = list(sending.sent)
        for player in players:
            got = player.finish(scaled(10), "a player of another stream")
            flv.assert_same(sent, got, "a player of another stream")
    ports.release([down])


def test_certificates(servers, certificate):
    """HTTPS is verified: by the system's certificates, by a file of them, and the host's name."""
    key, cert = certificate
    with hooks.HookServer(certificate=certificate) as asked:
        block = "vhost %s { http_hooks { enabled on; on_publish %s; %s } }\n"
        server = servers(
            vhosts=block % ("trusted", asked.url(), f"ca_file {cert};")
            + block % ("unknown", asked.url(), "")
            + block % ("name", asked.url(host="localhost"), f"ca_file {cert};")
            + block % ("nofile", asked.url(), "ca_file /nonexistent.pem;")
        )
        for _ in range(2):
            rtmp.publisher(server, "live", "one", tc_url="rtmp://trusted/live").close()
        for name, why in (
            ("unknown", "certificate of 127.0.0.1: self"),
            ("name", "certificate of localhost: hostname mismatch"),
            ("nofile", "/nonexistent.pem"),
        ):
            mark = server.log_mark()
            with pytest.raises(rtmp.Refused):
                rtmp.publisher(server, "live", "one", tc_url=f"rtmp://{name}/live")
            server.wait_log(f"hook on_publish .* failed: .*{why}", since=mark)
        assert len(asked.calls) == 2, f"nothing is sent to whom is not trusted: {asked.calls}"


@pytest.mark.parametrize("policy, known, unknown", [("deny", False, False), ("allow", True, True), ("last", True, False)])
def test_who_publishes_while_the_hook_server_is_down(servers, policy, known, unknown):
    """on_failure: `known` was admitted before, with its token; also when the host is known to be down."""

    def admitted(param):
        try:
            rtmp.publisher(server, "live", f"one?token={param}").close()
            return True
        except rtmp.Refused:
            return False

    (port,) = ports.take(1)
    url = f"http://127.0.0.1:{port}/hook"
    server = servers(top=EXPORTER % "", vhosts=hooks.vhost(on_publish=url, on_failure=policy))
    with hooks.HookServer(port=port):
        assert admitted("good")
    admitted("spare")  # by the connection that is left
    rounds = [(admitted("good"), admitted("other")) for _ in range(4)]
    assert rounds == [(known, unknown)] * 4, f"{policy}: {rounds}"
    ports.release([port])


def test_reports_are_tried_again(servers):
    """A hook server that is down for a while: what was to be told is told then, in order."""
    port = ports.take(1)[0]
    url = f"http://127.0.0.1:{port}/hook"
    server = servers(top=EXPORTER % "", vhosts=hooks.vhost(on_unpublish=url, on_close=url, retries=20))
    rtmp.publisher(server, "live", "one").close()
    wait_until(lambda: Metrics(server).value("srs_hook_failures_total", hook="on_unpublish"), 5, "it is told in vain")
    with hooks.HookServer(port=port) as asked:
        asked.wait("on_close", seconds=20)
        assert asked.actions() == ["on_unpublish", "on_close"], asked.actions()
    ports.release([port])


def test_who_leaves_while_it_is_asked_about(servers):
    with hooks.HookServer(hook=hooks.slow(1)) as asked:
        server = servers(vhosts=hooks.vhost(**asking(asked)))
        client = rtmp.Client("127.0.0.1", server.rtmp_port, timeout=20).handshake()
        client.connect("live")
        client.send_command("publish", None, "one", "live", stream_id=1, csid=4)
        asked.wait("on_publish")
        client.close()
        asked.wait("on_close", seconds=20)
        assert asked.actions() == ["on_connect", "on_publish", "on_unpublish", "on_close"], asked.actions()
        ids = {body["client_id"] for body in asked.bodies()}
        assert len(ids) == 1, f"one client: {ids}"


def leaving(server, how):
    """A client that is about to be asked about; what it holds open."""
    if how == "http":
        client = http.Connection(server.http_port)
        client.request("GET", "/live/s.flv")
        return client
    if how in ("whip", "whep"):
        client = http.Connection(server.api_port)
        stream, direction = ("one", "sendonly") if how == "whip" else ("s", "recvonly")
        offer = rtc_raw.offer(direction=direction).encode()
        client.request("POST", f"/rtc/v1/{how}/?app=live&stream={stream}", offer, Content_Type="application/sdp")
        return client
    client = rtmp.Client("127.0.0.1", server.rtmp_port, timeout=20).handshake()
    client.connect("live")
    if how == "publish":
        client.send_command("publish", None, "one", "live", stream_id=1, csid=4)
    else:
        client.send_command("play", None, "s", stream_id=1, csid=4)
    return client


@pytest.mark.parametrize("how", ["publish", "play", "http", "whip", "whep"])
def test_who_leaves_is_noticed_at_once(servers, how):
    """The hook takes 30 s. Nobody waits for it on behalf of a client that is gone, and its request is given up."""
    publishes = how in ("publish", "whip")
    asks, ends = ("on_publish", "on_unpublish") if publishes else ("on_play", "on_stop")
    with hooks.HookServer(slow=hooks.slow(scaled(30))) as asked:
        slow = {asks: asked.url("slow"), ends: asked.url("hook"), "timeout": 60_000}
        server = servers(top=rtc.TOP, vhosts=hooks.vhost(rtc.VHOST % "", **slow) + FREE)
        source = contextlib.nullcontext() if publishes else rtmp.publisher(server, "live", "s")
        with source:
            client = leaving(server, how)
            asked.wait(asks)
        began, mark = time.monotonic(), server.log_mark()
        client.close()
        server.wait_log("closed by the peer, which was not let in yet", 10, mark)
        asked.wait(ends)
        assert time.monotonic() - began < scaled(10), f"it took {time.monotonic() - began:.1f} s"
        wait_until(lambda: asked.open <= 1, 10, lambda: f"its request is given up: {asked.open} connections are open")


def test_who_was_never_asked_about_has_no_end(servers):
    """64 are asked about at once; who leaves while it waits for its turn was never mentioned, and is not at its end."""
    # The ends are told to another: at most 64 calls, of all kinds, go to one host at once.
    with hooks.HookServer(slow=hooks.slow(scaled(30))) as asked, hooks.HookServer() as told:
        slow = {"on_publish": asked.url("slow"), "on_unpublish": told.url(), "timeout": 60_000}
        server = servers(top=api.ON, vhosts=hooks.vhost(**slow))
        clients = [rtmp.Client("127.0.0.1", server.rtmp_port, timeout=20).handshake() for _ in range(66)]
        for number, client in enumerate(clients[:64]):
            client.connect("live")
            client.send_command("publish", None, f"s{number}", "live", stream_id=1, csid=4)
        asked.wait("on_publish", 64)
        for client in clients[64:]:
            client.connect("live")
            client.send_command("publish", None, "late", "live", stream_id=1, csid=4)
        time.sleep(0.5)
        assert asked.actions() == ["on_publish"] * 64, asked.actions()
        clients[64].close()
        api.ended(server, "closed by the peer, which was not let in yet", reason="peer-closed")
        # One of the others makes room, and the next one's turn comes.
        clients[0].close()
        told.wait("on_unpublish", stream="s0")
        asked.wait("on_publish", stream="late")
        clients[65].close()
        (end,) = told.wait("on_unpublish", stream="late")
        (begin,) = asked.bodies("on_publish", stream="late")
        assert end["client_id"] == begin["client_id"], f"the end is that of the one that was asked about: {end}"
        for client in clients:
            client.close()


def test_a_recording_is_its_publisher_s(servers):
    """Another publisher has taken over, or come back, before the recording is complete: on_dvr names whose it was."""
    with hooks.HookServer() as asked:
        server = servers(
            vhosts=hooks.vhost(
                dvr="dvr { enabled on; dvr_path ./rec/[app]/[stream].[timestamp].mp4; }",
                publish="takeover on;",
                **asking(asked, "on_publish", "on_dvr"),
            )
        )
        tags = media.from_keyframe(media.plain())[:300]
        clients = []
        for number in range(3):  # each takes over from the one before
            clients.append(rtmp.publisher(server, "live", f"one?number={number}"))
            publishing.send_all(clients[-1], tags, 20)
        clients[-1].close()
        back = rtmp.publisher(server, "live", "one?number=3")
        publishing.send_all(back, tags, 20)
        back.close()
        asked.wait("on_dvr", 4, 20)
        published = {body["param"]: body["client_id"] for body in asked.bodies("on_publish")}
        recorded = {body["param"]: body["client_id"] for body in asked.bodies("on_dvr")}
        assert recorded == published and len(recorded) == 4, f"{recorded} were recorded, {published} published"
        for client in clients:
            client.close()


def test_the_end_of_the_server_is_told(servers):
    with hooks.HookServer() as asked:
        server = servers(vhosts=hooks.vhost(**asking(asked)))
        with rtmp.publisher(server, "live", "one") as publisher:
            publishing.send_all(publisher, media.tags(media.plain())[:50])
            with rtmp.player(server, "live", "one"):
                server.stop()
        actions = sorted(asked.actions())
        assert actions == sorted([*ALL, "on_connect", "on_close"]), actions


def test_a_reload_changes_the_hooks(servers):
    with hooks.HookServer(no=hooks.answer("1")) as asked:
        server = servers(top=api.ON, vhosts=hooks.vhost(on_publish=asked.url("no")))
        with pytest.raises(rtmp.Refused):
            rtmp.publisher(server, "live", "one")
        api.reload(server, server.conf.replace("/no;", "/yes;"))
        rtmp.publisher(server, "live", "one").close()
        assert [call.target for call in asked.calls] == ["/no", "/yes"], asked.calls
