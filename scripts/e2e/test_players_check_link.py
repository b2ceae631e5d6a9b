"""The check of the connection over links of known rates, between network namespaces: what it says is within 15 % of them."""

import contextlib

import pytest

from lib import link, page, players
from lib.timing import wait_until
from test_players_check import CONF, RTC, measure, shown

pytestmark = [
    pytest.mark.serial,
    pytest.mark.skipif(not page.is_there(), reason="scripts/test installs Chromium and bundles the pages"),
    pytest.mark.skipif(not link.is_there(), reason="network namespaces and /dev/net/tun are for root"),
]

# Mbit/s down and up, and the loss.
LINKS = {"slow": (2, 2, 0), "adsl": (8, 2, 0), "fast": (50, 20, 0), "lossy": (8, 4, 0.01)}


@contextlib.contextmanager
def checking(servers, *arguments, **options):
    """The page, at the other end of such a link."""
    with link.between(*arguments, rtt_ms=40, **options) as between:
        server = servers.make(top=CONF.replace("candidate 127.0.0.1", f"candidate {link.NEAR}") % "", vhosts=players.VHOST)
        listen = f"listen 127.0.0.1:{server.http_port}"
        server.conf_path.write_text(server.conf.replace(listen, f"{listen} {link.NEAR}:{server.http_port}"))
        with between.near.entered():
            server.start()
        with between.far.entered(), page.browser() as chromium:
            url = f"http://{link.NEAR}:{server.http_port}/players/check.html"
            with page.opened(chromium, url, hosts=[link.NEAR]) as opened:
                yield opened


@pytest.mark.parametrize("name", LINKS)
def test_within_15_percent(servers, name):
    down, up, loss = LINKS[name]
    with checking(servers, down, up, loss=loss) as opened:
        rates = measure(opened)
        opened.screenshot(f"check-link-{name}")
    # The headers of packets are a part of the link, and not of the data.
    for direction, mbps in (("down", down), ("up", up)):
        kbps = rates[f"{direction}-several"]
        assert 0.85 < kbps / mbps / 1000 < 1.15, f"{direction} {mbps} Mbit/s: {rates}"


def test_webrtc_finds_a_narrow_uplink(servers):
    """The browser's estimate is one of a queue that grows: rough, and seldom above the link."""
    with checking(servers, 8, 1) as opened:
        opened.page.get_by_role("button", name="Measure WebRTC").click()
        wait_until(lambda: opened.page.evaluate(RTC) or opened.page.query_selector(".problem"), 60, lambda: f"figures: {shown(opened)}")
        seen = opened.page.evaluate(RTC)
    print(seen)
    value, unit = seen["rtc-up"].split()
    assert 300 < float(value) * (1000 if unit == "Mbit/s" else 1) < 1300, f"1 Mbit/s: {seen}"
