"""Debian's Firefox on the page of the WebRTC tests. It has VP8, VP9, AV1 and Opus, and no H.264."""

import json
import shutil
import urllib.parse

from . import browser, rtc

PROGRAM = shutil.which("firefox-esr")
# Firefox begins no check from loopback or a network without a default route, and with the first three from no other. The rest:
# a made camera and microphone, no questions, no requests of its own.
PREFS = {
    "media.peerconnection.ice.loopback": True,
    "media.peerconnection.ice.obfuscate_host_addresses": False,
    "media.peerconnection.mtransport_process": False,
    "network.process.enabled": False,
    "media.navigator.streams.fake": True,
    "media.navigator.permission.disabled": True,
    "media.autoplay.default": 0,
    "media.autoplay.blocking_policy": 0,
    "browser.shell.checkDefaultBrowser": False,
    "browser.aboutwelcome.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.normandy.enabled": False,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "media.gmp-manager.url": "",
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "",
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}


class Page(rtc.Page):
    """rtc_page.html; see there for the options."""

    def words(self, directory, flags, url):
        directory.mkdir(parents=True)
        (directory / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFS.items()))
        return [PROGRAM, "--headless", "--no-remote", "--profile", directory, url]
