"""The registrations at the proxy of lib/srs_proxy.py, and which backend has a stream."""

import itertools
import json
import re
import threading
import urllib.parse

MANDATORY = ("ip", "server", "service", "pid", "rtmp")


class ProxyError(Exception):
    pass


def port_of(backend, kind):
    """Of the first address of that kind: the proxy takes it for a number, and an address with a host is an error."""
    addresses = backend.get(kind) or []
    if not addresses or not addresses[0].isdigit():
        raise ProxyError(f"{kind} of {backend} should begin with a port alone")
    return int(addresses[0])


class Picks:
    """Registrations by server, service and process, and the backend of each stream."""

    def __init__(self):
        self.backends, self.picked = {}, {}
        self.next = itertools.count()
        self.lock = threading.Lock()

    def register(self, request):
        body = json.loads(request.body)
        missing = [name for name in MANDATORY if not body.get(name)]
        if request.method != "POST" or request.path != "/api/v1/srs/register" or missing:
            return 500, f"empty {missing}".encode()
        with self.lock:
            self.backends["-".join(body[name] for name in ("server", "service", "pid"))] = body
        return 200, b'{"code":0,"pid":"1"}'

    def pick(self, stream):
        """The backend of a stream, vhost/app/name."""
        with self.lock:
            if stream not in self.picked:
                if not self.backends:
                    raise ProxyError(f"no server available for {stream}")
                names = sorted(self.backends)
                self.picked[stream] = self.backends[names[next(self.next) % len(names)]]
            return self.picked[stream]


def stream_of(url):
    """vhost/app/name of a URL: a host without a dot and an IPv4 address are the default vhost."""
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    default = "." not in host or re.fullmatch(r"[\d.]+", host)
    return ("__defaultVhost__" if default else host) + parts.path
