"""Who may call the HTTP API: passwords, tokens, this machine, proxies; health checks; the OpenAPI document."""

import json
import os
import signal
import subprocess
import sys

import pytest

from lib import api, http, media, publishing, rtmp
from lib.server import run_once
from lib.timing import VALGRIND, scaled, wait_until

ALL, READ = "all-of-it-0123456789", "read-only-0123456789"
AUTH = api.CONF % f"auth {{ enabled on; username ops; password s3cret; tokens {ALL} another-0123456789; read_tokens {READ}; }}"
READS = ("/api/v1/versions", "/api/v1/streams", "/api/v1/clients", "/api/v1/summaries", "/", "/api/v1/openapi.json")
REVEALS = ("/api/v1/config", "/api/v1/streams/vid-none/recording")


def status(server, path, authorization=None, method="GET", **headers):
    if authorization:
        headers["Authorization"] = authorization
    return http.get(server.api_port, path, method, **headers).status


def test_passwords_and_tokens(servers):
    server = servers(top=AUTH)
    good = [api.basic("ops:s3cret"), f"Bearer {ALL}", "Bearer another-0123456789", f"bearer  {ALL}"]
    wrong = [
        None, "", "Basic", "Bearer", "Bearer ", api.basic("ops:s3cre"), api.basic("ops:s3cret0"), api.basic("opt:s3cret"),
        api.basic("ops:S3cret"), api.basic("ops"), f"Bearer {ALL[:-1]}", f"Bearer {ALL}0", f"Basic {ALL}", f"Token {ALL}",
        "Bearer s3cret", f"Bearer {ALL} {ALL}", f"Bearer {READ.upper()}",
    ]  # fmt: skip
    for path in READS:
        for one in [*good, f"Bearer {READ}"]:
            assert status(server, path, one) == 200, f"{path} with {one}"
        for one in wrong:
            assert status(server, path, one) == 401, f"{path} with {one}"
    for path in REVEALS:
        for one in good:
            assert status(server, path, one) in (200, 404), f"{path} with {one}"
        assert status(server, path, f"Bearer {READ}") == 403, path
        for one in wrong:
            assert status(server, path, one) == 401, f"{path} with {one}"
    assert status(server, "/api/v1/clients/none", f"Bearer {READ}", "DELETE") == 403, "nor may it change anything"
    assert status(server, "/api/v1/clients/none", f"Bearer {ALL}", "DELETE") == 200
    challenge = http.get(server.api_port, "/api/v1/versions").headers["www-authenticate"]
    assert challenge.startswith("Basic realm="), challenge
    for path in ("/healthz", "/readyz"):
        assert status(server, path) == 200, f"{path} is open"
    for secret in ("s3cret", ALL, READ):
        assert secret not in server.log(), f"{secret} is not for the log"


def test_tokens_without_a_password_and_short_ones(tmp_path):
    conf = tmp_path / "t.conf"

    def check(words):
        conf.write_text(f"listen 1935;\nvhost a {{ }}\nhttp_api {{ enabled on; auth {{ enabled on; {words} }} }}\n")
        return run_once("-t", "-c", str(conf), directory=tmp_path)

    for good in (f"tokens {ALL};", f"read_tokens {READ};", "username a; password b;", "type bearer; token srs-api-token;",
                 "type basic; username a; password b;", f"type bearer; tokens {ALL};"):  # fmt: skip
        code, output = check(good)
        assert code == 0, output
    for bad, why in (
        ("", "without a username and a password"),
        ("username a;", "without a username and a password"),
        (f"password b; tokens {ALL};", "without a username and a password"),
        ("tokens short;", "at least 16"),
        ("type bearer; username a; password b;", "SRS_HTTP_API_AUTH_TOKEN"),
        ("type basic; token srs-api-token;", "without a username and a password"),
        ("type basic; username a; password b; rtc_bearer_enabled on;", "rtc_bearer_enabled needs `type bearer;`"),
        (f"read_tokens {READ} 0123456789;", "at least 16"),
    ):
        code, output = check(bad)
        assert code == 1 and why in output, f"{bad}: {output}"


def test_bearer_tokens_of_srs_8(servers):
    """By the environment, as its examples have it; the token has 13 characters."""
    names = {"SRS_HTTP_API_AUTH_ENABLED": "on", "SRS_HTTP_API_AUTH_TYPE": "bearer", "SRS_HTTP_API_AUTH_TOKEN": "srs-api-token",
             "SRS_HTTP_API_AUTH_RTC_BEARER_ENABLED": "on", "SRS_VHOST_RTC_ENABLED": "on"}  # fmt: skip
    server = servers(top=api.CONF % "" + "rtc_server { enabled on; listen RTC_PORT; }\n", environment=names)
    right = "Bearer srs-api-token"
    for path in READS:
        assert status(server, path, right) == 200, path
        refused = http.get(server.api_port, path, Authorization=api.basic("admin:srs-api-token"))
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer"), refused.head
    assert status(server, "/api/v1/clients/none", right, "DELETE") == 200
    for port in (server.http_port, server.api_port):
        for name in ("whip", "whep"):
            url = f"/rtc/v1/{name}/?app=live&stream=s"
            refused = http.get(port, url, "POST", Content_Type="application/sdp", body=b"v=0")
            assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer"), refused.head
            allowed = http.get(port, url, "POST", Content_Type="application/sdp", Authorization=right, body=b"v=0")
            assert allowed.status == 400, f"only the offer is wrong: {allowed.describe()}"
    assert "srs-api-token" not in server.log(), "it is not for the log"


def test_without_auth_strangers_read_and_no_more(servers):
    """A request that says it came through a proxy comes from whoever is behind it."""
    server = servers(top=api.CONF % "")
    for path in REVEALS:
        assert status(server, path) in (200, 404), path
        for field in ("X_Forwarded_For", "Forwarded", "X_Real_IP", "Via"):
            assert status(server, path, **{field: "127.0.0.1"}) == 403, f"{path} with {field}"
        assert status(server, path, Origin="http://evil.example") == 403
        assert status(server, path, Host="evil.example") == 403
    assert status(server, "/api/v1/streams", X_Forwarded_For="192.0.2.1") == 200
    response = http.get(server.api_port, "/api/v1/streams")
    assert response.headers["access-control-allow-origin"] == "*", response.head
    assert "access-control-allow-origin" not in http.get(server.api_port, "/api/v1/config").headers


def test_pages_of_this_server_may_change_it(servers):
    """The console's requests have its Origin; it must be the address that the request is sent to."""
    server = servers(top=api.CONF % "")
    browser = {"User_Agent": "Mozilla/5.0 (X11; Linux x86_64)"}

    def kick(host, origin, **headers):
        return status(server, "/api/v1/clients/none", None, "DELETE", Host=host, Origin=origin, **browser, **headers)

    port = server.api_port
    for name in ("127.0.0.1", "localhost", "[::1]"):
        assert kick(f"{name}:{port}", f"http://{name}:{port}") == 200, f"a page of {name}"
        assert kick(f"{name}:{port}", f"https://{name}:{port}", Sec_Fetch_Site="same-origin") == 200, name
    for host, origin, why in (
        (f"localhost:{port}", f"http://localhost:{server.http_port}", "another port of this machine"),
        (f"localhost:{port}", f"http://127.0.0.1:{port}", "another name of this machine"),
        (f"localhost:{port}", "http://evil.example", "another site"),
        (f"localhost:{port}", "null", "a sandboxed page"),
        (f"evil.example:{port}", f"http://evil.example:{port}", "a name that resolves to this machine"),
        (f"192.0.2.1:{port}", f"http://192.0.2.1:{port}", "an address that is not of this machine"),
    ):
        assert kick(host, origin) == 403, why
    assert kick(f"localhost:{port}", f"http://localhost:{port}", Sec_Fetch_Site="cross-site") == 403


def test_health_knows_of_draining(servers):
    server = servers(top=api.CONF % "" + "grace_start_wait 1500; grace_final_wait 1000; grace_limit 20000;")
    for path in ("/healthz", "/readyz"):
        response = http.get(server.api_port, path)
        assert (response.status, response.body) == (200, b"ok\n"), response.describe()
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())):
        api.wait_stream(server, "s")
        server.signal(signal.SIGQUIT)
        wait_until(lambda: status(server, "/readyz") == 503, 5, "it is not ready when it drains")
        assert status(server, "/healthz") == 200, "but it lives"
        server.wait_log("no new connections are accepted", 10)
        # Also then, so that somebody can watch it end.
        assert status(server, "/readyz") == 503
        assert [one["name"] for one in api.clients(server)] == ["s"]
    assert server.wait_exit(20) == 0


# --- the document


def document(server):
    return json.loads(http.get(server.api_port, "/api/v1/openapi.json").body)


def test_the_document_has_every_endpoint(servers, tmp_path):
    server = servers(top=f"{api.DEBUG}usage {{ enabled on; path {tmp_path}/usage.txt; }}")
    found = document(server)
    assert found["openapi"].startswith("3.1."), found["openapi"]
    for path in (
        "/api/v1/versions", "/api/v1/summaries", "/api/v1/vhosts/{id}", "/api/v1/streams/{id}", "/api/v1/clients/{id}",
        "/api/v1/streams/{id}/recording", "/api/v1/config", "/api/v1/tests/errors", "/healthz", "/readyz", "/api/v1/raw",
        "/api/v1/openapi.json",
    ):  # fmt: skip
        assert path in found["paths"], f"{path}: {sorted(found['paths'])}"
    assert {"get", "delete"} <= found["paths"]["/api/v1/clients/{id}"].keys()
    ids = [operation["operationId"] for path in found["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids)), ids
    for path, item in found["paths"].items():
        needs = [one["name"] for one in item.get("get", {}).get("parameters", []) if one.get("required")]
        if "get" in item and not needs and "debug" not in path:
            assert status(server, path) in (200, 302), path


# It knows how to send JSON; offers of WebRTC are text.
SERIALIZERS = """import schemathesis

@schemathesis.serializer("application/sdp", "application/trickle-ice-sdpfrag")
def as_it_is(context, value):
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")
"""


@pytest.mark.skipif(VALGRIND, reason="it is about what is answered, not about memory")
@pytest.mark.long
def test_schemathesis_finds_nothing(servers, tmp_path):
    """What is answered is what the document says, whatever is asked."""
    server = servers(top=api.CONF % "")
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.tags(media.plain())), http.Live(
        server.http_port, "/live/s.flv"
    ):
        api.wait_stream(server, "s", lambda s: s["clients"] == 2)
        words = [
            sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.api_port}/api/v1/openapi.json",
            "--checks", "all", "--exclude-checks", "positive_data_acceptance", "--phases", "examples,coverage,fuzzing", "--max-examples", "10", "--seed", "1", "--no-color",
            "--exclude-path-regex", "^/api/v1/debug/",
        ]  # fmt: skip
        (tmp_path / "serializers.py").write_text(SERIALIZERS)
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "serializers", "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(
            words, capture_output=True, text=True, cwd=tmp_path, timeout=scaled(90), check=False, env=environment
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
        # It may have learnt an id and ended a client: that is an endpoint too.
        assert status(server, "/api/v1/versions") == 200, "the server goes on"
