"""What a service manager is told (sd_notify): the socket that NOTIFY_SOCKET names is the test's."""

import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from lib import publishing, rtmp
from lib.server import Server, can_connect
from lib.timing import SLOW, scaled, wait_until
from lib.upgrades import Upgrades

API = "http_api { enabled on; listen 127.0.0.1:API_PORT; }\n"


class Manager:
    """The socket of a service manager, and what came there: a dict of NAME: value for each datagram."""

    def __init__(self, name):
        self.name = str(name)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + self.name[1:] if self.name.startswith("@") else self.name)

    def next(self, name, seconds=10):
        """The next datagram that has this name; others before it are an error, but for the watchdog's."""
        deadline = time.monotonic() + scaled(seconds)
        while True:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                text = self.socket.recv(4096).decode()
            except TimeoutError:
                raise AssertionError(f"a datagram with {name} should have come within {scaled(seconds)} s") from None
            fields = dict(line.split("=", 1) for line in text.splitlines())
            if name in fields:
                return fields
            assert fields == {"WATCHDOG": "1"}, f"a datagram with {name} was expected, {text!r} came"

    def all_for(self, seconds):
        """The texts that come within that time."""
        texts, deadline = [], time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                texts.append(self.socket.recv(4096).decode())
            except TimeoutError:
                break
        return texts

    def close(self):
        self.socket.close()


@pytest.fixture
def manager(tmp_path):
    made = Manager(tmp_path / "notify")
    yield made
    made.close()


def test_ready_when_every_port_is_open(servers, manager):
    server = servers.make(top=API)
    server.spawn(NOTIFY_SOCKET=manager.name)
    fields = manager.next("READY")
    for port in (server.rtmp_port, server.http_port, server.api_port):
        assert can_connect(port), f"with READY port {port} should be open"
        assert str(port) in fields["STATUS"], f"the sentence should name port {port}: {fields}"
    assert fields["READY"] == "1", fields


def test_an_abstract_name(servers, tmp_path):
    manager = Manager(f"@srs-test-{tmp_path.name}-{time.monotonic_ns()}")
    servers.make().spawn(NOTIFY_SOCKET=manager.name)
    assert manager.next("READY")["READY"] == "1"
    manager.close()


def test_a_server_that_cannot_start_is_never_ready(servers, manager, tmp_path):
    first = servers()
    second = Server(tmp_path / "second", top=f"rtmp {{ listen {first.rtmp_port}; }}")
    second.conf_path.write_text(second.conf.replace(f"listen 127.0.0.1:{second.rtmp_port};\n", ""))
    second.spawn(NOTIFY_SOCKET=manager.name)
    code = second.wait_exit(10)
    second.discard()
    assert code != 0, "its port is taken"
    texts = manager.all_for(0.1)
    assert not any("READY" in text for text in texts), f"no READY should come: {texts}"


def reload_of(server, manager):
    """What is told of a reload: the fields at its begin and at its end."""
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    server.signal(signal.SIGHUP)
    begin, end = manager.next("RELOADING"), manager.next("READY")
    assert begin["RELOADING"] == "1", begin
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert before <= int(begin["MONOTONIC_USEC"]) <= after, f"the time of the reload, {before} to {after}: {begin}"
    return begin, end


def test_a_reload_has_a_begin_and_an_end(servers, manager):
    server = servers(environment={"NOTIFY_SOCKET": manager.name})
    manager.next("READY")
    _, end = reload_of(server, manager)
    assert re.search(r"Listening: .*; reloads: 1$", end["STATUS"]), end
    server.conf_path.write_text(server.conf + "\nno_such_directive on;\n")
    _, end = reload_of(server, manager)
    assert "changed nothing" in end["STATUS"] and "1 errors" in end["STATUS"], f"the reason should be told: {end}"
    server.conf_path.write_text(server.conf)
    _, end = reload_of(server, manager)
    assert end["STATUS"].endswith("reloads: 3"), end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_its_end_is_told(servers, manager, number):
    server = servers(environment={"NOTIFY_SOCKET": manager.name})
    manager.next("READY")
    server.signal(number)
    fields = manager.next("STOPPING")
    assert fields["STOPPING"] == "1" and fields["STATUS"] == "Ending", fields
    assert server.wait_exit(10) == 0


def test_a_gentle_end_may_take_its_time(servers, manager):
    """The service manager has a limit of its own, and must not kill the server within grace_limit."""
    server = servers(
        top="grace_start_wait 100; grace_limit 50000; grace_final_wait 100;",
        environment={"NOTIFY_SOCKET": manager.name},
    )
    manager.next("READY")
    with rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, [])
        server.signal(signal.SIGQUIT)
        fields = manager.next("STOPPING")
        assert int(fields["EXTEND_TIMEOUT_USEC"]) >= 50_200_000, f"all that the directives allow: {fields}"
        assert "clients" in fields["STATUS"], fields
        server.signal(signal.SIGTERM)
        assert manager.next("STOPPING")["STATUS"] == "Ending"
    assert server.wait_exit(10) == 0


def test_the_watchdog_is_served_while_the_loop_runs(servers, manager):
    period = 0.3 * SLOW
    server = servers(environment={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": str(int(period * 1e6))})
    manager.next("READY")
    texts = manager.all_for(5 * period)
    assert set(texts) == {"WATCHDOG=1"} and 6 <= len(texts) <= 13, f"twice per period, ten in five periods: {texts}"
    server.signal(signal.SIGSTOP)
    manager.all_for(0.1)
    texts = manager.all_for(2 * period)
    server.signal(signal.SIGCONT)
    assert not texts, f"a server that stands still should send nothing: {texts}"
    assert "WATCHDOG=1" in manager.all_for(2 * period), "and again when it runs"


def test_the_watchdog_is_served_again_after_the_new_process_died(servers, manager):
    period = 0.3 * SLOW
    server = servers(environment={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": str(int(period * 1e6))})
    manager.next("READY")
    with Upgrades(server) as upgrades, rtmp.publisher(server, "live", "s") as client:
        publishing.send_all(client, [])
        new = upgrades.upgrade()
        texts = manager.all_for(2 * period)
        assert any(f"MAINPID={new}\n" in text for text in texts), f"the new process should be the main one: {texts}"
        os.kill(new, signal.SIGKILL)
        fields = manager.next("MAINPID")
        assert fields["MAINPID"] == str(server.pid) and fields["READY"] == "1", f"the old one is it again: {fields}"
        texts = manager.all_for(5 * period)
        assert set(texts) == {"WATCHDOG=1"} and 6 <= len(texts) <= 13, f"twice per period, ten in five periods: {texts}"


def test_a_refused_upgrade_is_told(servers, manager):
    """Whoever has sent the signal for the package asks the service manager what came of it."""
    server = servers(environment={"NOTIFY_SOCKET": manager.name})
    manager.next("READY")
    server.conf_path.write_text(server.conf_path.read_text() + "nonsense on;\n")
    server.signal(signal.SIGUSR2)
    assert manager.next("STATUS")["STATUS"].startswith("Upgrading: starting ")
    status = manager.next("STATUS")["STATUS"]
    assert status.startswith("Not upgraded: ") and "nonsense" in status, f"the reason should be told: {status}"


def test_the_watchdog_of_another_process_is_not_served(servers, manager):
    servers(environment={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"})
    manager.next("READY")
    texts = manager.all_for(0.5)
    assert not texts, f"WATCHDOG_PID names another process: {texts}"


def test_an_unusable_socket_is_no_reason_not_to_run(servers):
    server = servers(environment={"NOTIFY_SOCKET": "vsock:2:1"})
    server.wait_log("NOTIFY_SOCKET is no Unix socket: vsock:2:1")
    wait_until(lambda: can_connect(server.rtmp_port), 5, "it runs")


# Moves the sockets to where a service manager has them, and becomes the server, whose process id it knows.
ACTIVATE = """
import os, sys
count = int(sys.argv[1])
for i, fd in enumerate(sys.argv[2:2 + count]):
    os.dup2(int(fd), 3 + i)
    os.close(int(fd))
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count), LISTEN_FDNAMES="a:b")
os.execv(sys.argv[2 + count], sys.argv[2 + count:])
"""


def spawn_activated(server, sockets):
    """Starts the server with these sockets, as a service manager does that has opened them."""
    fds = [one.fileno() for one in sockets]
    server.process = subprocess.Popen(
        [sys.executable, "-c", ACTIVATE, str(len(fds)), *map(str, fds), *server.command()],
        cwd=server.dir,
        env=server.environment(),
        stdin=subprocess.DEVNULL,
        stdout=server.stdout_path.open("ab"),
        stderr=server.stderr_path.open("ab"),
        pass_fds=fds,
    )


def opened(port, kind):
    """A socket of 127.0.0.1, with a number high enough to be moved down."""
    low = socket.socket(socket.AF_INET, kind)
    if kind == socket.SOCK_STREAM:
        low.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    low.bind(("127.0.0.1", port))
    if kind == socket.SOCK_STREAM:
        low.listen()
    high = socket.socket(fileno=fcntl.fcntl(low.fileno(), fcntl.F_DUPFD_CLOEXEC, 100))
    low.close()
    return high


def test_sockets_of_the_service_manager(servers):
    server = servers.make(top="rtc_server { enabled on; listen 127.0.0.1:RTC_PORT; }\n")
    sockets = [
        opened(server.rtmp_port, socket.SOCK_STREAM),
        opened(server.http_port, socket.SOCK_STREAM),
        opened(server.rtc_port, socket.SOCK_DGRAM),
    ]
    # It came before the server.
    early = socket.create_connection(("127.0.0.1", server.http_port))
    early.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    spawn_activated(server, sockets)
    server.wait_listening()
    early.settimeout(scaled(5))
    assert early.recv(100).startswith(b"HTTP/1.1 "), "the client that came before the server should be answered"
    early.close()
    for one in sockets:
        one.close()
    server.stop()
    for port in (server.rtmp_port, server.http_port):
        assert not can_connect(port), f"port {port} was passed, and should be closed with the server"


def test_a_socket_that_no_directive_has(servers):
    server = servers.make()
    sockets = [opened(server.rtmp_port, socket.SOCK_STREAM), opened(server.api_port, socket.SOCK_STREAM)]
    spawn_activated(server, sockets)
    server.wait_listening()
    for one in sockets:
        one.close()
    server.wait_log(rf"the socket 127\.0\.0\.1:{server.api_port}/tcp was opened for this server, but no directive")
    assert not can_connect(server.api_port), "a socket that is not used should be closed"
