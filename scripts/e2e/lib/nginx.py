"""nginx, Debian's: with its RTMP module as another server to publish to and to play from, and as a reverse proxy."""

import contextlib
import re
import shutil
import subprocess
from pathlib import Path

from . import ports
from .server import ROOT, can_connect
from .timing import wait_until

_MODULE = Path("/usr/lib/nginx/modules/ngx_rtmp_module.so")
_CONF = """load_module {module};
daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log info;
events {{ worker_connections 500; }}
rtmp {{ access_log off; server {{ listen 127.0.0.1:{port}; chunk_size 4096;
    application live {{ live on; sync 10ms; {more} }} }} }}
"""


@contextlib.contextmanager
def _running(options, directory, port):
    """An nginx that listens on the port, which is given back at the end."""
    with open(directory / "output.txt", "wb") as output:
        process = subprocess.Popen(["nginx", *options], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        wait_until(lambda: can_connect(port), 10, lambda: f"nginx listens\n{(directory / 'output.txt').read_text()}")
        yield
    finally:
        process.terminate()
        process.wait(10)
        ports.release([port])


@contextlib.contextmanager
def running(directory, more=""):
    """Its RTMP port, while it runs. more: directives of the application live."""
    assert shutil.which("nginx") and _MODULE.exists(), "nginx with libnginx-mod-rtmp should be installed"
    directory = Path(directory) / "nginx"
    directory.mkdir()
    (port,) = ports.take()
    conf = directory / "nginx.conf"
    conf.write_text(_CONF.format(module=_MODULE, dir=directory, port=port, more=more))
    with _running(["-p", directory, "-c", conf], directory, port):
        yield port


_PROXY_CONF = """
daemon off; master_process off; worker_processes 1; error_log {dir}/error.log; pid {dir}/nginx.pid;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
    server {{
        listen 127.0.0.1:{port};
{location}
    }}
}}
"""


@contextlib.contextmanager
def in_front_of(server, directory):
    """The port of an nginx that serves the server below /media/, by what doc/console.md says."""
    document = (ROOT / "doc/console.md").read_text()
    location = re.search(r"^    location /media/ \{.*?^    \}", document, re.MULTILINE | re.DOTALL).group(0)
    location = location.replace("127.0.0.1:8080", f"127.0.0.1:{server.http_port}")
    directory = Path(directory) / "nginx"
    directory.mkdir()
    (port,) = ports.take()
    conf = directory / "nginx.conf"
    conf.write_text(_PROXY_CONF.format(dir=directory, port=port, location=location))
    with _running(["-e", directory / "error.log", "-c", conf], directory, port):
        yield port


_SHIELD_CONF = """
daemon off; master_process off; worker_processes 1; error_log {dir}/error.log; pid {dir}/nginx.pid;
events {{ worker_connections 2000; }}
http {{
    log_format cache '$upstream_cache_status $upstream_addr $status $request_uri';
    access_log {dir}/access.log cache;
    client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
{text}
}}
"""


class Shield:
    """An nginx with a cache in front of servers that make HLS. port: its own."""

    def __init__(self, port, log):
        self.port, self._log = port, log

    def requests(self):
        """Of each request: HIT, MISS or the like, the server's address or -, the status, and the URI."""
        return [line.split(" ", 3) for line in self._log.read_text().splitlines()]


@contextlib.contextmanager
def shield(directory, *servers):
    """By what doc/hls.md says of low latency, and where there are several servers, of these."""
    document = (ROOT / "doc/hls.md").read_text()
    block = r"^    {}.*?(?=^\S)"
    text = re.findall(block.format("proxy_cache_path"), document, re.MULTILINE | re.DOTALL)[-1]
    if len(servers) > 1:
        several = re.search(block.format(r"map \$uri"), document, re.MULTILINE | re.DOTALL)[0]
        text, count = re.subn(r"^    upstream .*\n", lambda _: several, text, flags=re.MULTILINE)
        assert count == 1, f"an upstream in a line of its own:\n{text}"
    for server, port in zip(servers, (8080, 8081)):
        text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{server.http_port}")
    directory = Path(directory) / "shield"
    directory.mkdir()
    (port,) = ports.take()
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port};").replace("/var/cache/hls", str(directory / "cache"))
    conf = directory / "nginx.conf"
    conf.write_text(_SHIELD_CONF.format(dir=directory, text=text))
    with _running(["-e", directory / "error.log", "-c", conf], directory, port):
        yield Shield(port, directory / "access.log")
