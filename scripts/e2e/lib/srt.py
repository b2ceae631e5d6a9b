"""Servers with SRT, and URLs of their streams for FFmpeg, srt-live-transmit and GStreamer."""

from . import ffmpeg
from .server import default_vhost

CONF = "srt_server { enabled on; listen 127.0.0.1:RTC_PORT; %s }"
API = "http_api { enabled on; listen 127.0.0.1:API_PORT; }"


def make(servers, srt_server="", vhost="", srt_vhost="", top="", play="mw_latency 0;", **options):
    return servers(
        top=CONF % srt_server + API + top,
        vhosts=default_vhost(vhost=f"srt {{ enabled on; {srt_vhost} }} {vhost}", play=play),
        **options,
    )


def url(server, name, mode="request", port=None, **query):
    """latency: ms."""
    text = f"srt://127.0.0.1:{port or server.rtc_port}?streamid=#!::r={name},m={mode}"
    if "latency" in query:
        query["latency"] *= 1000  # FFmpeg has microseconds
    return text + "".join(f"&{key}={value}" for key, value in query.items())


def publisher(tool, server, source, name="live/s", words=("-c", "copy"), make=ffmpeg.command, port=None, **query):
    """FFmpeg, which sends the file at its own speed."""
    to = url(server, name, "publish", port, **query)
    return tool(make("-re", "-i", source, *words, "-f", "mpegts", to))
