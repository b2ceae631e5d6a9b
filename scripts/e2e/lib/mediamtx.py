"""MediaMTX in the place of the server under test: with E2E_MEDIAMTX=PROGRAM the WebRTC tests that it can pass run against
it. A test that fails there too is wrong itself. Not part of a test run (research/compare/get_mediamtx.sh builds it)."""

import os
import subprocess

from . import ports
from .server import can_connect
from .timing import wait_until

PROGRAM = os.environ.get("E2E_MEDIAMTX")

CONFIGURATION = """logLevel: info
rtmpAddress: 127.0.0.1:{rtmp}
rtsp: no
srt: no
hls: no
moq: no
webrtcAddress: 127.0.0.1:{http}
webrtcLocalUDPAddress: 127.0.0.1:{udp}
webrtcIPsFromInterfaces: no
webrtcAdditionalHosts: [127.0.0.1]
paths:
  all_others:
"""


class MediaMtx:
    def __init__(self, directory):
        directory.mkdir()
        self.ports = ports.take(3)
        self.rtmp_port, self.http_port, self.rtc_port = self.ports
        conf = directory / "mediamtx.yml"
        conf.write_text(CONFIGURATION.format(rtmp=self.rtmp_port, http=self.http_port, udp=self.rtc_port))
        self.log_path = directory / "mediamtx.log"
        self.process = subprocess.Popen([PROGRAM, conf], stdout=self.log_path.open("wb"), stderr=subprocess.STDOUT)
        wait_until(lambda: can_connect(self.rtmp_port) and can_connect(self.http_port), 10, self.log)

    def log(self):
        return self.log_path.read_text()

    def rtmp_url(self, path):
        return f"rtmp://127.0.0.1:{self.rtmp_port}/{path}"

    def stop(self):
        self.process.terminate()
        self.process.wait()
        ports.release(self.ports)
