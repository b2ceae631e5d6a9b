"""Services know nothing of each other: with a service's folder and its line in src/server/services.inc left out, the server
builds and starts, and says of the service's directives that they are not built in. Each build is made in a copy of the tree that
takes over all objects but one."""

import json
import os
import shutil
import signal

import pytest

from lib import api, builds, http
from lib.server import OBJS, Server

pytestmark = [
    pytest.mark.builds,
    pytest.mark.skipif(builds.settings(OBJS)["CONFIG_SANITIZER"] == "on", reason="of the normal build"),
]

# Folder: directives, what is said of them, and the feature that is missing, if SRS has a name for it.
SERVICES = {
    "hls": ("vhost v { hls { enabled on; hls_fragment 2; } }", "HLS is not built in: no effect of vhost/hls/enabled, vhost/hls/hls_fragment", "hls"),
    "dvr": ("vhost v { dvr { enabled on; } }", "recording is not built in: no effect of vhost/dvr/enabled", "dvr"),
    "forward": ("vhost v { forward { enabled on; } }", "forwarding is not built in: no effect of vhost/forward/enabled", None),
    "http_live": ("vhost v { http_remux { enabled on; } }", "playing by HTTP is not built in: no effect of vhost/http_remux/enabled", None),
    "rtc": ("rtc_server { enabled on; tcp { enabled on; } } vhost v { rtc { enabled on; nack on; } }", "WebRTC is not built in: no effect of rtc_server/enabled, rtc_server/tcp, vhost/rtc/enabled, vhost/rtc/nack", "rtc"),
    "rtsp": ("rtsp_server { enabled on; auth { enabled on; } } vhost v { rtsp { enabled on; } }", "RTSP is not built in: no effect of rtsp_server/enabled, rtsp_server/auth, vhost/rtsp/enabled", "rtsp"),
    "tools": ("vhost v { exec { enabled on; publish x; } transcode { enabled on; engine e { enabled on; } } ingest i { enabled on; input { url x.flv; } engine { enabled on; } } }", "exec is not built in: no effect of vhost/exec/enabled, vhost/exec/publish", "transcode"),
    "hook": ("vhost v { http_hooks { enabled on; } }", "the hook service is not built in: no effect of vhost/http_hooks/enabled", "callback"),
    "cluster": ("redis { enabled on; } vhost v { }", "the cluster of origins is not built in: no effect of redis/enabled", None),
    "heartbeat": ("heartbeat { enabled on; } vhost v { }", "heartbeat is not built in: no effect of heartbeat/enabled", None),
    "console": ("console { enabled on; } vhost v { }", "the console is not built in: no effect of console/enabled", None),
    "metrics": ("exporter { enabled on; } vhost v { }", "the exporter is not built in: no effect of exporter/enabled", "exporter"),
}  # fmt: skip

# Folder: a URL of its protocol, and what `srs why` says that the build has not.
URLS = {
    "hls": ("http://127.0.0.1:8080/live/s.m3u8", "HLS"),
    "http_live": ("http://127.0.0.1:8080/live/s.flv", "HTTP-FLV"),
    "rtc": ("webrtc://127.0.0.1/live/s", "WebRTC"),
    "rtsp": ("rtsp://127.0.0.1/live/s", "RTSP"),
}


def link_or_copy(source, target):
    """Objects are not changed in place by what makes them; other files may be."""
    (os.link if source.endswith((".o", ".gch")) else shutil.copy2)(source, target)


class LeftOut:
    """A copy of the tree without the service, and its server."""

    def __init__(self, service):
        self.tree = OBJS / "builds" / f"without-{service}"
        builds.copy_without([service], self.tree)
        shutil.copytree(OBJS / "obj", self.tree / "objs/obj", copy_function=link_or_copy, ignore=shutil.ignore_patterns("tests-*", "*tests.h*", "research"))
        shutil.copytree(OBJS / "lib", self.tree / "objs/lib", symlinks=True)
        for name in ("config.mk", "link-flags"):
            shutil.copy2(OBJS / name, self.tree / "objs" / name)
        (self.tree / "objs/obj/src/server/services.o").unlink()
        words = ["make", f"-j{builds.settings(OBJS)['CONFIG_JOBS']}", "objs/srs"]
        code, output = builds.run(words, self.tree, 900)
        assert code == 0, f"without {service} {' '.join(words)} should succeed, it printed\n{output[-5000:]}"
        compiled = [line.split()[1] for line in output.splitlines() if line.split()[:1] == ["CXX"]]
        compiled = [name for name in compiled if not name.endswith("build_facts")]  # the copy is in no repository
        assert compiled == ["src/server/services.cpp"], f"nothing else should be compiled:\n{output}"

    @property
    def binary(self):
        return self.tree / "objs/srs"

    def said_of(self, directory, directives):
        conf = directory / "t.conf"
        conf.write_text(f"listen 1;\n{directives}\n")
        return builds.run([self.binary, "-t", "-c", conf], directory)[1]


class ServerWithout(Server):
    def __init__(self, directory, binary, **options):
        super().__init__(directory, **options)
        self.binary = binary

    def command(self, *arguments):
        return [self.binary, *(arguments or ("-c", self.conf_path))]


@pytest.mark.parametrize("service", [pytest.param(name, marks=pytest.mark.smoke if name == "hls" else ()) for name in SERVICES])
def test_without_a_service(service, tmp_path):
    directives, said, feature = SERVICES[service]
    left_out = LeftOut(service)
    text = left_out.said_of(tmp_path, directives)
    assert said in text, f"{said!r} should be said of {directives}:\n{text}"
    server = ServerWithout(tmp_path / "server", left_out.binary, top=api.CONF % "")
    try:
        server.start()
        assert "the server runs" in server.log(), server.log()
        features = json.loads(http.get(server.api_port, "/api/v1/features").body)["data"]["features"]
        assert feature is None or features[feature] is False, features
        assert http.get(server.api_port, "/api/v1/summaries").status == 200
        url, protocol = URLS.get(service, ("rtmp://127.0.0.1:1/live/s", ""))
        code, text = builds.run([left_out.binary, "why", "-c", server.conf_path, "--dry", url], tmp_path)
        said = f"this build has no {protocol}" if protocol else "RTMP is at port"
        assert code == 1 and said in text, f"{said!r} should be said of {url}, exit code {code}:\n{text}"
        server.signal(signal.SIGTERM)
        assert server.wait_exit(20) == 0, server.log()
    finally:
        server.discard()
    shutil.rmtree(left_out.tree)
