"""What the server finds wrong by itself: the log, /api/v1/alerts and on_alert tell it. Conditions by simulated time are in
the units of service/alerts."""

import signal
import time

from lib import api, edges, hooks
from lib.timing import scaled, wait_until


def alerts(server):
    return api.ask(server, "/api/v1/alerts")["alerts"]


def wait_alert(server, seconds=20, **wanted):
    def found():
        return next((one for one in alerts(server) if all(one[name] == value for name, value in wanted.items())), None)

    wait_until(lambda: found() is not None, seconds, lambda: f"an alert with {wanted}, there are {alerts(server)}")
    return found()


def test_a_publisher_is_gone_and_returns(servers):
    with hooks.HookServer() as asked:
        server = servers(top=api.ON + "alerts { publisher_gone 1; }", vhosts=hooks.vhost(on_alert=asked.url("alert")))
        with edges.steady(server, "cam"):
            api.wait_stream(server, "cam", lambda stream: stream["publish"]["active"])
            time.sleep(1.5)  # a stream that was there for less than publisher_gone is not gone
        lasting = wait_alert(server, alert="publisher-gone", stream="cam", cleared_ms=0)
        assert (lasting["vhost"], lasting["app"]) == ("__defaultVhost__", "live"), lasting
        server.wait_log("alert publisher-gone /live/cam: it was published, and is not any more")
        with edges.steady(server, "cam"):
            wait_until(lambda: alerts(server)[0]["cleared_ms"] > 0, 20, lambda: f"it is over: {alerts(server)}")
        wait_until(lambda: len(asked.bodies("on_alert")) == 2, 10, lambda: f"two reports: {asked.bodies('on_alert')}")
        for body, state in zip(asked.bodies("on_alert"), ("raised", "cleared"), strict=True):
            want = {"alert": "publisher-gone", "state": state, "vhost": "__defaultVhost__", "app": "live", "stream": "cam", "raised_ms": lasting["raised_ms"]}
            assert want.items() <= body.items(), f"on_alert should have {want}, it has {body}"


def test_a_refused_reload_is_told_to_each_vhost(servers):
    with hooks.HookServer() as asked:
        vhosts = hooks.vhost(on_alert=asked.url("alert"))
        server = servers(top=api.ON, vhosts=vhosts + vhosts.replace("__defaultVhost__", "other.example"))
        server.conf_path.write_text(server.conf + "nonsense on;")
        server.signal(signal.SIGHUP)
        assert "nonsense" not in wait_alert(server, alert="reload-refused", cleared_ms=0)["text"], "the log has the reason"
        wait_until(lambda: len(asked.bodies("on_alert")) == 2, 10, lambda: f"a report for each: {asked.bodies('on_alert')}")
        told = sorted((body["vhost"], body["alert"], body["stream"]) for body in asked.bodies("on_alert"))
        assert told == [("__defaultVhost__", "reload-refused", ""), ("other.example", "reload-refused", "")], told
        server.conf_path.write_text(server.conf)
        server.signal(signal.SIGHUP)
        wait_until(lambda: alerts(server)[0]["cleared_ms"] > 0, scaled(20), lambda: f"it is over: {alerts(server)}")
