"""The HTTP API: every endpoint and field of the interface page, with real streams; kicking, recording, configuration."""

import json
import re
import subprocess
import time

import pytest

from lib import api, dvr, flv, hls, http, media, publishing, rtc, rtmp
from lib.server import BENCH, default_vhost
from lib.timing import SLOW, scaled, wait_until

API = api.CONF % ""


def steady(server, stream, file, app="live", **options):
    return publishing.Steady(rtmp.publisher(server, app, stream, **options), media.tags(file))


def frames(tags, kind=None):
    return sum(1 for tag in tags if flv.is_frame(tag) and (kind is None or tag.type == kind))


# --- what there is without any stream

SELF = {
    "version": str, "pid": int, "ppid": int, "argv": str, "cwd": str, "mem_kbyte": int, "mem_percent": (int, float),
    "cpu_percent": (int, float), "srs_uptime": int,
}  # fmt: skip
SYSTEM = {
    name: (int, float)
    for name in "cpu_percent disk_read_KBps disk_write_KBps disk_busy_percent mem_ram_kbyte mem_ram_percent mem_swap_kbyte "
    "mem_swap_percent cpus cpus_online uptime ilde_time load_1m load_5m load_15m net_sample_time net_recv_bytes "
    "net_send_bytes net_recvi_bytes net_sendi_bytes srs_sample_time srs_recv_bytes srs_send_bytes conn_sys conn_sys_et "
    "conn_sys_tw conn_sys_udp conn_srs".split()
}
RUSAGE = (
    "utime stime maxrss ixrss idrss isrss minflt majflt nswap inblock oublock msgsnd msgrcv nsignals nvcsw nivcsw".split()
)
DATA = {
    "versions": {"major": int, "minor": int, "revision": int, "version": str},
    "summaries": {"ok": bool, "now_ms": int, "self": SELF, "system": SYSTEM},
    "rusages": {"ok": bool, "sample_time": int, **{f"ru_{name}": int for name in RUSAGE}},
    "self_proc_stats": {
        "ok": bool, "sample_time": int, "percent": (int, float), "pid": int, "comm": str, "state": str, "ppid": int,
        "utime": int, "stime": int, "num_threads": int, "vsize": int, "rss": int, "processor": int, "cguest_time": int,
    },
    "system_proc_stats": {
        "ok": bool, "sample_time": int, "percent": (int, float),
        **{name: int for name in "user nice sys idle iowait irq softirq steal guest".split()},
    },
    "meminfos": {
        "ok": bool, "sample_time": int, "percent_ram": (int, float), "percent_swap": (int, float),
        **{name: int for name in
           "MemActive RealInUse NotInUse MemTotal MemFree Buffers Cached SwapTotal SwapFree".split()},
    },
    "authors": {"license": str, "copyright": str, "authors": str},
    "features": {"build": str, "options": str, "features": dict},
    "clusters": {"query": dict, "origin": type(None)},
    "tests/requests": {"uri": str, "path": str, "METHOD": str, "headers": dict, "server": {"sigature": str}},
}  # fmt: skip


def test_endpoints_and_fields_without_streams(servers):
    server = servers(top=API)
    for name, shape in DATA.items():
        for path in (f"/api/v1/{name}", f"/api/v1/{name}/"):
            api.check(api.ask(server, path)["data"], shape, path)
    for path in ("/", "/api", "/api/", "/api/v1", "/api/v1/"):
        assert api.ask(server, path)["urls"], path
    below = api.ask(server, "/api/v1/")["urls"]
    for name in [*DATA, "vhosts", "streams", "clients", "raw", "tests/errors", "tests/redirects"]:
        assert name.split("/")[0] in below, f"{name} should be listed: {sorted(below)}"
    summary = api.ask(server, "/api/v1/summaries")["data"]
    assert summary["ok"] and summary["self"]["pid"] == server.pid, summary
    # Many kB of it are the same files as the test sees.
    assert 0.3 < summary["self"]["mem_kbyte"] / server.rss_kb() < 3, (summary["self"], server.rss_kb())
    assert "srs.conf" in summary["self"]["argv"] and summary["self"]["cwd"] == str(server.dir.resolve()), summary
    assert api.ask(server, "/api/v1/tests/errors", code=100)["code"] == 100
    redirect = http.get(server.api_port, "/api/v1/tests/redirects")
    assert redirect.status == 302 and redirect.headers["location"] == "/api/v1/tests/errors", redirect.describe()
    answer = api.ask(server, "/api/v1/tests/requests?a=1", Authorization="Bearer sesame", X_Mine="yes")["data"]
    assert answer["headers"]["X-Mine"] == "yes" and "sesame" not in str(answer), answer
    assert answer["uri"] == "http://127.0.0.1/api/v1/tests/requests?a=1" and answer["METHOD"] == "GET", answer


def test_lists_without_streams_and_errors(servers):
    server = servers(top=API, vhosts=default_vhost("hls { enabled on; hls_fragment 3; }") + "vhost b.com { enabled off; }")
    for name, code in (("streams", 2048), ("clients", 2049)):
        for path in (f"/api/v1/{name}", f"/api/v1/{name}/", f"/api/v1/{name}?start=5&count=3"):
            answer = api.ask(server, path)
            assert answer["total"] == 0 and answer[name] == [], answer
        missing = api.ask(server, f"/api/v1/{name}/vid-nothing", code=code)
        assert "no such" in missing["error"], missing
    # As SRS reads them: no number, or none above zero, is none.
    for odd in ("start=-1", "count=0", "count=-3", "count=abc", "start=x", "count=1e3", "count=99999999999999999999"):
        for name in ("streams", "clients"):
            assert api.ask(server, f"/api/v1/{name}?{odd}")[name] == [], odd
        listed = api.ask(server, f"/api/v1/vhosts?{odd}")["vhosts"]
        assert len(listed) == (1 if odd == "count=1e3" else 2), f"{odd}: {listed}"
    assert api.ask(server, "/api/v1/vhosts?start=99999999999999999999")["vhosts"] == []
    answer = api.ask(server, "/api/v1/vhosts")
    assert answer["total"] == 2, answer
    default, other = answer["vhosts"]
    for vhost in (default, other):
        api.check(vhost, api.VHOST, "vhost")
        for key in (vhost["id"], vhost["name"]):
            assert api.ask(server, f"/api/v1/vhosts/{key}")["vhost"] == vhost, key
    assert default["hls"] == {"enabled": True, "fragment": 3} and default["enabled"], default
    assert other["name"] == "b.com" and not other["enabled"] and other["hls"] == other["dash"] == default["dash"] == {"enabled": False}, other
    assert default["id"].startswith("vid-") and default["id"] != other["id"], answer
    page = api.ask(server, "/api/v1/vhosts?start=1&count=5")
    assert [one["name"] for one in page["vhosts"]] == ["b.com"] and page["total"] == 2, page
    api.ask(server, "/api/v1/vhosts/vid-nothing", code=2014)
    api.ask(server, "/api/v1/nothing", status=404)
    assert api.ask(server, "/api/v1/streams", "POST")["streams"] == [], "read by POST, as SRS's own tests do"
    api.ask(server, "/api/v1/streams", "PUT", status=405)


# --- streams of all kinds

EXPECTED = {
    "h264": (media.plain, {"codec": "H264", "width": 640, "height": 360}, {"codec": "AAC", "channel": 2}),
    "hevc": (media.hevc, {"codec": "HEVC"}, {"codec": "AAC"}),
    "audio": (media.audio_only, None, {"codec": "AAC", "profile": "LC"}),
    "mp3": (lambda: media.audio_only("mp3"), None, {"codec": "MP3", "sample_rate": 44100}),
    "video": (media.video_only, {"codec": "H264"}, None),
}


def probe(file, kind):
    """What ffprobe says of the file's track."""
    words = ["ffprobe", "-v", "error", "-select_streams", kind, "-show_streams", "-of", "json", str(file)]
    found = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["streams"]
    return found[0] if found else None


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_stream_is_described_as_it_is(servers, kind):
    server = servers(top=API)
    make, video, audio = EXPECTED[kind]
    file = make()
    with steady(server, kind, file, tc_url=f"rtmp://127.0.0.1:{server.rtmp_port}/live") as publisher:
        has = lambda s: s["audio_frames"] + s["video_frames"] > 20  # noqa: E731
        stream = api.wait_stream(server, kind, has)
        api.check(stream, api.STREAM, "stream")
        for name, want in (("video", video), ("audio", audio)):
            got = stream[name]
            assert (got is None) == (want is None), f"{name} of {kind}: {got}"
            if want:
                assert {**got, **want} == got, f"{name} of {kind} should have {want}: {got}"
        if kind in ("h264", "hevc"):
            # Debian's ffprobe does not know HEVC in FLV.
            seen, got = probe(file if kind == "h264" else file.with_suffix(".mp4"), "v"), stream["video"]
            assert (got["width"], got["height"]) == (seen["width"], seen["height"]), (got, seen)
            level = seen["level"] / (10 if kind == "h264" else 30)
            assert got["profile"].split()[0] == seen["profile"].split()[0] and float(got["level"]) == level, (got, seen)
        if audio:
            seen = probe(file, "a")
            assert stream["audio"]["sample_rate"] == int(seen["sample_rate"]), (stream["audio"], seen)
            assert stream["audio"]["channel"] == seen["channels"], (stream["audio"], seen)
        assert stream["publish"]["active"] and stream["clients"] == 1, stream
        assert stream["tcUrl"] == f"rtmp://127.0.0.1:{server.rtmp_port}/live", stream
        assert (stream["app"], stream["url"]) == ("live", f"/live/{kind}"), stream
        assert api.ask(server, f"/api/v1/streams/{stream['id']}/")["stream"]["id"] == stream["id"]
        publisher.stop()
        stream = api.wait_stream(server, kind, lambda s: s["frames"] >= frames(publisher.sent))
        for field, type_ in (("video_frames", flv.VIDEO), ("audio_frames", flv.AUDIO), ("frames", None)):
            assert stream[field] == frames(publisher.sent, type_), f"{field} of {kind}: {stream}"
        # Bytes are counted when somebody asks, four times a second at most.
        size = sum(len(tag.body) for tag in publisher.sent)
        stream = api.wait_stream(server, kind, lambda s: s["recv_bytes"] >= size, 2)
        assert size <= stream["recv_bytes"] <= size * 1.15 + 4000, (size, stream)
        client = api.ask(server, f"/api/v1/clients/{stream['publish']['cid']}")["client"]
        api.check(client, api.CLIENT, "client")
        assert client["publish"] and client["type"] == "fmle-publish" and client["stream"] == stream["id"], client
    wait_until(lambda: kind not in api.streams(server), 5, "the stream is gone with its last client", step=0.1)
    api.ask(server, f"/api/v1/streams/{stream['id']}", code=2048)


def test_clients_of_every_kind(servers):
    server = servers(
        top=API, vhosts=default_vhost("hls { enabled on; hls_fragment 1; hls_window 5; hls_ctx on; }") + "vhost b.com { }"
    )
    tags = media.from_keyframe(media.plain())
    with publishing.Steady(rtmp.publisher(server, "live", "s"), tags), publishing.Steady(
        rtmp.publisher(server, "app", "other", fmle=False, tc_url="rtmp://b.com/app"), tags
    ):
        player = rtmp.player(server, "live", "s", tc_url=f"rtmp://127.0.0.1:{server.rtmp_port}/live?token=secret")
        live = http.Live(server.http_port, "/live/s.flv?token=secret", Referer="http://page.example/x")
        socket = http.WebSocket(server.http_port, "/live/s.flv")
        playlist = wait_until(
            lambda: (found := http.get(server.http_port, "/live/s.m3u8")).status == 200 and found, 15, "HLS is there"
        )
        context = playlist.body.decode().split("hls_ctx=")[1].split()[0]
        media_list = http.get(server.http_port, f"/live/s.m3u8?hls_ctx={context}").body.decode()
        segment = next(line for line in media_list.splitlines() if line and not line.startswith("#"))
        got = http.get(server.http_port, f"/live/{segment.split('/')[-1]}")
        assert got.status == 200, got.describe()
        wait_until(lambda: len(api.clients(server)) == 6, 5, lambda: f"six clients: {api.clients(server)}", step=0.1)
        found = api.clients(server)
        for one in found:
            api.check(one, api.CLIENT, "client")
            assert one["ip"] == "127.0.0.1" and one["alive"] >= 0, one
            assert api.ask(server, f"/api/v1/clients/{one['id']}")["client"]["url"] == one["url"]
        assert "secret" not in [one["url"] + one["pageUrl"] for one in found], found
        types = sorted(one["type"] for one in found)
        assert types == ["flash-publish", "flv-play", "flv-play", "fmle-publish", "hls-play", "rtmp-play"], types
        by_type = {one["type"]: one for one in found}
        hls = by_type["hls-play"]
        assert hls["id"] == context and hls["send_bytes"] > len(got.body) and hls["name"] == "s", hls
        page = next(one for one in found if one["pageUrl"])
        assert page["pageUrl"] == "http://page.example/x", page
        assert page["tcUrl"] == "http://127.0.0.1/live", page
        assert by_type["flash-publish"]["url"] == "b.com/app/other", by_type["flash-publish"]
        streams = api.streams(server)
        assert streams["s"]["clients"] == 5 and streams["other"]["clients"] == 1, streams
        assert {one["stream"] for one in found} == {one["id"] for one in streams.values()}, (found, streams)
        vhosts = {one["name"]: one for one in api.ask(server, "/api/v1/vhosts")["vhosts"]}
        assert (vhosts["__defaultVhost__"]["clients"], vhosts["__defaultVhost__"]["streams"]) == (5, 1), vhosts
        assert (vhosts["b.com"]["clients"], vhosts["b.com"]["streams"]) == (1, 1), vhosts
        for one in found:
            name = next(vhost["name"] for vhost in vhosts.values() if vhost["id"] == one["vhost"])
            assert (name == "b.com") == (one["name"] == "other"), one
        first, second = (api.ask(server, f"/api/v1/clients?start={start}&count=4") for start in (0, 4))
        assert (len(first["clients"]), len(second["clients"])) == (4, 2) and second["total"] == 6, (first, second)
        assert {one["id"] for one in first["clients"] + second["clients"]} == {one["id"] for one in found}
        origin = api.ask(server, "/api/v1/clusters?vhost=b.com&app=app&stream=other&ip=1.2.3.4")["data"]
        assert origin["origin"]["port"] == server.rtmp_port and origin["query"]["stream"] == "other", origin
        for one in (player, live, socket):
            one.close()
        wait_until(lambda: api.streams(server)["s"]["clients"] == 2, 5, "players that left are not counted", step=0.1)


def test_bytes_of_hls_without_contexts_are_the_stream_s(servers):
    """Whoever fetches counts as one player then, without a session; what was sent is counted, once."""
    conf = "hls { enabled on; hls_fragment 1; hls_window 5; hls_ctx off; }"
    server = servers(top=API, vhosts=default_vhost(conf))
    with publishing.Steady(rtmp.publisher(server, "live", "s"), media.from_keyframe(media.frequent_keyframes())) as steady:
        wait_until(lambda: http.get(server.http_port, "/live/s.m3u8").status == 200, 15, "HLS is there")
        steady.stop()  # what the publisher itself is sent is no longer growing

        def sent():
            time.sleep(0.3)  # figures may be a quarter of a second old
            vhost = api.ask(server, "/api/v1/vhosts")["vhosts"][0]
            return api.streams(server)["s"]["send_bytes"], vhost["send_bytes"]

        before, total = sent(), 0
        playlist = http.get(server.http_port, "/live/s.m3u8")
        total += len(playlist.body)
        segment = [line for line in playlist.body.decode().splitlines() if line and not line.startswith("#")][-1]
        for path in [f"/live/{segment.split('/')[-1]}"] * 2 + ["/live/s-99999.ts"]:
            response = http.get(server.http_port, path)
            total += len(response.body) if response.status == 200 else 0
        assert total > 10_000, "a segment was fetched"
        grown = [now - then for now, then in zip(sent(), before, strict=True)]
        # A few bytes more may be acknowledgements to the publisher.
        assert all(total <= one <= total + 500 for one in grown), f"{total} bytes were fetched, {grown} were counted"
        clients = api.streams(server)["s"]["clients"], len(api.clients(server))
        assert clients == (2, 1), f"the publisher and the player of files, of whom one has a session: {clients}"


def test_waiting_players_have_a_stream_without_a_publisher(servers):
    server = servers(top=API)
    with rtmp.player(server, "live", "later"):
        stream = api.wait_stream(server, "later")
        api.check(stream, api.STREAM, "stream")
        assert not stream["publish"]["active"] and "cid" not in stream["publish"], stream
        assert stream["clients"] == 1 and stream["video"] is None and stream["frames"] == 0, stream


@pytest.mark.quiet
@pytest.mark.parametrize("protocol", ["rtmp", "http-flv", "whep"])
def test_bytes_and_rates_are_those_that_bench_counts(servers, protocol):
    # What is sent between bench's last look and its end is counted by the server alone: one pass of 350 ms would be 6 %.
    merged = default_vhost(play="mw_latency 100;")
    server = servers(**rtc.options()) if protocol == "whep" else servers(top=API, vhosts=merged)
    count, seconds = (40, 5) if SLOW == 1 else (5, 5)
    with steady(server, "s", media.plain()) as publisher:
        stream = api.wait_stream(server, "s", lambda s: s["video_frames"] > 0)
        before = stream["send_bytes"]
        url = {
            "rtmp": server.rtmp_url("live/s"), "http-flv": server.http_url("live/s.flv"), "whep": rtc.whep_url(server, "live/s")
        }[protocol]  # fmt: skip
        out = server.dir / "bench.json"
        words = [BENCH, "whep" if protocol == "whep" else "play", url, "-n", str(count), "--seconds", str(seconds), "--settle-ms", "1000", "-q", "--json", out]
        subprocess.run(list(map(str, words)), check=True, capture_output=True, timeout=scaled(60))
        figures = json.loads(out.read_text())
        api.wait_stream(server, "s", lambda s: s["clients"] == 1)
        # What is divided by the publisher's age must be as old: it is asked before and after the rest.
        path = f"/api/v1/clients/{stream['publish']['cid']}"
        earlier = api.ask(server, path)["client"]["alive"]
        stream = api.streams(server)["s"]
        payload = sum(len(tag.body) for tag in publisher.sent)
        client = api.ask(server, path)["client"]
        sent = stream["send_bytes"] - before
        assert abs(sent / figures["bytes_total"] - 1) < 0.05, f"{sent} bytes, bench counted {figures['bytes_total']}"
        # All of its life is in the window of the rates, as long as that is short.
        assert client["alive"] < 15 * SLOW, client
        for name, want in (("send_30s", stream["send_bytes"]), ("recv_30s", stream["recv_bytes"])):
            low, high = (want * 8 / 1000 / alive for alive in (client["alive"], earlier))
            assert low * 0.95 - 1 <= stream["kbps"][name] <= high * 1.05 + 1, f"{name} should be {low:.0f} to {high:.0f}: {stream}"
        low, high = (payload * 8 / 1000 / alive for alive in (client["alive"], earlier))
        for rate in (client["kbps"]["recv_30s"], stream["kbps"]["recv_30s"]):
            assert low * 0.95 - 2 <= rate <= high * 1.05 + 2, f"{low:.0f} to {high:.0f} kbit/s are published: {stream}"
        vhost = api.ask(server, "/api/v1/vhosts")["vhosts"][0]
        assert vhost["send_bytes"] >= sent and vhost["recv_bytes"] >= stream["recv_bytes"], (vhost, stream)


# --- what changes and reveals


@pytest.mark.parametrize("protocol", ["rtmp", "flv", "publisher"])
def test_kick(servers, protocol):
    server = servers(top=API)
    with steady(server, "s", media.plain()) as publisher:
        api.wait_stream(server, "s", lambda s: s["frames"] > 0)
        player = rtmp.player(server, "live", "s") if protocol != "flv" else http.Live(server.http_port, "/live/s.flv")
        wait_until(lambda: len(api.clients(server)) == 2, 5, "both are clients", step=0.1)
        victim = next(one for one in api.clients(server) if one["publish"] == (protocol == "publisher"))
        api.ask(server, f"/api/v1/clients/{victim['id']}", "DELETE", status=403, Origin="http://evil.example")
        api.ask(server, f"/api/v1/clients/{victim['id']}", "DELETE")
        if protocol == "publisher":
            wait_until(lambda: publisher.error, 5, "the publisher's connection ends")
        else:
            publishing.Collector(player).thread.join(scaled(5))
        wait_until(lambda: victim["id"] not in [one["id"] for one in api.clients(server)], 5, "it is no client", step=0.1)
        api.ended(server, "kicked by the API", id=victim["id"], reason="kicked")
        api.ask(server, f"/api/v1/clients/{victim['id']}", "DELETE", code=2049)
        if protocol != "publisher":
            assert publisher.error is None and len(api.clients(server)) == 1, "others stay"
        player.close()


def test_a_kick_by_hls(servers):
    """A viewer there is one who asks again and again: it is not served any more, and others are."""
    server = servers(top=API, vhosts=default_vhost("hls { enabled on; hls_fragment 1; hls_window 5; hls_ctx on; }"))
    with steady(server, "s", media.frequent_keyframes()):

        def playlist():
            master = http.get(server.http_port, "/live/s.m3u8")
            context = master.status == 200 and master.body.decode().split("hls_ctx=")[1].split()[0]
            return context and f"/live/s.m3u8?hls_ctx={context}"

        first, second = (wait_until(playlist, 15, "HLS is there") for _ in range(2))
        for path in (first, second):
            assert http.get_status(server.http_port, path) == 200, path
        victim = first.split("=")[1]
        assert {one["id"] for one in api.clients(server) if one["type"] == "hls-play"} == {victim, second.split("=")[1]}
        api.ask(server, f"/api/v1/clients/{victim}", "DELETE")
        wait_until(lambda: victim not in [one["id"] for one in api.clients(server)], 5, "it is no client", step=0.1)
        response = http.get(server.http_port, first)
        assert response.status == 403, f"who was kicked should be refused: {response.describe()}"
        assert victim not in [one["id"] for one in api.clients(server)], "nor is it one again"
        assert http.get_status(server.http_port, second) == 200, "the other one is served"


def test_a_session_s_id_is_none_that_an_hls_player_brings(servers):
    """hls_ctx with the id of a publisher, and of a viewer of another stream: each kick ends the one that was meant."""
    server = servers(top=API, vhosts=default_vhost("hls { enabled on; hls_fragment 1; hls_window 5; hls_ctx on; }"))

    def ids(kind):
        return {one["id"]: one["name"] for one in api.clients(server) if one["type"] == kind}

    def kick(who):
        api.ask(server, f"/api/v1/clients/{who}", "DELETE")
        wait_until(lambda: who not in [one["id"] for one in api.clients(server)], 5, f"{who} is ended", step=0.1)

    with steady(server, "s", media.frequent_keyframes()) as first, steady(server, "t", media.frequent_keyframes()) as second:
        by_name = {name: one for one, name in ids("fmle-publish").items()}
        wait_until(lambda: all(http.get_status(server.http_port, f"/live/{n}.m3u8") == 200 for n in "st"), 15, "HLS is there")
        bystander = http.get(server.http_port, "/live/t.m3u8").body.decode().split("hls_ctx=")[1].split()[0]
        stolen = by_name["s"]
        # A publisher's id, on its own stream and on another; a viewer's, on another stream than its own.
        brought = [f"/live/{name}.m3u8?hls_ctx={context}" for name, context in
                   (("t", bystander), ("s", stolen), ("t", stolen), ("s", bystander))]
        for path in brought * 2:
            answer = http.get(server.http_port, path)
            assert answer.status == 200, answer.describe()
        assert ids("fmle-publish") == {one: name for name, one in by_name.items()}, "publishers keep their ids"
        viewers = ids("hls-play")
        assert len(viewers) == 4 and viewers[bystander] == "t" and stolen not in viewers, f"four viewers: {viewers}"
        everybody = [one["id"] for one in api.clients(server)]
        assert len(everybody) == len(set(everybody)), f"an id stands for one session: {api.clients(server)}"
        # Its playlists name the id that the server gave, and it goes on by either.
        named = hls.Playlist(http.get(server.http_port, brought[1]).body.decode()).segments[-1].uri.split("hls_ctx=")[1]
        assert viewers.pop(named) == "s" and named not in (stolen, bystander), (named, viewers)
        assert http.get_status(server.http_port, f"/live/s.m3u8?hls_ctx={named}") == 200
        assert len(ids("hls-play")) == 4, "no viewer more"
        kick(named)
        for context in (named, stolen):
            assert http.get_status(server.http_port, f"/live/s.m3u8?hls_ctx={context}") == 403, "it was ended"
        for other in (brought[0], brought[2], brought[3]):
            assert http.get_status(server.http_port, other) == 200, "nobody else was"
        assert first.error is None and second.error is None and ids("fmle-publish"), "publishers go on"
        kick(stolen)
        wait_until(lambda: first.error is not None, 5, "the publisher whose id was told is ended")
        assert second.error is None and http.get_status(server.http_port, brought[2]) == 200
        assert set(ids("hls-play").values()) == {"s", "t"}, ids("hls-play")


def test_recordings_are_started_and_stopped(servers):
    server = servers(top=API, vhosts=default_vhost("dvr { enabled off; dvr_path ./rec/[app]/[stream].[timestamp].flv; }"))
    with steady(server, "s", media.plain()) as publisher:
        stream = api.wait_stream(server, "s", lambda s: s["video_frames"] > 5)
        path = f"/api/v1/streams/{stream['id']}/recording"
        assert api.ask(server, path)["recording"] is False
        api.ask(server, path, "DELETE", status=404)
        for body in (b"[]", b"{", b'{"path": 1}', b'{"paht": "x.flv"}', b'{"duration": -1}', b'{"path": "/etc/x.flv"}'):
            api.ask(server, path, "POST", status=400, body=body)
        already = len(publisher.sent)
        api.ask(server, path, "POST", body=b'{"path": "./rec/mine/[stream].flv", "pre_roll": true}')
        assert api.ask(server, path)["recording"] is True
        api.ask(server, path, "POST", status=409)
        dvr.wait_growing(server, 20_000)
        api.ask(server, path, "DELETE")
        (file,) = dvr.wait_files(server, 1)
        assert file.relative_to(server.dir).as_posix() == "rec/mine/s.flv", file
        recorded = [tag for tag in flv.read_file(file) if flv.is_frame(tag)]
        keys = [index for index, tag in enumerate(publisher.sent[:already]) if flv.is_keyframe(tag)]
        first = publisher.sent[keys[-1]] if keys else publisher.sent[0]
        bodies = [tag.body for tag in recorded]
        assert first.body in bodies, "it begins with the GOP that was under way when it was asked for"
        assert api.ask(server, path)["recording"] is False
    api.ask(server, "/api/v1/streams/vid-nothing/recording", "POST", status=404)


def test_configuration_says_where_values_come_from(servers):
    server = servers(
        top="http_api { enabled on; listen 127.0.0.1:API_PORT;\n auth { enabled off; username me; password hush-hush; } }",
        environment={"SRS_VHOST_PLAY_QUEUE_LENGTH": "7", "SRS_STALL_WARN": "77"},
    )
    path = "/api/v1/config"
    api.ask(server, path, status=403, X_Forwarded_For="127.0.0.1")
    answer = api.ask(server, path + "?count=1000")
    listed = {(one["vhost"], one["name"]): one for one in answer["directives"]}
    assert answer["total"] == len(listed) > 80, answer["total"]
    assert listed["", "max_connections"]["value"] == "3000", listed["", "max_connections"]
    line = next(n for n, text in enumerate(server.conf.splitlines(), 1) if text.startswith("max_connections"))
    assert listed["", "max_connections"]["origin"] == f"{server.conf_path}:{line}", listed["", "max_connections"]
    assert listed["", "stall_warn"] == {
        "vhost": "", "name": "stall_warn", "value": "77", "initial": "50", "origin": "SRS_STALL_WARN", "apply": "live",
    }  # fmt: skip
    queue = listed["__defaultVhost__", "vhost/play/queue_length"]
    assert (queue["value"], queue["origin"]) == ("7", "SRS_VHOST_PLAY_QUEUE_LENGTH"), queue
    assert listed["", "work_dir"]["origin"] == "default" and listed["", "work_dir"]["apply"] == "restart"
    assert listed["", "http_api/auth/password"]["value"] == "***" and "hush" not in str(answer), "secrets stay in"
    few = api.ask(server, path + "?name=http_api/auth&set=true&count=100")["directives"]
    assert [one["name"] for one in few] == [f"http_api/auth/{name}" for name in ("enabled", "username", "password")], few
    api.ask(server, path + "?set=maybe", status=400)


def test_what_clients_of_srs_look_for(servers):
    """Versions where they are asked for, what the server was built with, where a stream is published."""
    server = servers(top=API)
    version = api.ask(server, "/api/v1/versions")["data"]
    assert (version["major"], version["version"]) == (7, "7.0.18") and version["server_version"] != "7.0.18", version
    by_http = json.loads(http.get(server.http_port, "/api/v1/versions").body)["data"]
    assert by_http == version, f"on the HTTP port too: {by_http}"
    data = api.ask(server, "/api/v1/features")["data"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", data["build"]) and int(data["build2"]) > 1_700_000_000, data
    assert data["options2"] and {"mr", "tcp_nodelay", "complex_send", "so_sendbuf"} <= data["features"].keys(), data
    with steady(server, "s", media.plain()):
        api.wait_stream(server, "s")
        origin = api.ask(server, "/api/v1/clusters?vhost=__defaultVhost__&app=live&stream=s")["data"]["origin"]
    here = f"127.0.0.1:{server.api_port}"
    assert (origin["api"], origin["routers"], origin["port"]) == (here, [here], server.rtmp_port), origin


def test_the_start_says_who_may_change_something(servers):
    open_to_all = "http_api { enabled on; listen API_PORT; %s }\n"
    line = r"HTTP API: calls that change the server are accepted only from this machine"
    assert "control { allow ...; } or auth" in servers(top=open_to_all % "").wait_log(line)
    allowed = servers(top=open_to_all % "control { allow 10.0.0.0/8; }").wait_log(line)
    assert "only from this machine and 10.0.0.0/8, and not through a proxy;" in allowed, allowed
    for restricted in (API, open_to_all % "auth { enabled on; username u; password p; }"):
        assert "calls that change the server" not in servers(top=restricted).log()
