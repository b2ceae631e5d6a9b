"""What two processes of an upgrade share beside clients: the outbox of hooks, access log and usage, leases of a cluster,
keys of TLS sessions."""

import contextlib
import socket
import ssl
import time

import pytest

from lib import api, edges, hooks, http, ports, publishing, redis, rtmp
from lib.server import default_vhost
from lib.timing import scaled, wait_until
from lib.upgrades import Upgrades, leave
from test_accounts import conf, lines, usage

ENDS = ("on_unpublish", "on_stop", "on_close")


@pytest.fixture
def port():
    (taken,) = ports.take(1)
    yield taken
    ports.release([taken])


def hooked(port, *names):
    return hooks.vhost(outbox="on", **{name: f"http://127.0.0.1:{port}/hook" for name in names})


def player_of(server, name="s"):
    player = publishing.Collector(rtmp.player(server, "live", name))
    wait_until(lambda: player.tags or player.error, 5, lambda: f"a player of {name}: {player.error!r}")
    return player


def close(*collectors):
    for collector in collectors:
        leave(collector)


def ends(asked):
    """Of those that on_publish and on_play have told, their ends, each as often as it was told."""
    return sorted((one["action"], one["client_id"]) for one in asked.bodies() if one["action"] in ENDS)


def wanted_ends(asked):
    names = {"on_publish": ("on_unpublish", "on_close"), "on_play": ("on_stop", "on_close")}
    return sorted((end, one["client_id"]) for one in asked.bodies() for end in names.get(one["action"], ()))


def test_each_process_reports_its_own_clients(servers, port):
    with hooks.HookServer(port=port) as asked:
        server = servers(top=api.ON, vhosts=hooked(port, "on_publish", "on_play", *ENDS))
        with Upgrades(server) as upgrades:
            with edges.steady(server, "s"):
                before = player_of(server)
                upgrades.upgrade()
                after = player_of(server)
                with edges.steady(server, "t"):
                    other = player_of(server, "t")
                    close(other)
                close(before, after)
            assert server.wait_exit(10) == 0
            # Three players, two publishers, each with two ends; what one process gets from the other is no client.
            asked.wait("on_close", 5)
            wait_until(lambda: ends(asked) == wanted_ends(asked), 10, lambda: f"{wanted_ends(asked)}: {ends(asked)}")
            assert len(ends(asked)) == 10, asked.actions()


def test_reports_of_the_old_process_are_sent_when_it_has_ended(servers, port):
    """The hook server is away while its clients leave: what waits is in the file, which the new process gets."""
    with hooks.HookServer(port=port) as asked:
        server = servers(top=api.ON, vhosts=hooked(port, "on_publish", "on_play", *ENDS))
        with Upgrades(server) as upgrades:
            with contextlib.ExitStack() as stack:
                stack.enter_context(edges.steady(server, "s"))
                player = player_of(server)
                asked.wait("on_play")
                upgrades.upgrade()
                asked.close()
                close(player)
            assert server.wait_exit(20) == 0
            with hooks.HookServer(port=port) as told:
                told.wait("on_close", 2, 40)
                assert ends(told) == wanted_ends(asked), f"{wanted_ends(asked)} should be told once: {ends(told)}"
                time.sleep(scaled(1))
                assert len(told.bodies()) == 4, f"nothing is told twice: {told.actions()}"


def test_accounts_of_both_processes(servers, tmp_path):
    server = servers(top=conf(tmp_path, api.ON), vhosts=default_vhost(play="mw_latency 50;", rejoin=20000))
    with Upgrades(server) as upgrades:
        with edges.steady(server, "s"):
            player_before = player_of(server)
            upgrades.upgrade()
            player_after = player_of(server)
            close(player_after)
            close(player_before)
        assert server.wait_exit(10) == 0
        clients = [line for line in lines(tmp_path / "access.log") if "e2e" in line["agent"] and line["stream"]]
        assert len({line["id"] for line in clients}) == 3, f"a line for each session: {clients}"
        assert sorted(line["action"] for line in clients) == ["play", "play", "publish"], clients

        def counted():
            return sum(row["sessions"] for row in usage(server)), sum(row["received_bytes"] for row in usage(server))

        received = sum(line["received_bytes"] for line in clients if line["action"] == "publish")
        wait_until(lambda: counted()[0] >= 3, 30, lambda: f"sessions of both processes: {usage(server)}")
        sessions, bytes_ = counted()
        # Without what came before the publishing.
        assert sessions == 3 and received / 2 < bytes_ <= received, f"each counts once, {received} bytes: {usage(server)}"


def test_leases_are_not_fought_over(servers, tmp_path):
    lease = 2
    with redis.Redis(tmp_path) as store:
        block = f"redis {{ enabled on; server {store.address}; lease {lease}; timeout 400; }}\n"
        vhosts = default_vhost(vhost="cluster { registry on; }", play="mw_latency 50;", rejoin=20000)
        server, other = servers(top=api.ON + block, vhosts=vhosts), servers(top=api.ON + block, vhosts=vhosts)
        key = "srs:stream:__defaultVhost__/live/s"
        with Upgrades(server) as upgrades:
            with edges.steady(server, "s") as publisher:
                wait_until(lambda: store.keys() == [key], 5, lambda: f"{key}: {store.keys()}")
                upgrades.upgrade()
                through_new = player_of(server)
                end = time.monotonic() + scaled(3 * lease)
                while time.monotonic() < end:
                    assert store.keys() == [key], f"the old process keeps its lease: {store.keys()}"
                    assert publisher.error is None, f"the publisher should stay: {publisher.error!r}"
                    time.sleep(0.05)
                close(player_of(other))
                close(through_new)
            # It comes again, to the new process.
            with edges.steady(server, "s"):
                wait_until(lambda: store.keys() == [key], 5, lambda: f"{key} of the new process: {store.keys()}")
                close(player_of(other), player_of(server))
                time.sleep(scaled(lease))
                assert store.keys() == [key], store.keys()
            wait_until(lambda: store.keys() == [], 10, lambda: f"its lease ends with it: {store.keys()}")


def resumed(server, session, context):
    """Whether a connection with that session resumes it, and the session of the connection."""
    with socket.create_connection(("127.0.0.1", server.https_port), 10) as plain:
        with context.wrap_socket(plain, session=session) as connection:
            connection.sendall(b"GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            while connection.recv(4096):
                pass
            return connection.session_reused, connection.session


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_tls_sessions_are_resumed(servers, certificate, version):
    key, cert = certificate
    https = f"https {{ enabled on; listen 127.0.0.1:HTTPS_PORT; key {key}; cert {cert}; }}"
    server = servers(http=https, vhosts=default_vhost(rejoin=20000))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    was_resumed, session = resumed(server, None, context)
    assert not was_resumed
    with Upgrades(server) as upgrades, edges.steady(server, "s"):
        upgrades.upgrade()
        was_resumed, _ = resumed(server, session, context)
        assert was_resumed, "a session of the old process should be resumed by the new one"
