"""Origins and edges of ours, and what tests of them ask."""

import signal

from . import api, flv, http, media, publishing, rtmp
from .server import default_vhost
from .timing import scaled, wait_until

API = "http_api { enabled on; listen 127.0.0.1:API_PORT; }\n"
PLAY = "mw_latency 50;"


def origin(servers, vhost="", top=API, **more):
    return servers(top=top, vhosts=default_vhost(play=PLAY, vhost=vhost, **more))


def cluster(*origins, more=""):
    return f"cluster {{ mode remote; origin {' '.join(origins)}; {more} }}"


def at(server, port="rtmp_port"):
    return f"127.0.0.1:{getattr(server, port)}"


def edge(servers, *origins, more="", vhost="", top=API, rejoin=20000, **rest):
    """An edge of these servers, or addresses."""
    names = [one if isinstance(one, str) else at(one) for one in origins]
    return servers(top=top, vhosts=default_vhost(vhost=cluster(*names, more=more) + vhost, play=PLAY, rejoin=rejoin, **rest))


def tags_of():
    return media.from_keyframe(media.with_b_frames())[:400]


def steady(server, name="s", tags=None, **options):
    return publishing.Steady(rtmp.publisher(server, "live", name, **options), tags or media.from_keyframe(media.plain()))


def clients(server, kind):
    return [one for one in api.clients(server) if one["type"] == kind]


def wait_clients(server, kind, count, seconds=10):
    wait_until(
        lambda: len(clients(server, kind)) == count,
        seconds,
        lambda: f"{count} clients of type {kind}; there are {api.clients(server)}",
    )


def wait_link(server, kind, url, seconds=10):
    """Until the edge pulls a stream from that URL ("edge-pull"), or passes it up to there ("edge-push")."""
    wait_until(
        lambda: any(one["tcUrl"] == url for one in clients(server, kind)),
        seconds,
        lambda: f"an {kind} of {url}; there are {clients(server, kind)}",
    )


def wait_problem(server, text, seconds=10):
    """Until a pull that the edge tries again has this text in its problem."""
    seen = []

    def there():
        seen[:] = api.ask(server, "/api/v1/edges")["pulls"]
        return any(text in one["problem"] for one in seen)

    wait_until(there, seconds, lambda: f"a pull with the problem {text!r}; there are {seen}")


def kill(server):
    """kill -9: the server is expected to be gone."""
    server.signal(signal.SIGKILL)
    server.process.wait()
    server.process = None


def frames_of(player, count, seconds=10):
    """That many frames of a player, as (type, timestamp, body)."""
    return [tag for tag in http.collect(player, lambda tags: len([t for t in tags if flv.is_frame(t)]) >= count, scaled(seconds)) if flv.is_frame(tag)]


def ended_with(client):
    """The error that a publisher is told."""
    tags = tags_of()
    try:
        for _ in range(100):
            publishing.send_all(client, tags[:50], speed=1)
    except OSError:
        pass
    try:
        client.wait_status("nothing")
    except (rtmp.Refused, ConnectionError, OSError) as error:
        return str(error)
    raise AssertionError("the publisher should be ended")
