"""The console after an upgrade, while the process before has clients."""

import pytest

from lib import api, edges, page
from lib.console_server import console, start, wait_text
from lib.timing import wait_until
from lib.upgrades import Upgrades

pytestmark = pytest.mark.skipif(not page.is_there(), reason="needs chromium and the pages (make console)")


@pytest.fixture(scope="module")
def chromium():
    with page.browser() as browser:
        yield browser


def test_the_log_of_both_processes(servers, chromium):
    server = start(servers)
    with Upgrades(server) as upgrades, edges.steady(server, "s"), page.opened(chromium, console(server, "#/log")) as tab:
        choice = tab.page.locator("select[name=process]")
        wait_text(tab, ".log-text", "live/s")
        assert choice.count() == 0, "there is one process"
        upgrades.upgrade()
        choice.wait_for()
        assert str(server.pid) in choice.inner_text(), choice.inner_text()
        wait_text(tab, ".log-text", "upgrade: this process serves from now on")
        choice.select_option("earlier")
        wait_text(tab, ".log-text", f"process {upgrades.pid} .*serves new clients from now on")
        texts = tab.page.locator(".log-text").all_inner_texts()
        assert not any("this process serves from now on" in one for one in texts), f"lines of the other one: {texts}"
        tab.check_accessible()
        tab.check_width()
        tab.page.set_viewport_size({"width": page.PHONE[0], "height": page.PHONE[1]})
        tab.check_width()
        tab.screenshot("console-log-earlier")
        api.ask(server, "/api/v1/upgrade", "DELETE")
        wait_until(lambda: choice.count() == 0, 20, "the choice goes with the process")
        wait_text(tab, ".log-text", "upgrade: this process serves from now on")
        # A call on its way to the process that ends may fail.
        tab.errors[:] = [text for text in tab.errors if "process=earlier" not in text]
