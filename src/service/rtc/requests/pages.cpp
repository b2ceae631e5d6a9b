#include "service/rtc/requests/pages.h"

#include <string>

namespace service::rtc {
namespace {

constexpr std::string_view kHead = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<style>
body { font: 15px sans-serif; margin: 1em auto; max-width: 45em; padding: 0 1em }
input, select, button { font: inherit; margin: 0.2em 0.4em 0.2em 0 }
#url { width: 100%; box-sizing: border-box }
video { width: 100%; background: #222; margin-top: 0.5em }
#state { white-space: pre-wrap }
</style>
)html";

// A page defines start(), which creates a connection() and an offer and passes it to exchange(), and describe(), which
// returns the line for a statistic or nothing; then it calls run().
constexpr std::string_view kScript = R"html("use strict";
const $ = id => document.getElementById(id);
const query = new URLSearchParams(location.search);
let peer = null, resource = null, timer = 0;

function run(endpoint) {
    $("url").value = query.get("url") || `${location.origin}/rtc/v1/${endpoint}/` +
        `?app=${query.get("app") || "live"}&stream=${query.get("stream") || "livestream"}`;
    $("start").onclick = () => start().catch(error => stop(`failed: ${error.message || error}`));
    $("stop").onclick = () => stop("stopped");
    addEventListener("pagehide", () => stop("left"));
    if (query.has("autostart")) $("start").click();
}

function say(text) { $("state").textContent = text; }

function headers(more) {
    const token = $("token").value;
    return token ? {...more, Authorization: `Bearer ${token}`} : more;
}

function connection() {
    $("stop").disabled = false;
    const own = peer = new RTCPeerConnection();
    own.onconnectionstatechange = () => {
        if (peer !== own) return;
        say(own.connectionState);
        if (own.connectionState === "failed") stop("the connection failed");
    };
    return own;
}

async function exchange(own) {
    const answer = await fetch($("url").value, {
        method: "POST", headers: headers({"Content-Type": "application/sdp"}), body: own.localDescription.sdp});
    const text = await answer.text();
    if (answer.status !== 201) throw new Error(`${answer.status} ${text}`);
    resource = new URL(answer.headers.get("Location"), $("url").value).href;
    if (peer !== own) return stop("stopped");
    await own.setRemoteDescription({type: "answer", sdp: text});
    timer = setInterval(() => report(own), 1000);
}

async function report(own) {
    const statistics = [...(await own.getStats()).values()];
    if (peer === own) say([own.connectionState, ...statistics.map(describe).filter(line => line)].join("\n"));
}

function stop(why) {
    clearInterval(timer);
    if (resource) fetch(resource, {method: "DELETE", headers: headers({}), keepalive: true}).catch(() => {});
    if (peer) peer.close();
    if ($("video").srcObject) for (const track of $("video").srcObject.getTracks()) track.stop();
    $("video").srcObject = peer = resource = null;
    $("start").disabled = false;
    $("stop").disabled = true;
    say(why);
}
)html";

std::string whole(const PageParts& parts) {
    std::string page(kHead);
    page.append("<title>").append(parts.title).append("</title>\n<h1>").append(parts.title).append("</h1>");
    page.append(parts.controls).append("<script>\n").append(kScript).append(parts.script);
    return page.append("</script>\n</html>\n");
}

}  // namespace

std::span<const Page> pages() {
    static const std::string kWhip = whole(whip_page());
    static const std::string kWhep = whole(whep_page());
    static const Page kPages[] = {
        {"/players/whip.html", "A page that publishes by WHIP", kWhip},
        {"/players/whep.html", "A page that plays by WHEP", kWhep},
    };
    return kPages;
}

}  // namespace service::rtc
