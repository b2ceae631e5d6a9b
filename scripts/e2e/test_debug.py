"""What shows the inside of a running server: /api/v1/debug/, who may see it, and the watchdog."""

import base64
import json
import os
import re
import shutil
import subprocess
import threading

import pytest

from lib import http, rtmp
from lib.server import BINARY, OBJS, ROOT, run_once
from lib.timing import VALGRIND, scaled, wait_until

API = "http_api { enabled on; listen 127.0.0.1:API_PORT; %s }"
DEBUG = API % "debug on;"
COROUTINES = "/api/v1/debug/coroutines"
PROFILE = "/api/v1/debug/pprof/profile"


@pytest.fixture
def debugged(servers):
    return servers(top=DEBUG)


def ask(server, path, status=200, **headers):
    response = http.get(server.api_port, path, **headers)
    assert response.status == status, f"GET {path} should be answered with {status}: {response.describe()}"
    return response


def ask_json(server, path, **headers):
    return json.loads(ask(server, path, **headers).body)


def test_the_advice_of_the_profile_page_works(servers):
    """What the console says where diagnostics are off, word by word, for an API that other machines reach."""
    page = (ROOT / "src/web/console/pages/profile.js").read_text()
    advice = re.search(r"Diagnostics are off: http_api \{ (debug on; .*?) \} switches them on, by a reload", page)[1]
    server = servers(top=API % "" + "\n# the end")
    text = server.conf_path.read_text()
    text = text.replace("listen 127.0.0.1:%d;  }" % server.api_port, "listen %d; %s }" % (server.api_port, advice))
    assert advice in text, text
    server.conf_path.write_text(text)
    server.stop()
    server.start()
    assert ask(server, PROFILE + "?seconds=1", 401)
    login = "Basic " + base64.b64encode(b"NAME:PASSWORD").decode()
    ask(server, "/api/v1/debug/profile?seconds=1", Authorization=login)


class Load:
    """Asks for the list of coroutines again and again: what the profile must name."""

    def __init__(self, server):
        self.server, self.stopping, self.failure = server, False, None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            with http.Connection(self.server.api_port, timeout=scaled(10)) as connection:
                for _ in range(900):
                    if self.stopping:
                        return
                    connection.request("GET", COROUTINES)
                    connection.read_response()
            self.run()
        except OSError as error:
            self.failure = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.thread.join()
        assert self.failure is None, f"the server should serve on while a profile is taken: {self.failure}"


def pprof(tmp_path, *arguments):
    assert shutil.which("google-pprof"), "google-pprof is missing: apt install google-perftools"
    done = subprocess.run(
        ["google-pprof", *map(str, arguments)],
        capture_output=True,
        timeout=scaled(120),
        env={**os.environ, "HOME": str(tmp_path), "PPROF_TMPDIR": str(tmp_path)},
        check=False,
    )
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, f"google-pprof {arguments} failed:\n{text[-2000:]}\n{done.stderr.decode()[-2000:]}"
    return text


def check_text(text):
    """Samples there were, and most are inside what the load does, called from a coroutine."""
    total = int(re.search(r"Total: (\d+) samples", text).group(1))
    assert total >= 5, f"at least 5 samples were expected:\n{text}"
    cumulative = {}
    for line in text.splitlines():
        if found := re.match(r"\s*\d+\s+[\d.]+%\s+[\d.]+%\s+(\d+)\s+[\d.]+%\s+(.*)", line):
            cumulative.setdefault(found.group(2), int(found.group(1)))
    for name in ("service::api::Debug::coroutines", "net::HttpConnection::work", "runtime_coroutine_main"):
        share = sum(count for function, count in cumulative.items() if function.startswith(name)) / total
        assert share > 0.3, f"{name} should be in more than 30 % of the samples, it is in {share:.0%}:\n{text[:6000]}"


@pytest.mark.skipif(VALGRIND, reason="valgrind runs the code elsewhere")
def test_cpu_profile_of_a_running_server(debugged, tmp_path):
    with Load(debugged):
        with http.Connection(debugged.api_port, timeout=scaled(20)) as connection:
            connection.request("GET", PROFILE + "?seconds=2")
            response = connection.read_response()
    assert response.status == 200, response.describe()
    assert int(response.headers["x-profile-samples"]) > 0, response.describe()
    file = tmp_path / "cpu.prof"
    file.write_bytes(response.body)
    check_text(pprof(tmp_path, "--text", "--cum", BINARY, file))
    assert "<svg" in pprof(tmp_path, "--svg", BINARY, file), "a picture should come too"


@pytest.mark.skipif(VALGRIND, reason="valgrind runs the code elsewhere")
def test_pprof_fetches_the_profile_itself(debugged, tmp_path):
    with Load(debugged):
        url = f"http://127.0.0.1:{debugged.api_port}{PROFILE}"
        check_text(pprof(tmp_path, "--text", "--cum", "--seconds=2", BINARY, url))


def test_one_profile_at_a_time_and_it_ends_with_its_client(debugged):
    with http.Connection(debugged.api_port) as connection:
        connection.request("GET", PROFILE + "?seconds=300")
        debugged.wait_log("a CPU profile of 300 s is recorded")
        response = ask(debugged, PROFILE + "?seconds=1", 409)
        assert json.loads(response.body)["code"] == 409, response.describe()
    wait_until(
        lambda: http.get(debugged.api_port, PROFILE + "?seconds=1").status == 200,
        10,
        "the next profile is recorded when the first client has left",
    )


@pytest.mark.parametrize("seconds", ["0", "301", "-1", "x", "1.5"])
def test_seconds_are_bounded(debugged, seconds):
    ask(debugged, f"{PROFILE}?seconds={seconds}", 400)


def test_coroutines_say_what_they_wait_for(debugged):
    with rtmp.Client("127.0.0.1", debugged.rtmp_port) as client:
        client.handshake()
        client.connect("live")
        body = ask_json(debugged, COROUTINES)
        mine = client.socket.getsockname()
        listed = [one for one in body["coroutines"] if one["name"] == "rtmp"]
        assert len(listed) == 1, f"one connection by RTMP should be listed: {body}"
        one = listed[0]
        assert one["waits_for"] == "input" and one["fd"] > 0, f"it should wait for input ({mine}): {one}"
        assert one["client"]["ip"] == "127.0.0.1", one
        assert 0 < one["stack_bytes"] < one["stack_size"], one
        assert any("service::rtmp::Connection" in call for call in one["calls"]), f"where it waits: {one['calls']}"
        debugged.wait_log(one["id"])
        text = ask(debugged, COROUTINES + "?format=text").body.decode()
        line = next(line for line in text.splitlines() if line.startswith("rtmp ["))
        assert "for input of fd" in line and "from 127.0.0.1" in line, line
    assert body["total"] == len(body["coroutines"]) > 5, body["total"]


def test_runtime_figures(debugged):
    before = ask_json(debugged, "/api/v1/debug/runtime")["data"]
    after = ask_json(debugged, "/api/v1/debug/runtime")["data"]
    assert after["turns"] > before["turns"] > 0, f"the loop turns: {before['turns']}, then {after['turns']}"
    assert after["coroutines"] > 5, after
    assert {"stalls", "stalled_ms", "longest_stall_ms", "last_stalls"} <= after.keys(), after
    assert after["udp"]["receive_lost"] == 0, after


def test_heap_profile_says_how_to_get_one(debugged):
    if "CONFIG_GPERF := on" in (OBJS / "config.mk").read_text():
        pytest.skip("this build links tcmalloc")
    body = json.loads(ask(debugged, "/api/v1/debug/pprof/heap", 501).body)
    assert "--gperf=on" in body["error"], body


def test_off_unless_asked_for(servers):
    server = servers(top=API % "")
    for path in (COROUTINES, PROFILE, "/api/v1/debug/pprof/cmdline"):
        ask(server, path, 404)
    versions = ask_json(server, "/api/v1/versions")
    assert versions["code"] == 0 and versions["pid"] == str(server.pid), versions
    assert {"server", "service"} <= versions.keys() and versions["data"]["version"], versions


def test_not_for_web_pages(debugged):
    ask(debugged, COROUTINES, 403, Origin="http://evil.example")
    ask(debugged, COROUTINES, 403, Host="evil.example")
    response = ask(debugged, COROUTINES)
    assert "access-control-allow-origin" not in response.headers, response.head


@pytest.mark.parametrize("listen", ["1985", "0.0.0.0:1985", "[::]:1985", "127.0.0.1:1985 [::]:1985"])
def test_strangers_need_auth_or_it_is_an_error(tmp_path, listen):
    conf = tmp_path / "t.conf"

    def check(more):
        conf.write_text(
            f"listen 1935;\nvhost __defaultVhost__ {{ }}\n"
            f"http_api {{ enabled on; listen {listen};\n debug on; {more} }}\n"
        )
        return run_once("-t", "-c", str(conf), directory=tmp_path)

    code, output = check("")
    assert code == 1 and "t.conf:4: error: debug shows the inside" in output, output
    assert "auth { enabled on;" in output, f"it should say what to do:\n{output}"
    code, output = check("auth { enabled on; username a; password b; }")
    assert code == 0, output


def test_strangers_with_and_without_the_password(servers):
    listen = "http_api { enabled on; listen API_PORT; debug on; auth { enabled on; username ops; password s3cret; } }"
    server = servers(top=listen)

    def get(credentials=None):
        with http.Connection(server.api_port) as connection:
            headers = {}
            if credentials:
                headers["Authorization"] = "Basic " + base64.b64encode(credentials.encode()).decode()
            connection.request("GET", COROUTINES, **headers)
            return connection.read_response()

    assert get().status == 401, "nobody without a password"
    assert get().headers["www-authenticate"].startswith("Basic "), "browsers must be asked"
    assert get("ops:S3cret").status == 401, "nor with a wrong one"
    assert get("ops:s3cret").status == 200, "but with the right one"


def planted_build():
    """Defects can be planted in debug and diagnostic builds alone."""
    config = (OBJS / "config.mk").read_text()
    return re.search(r"^CONFIG_(DEBUG|SANITIZER|GPERF|GPROF|GCOV|VALGRIND) := on", config, re.MULTILINE)


def test_watchdog_names_who_holds_up_the_loop(servers):
    if not planted_build():
        pytest.skip("this build plants nothing; src/runtime/diagnose/watchdog_test.cpp runs in every one")
    server = servers(top=DEBUG + "\nstall_warn 40;", environment={"PLANT_DEFECT": "stall"})
    line = server.wait_log("the loop stalled for [0-9]{3,} ms: coroutine planted", 15)
    assert "planted_inner" in line and "planted_entry" in line, f"where it was: {line}"
    data = ask_json(server, "/api/v1/debug/runtime")["data"]
    assert data["stalls"] >= 1 and data["longest_stall_ms"] >= 390, data
    assert any(stall["coroutine"] == "planted" for stall in data["last_stalls"]), data
