"""The HTTP API: asking it, and what its answers must have."""

import base64
import json
import re
import signal

from . import http
from .timing import wait_until

CONF = "http_api { enabled on; listen 127.0.0.1:API_PORT; %s }\n"
ON = CONF % ""
DEBUG = CONF % "debug on;"
ENVELOPE = {"code": int, "server": str, "service": str, "pid": str}
KBPS = {"recv_30s": int, "send_30s": int}
VHOST = {
    "id": str, "name": str, "enabled": bool, "clients": int, "streams": int, "send_bytes": int, "recv_bytes": int,
    "kbps": KBPS, "hls": {"enabled": bool}, "dash": {"enabled": bool},
}  # fmt: skip
STREAM = {
    "id": str, "name": str, "vhost": str, "app": str, "tcUrl": str, "url": str, "live_ms": int, "clients": int,
    "frames": int, "audio_frames": int, "video_frames": int, "send_bytes": int, "recv_bytes": int, "kbps": KBPS,
    "verdict": {"level": str, "code": str, "text": str, "advice": str, "unit": str},
    "publish": {"active": bool}, "video": (dict, type(None)), "audio": (dict, type(None)),
}  # fmt: skip
CLIENT = {
    "id": str, "vhost": str, "stream": str, "ip": str, "pageUrl": str, "swfUrl": str, "tcUrl": str, "url": str,
    "name": str, "type": str, "publish": bool, "alive": (int, float), "send_bytes": int, "recv_bytes": int,
    "kbps": KBPS,
}  # fmt: skip


def check(value, shape, where):
    """Every field of the shape is there and of its type."""
    if not isinstance(shape, dict):
        is_number = isinstance(value, bool) and bool not in (shape if isinstance(shape, tuple) else (shape,))
        assert isinstance(value, shape) and not is_number, f"{where} should be {shape}, it is {value!r}"
        return
    assert isinstance(value, dict), f"{where} should be an object, it is {value!r}"
    for name, inner in shape.items():
        assert name in value, f"{where} should have {name}, it has {sorted(value)}"
        check(value[name], inner, f"{where}.{name}")


def ask(server, path, method="GET", status=200, body=b"", code=0, **headers):
    """The answer's JSON; fails where its status or code is another."""
    with http.Connection(server.api_port) as connection:
        connection.request(method, path, body, **headers)
        response = connection.read_response(method)
    assert response.status == status, f"{method} {path} should be answered with {status}: {response.describe()}"
    answer = json.loads(response.body)
    check(answer, ENVELOPE, path)
    wanted = code if status == 200 else status
    assert answer["code"] == wanted, f"{method} {path}: code should be {wanted}: {answer}"
    if status != 200:
        assert answer["error"], f"{method} {path}: an error says why: {answer}"
    return answer


def streams(server, **headers):
    return {one["name"]: one for one in ask(server, "/api/v1/streams?count=100", **headers)["streams"]}


def clients(server, **headers):
    return ask(server, "/api/v1/clients?count=1000", **headers)["clients"]


def wait_stream(server, name, condition=lambda stream: True, seconds=10):
    """The stream of that name, once the condition holds."""
    seen = {}

    def there():
        seen.update(streams(server))
        return seen.get(name) if name in seen and condition(seen[name]) else None

    return wait_until(there, seconds, lambda: f"a stream {name} as it should be; there are {seen}", step=0.1)


def basic(credentials):
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def closed(server):
    """The sessions that have ended, the newest first (doc/why.md)."""
    return ask(server, "/api/v1/clients?closed=true&count=1000")["clients"]


def ended(server, text="", seconds=10, **fields):
    """The newest session that has ended with these values of its fields (doc/why.md), and with this pattern in its text."""
    seen = []

    def found():
        seen[:] = closed(server)
        for one in seen:
            if all(one[name] == value for name, value in fields.items()) and re.search(text, one["text"]):
                return one
        return None

    return wait_until(found, seconds, lambda: f"an ended session with {fields} and {text!r}; there are {seen}", step=0.1)


def explained(server, name, check, text="", seconds=10, verdict="bad"):
    """What a check says of the stream (doc/why.md), once it has that verdict and this pattern in its text."""
    seen = {}

    def found():
        if name not in (known := streams(server)):
            return None
        checks = ask(server, f"/api/v1/streams/{known[name]['id']}/explain")["checks"]
        seen.update({one["name"]: one for one in checks})
        one = seen[check]
        return one if one["verdict"] == verdict and re.search(text, one["text"]) else None

    return wait_until(found, seconds, lambda: f"{check} of {name} is {verdict}, with {text!r}; it is {seen.get(check)}", step=0.1)


def reload(server, change=None, seconds=5):
    """A reload by SIGHUP, with another text of the configuration if there is one: until it is done, and well."""
    if change is not None:
        server.conf_path.write_text(change)
    before = ask(server, "/api/v1/operations")["data"]["reloads"]
    server.signal(signal.SIGHUP)

    def done():
        now = ask(server, "/api/v1/operations")["data"]["reloads"]
        return now if now["total"] > before["total"] else None

    after = wait_until(done, seconds, "the reload is done", step=0.02)
    assert after["failed"] == before["failed"], f"the configuration was refused\n{server.evidence()}"


def ends(server, **fields):
    """How many sessions have ended with these values of their fields."""
    return sum(all(one[name] == value for name, value in fields.items()) for one in closed(server))


def blocked_ms(server):
    """The longest time that the loop was in a system call that waits, ms, of a server with `debug on`. If there were more stalls
    than it remembers, the longest of whatever cause."""
    data = ask(server, "/api/v1/debug/runtime")["data"]
    if data["stalls"] > len(data["last_stalls"]):
        return data["longest_stall_ms"]
    return max((one["ms"] for one in data["last_stalls"] if one["cause"] == "blocked"), default=0)
