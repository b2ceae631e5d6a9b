"""The console's page that says why a URL does not play."""

import re

import pytest

from lib import api, media, page, publishing, rtmp
from lib.timing import wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="needs chromium and the pages (make console)")

LOOKS = {"light": {}, "phone": {"size": page.PHONE, "dark": True}}


@pytest.fixture(scope="module")
def chromium():
    with page.browser() as browser:
        yield browser


def wait_text(tab, selector, pattern):
    def there():
        return any(re.search(pattern, one) for one in tab.page.locator(selector).all_inner_texts())

    wait_until(there, 15, lambda: f"{selector} shows {pattern!r}: {tab.page.locator(selector).all_inner_texts()}")


@pytest.mark.parametrize("look", LOOKS)
def test_the_line_that_is_missing(servers, chromium, look):
    server = servers.make(top=f"{api.ON}console {{ dir {page.OBJS}/nginx/pages; }}\n")
    listen = f"listen 127.0.0.1:{server.api_port}"
    server.conf = server.conf.replace(listen, f"{listen} 127.0.0.1:{server.http_port}")
    server.conf_path.write_text(server.conf)
    server.start()
    tags = media.from_keyframe(media.frequent_keyframes())
    with publishing.Steady(rtmp.publisher(server, "live", "s"), tags) as steady:
        wait_until(lambda: steady.sent, 5, "the publisher sends")
        address = f"http://127.0.0.1:{server.http_port}/console/#/why"
        with page.opened(chromium, address, **LOOKS[look]) as tab:
            tab.page.fill("input[name=url]", f"http://127.0.0.1:{server.http_port}/live/s.m3u8")
            tab.page.click("main form button")
            wait_text(tab, "[data-why=bad]", "HLS is not enabled in vhost")
            wait_text(tab, "[data-check='protocol of the vhost'] code",
                      r"^vhost __defaultVhost__ \{ hls \{ enabled on; \} \}$")  # fmt: skip
            tab.check_accessible()
            tab.check_width()
            tab.screenshot(f"console-why-{look}")
            tab.page.fill("input[name=url]", server.rtmp_url("live/s"))
            tab.page.click("main form button")
            wait_text(tab, "[data-check=playing]", r"[1-9]\d* video and [1-9]\d* audio frames")
