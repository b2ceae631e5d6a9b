"""The outbox of hooks: nothing that ends while the hook server is away is lost, also where the server itself is killed
in between; order, repeats, and what a crash cut."""

import contextlib
import json
import os
import signal
import socket
import stat
import time

import pytest

from lib import api, hooks, http, media, ports, publishing, rtmp
from lib.metrics import EXPORTER, Metrics
from lib.timing import scaled, wait_until

ENDS = ("on_unpublish", "on_stop", "on_close")
TOP = api.ON + "\nmax_connections 20000;\n"


def state(server):
    return api.ask(server, "/api/v1/hooks")


def number_of(report):
    return int(report["report_id"].rpartition("-")[2])


def first_times(reports):
    """Each report once, in the order in which they came first."""
    return list({report["report_id"]: report for report in reports}.values())


def check_order(reports):
    """Reports of a stream that are not ends of players come in the order of their numbers, and so do those of a client;
    ends of players of a stream stay between the others."""
    for report in reports:
        assert report["report_id"].startswith(report["server_id"]), report
    by_stream, by_client = {}, {}
    for report in reports:
        if report["action"] != "on_close":
            by_stream.setdefault(report["stream"], []).append(report)
        by_client.setdefault(report["client_id"], []).append(report)
    for client, own in by_client.items():
        numbers = [number_of(report) for report in own]
        assert numbers == sorted(numbers), f"the reports of client {client}: {numbers}"
    for stream, own in by_stream.items():
        newest = 0  # of those that wait for all before them
        seen = 0
        for report in own:
            number = number_of(report)
            assert number > newest, f"{report['action']} {number} of {stream} after {newest}"
            seen = max(seen, number)
            if report["action"] != "on_stop":
                assert number == seen, f"{report['action']} {number} of {stream} before {seen}"
                newest = number


@pytest.fixture
def port():
    (taken,) = ports.take(1)
    yield taken
    ports.release([taken])


def urls(port, names=ENDS, **more):
    return {name: f"http://127.0.0.1:{port}/hook" for name in names} | more


def ends_of(clients):
    """Pairs of action and id that on_publish and on_play have told."""
    return {(body["action"].replace("on_publish", "on_unpublish").replace("on_play", "on_stop"), body["client_id"]) for body in clients}


def begin(server, publishers, players):
    """Publishers of s0, s1 ... and players of them by turns."""
    with contextlib.ExitStack() as stack:
        for number in range(publishers):
            stack.enter_context(rtmp.publisher(server, "live", f"s{number}"))
        for number in range(players):
            stack.enter_context(http.Live(server.http_port, f"/live/s{number % publishers}.flv?token={number}", wait=False))
        return stack.pop_all()


@pytest.mark.parametrize("restarts", [False, True], ids=["server-stays", "server-killed"])
def test_the_hook_server_is_away_while_1000_sessions_end(servers, port, restarts):
    """The acceptance of month three, with an outage of some seconds instead of 60: the pauses between attempts are what
    depends on it, and they are a matter of units."""
    with hooks.HookServer(port=port) as asked:
        server = servers(
            top=TOP,
            vhosts=hooks.vhost(outbox="on", **urls(port, (*ENDS, "on_publish", "on_play"))),
        )
        clients = begin(server, 20, 980)
        asked.wait("on_play", 980, 40)
        begun = asked.bodies("on_publish") + asked.bodies("on_play")
    clients.close()
    wanted = len(begun) + 20  # and on_close of those that publish
    wait_until(lambda: state(server)["waiting"] == wanted, 30, lambda: f"{wanted} reports wait: {state(server)}")
    time.sleep(scaled(2))
    found = state(server)
    (host,) = found["hosts"]
    assert (host["up"], host["waiting"], sum(found["dropped"].values())) == (False, wanted, 0), found
    assert host["oldest_ms"] >= 2000 and host["problem"], found
    if restarts:
        server.signal(signal.SIGKILL)
        server.wait_exit(10)
        server.start()
        assert state(server)["waiting"] == wanted, state(server)
    with hooks.HookServer(port=port) as told:
        wait_until(lambda: state(server)["waiting"] == 0, 60, lambda: f"all are told: {state(server)}")
        reports = first_times(told.bodies())
        ended = {(report["action"], report["client_id"]) for report in reports if report["action"] != "on_close"}
        assert ended == ends_of(begun), f"missing: {ends_of(begun) - ended}, too many: {ended - ends_of(begun)}"
        assert len(reports) == wanted, f"each has an id of its own: {len(reports)} of {wanted}"
        check_order(reports)
        assert {report["service_id"] for report in reports} == {begun[0]["service_id"]}, "the run that asked about them"
        (host,) = state(server)["hosts"]
        assert host["up"] and host["delivered"] == wanted, host
        for call in told.calls:
            assert call.headers["x-srs-report-id"] == json.loads(call.body)["report_id"], call


def test_whom_a_kill_cuts(servers, port):
    """A publisher and players that were there when the server was killed, and do not return."""
    with hooks.HookServer(port=port) as asked:
        server = servers(
            top=TOP,
            vhosts=hooks.vhost(outbox="on", **urls(port, (*ENDS, "on_connect", "on_publish", "on_play", "on_start"))),
        )
        (start,) = asked.wait("on_start")
        assert (start["crashed"], start["previous_id"], start["publishers"]) == (False, "", 0), start
        clients = begin(server, 2, 3)
        asked.wait("on_play", 3)
        begun = asked.bodies("on_publish") + asked.bodies("on_play")
        file = server.dir / "objs/hook.outbox"
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600, "it has tokens"
        wait_until(lambda: file.read_text().count("\nsession\t") == 7, 5, lambda: file.read_text())
        server.signal(signal.SIGKILL)
        server.wait_exit(10)
        clients.close()
        server.start()
        asked.wait("on_close", 2)
        asked.wait("on_stop", 3)
        reports = [body for body in asked.bodies() if body["action"] in ENDS]
        assert {(one["action"], one["client_id"]) for one in reports if one["action"] != "on_close"} == ends_of(begun)
        assert len(reports) == 7, f"each once: {reports}"
        assert {one["service_id"] for one in reports} == {start["service_id"]}, "of the run that was killed"
        for report in reports:
            if report["action"] == "on_stop":
                (played,) = [body for body in begun if body["client_id"] == report["client_id"]]
                assert (report["param"], report["stream"]) == (played["param"], played["stream"]), report
        check_order(reports)
        again = asked.bodies("on_start")[1]
        got = {key: again[key] for key in ("crashed", "previous_id", "publishers", "players", "connections")}
        want = {"crashed": True, "previous_id": start["service_id"], "publishers": 2, "players": 3, "connections": 2}
        assert got == want, again
        assert sorted(again["streams"]) == ["/live/s0", "/live/s1"], again
        server.stop()
        count = len(asked.calls)
        server.start()
        asked.wait("on_start", 3)
        assert asked.bodies("on_start")[2]["crashed"] is False, asked.bodies("on_start")
        assert len(asked.calls) == count + 1, f"nothing is told twice: {asked.actions()[count:]}"


def test_reports_wait_in_memory_too(servers, port):
    """Without a file they wait as long as the server runs; a stop does not wait for a host that is down."""
    server = servers(top=TOP + EXPORTER % "", vhosts=hooks.vhost(**urls(port, ("on_unpublish", "on_close"))))
    for _ in range(10):
        rtmp.publisher(server, "live", "one").close()
    wait_until(lambda: state(server)["waiting"] == 20, 10, lambda: state(server))
    with hooks.HookServer(port=port) as asked:
        asked.wait("on_close", 10, 40)
        assert asked.actions().count("on_unpublish") == 10, asked.actions()
        check_order(asked.bodies())
    for _ in range(20):  # the hook server's last connections answer some
        rtmp.publisher(server, "live", "one").close()
    wait_until(lambda: Metrics(server).value("srs_hook_host_up", host=f"http://127.0.0.1:{port}") == 0, 10, "it is down")
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < scaled(3), "the end does not wait for it"
    assert not (server.dir / "objs/hook.outbox").exists(), "no vhost asked for a file"


def test_batches(servers, port):
    with hooks.HookServer(port=port) as asked:
        server = servers(
            top=TOP,
            vhosts=hooks.vhost(
                outbox_batch=50, outbox_concurrency=2, secret="s3cret", **urls(port, ("on_stop", "on_play"))
            ),
        )
        clients = begin(server, 1, 200)
        asked.wait("on_play", 200, 20)
        asked.calls.clear()
        clients.close()

        def bodies():
            return [json.loads(call.body) for call in asked.calls]

        wait_until(lambda: sum(map(len, bodies())) == 200, 20, lambda: f"200 ends: {[len(body) for body in bodies()]}")
        assert all(isinstance(body, list) and len(body) <= 50 for body in bodies()), bodies()
        assert len({report["report_id"] for body in bodies() for report in body}) == 200, "each has its id"
        assert all(hooks.verify("s3cret", call.headers["x-srs-signature"], call.body) for call in asked.calls)


def test_a_new_address_gets_what_waits(servers, port):
    server = servers(top=TOP, vhosts=hooks.vhost(**urls(port, ("on_unpublish",))))
    for _ in range(5):
        rtmp.publisher(server, "live", "one").close()
    wait_until(lambda: state(server)["waiting"] == 5, 10, lambda: state(server))
    with hooks.HookServer() as asked:
        api.reload(server, server.conf.replace(f"http://127.0.0.1:{port}/hook", asked.url("other")))
        asked.wait("on_unpublish", 5)
        check_order(asked.bodies())
        assert {call.target for call in asked.calls} == {"/other"}, asked.calls


def players(server):
    return sum(stream["clients"] for stream in api.ask(server, "/api/v1/streams")["streams"]) - 1


@pytest.mark.long
def test_12000_players_leave_at_once(servers, port):
    """A hook server that is well and takes 30 ms: none is dropped, and memory stays bounded."""
    count = 12_000

    def slowly(server, peer, call):
        time.sleep(0.03)
        return hooks.OK

    with hooks.HookServer(port=port, hook=slowly) as asked:
        server = servers(top=TOP, vhosts=hooks.vhost(publish="normal_timeout 300000;", **urls(port, ("on_stop",))))
        with rtmp.publisher(server, "live", "one") as publisher:
            publishing.send_all(publisher, media.tags(media.plain())[:100])
            before = server.rss_kb()
            clients = []
            for _ in range(count):
                clients.append(socket.create_connection(("127.0.0.1", server.http_port)))
                clients[-1].sendall(b"GET /live/one.flv HTTP/1.1\r\nHost: a\r\n\r\n")
            wait_until(lambda: players(server) == count, 60, lambda: f"{count} players: {players(server)}")
            playing = server.rss_kb()
            began = time.monotonic()
            for client in clients:
                client.close()
            most = [0, 0]

            def all_told():
                most[0] = max(most[0], state(server)["bytes"])
                most[1] = max(most[1], server.rss_kb())
                return len(asked.calls) >= count

            wait_until(all_told, 120, lambda: f"{len(asked.calls)} of {count}: {state(server)}", step=0.2)
            took = time.monotonic() - began
            found = state(server)
            assert sum(found["dropped"].values()) == 0, found
            ids = {body["report_id"] for body in asked.bodies("on_stop")}
            assert len(ids) == count, f"{len(ids)} of {count}"
            print(
                f"{count} ends in {took:.1f} s; reports: {most[0] >> 20} MB at most; process: {before >> 10} MB, "
                f"{playing >> 10} MB with the players, {most[1] >> 10} MB at most"
            )
            assert most[0] <= 32 << 20, f"{most[0]} bytes of reports"
