"""nginx with its RTMP module, Debian's, as another server to publish to and to play from."""

import contextlib
import shutil
import subprocess
from pathlib import Path

from . import ports
from .server import can_connect
from .timing import wait_until

_MODULE = Path("/usr/lib/nginx/modules/ngx_rtmp_module.so")
_CONF = """load_module {module};
daemon off; master_process off; pid {dir}/nginx.pid; error_log {dir}/error.log info;
events {{ worker_connections 500; }}
rtmp {{ access_log off; server {{ listen 127.0.0.1:{port}; chunk_size 4096;
    application live {{ live on; sync 10ms; {more} }} }} }}
"""


@contextlib.contextmanager
def running(directory, more=""):
    """Its RTMP port, while it runs. more: directives of the application live."""
    assert shutil.which("nginx") and _MODULE.exists(), "nginx with libnginx-mod-rtmp should be installed"
    directory = Path(directory) / "nginx"
    directory.mkdir()
    (port,) = ports.take()
    conf = directory / "nginx.conf"
    conf.write_text(_CONF.format(module=_MODULE, dir=directory, port=port, more=more))
    with open(directory / "output.txt", "wb") as output:
        process = subprocess.Popen(
            ["nginx", "-p", directory, "-c", conf], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        wait_until(lambda: can_connect(port), 10, lambda: f"nginx listens\n{(directory / 'output.txt').read_text()}")
        yield port
    finally:
        process.terminate()
        process.wait(10)
        ports.release([port])
