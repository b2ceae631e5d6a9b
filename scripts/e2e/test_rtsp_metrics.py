"""What /metrics says about RTSP: sessions by kind and transport, losses that players report, datagrams that were refused,
pulls by state."""

import contextlib
import re
import socket
import struct

from lib import media, ports, publishing, rtsp
from lib.camera import Camera, camera_tags, ingest
from lib.recorder import Recorder
from lib.timing import wait_until
from lib.metrics import EXPORTER, Metrics
from lib.rtsp_server import API, UDP, Tunnel, make, port_pair

KINDS, TRANSPORTS = ("play", "publish", "pull", "forward"), ("tcp", "udp", "http-tunnel")


def sessions(metrics):
    """Those that are not 0."""
    found = {(kind, how): metrics.value("srs_rtsp_sessions", kind=kind, transport=how) for kind in KINDS for how in TRANSPORTS}
    assert None not in found.values(), f"each kind and transport should have a sample: {found}"
    return {key: value for key, value in found.items() if value}


def wait_sessions(server, want):
    wait_until(lambda: sessions(Metrics(server)) == want, 15, lambda: f"sessions should be {want}, they are {sessions(Metrics(server))}")


def pulls(metrics):
    return {state: metrics.value("srs_rtsp_pulls", state=state) for state in ("idle", "connecting", "streaming", "waiting")}


def exporting(servers, *ingests, more="", **options):
    rtp, _ = port_pair()
    server = make(servers, UDP.replace("UDP_PORT", str(rtp)), " ".join(ingests) + more, top=API + EXPORTER % "", **options)
    server.udp_port = rtp
    return server


def report(lost):
    """A receiver report of one source."""
    return struct.pack("!BBHIIB3sIIII", 0x81, 201, 7, 1, 2, 0, lost.to_bytes(3, "big"), 0, 0, 0, 0)


def test_sessions_and_losses(servers):
    tags = media.tags(media.plain())
    with Recorder(transports=("udp",)) as recorder, contextlib.ExitStack() as stack:
        server = exporting(servers, more=f"forward {{ enabled on; destination {recorder.url()}; }}")
        before = Metrics(server)
        assert sessions(before) == {} and sum(pulls(before).values()) == 0, f"nothing should be there yet: {before.text}"
        publisher = stack.enter_context(rtsp.Publisher(server.rtc_port))
        publisher.record(rtsp.url(server, "live/s"), tags)
        stack.enter_context(publishing.Steady(publisher, tags))
        wait_sessions(server, {("publish", "tcp"): 1, ("forward", "udp"): 1})
        by_tcp, by_udp = (stack.enter_context(rtsp.client(server)) for _ in range(2))
        by_tunnel = stack.enter_context(Tunnel(server))
        for player in (by_tcp, by_tunnel):
            player.play(rtsp.url(server, "live/s"))
        by_udp.play_udp(rtsp.url(server, "live/s"))
        players = {("play", how): 1 for how in TRANSPORTS}
        wait_sessions(server, {("publish", "tcp"): 1, ("forward", "udp"): 1, **players})
        assert by_udp.read_datagrams(5, lambda got: len(got) > 50), "datagrams should come"
        for channel, lost in ((1, 7), (3, 2), (1, 3), (1, 9), (1, 0xFFFFFF)):
            by_udp.udp[channel].sendto(report(lost), ("127.0.0.1", server.udp_port + 1))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for port in (server.udp_port, server.udp_port + 1):
                stranger.sendto(report(1000), ("127.0.0.1", port))

        def counted():
            now = Metrics(server)
            refused = now.value("srs_rtsp_datagrams_refused_total", reason="no-session")
            return (now.value("srs_rtsp_player_lost_total"), refused) == (11, 2)

        wait_until(counted, 5, lambda: f"9 and 2 packets should be lost, 2 datagrams refused: {Metrics(server).text}")
        now = Metrics(server)
        assert now.value("srs_rtsp_datagrams_total", direction="out") > 50 and now.value("srs_rtsp_datagrams_total", direction="in") >= 7, now.text
        for direction in ("in", "out"):
            assert now.value("srs_rtsp_datagrams_dropped_total", direction=direction) == 0, now.text
        for player in (by_tcp, by_udp, by_tunnel):
            player.close()
        wait_sessions(server, {("publish", "tcp"): 1, ("forward", "udp"): 1})
    wait_sessions(server, {})


def test_pulls(servers):
    nobody = f"rtsp://127.0.0.1:{ports.take()[0]}/s"
    with Camera(camera_tags()) as tcp, Camera(camera_tags(), transports=("udp",)) as udp:
        server = exporting(
            servers, ingest(tcp.url(), "a"), ingest(udp.url(), "b"), ingest(nobody, "c"), ingest(tcp.url("x"), "d", "on_demand on;")
        )
        wait_sessions(server, {("pull", "tcp"): 1, ("pull", "udp"): 1})
        want = {"idle": 1, "connecting": 0, "streaming": 2, "waiting": 1}
        wait_until(lambda: pulls(Metrics(server)) == want, 10, lambda: f"pulls should be {want}: {pulls(Metrics(server))}")
        assert Metrics(server).value("srs_rtsp_pull_attempts") >= 3, Metrics(server).text
        head = next(one[3] for one in udp.requests if "client_port" in one[3])
        port = int(re.search(r"client_port=(\d+)", head)[1])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.bind(("127.0.0.2", 0))
            stranger.sendto(b"\x80" * 20, ("127.0.0.1", port))

        def refused():
            return Metrics(server).value("srs_rtsp_datagrams_refused_total", reason="not-camera")

        wait_until(lambda: refused() == 1, 5, lambda: f"a datagram of another address should be refused: {refused()}")
