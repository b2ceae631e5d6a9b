"""What is wrong comes first: among 300 streams the sick one is on the first screen of the overview and of the list, in words,
in both languages and on every width; pictures of streams are fetched for what is seen."""

import re

import pytest

from lib import page
from lib.console_api import ConsoleApi
from lib.console_server import assert_on_screen
from lib.timing import wait_until

pytestmark = pytest.mark.skipif(not page.is_there(), reason="needs chromium and the pages (make console)")

LOOKS = {
    "phone": {"size": page.PHONE, "dark": True},
    "tablet": {"size": (768, 900)},
    "desktop": {},
    "wide": {"size": (1600, 1000), "dark": True},
}


@pytest.fixture(scope="module")
def chromium():
    with page.browser() as browser:
        yield browser


@pytest.fixture
def many():
    made = ConsoleApi(300, 300, is_sick=True)
    yield made
    made.close()


@pytest.mark.parametrize("look", LOOKS)
def test_the_sick_stream_is_on_the_first_screen(many, chromium, look):
    with page.opened(chromium, many.url, **LOOKS[look]) as tab:
        sick = ".attention li[data-stream='live/cam00207']"
        assert_on_screen(tab, sick)
        words = tab.page.inner_text(sick)
        assert "keyframe age" in words and "34 s" in words and "every 2 s" in words, words
        tab.page.wait_for_timeout(3000)
        tab.screenshot(f"console-attention-{look}")
        tab.check_accessible()
        tab.check_width()
        tab.page.click(".attention-links a:has-text('Broken')")
        tab.page.wait_for_selector(".vt-rows .vt-row:not(.vt-missing)")
        wait_until(lambda: tab.page.get_attribute(".bar-count", "data-total") == "1", 10, "the list has the sick one alone")
        assert tab.page.get_attribute(".filters [aria-current]", "data-filter") == "sick"
        tab.page.click(".filters [data-filter='']")
        wait_until(lambda: tab.page.get_attribute(".bar-count", "data-total") == "300", 10, "the list has all")
        assert_on_screen(tab, ".vt-rows [aria-rowindex='2']:has-text('cam00207')")
        assert_on_screen(tab, ".vt-rows [aria-rowindex='3']:has-text('cam00113')")
        tab.page.wait_for_timeout(1500)
        tab.screenshot(f"console-streams-{look}")
        tab.check_accessible()
        tab.check_width()


def test_in_chinese(many, chromium):
    with page.opened(chromium, many.url, language="zh-CN") as tab:
        tab.page.wait_for_selector(".attention li")
        words = tab.page.inner_text(".attention")
        assert "关键帧间隔时间" in words and "34 秒" in words, words
        # Units and names of the house stay.
        rest = re.sub(r"live/cam\d+|fps|HLS|GOP|WebRTC", "", words)
        assert not re.search(r"[A-Za-z]{3}", rest), f"English in the Chinese page: {rest}"


def test_pictures_of_what_is_seen(many, chromium):
    """Not of rows that scroll by, and not again for each update of the list."""
    with page.opened(chromium, many.url + "#/streams") as tab:
        wait_until(lambda: tab.page.locator(".thumbnail img").count() > 5, 20, "pictures are shown")
        tab.page.wait_for_timeout(4000)
        pictures = [one for one in many.asked if "snapshot.jpg" in one]
        shown = tab.page.locator(".thumbnail").count()
        assert len(pictures) == len(set(pictures)) <= shown, f"one picture for each of at most {shown} rows: {pictures}"
        many.asked.clear()
        tab.page.evaluate("(() => { const list = document.querySelector('.vt'); let n = 0; const step = () => { list.scrollTop += 700; if (++n < 8) setTimeout(step, 100); }; step(); })()")
        tab.page.wait_for_timeout(2500)
        later = [one for one in many.asked if "snapshot.jpg" in one]
        assert len(later) < 60, f"rows that scrolled by have no pictures: {len(later)}"


def test_how_many_of_all(many, chromium):
    with page.opened(chromium, many.url + "#/streams") as tab:
        wait_until(lambda: tab.page.inner_text(".bar-count") == "total: 300", 10, lambda: tab.page.inner_text(".bar-count"))
        tab.page.fill("input[type=search]", "cam00207")
        wait_until(lambda: tab.page.inner_text(".bar-count") == "1 of 300", 10, lambda: tab.page.inner_text(".bar-count"))
        high = tab.page.locator(".vt").bounding_box()["height"]
        assert high < 140, f"a box of one row is {high} px high"
