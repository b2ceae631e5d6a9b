"""Keys and certificates are read again at a reload: new connections have the new ones, those there go on, and a pair
that cannot be used changes nothing."""

import re
import shutil
import signal
import ssl
import time

import pytest

from lib import certificates, flv, http, media, ports, publishing, rtmp, sockets
from lib.server import default_vhost
from lib.timing import scaled, wait_until

ALL = ("rtmps", "https", "api")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pairs")
    return {name: certificates.make(directory, name, subject=name) for name in ("first", "second")}


@pytest.fixture
def server(servers, pairs, tmp_path):
    """With TLS on every listener, all by one pair of files: server.key and server.crt, which are the first pair."""
    key, cert = tmp_path / "server.key", tmp_path / "server.crt"
    tls = f"enabled on; key {key}; cert {cert};"
    plain_api = ports.take(1)
    server = servers.make(
        top=f"rtmps {{ listen 127.0.0.1:RTMPS_PORT; {tls} }}\n"
        f"http_api {{ enabled on; listen 127.0.0.1:{plain_api[0]}; https {{ listen 127.0.0.1:API_PORT; {tls} }} }}\n",
        http=f"https {{ listen 127.0.0.1:HTTPS_PORT; {tls} }}",
        vhosts=default_vhost(play="mw_latency 0;"),
    )
    server.key, server.cert = key, cert
    install(server, pairs["first"])
    yield server.start()
    ports.release(plain_api)


def install(server, pair):
    shutil.copy(pair[0], server.key)
    shutil.copy(pair[1], server.cert)


def shown(server, listener):
    """The certificate that a new connection is shown."""
    with sockets.connect("127.0.0.1", getattr(server, f"{listener}_port"), scaled(5), tls=True) as connection:
        return connection.getpeercert(binary_form=True)


def der(pair):
    return ssl.PEM_cert_to_DER_cert(pair[1].read_text())


def reload(server, expect):
    mark = server.log_mark()
    server.signal(signal.SIGHUP)
    return server.wait_log(expect, 5, mark)


def test_a_new_pair_is_for_new_connections(server, pairs):
    """Although not a word of the configuration changes. Sessions feel nothing."""
    tags = media.from_keyframe(media.plain())
    assert {shown(server, one) for one in ALL} == {der(pairs["first"])}
    client = rtmp.publisher(server, "live", "s", port=server.rtmps_port, tls=True)
    with publishing.Steady(client, tags) as steady, http.Connection(server.api_port, tls=True) as idle:
        idle.request("GET", "/api/v1/versions")
        assert idle.read_response().status == 200
        player = rtmp.player(server, "live", "s", port=server.rtmps_port, tls=True, timeout=scaled(20))
        by_rtmps = publishing.Collector(player)
        by_https = publishing.Collector(http.Live(server.https_port, "/live/s.flv", tls=True, timeout=scaled(20)))
        wait_until(lambda: by_rtmps.tags and by_https.tags, 5, "both players see the stream")
        install(server, pairs["second"])
        line = reload(server, r"http_api/https: certificate .*CN=second.*for connections from now on")
        assert "[trace]" in line, line
        assert {shown(server, one) for one in ALL} == {der(pairs["second"])}, "every listener should have the new one"
        idle.request("GET", "/api/v1/versions")
        assert idle.read_response().status == 200, "a connection from before goes on"
        time.sleep(0.5)
        assert steady.error is None, f"the publisher was disturbed: {steady.error}"
    for who, collector in (("RTMPS", by_rtmps), ("HTTPS", by_https)):
        got, sent = flv.frames(collector.finish(scaled(20), who)), flv.frames(steady.sent)
        assert got and [tag.body for tag in got] == [tag.body for tag in sent[-len(got) :]], f"{who} missed something"


BROKEN = {
    "a certificate that is none": lambda server, pairs: server.cert.write_text("nonsense"),
    "a key of another pair": lambda server, pairs: shutil.copy(pairs["second"][0], server.key),
    "a certificate of another pair": lambda server, pairs: shutil.copy(pairs["second"][1], server.cert),
    "no key": lambda server, pairs: server.key.unlink(),
    "an empty key": lambda server, pairs: server.key.write_text(""),
    "half a certificate": lambda server, pairs: server.cert.write_bytes(server.cert.read_bytes()[:200]),
}


def test_broken_pairs_leave_the_old_one(server, pairs):
    for name, spoil in BROKEN.items():
        install(server, pairs["first"])
        spoil(server, pairs)
        line = reload(server, r"http_api/https.*(key|certificate)")
        assert "[error]" in line and "server." in line, f"{name}: the file should be named: {line}"
        assert {shown(server, one) for one in ALL} == {der(pairs["first"])}, f"{name}: the old pair should stay"
    install(server, pairs["second"])
    reload(server, r"http_api/https: certificate .*CN=second")
    assert {shown(server, one) for one in ALL} == {der(pairs["second"])}, "then a good pair should be taken"


def test_other_files_by_a_reload(server, pairs):
    """The directives themselves may change too."""
    key, cert = pairs["second"]
    text = server.conf_path.read_text()
    server.conf_path.write_text(text.replace(str(server.key), str(key)).replace(str(server.cert), str(cert)))
    reload(server, r"http_api/https: certificate .*CN=second")
    assert {shown(server, one) for one in ALL} == {der(pairs["second"])}


def test_the_log_tells_of_the_certificate(server):
    server.wait_log(r"rtmps: certificate .*CN=first, valid until \d{4}-\d\d-\d\d, SHA-256 [0-9a-f]{16}")


def test_a_certificate_that_ends_soon(servers, pairs, tmp_path):
    """A warning with the time that is left, and a metric with the end."""
    key, cert = pairs["first"]
    server = servers(
        top=f"rtmps {{ enabled on; listen 127.0.0.1:RTMPS_PORT; key {key}; cert {cert}; }}\n"
        "http_api { enabled on; listen 127.0.0.1:API_PORT; }\nexporter { enabled on; }\n"
    )
    server.wait_log(r"rtmps: the certificate ends in 4[78] hours: /CN=first, valid until .*; a reload reads a new one")
    text = http.get(server.api_port, "/metrics").body.decode()
    (found,) = re.findall(r'^srs_tls_certificate_not_after_timestamp_seconds\{listener="rtmps"\} (\S+)$', text, re.MULTILINE)
    left = float(found) - time.time()
    assert abs(left - 2 * 86400) < 600, f"the metric should have the end in two days, it is in {left} s"
