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
