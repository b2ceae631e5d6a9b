"""scripts/run, as a new user meets it: it starts the server, publishes a test pattern, prints URLs that play, and ends
all of it."""

import os
import re
import subprocess

import pytest

from lib import flv, http, ports
from lib.server import OBJS, ROOT, can_connect
from lib.timing import scaled, wait_until


@pytest.mark.quiet
def test_run_shows_a_playing_stream(tmp_path):
    out = tmp_path / "run.txt"
    rtmp_port, http_port, api_port, rtc_port = taken = ports.take(4)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SRS_")}
    # Beside whatever else runs here: other ports, another pid file.
    environment |= {
        "SRS_LISTEN": f"127.0.0.1:{rtmp_port}",
        "SRS_HTTP_SERVER_LISTEN": f"127.0.0.1:{http_port}",
        "SRS_HTTP_API_LISTEN": f"127.0.0.1:{api_port} 127.0.0.1:{http_port}",
        "SRS_RTC_SERVER_LISTEN": f"127.0.0.1:{rtc_port}",
        "SRS_RTC_SERVER_TCP_LISTEN": f"127.0.0.1:{rtc_port}",
        "SRS_PID": str(tmp_path / "srs.pid"),
    }
    process = subprocess.Popen(
        [ROOT / "scripts" / "run", "--no-install", f"--objs={OBJS}", "--for", "5"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=out.open("wb"),
        stderr=subprocess.STDOUT,
    )
    try:
        url = wait_until(
            lambda: re.search(r"http://[^/\s]+:(\d+)(/\S+\.flv)", out.read_text()),
            60,
            lambda: f"a URL to play should be printed:\n{out.read_text()[-3000:]}",
        )
        assert int(url.group(1)) == http_port, f"{url.group(0)} should have port {http_port}"
        with http.Live(http_port, url.group(2)) as live:
            tags = live.tags() + live.tags()
            assert any(flv.is_keyframe(tag) for tag in tags), f"{url.group(0)} should play, {len(tags)} tags came"
        first = re.search(r"http://\S+", out.read_text()[out.read_text().index("Open first") :])
        assert first and first.group(0) == f"http://127.0.0.1:{http_port}/", f"one URL should come first:\n{out.read_text()}"
        for port in (http_port, api_port):
            assert http.get(port, "/api/v1/versions").status == 200, f"the API should answer on {port}"
        assert http.get(http_port, "/").status == 200, "the first page should be there"
        if (OBJS / "nginx/pages/console/index.html").exists():
            assert http.get(http_port, "/console/").status == http.get(api_port, "/console/").status == 200
        hls_url = re.search(r"http://[^/\s]+:(\d+)(/\S+\.m3u8)", out.read_text())
        assert hls_url and int(hls_url.group(1)) == http_port, f"an HLS URL should be printed:\n{out.read_text()}"
        playlist = http.get(http_port, hls_url.group(2))
        assert playlist.status == 200 and playlist.body.startswith(b"#EXTM3U"), playlist.describe()
        code = process.wait(scaled(30))
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(scaled(20))
        ports.release(taken)
    assert code == 0, f"scripts/run should end with 0, it ended with {code}:\n{out.read_text()[-3000:]}"
    assert not can_connect(rtmp_port) and not can_connect(http_port), "nothing should be left running"
