"""The exporter: what Prometheus is told, and by whom it may be asked."""

import base64
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from lib import http, media, publishing, rtc, rtmp
from lib.metrics import EXPORTER, Metrics, scrape
from lib.server import BENCH, OBJS, ROOT, default_vhost
from lib.timing import VALGRIND, scaled, wait_until
from lib.web import Web

API = "http_api { enabled on; listen 127.0.0.1:API_PORT; %s }\n"

SRS_NAMES = {
    "srs_node_uname_info": "gauge",
    "srs_build_info": "gauge",
    "srs_cpu_percent": "gauge",
    "srs_memory": "gauge",
    "srs_send_bytes_total": "counter",
    "srs_receive_bytes_total": "counter",
    "srs_streams": "gauge",
    "srs_clients": "gauge",
    "srs_clients_total": "counter",
    "srs_clients_errs_total": "counter",
}


@pytest.fixture
def exporting(servers):
    def start(exporter="", api="", **options):
        return servers(top=EXPORTER % exporter + API % api, **options)

    return start


def test_names_and_types(exporting):
    server = exporting("label here; tag there;")
    response = scrape(server)
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8", f"{response.headers}"
    metrics = Metrics(server)
    for name, kind in SRS_NAMES.items():
        assert name in metrics.families, f"{name} should be there\n{metrics.text}"
        assert metrics.families[name].type == kind, f"{name} should be a {kind}, it is a {metrics.families[name].type}"
    for name, family in metrics.families.items():
        assert family.documentation, f"{name} should say what it is"
        assert name.startswith("srs_"), f"{name}: names begin with srs_"
    assert metrics.value("srs_build_info", label="here", tag="there", pid=str(server.pid)) == 1, metrics.text
    assert re.search(r'srs_build_info\{.*build_date="20\d\d-.*major="7",version="7\.0\.18"', metrics.text), metrics.text
    memory = metrics.value("srs_memory")
    assert abs(memory - server.rss_kb()) < 20_000, f"resident memory is {server.rss_kb()} kB, srs_memory says {memory}"
    assert metrics.value("srs_clients_total") == 0 and metrics.value("srs_streams") == 0, metrics.text


def test_reloads_load_and_draining(exporting):
    server = exporting()
    metrics = Metrics(server)
    for result in ("accepted", "refused"):
        assert metrics.value("srs_reloads_total", result=result) == 0, metrics.text
    assert metrics.value("srs_reload_last_timestamp_seconds") == 0, metrics.text
    assert metrics.value("srs_reload_last_accepted") == 1 and metrics.value("srs_draining") == 0, metrics.text
    assert metrics.value("srs_load_level") in range(4) and metrics.value("srs_overload_refused_total") == 0
    assert 0 <= metrics.value("srs_loop_busy_ratio") <= 1, metrics.text
    good = server.conf_path.read_text()
    for text, accepted, refused in ((good, 1, 0), (good + "\nbogus on;\n", 1, 1), (good, 2, 1)):
        server.conf_path.write_text(text)
        began = time.time()
        server.signal(signal.SIGHUP)

        def counted(accepted=accepted, refused=refused):
            found = Metrics(server)
            values = [found.value("srs_reloads_total", result=result) for result in ("accepted", "refused")]
            return values == [accepted, refused] and found

        metrics = wait_until(counted, 10, lambda: f"{accepted} accepted, {refused} refused\n{Metrics(server).text}")
        assert abs(metrics.value("srs_reload_last_timestamp_seconds") - began) < scaled(5), metrics.text
        assert metrics.value("srs_reload_last_accepted") == (0 if "bogus" in text else 1), metrics.text


def test_figures(exporting):
    server = exporting()
    with rtmp.publisher(server, "live", "one") as client, publishing.Steady(client, media.tags(media.plain())):
        with rtmp.player(server, "live", "one") as by_rtmp, http.Live(server.http_port, "/live/one.flv") as by_http:
            by_rtmp.tags()
            by_http.tags()
            one = {"vhost": "__defaultVhost__", "app": "live", "stream": "one"}

            def ready():
                for source in (by_rtmp, by_http):
                    source.tags()
                metrics = Metrics(server)
                known = metrics.value("srs_stream_gop_seconds", **one) or 0
                sent = metrics.value("srs_send_latency_seconds_count", protocol="flv") or 0
                return metrics if known > 0 and sent > 0 else None

            metrics = wait_until(ready, 15, lambda: f"a whole GOP, and bytes sent\n{Metrics(server).text}")
            assert metrics.value("srs_streams") == 1 and metrics.value("srs_clients") == 3, metrics.text
            assert metrics.value("srs_clients_total") == 3, metrics.text
            vhost = {"vhost": "__defaultVhost__"}
            for kind in ("fmle-publish", "rtmp-play", "flv-play"):
                assert metrics.value("srs_vhost_clients", type=kind, **vhost) == 1, f"one {kind}\n{metrics.text}"
            for kind in ("rtmp-play", "flv-play"):
                sent = metrics.value("srs_vhost_send_bytes_total", type=kind, **vhost)
                assert sent > 10_000, f"{kind} was sent the stream: {sent}\n{metrics.text}"
            assert metrics.value("srs_vhost_receive_bytes_total", type="fmle-publish", **vhost) > 10_000, metrics.text
            assert metrics.value("srs_stream_viewers", **one) == 2, metrics.text
            assert abs(metrics.value("srs_stream_frame_rate", **one) - 25) < 2, metrics.text
            assert metrics.value("srs_stream_frames_total", kind="video", **one) > 25, metrics.text
            assert metrics.value("srs_stream_bitrate", **one) > 10_000, metrics.text
            assert metrics.value("srs_stream_viewer_drops_total", **one) == 0, metrics.text
            # The buckets of a histogram only grow, up to the count.
            family = metrics.families["srs_send_latency_seconds"]
            buckets = [s.value for s in family.samples if s.name.endswith("_bucket") and s.labels["protocol"] == "flv"]
            assert buckets == sorted(buckets) and len(buckets) > 10, f"buckets {buckets}"
            assert buckets[-1] == metrics.value("srs_send_latency_seconds_count", protocol="flv"), metrics.text
            mean = metrics.value("srs_send_latency_seconds_sum", protocol="flv") / buckets[-1]
            assert 0 < mean < scaled(2), f"the mean latency is {mean} s"
            before = metrics.value("srs_send_bytes_total")

        def left():
            now = Metrics(server)
            return now if now.value("srs_clients") == 1 else None

        after = wait_until(left, 5, lambda: f"the publisher alone is left\n{Metrics(server).text}")
        assert after.value("srs_send_bytes_total") >= before, "what was sent stays counted when players leave"
        assert after.value("srs_sessions_closed_total", reason="peer-closed") >= 2, after.text
        assert after.value("srs_clients_errs_total") == 0, f"to leave is no error\n{after.text}"


def test_names_of_streams_do_no_harm(exporting):
    server = exporting()
    names = ['a"b', "gr\u00fc\u00df", "}{,=", "x y"]
    clients = []
    try:
        for name in names:
            clients.append(rtmp.publisher(server, "live", name))
            publishing.send_all(clients[-1], media.tags(media.plain())[:20])
        metrics = wait_until(
            lambda: (m := Metrics(server)).value("srs_streams") == len(clients) and m, 5, lambda: Metrics(server).text
        )
        for name in names:
            assert metrics.value("srs_stream_viewers", stream=name) == 0, f"{name!r} should be there\n{metrics.text}"
    finally:
        for client in clients:
            client.close()


def test_streams_beyond_the_limit_are_counted(exporting):
    server = exporting("stream_limit 2;")
    clients = [rtmp.publisher(server, "live", name) for name in ("c", "a", "b")]
    try:
        metrics = Metrics(server)
        shown = {sample.labels["stream"] for sample in metrics.families["srs_stream_viewers"].samples}
        assert len(shown) == 2 and shown < {"a", "b", "c"}, f"two of three streams; there are {shown}"
        assert metrics.value("srs_streams_not_shown") == 1, metrics.text
        assert metrics.value("srs_streams") == 3, metrics.text
    finally:
        for client in clients:
            client.close()


def test_hooks_are_counted(exporting):
    with Web() as web:
        web.answer = lambda request: (200, b'{"code":7}') if b"refused" in request.body else (200, b'{"code":0}')
        hooks = f"http_hooks {{ enabled on; on_publish {web.url('/publish')}; }}"
        server = exporting(vhosts=default_vhost(hooks))
        assert Metrics(server).value("srs_hook_calls_total", hook="on_publish") is None, "nothing was asked yet"
        with rtmp.publisher(server, "live", "good"):
            with pytest.raises(rtmp.Refused):
                rtmp.publisher(server, "live", "refused")
        time.sleep(scaled(0.3))  # what was scraped a moment ago is given again
        metrics = Metrics(server)
    for name, want in (("calls", 2), ("refused", 1), ("failures", 0), ("dropped", 0)):
        got = metrics.value(f"srs_hook_{name}_total", hook="on_publish")
        assert got == want, f"srs_hook_{name}_total: {want} expected, got {got}\n{metrics.text}"
    assert metrics.value("srs_hook_seconds_total", hook="on_publish") > 0, metrics.text
    assert metrics.value("srs_hook_in_flight", hook="on_publish") == 0, metrics.text


def test_webrtc_both_ways(servers):
    """A player of an RTMP stream, and a publisher that an RTMP player watches: sessions, packets, conversions; all of it goes
    again."""
    options = rtc.options()
    options["top"] += EXPORTER % ""
    server = servers(**options)
    before = Metrics(server)
    for name in ("srs_rtc_sessions", "srs_rtc_half_open", "srs_rtc_audio_converters", "srs_rtc_publisher_lost_total"):
        assert before.value(name) == 0, f"{name} should begin at 0\n{before.text}"
    seconds = str(int(scaled(5)) + 3)
    words = [BENCH, "-q", "--seconds", seconds, "--settle-ms", "0", "--timeout-ms", str(int(scaled(10_000)))]

    def bench(kind, url, *more):
        return subprocess.Popen([words[0], kind, url, *words[1:], *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    with publishing.Steady(rtmp.publisher(server, "live", "one"), media.tags(media.plain())):
        running = [
            bench("whep", rtc.whep_url(server), "--nack"),
            bench("whip", rtc.whip_url(server, "live/two"), "--file", str(media.plain())),
        ]
        try:
            wait_until(lambda: Metrics(server).value("srs_rtc_sessions_total", state="connected") == 2, 10, "two connect")
            with rtmp.player(server, "live", "two") as player:
                wait_until(lambda: any(tag.type == 9 for tag in player.tags()), 10, "RTP is made frames")

                def much_went_both_ways():
                    seen = Metrics(server)
                    counts = [seen.value("srs_rtc_datagrams_total", direction=way) for way in ("in", "out")]
                    return counts[0] > 100 and counts[1] > 50 and seen

                now = wait_until(much_went_both_ways, 10, lambda: f"100 datagrams came, 50 were sent\n{Metrics(server).text}")
            assert now.value("srs_rtc_sessions") == 2 and now.value("srs_rtc_half_open") == 0, now.text
            for direction in ("to-rtp", "to-frames"):
                assert now.value("srs_rtc_bridges", direction=direction) == 1, f"{direction}\n{now.text}"
            sent = now.value("srs_rtc_datagrams_total", direction="out")
            assert now.value("srs_udp_datagrams_total", direction="out") >= sent, now.text
            assert now.value("srs_rtc_audio_converters") >= 1, f"AAC is made Opus\n{now.text}"
        finally:
            ends = [(one.communicate(timeout=scaled(60))[0].decode(), one.returncode) for one in running]
        assert all(code == 0 for _, code in ends), f"the load tool should end well: {ends}"

        def gone():
            after = Metrics(server)
            return all(
                after.value(*name) == 0
                for name in (("srs_rtc_sessions",), ("srs_rtc_half_open",), ("srs_rtc_audio_converters",))
            )

        wait_until(gone, 10, lambda: f"sessions and converters should be gone\n{Metrics(server).text}")


def test_only_metrics_are_there(exporting):
    server = exporting()
    for path in ("/", "/api/v1/versions", "/api/v1/clients", "/metrics/x", "/live/a.flv", "/index.html"):
        assert http.get_status(server.rtmps_port, path) == 404, f"{path} should not be there"
    assert http.get(server.rtmps_port, "/metrics", "POST").status == 405, "it is only read"
    assert http.get_status(server.http_port, "/metrics") == 404, "nor is it on the port of streams"


def test_the_apis_port_has_them_too(exporting, servers):
    """As in SRS, while the exporter is enabled, and with the same credentials."""
    server = exporting(api="auth { enabled on; username admin; password secret; }")
    assert http.get(server.api_port, "/metrics").status == 401
    word = base64.b64encode(b"admin:secret").decode()
    response = http.get(server.api_port, "/metrics", Authorization=f"Basic {word}")
    assert response.status == 200 and b"srs_streams 0" in response.body, response.describe()
    assert response.headers["content-type"] == scrape(server, Authorization=f"Basic {word}").headers["content-type"]
    assert http.get_status(servers(top=API % "").api_port, "/metrics") == 404, "without the exporter"


def test_it_asks_for_the_apis_password(exporting):
    server = exporting(api="auth { enabled on; username admin; password secret; }")
    response = http.get(server.rtmps_port, "/metrics")
    assert response.status == 401 and "www-authenticate" in response.headers, response.describe()
    assert b"srs_" not in response.body, "nothing is told"
    word = base64.b64encode(b"admin:wrong").decode()
    assert http.get(server.rtmps_port, "/metrics", Authorization=f"Basic {word}").status == 401
    word = base64.b64encode(b"admin:secret").decode()
    assert b"srs_streams 0" in scrape(server, Authorization=f"Basic {word}").body


def test_it_is_off_by_default(servers):
    server = servers(top=API % "")
    with pytest.raises(OSError):
        http.get(server.rtmps_port, "/metrics")


@pytest.mark.skipif(not shutil.which("prometheus"), reason="there is no prometheus: apt install prometheus")
@pytest.mark.skipif(VALGRIND, reason="one scrape a second is too much for it there")
def test_a_real_prometheus_understands_it_and_the_dashboard():
    done = subprocess.run(
        [sys.executable, ROOT / "research/grafana/check.py", f"--objs={OBJS}"],
        capture_output=True,
        timeout=scaled(120),
        check=False,
    )
    text = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, f"every query of the dashboard should find something:\n{text}"


def test_the_dashboard_is_that_of_its_table():
    done = subprocess.run(
        [sys.executable, ROOT / "research/grafana/make_dashboard.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool: apt install prometheus")
def test_alerts():
    """Each rule has a case in which it fires and another one in which it does not, and uses metrics that there are."""
    folder = ROOT / "research/grafana"
    done = subprocess.run(["promtool", "test", "rules", "rules_test.yml"], cwd=folder, capture_output=True, text=True, timeout=scaled(60), check=False)
    assert done.returncode == 0, f"the cases of the alerts should hold:\n{done.stdout}{done.stderr}"
    rules = (folder / "rules.yml").read_text()
    untested = set(re.findall(r"- alert: (\w+)", rules)) - set(re.findall(r"alertname: (\w+)", (folder / "rules_test.yml").read_text()))
    assert not untested, f"alerts without a case: {untested}"
    unknown = set(re.findall(r"\bsrs_\w+", rules)) - set(re.findall(r"`(srs_\w+)`", (ROOT / "doc/metrics.md").read_text()))
    assert not unknown, f"metrics that doc/metrics.md does not have: {unknown}"
