"""Reports of this server to another: what they say, and that nobody minds when they are not taken."""

import json
import signal
import time

import pytest

from lib import api, http
from lib.server import default_vhost
from lib.timing import scaled, wait_until
from lib.web import Web


def heartbeat(web, more="", interval=0.2):
    return f"server_id srv-1; heartbeat {{ enabled on; interval {interval}; url {web.url('/beat?token=1')}; {more} }}"


WHO = ("device_id", "ip", "pid", "server", "service")


def wait_requests(web, count):
    wait_until(lambda: len(web.requests) >= count, 10, lambda: f"{count} reports; {len(web.requests)} came")


def test_fields(servers):
    with Web() as web:
        top = heartbeat(web, "device_id my-device; ports on;")
        top += "\nhttp_api { enabled on; listen 127.0.0.1:API_PORT; }"
        server = servers(top=top)
        wait_requests(web, 8)  # so many that a late arrival of the first one makes little of the pauses
        first, *_, last = web.requests[:8]
    assert (first.method, first.path) == ("POST", "/beat?token=1")
    assert first.headers["Content-Type"].startswith("application/json"), first.headers
    body = first.json()
    assert sorted(body) == sorted([*WHO, "api", "http", "ports", "rtmp"]), first.body
    assert (body["server"], body["pid"]) == ("srv-1", str(server.process.pid)) and body["service"], first.body
    assert body["device_id"] == "my-device"
    assert body["ip"].count(".") == 3 or ":" in body["ip"], body["ip"]
    ports = {
        "rtmp": [f"127.0.0.1:{server.rtmp_port}"],
        "http": [f"127.0.0.1:{server.http_port}"],
        "api": [f"127.0.0.1:{server.api_port}"],
    }
    assert body["ports"] == ports and {name: body[name] for name in ports} == ports, first.body
    pause = (last.at - first.at) / 7
    assert 0.18 <= pause, f"reports should be 0.2 s apart, they were {pause:.3f} s"


def test_summaries_are_those_of_the_api(servers):
    with Web() as web:
        server = servers(
            top=heartbeat(web, "summaries on;") + "\nhttp_api { enabled on; listen 127.0.0.1:API_PORT; }"
        )
        wait_requests(web, 1)
        told = web.requests[0].json()["summaries"]["data"]
        asked = json.loads(http.get(server.api_port, "/api/v1/summaries").body)["data"]
    for part in ("self", "system"):
        assert sorted(told[part]) == sorted(asked[part]), f"summaries.{part} should be as the API has it: {told}"
    assert told["self"]["pid"] == asked["self"]["pid"] == server.process.pid, told
    assert told["ok"] and told["system"]["mem_ram_kbyte"] > 0 and told["self"]["mem_kbyte"] > 0, f"the first report's figures: {told}"


def test_summaries_without_the_api(servers):
    with Web() as web:
        server = servers(top=heartbeat(web, "summaries on;"))
        wait_requests(web, 1)
        told = web.requests[0].json()["summaries"]["data"]
    assert told["ok"] is True and told["self"]["pid"] == server.process.pid, told
    assert told["self"]["mem_kbyte"] > 0 and told["system"]["mem_ram_kbyte"] > 0 and told["system"]["cpus"] > 0, told
    assert "srs.conf" in told["self"]["argv"], told


def test_the_proxy_of_srs_takes_it(servers):
    """It refuses a report without any of these (FIELD.md, 4), and sends players to the address that is reported."""
    with Web() as web:
        servers.make(top=heartbeat(web, "ports on;")).start(SRS_DEVICE_IP="192.0.2.7")
        wait_requests(web, 1)
        body = web.requests[0].json()
    missing = [name for name in ("ip", "server", "service", "pid", "rtmp") if not body.get(name)]
    assert not missing, f"the proxy would refuse it, without {missing}: {body}"
    assert body["ip"] == "192.0.2.7", f"SRS_DEVICE_IP is the address: {body}"


def test_without_what_is_not_asked_for(servers):
    with Web() as web:
        servers(top=heartbeat(web))
        wait_requests(web, 1)
        assert sorted(web.requests[0].json()) == sorted(WHO), web.requests[0].body
        assert web.requests[0].json()["device_id"] == "srv-1", "the server's id stands in for a device's"


def test_changes_of_health_are_said_once(servers):
    with Web() as web:
        server = servers(top=heartbeat(web))
        server.wait_log("heartbeat: .*takes the reports", 5)
        web.answer = (503, b"no")
        server.wait_log(r"\[warn\].*heartbeat: .*status is 503", 5)
        wait_requests(web, len(web.requests) + 4)
        web.stop()
        server.wait_log(r"\[warn\].*heartbeat: .*refused", 5)
        time.sleep(scaled(1))
        mark = server.log_mark()
        web.answer = (200, b"")
        web.start()
        server.wait_log("heartbeat: .*takes the reports", 5, mark)
    said = [line for line in server.log().splitlines() if "heartbeat: " in line]
    assert len([line for line in said if "status is 503" in line]) == 1, "\n".join(said)
    assert len([line for line in said if "refused" in line]) <= 2, "\n".join(said)
    assert "token=1" not in server.log(), "parameters of the URL may be secret"


def test_one_that_is_slow_gets_one_at_a_time(servers):
    with Web() as web:
        web.delay = scaled(1)
        server = servers(top=heartbeat(web, interval=0.1))
        wait_requests(web, 3)
        assert web.most_busy == 1, f"{web.most_busy} reports were under way at a time"
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < scaled(5), "a report under way should not hold up the end"


def test_reload_switches_it(servers):
    with Web() as web:
        server = servers(top=api.ON + heartbeat(web).replace("enabled on", "enabled off"))
        assert not web.requests
        text = server.conf_path.read_text()
        server.conf_path.write_text(text.replace("heartbeat { enabled off", "heartbeat { enabled on"))
        server.signal(signal.SIGHUP)
        wait_requests(web, 2)
        api.reload(server, text)
        time.sleep(scaled(0.3))
        count = len(web.requests)
        time.sleep(scaled(0.6))
        assert len(web.requests) == count, "it was switched off"


@pytest.mark.parametrize("url", ["ftp://h/x", "h/x"])
def test_a_url_that_is_none_is_refused(servers, url):
    from lib.server import run_once

    server = servers.make(top=f"heartbeat {{ url {url}; }}", vhosts=default_vhost())
    code, text = run_once("-t", "-c", str(server.conf_path))
    assert code != 0 and "url:" in text, text
