"""A server with the console, whose API is on the port of HTTP, too."""

import re

from . import api, page
from .timing import wait_until


def start(servers, top="", **options):
    server = servers.make(top=f"{top}{api.ON}console {{ dir {page.OBJS}/nginx/pages; }}\n", **options)
    listen = f"listen 127.0.0.1:{server.api_port}"
    server.conf = server.conf.replace(listen, f"{listen} 127.0.0.1:{server.http_port}")
    server.conf_path.write_text(server.conf)
    return server.start()


def console(server, path=""):
    return f"http://127.0.0.1:{server.http_port}/console/{path}"


def wait_text(tab, selector, pattern, seconds=15):
    """Until an element of these has a text with the pattern in it."""

    def there():
        return any(re.search(pattern, one) for one in tab.page.locator(selector).all_inner_texts())

    wait_until(there, seconds, lambda: f"{selector} shows {pattern!r}: {tab.page.locator(selector).all_inner_texts()}")


def assert_on_screen(tab, selector):
    tab.page.wait_for_selector(selector)
    box = tab.page.locator(selector).first.bounding_box()
    height = tab.page.evaluate("innerHeight")
    assert box["y"] >= 0 and box["y"] + box["height"] <= height, f"{selector} should be on the first screen of {height} px: {box}"
