"""HTTP as a player uses it: kept connections, gzip, times of the first and the last byte. It follows redirects and counts
them."""

import gzip
import http.client
import ssl
import time
import zlib
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit, urlunsplit

# A page that has a player.
ORIGIN = "http://hls-check.example"
_MOST_REDIRECTS = 5
# Far over any playlist or segment.
_MOST_BYTES = 512 << 20


class Response(NamedTuple):
    url: str  # that was asked for
    status: int  # 0: none, see reason
    reason: str
    headers: dict  # names in lower case
    body: bytes
    sent_at: float
    first_at: float  # the first byte of the body
    done_at: float
    redirects: int
    at: str  # where it was found

    def header(self, name):
        return self.headers.get(name.lower(), "")


def with_directives(url, **directives):
    """_HLS_msn and such, after those of the URL, all in the order of UTF-8."""
    parts = urlsplit(url)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    pairs += [(f"_HLS_{name}", str(value)) for name, value in directives.items()]
    return urlunsplit(parts._replace(query=urlencode(sorted(pairs), safe="~,:/")))


class Client:
    """Of one thread."""

    def __init__(self, timeout=30, insecure=False):
        self.timeout = timeout
        self._context = ssl._create_unverified_context() if insecure else ssl.create_default_context()
        self._connections = {}

    def get(self, url, method="GET", timeout=None, **headers):
        """headers: Accept_Encoding="gzip" and such."""
        words = {"Accept": "*/*", "User-Agent": "hls_check", **{name.replace("_", "-"): value for name, value in headers.items()}}
        sent_at, at = time.monotonic(), url
        for redirects in range(_MOST_REDIRECTS + 1):
            try:
                found = self._one(at, method, words, timeout or self.timeout)
            except (OSError, http.client.HTTPException, EOFError, zlib.error) as error:
                self._drop(at)
                return Response(url, 0, repr(error), {}, b"", sent_at, sent_at, time.monotonic(), redirects, at)
            status, reason, received, body, first_at = found
            if status not in (301, 302, 303, 307, 308) or "location" not in received:
                break
            at = urljoin(at, received["location"])
        return Response(url, status, reason, received, body, sent_at, first_at, time.monotonic(), redirects, at)

    def close(self):
        for connection in self._connections.values():
            connection.close()
        self._connections = {}

    def _drop(self, url):
        parts = urlsplit(url)
        connection = self._connections.pop((parts.scheme, parts.netloc), None)
        if connection:
            connection.close()

    def _one(self, url, method, headers, timeout):
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        kept = (parts.scheme, parts.netloc) in self._connections
        try:
            return self._exchange(parts, path, method, headers, timeout)
        except (ConnectionError, http.client.BadStatusLine):
            if not kept:
                raise
            # The server may close a connection that rests.
            self._drop(url)
            return self._exchange(parts, path, method, headers, timeout)

    def _exchange(self, parts, path, method, headers, timeout):
        origin = (parts.scheme, parts.netloc)
        connection = self._connections.get(origin)
        if not connection:
            if parts.scheme == "https":
                connection = http.client.HTTPSConnection(parts.netloc, timeout=timeout, context=self._context)
            else:
                connection = http.client.HTTPConnection(parts.netloc, timeout=timeout)
            self._connections[origin] = connection
        connection.timeout = timeout
        if connection.sock:
            connection.sock.settimeout(timeout)
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        chunks, size, first_at = [], 0, None
        while chunk := response.read1(1 << 16):
            first_at = first_at or time.monotonic()
            chunks.append(chunk)
            size += len(chunk)
            if size > _MOST_BYTES:
                raise OSError(f"more than {_MOST_BYTES} bytes")
        response.read()  # nothing: it makes the connection ready for the next request
        received = {name.lower(): value for name, value in response.getheaders()}
        body = b"".join(chunks)
        length = received.get("content-length")
        if method != "HEAD" and length and length.isdigit() and int(length) != size:
            raise OSError(f"{size} bytes of {length}")
        if received.get("content-encoding") == "gzip" and body:
            body = gzip.decompress(body)
        return response.status, response.reason, received, body, first_at or time.monotonic()
