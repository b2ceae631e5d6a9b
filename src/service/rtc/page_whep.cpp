#include "service/rtc/pages.h"

namespace service::rtc {

std::string_view whep_page() {
    return R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Play by WHEP</title>
<style>
body { font: 15px sans-serif; margin: 1em auto; max-width: 45em; padding: 0 1em }
input, button { font: inherit; margin: 0.2em 0.4em 0.2em 0 }
#url { width: 100%; box-sizing: border-box }
video { width: 100%; background: #222; margin-top: 0.5em }
#state { white-space: pre-wrap }
</style>
<h1>Play by WHEP</h1>
<p><label>URL <input id="url"></label>
<p><label>Token <input id="token" placeholder="none"></label>
<button id="start">Play</button><button id="stop" disabled>Stop</button>
<p id="state">stopped</p>
<video id="video" autoplay muted controls playsinline></video>
<script>
"use strict";
const $ = id => document.getElementById(id);
const query = new URLSearchParams(location.search);
let peer = null, resource = null, timer = 0;

$("url").value = query.get("url") ||
    `${location.origin}/rtc/v1/whep/?app=${query.get("app") || "live"}&stream=${query.get("stream") || "livestream"}`;
$("start").onclick = () => start().catch(error => stop(`failed: ${error.message || error}`));
$("stop").onclick = () => stop("stopped");
addEventListener("pagehide", () => stop("left"));
if (query.has("autostart")) $("start").click();

function say(text) { $("state").textContent = text; }

function headers(more) {
    const token = $("token").value;
    return token ? {...more, Authorization: `Bearer ${token}`} : more;
}

async function start() {
    $("start").disabled = true;
    $("stop").disabled = false;
    say("asking the server");
    const own = peer = new RTCPeerConnection();
    const stream = new MediaStream();
    $("video").srcObject = stream;
    for (const kind of ["audio", "video"]) own.addTransceiver(kind, {direction: "recvonly"});
    own.ontrack = event => stream.addTrack(event.track);
    own.onconnectionstatechange = () => {
        if (peer !== own) return;
        say(own.connectionState);
        if (own.connectionState === "failed") stop("the connection failed");
    };
    // Without this stereo is mixed down to mono.
    const offer = await own.createOffer();
    offer.sdp = offer.sdp.replace(/(a=fmtp:\d+ .*useinbandfec=1)(?!.*stereo)/g, "$1;stereo=1");
    await own.setLocalDescription(offer);
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
    const lines = [own.connectionState];
    for (const one of (await own.getStats()).values())
        if (one.type === "inbound-rtp")
            lines.push(`${one.kind}: ${one.packetsReceived} packets, ${one.packetsLost} lost` +
                (one.kind === "video" ? `, ${one.frameWidth || 0}x${one.frameHeight || 0}, ${one.framesPerSecond || 0} frames/s` : ""));
    if (peer === own) say(lines.join("\n"));
}

function stop(why) {
    clearInterval(timer);
    if (resource) fetch(resource, {method: "DELETE", headers: headers({}), keepalive: true}).catch(() => {});
    if (peer) peer.close();
    $("video").srcObject = peer = resource = null;
    $("start").disabled = false;
    $("stop").disabled = true;
    say(why);
}
</script>
</html>
)html";
}

}  // namespace service::rtc
