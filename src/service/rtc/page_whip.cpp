#include "service/rtc/pages.h"

namespace service::rtc {

std::string_view whip_page() {
    return R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Publish by WHIP</title>
<style>
body { font: 15px sans-serif; margin: 1em auto; max-width: 45em; padding: 0 1em }
input, select, button { font: inherit; margin: 0.2em 0.4em 0.2em 0 }
#url { width: 100%; box-sizing: border-box }
video { width: 100%; background: #222; margin-top: 0.5em }
#state { white-space: pre-wrap }
</style>
<h1>Publish by WHIP</h1>
<p><label>URL <input id="url"></label>
<p><label>Source <select id="source"><option value="camera">camera and microphone<option value="screen">screen</select></label>
<label>Video <select id="codec"><option value="">any codec<option>H264<option>VP8<option>VP9<option>AV1</select></label>
<label>Token <input id="token" placeholder="none"></label>
<p><button id="start">Publish</button><button id="stop" disabled>Stop</button>
<p id="state">stopped</p>
<video id="preview" autoplay muted playsinline></video>
<script>
"use strict";
const $ = id => document.getElementById(id);
const query = new URLSearchParams(location.search);
let peer = null, resource = null, timer = 0;

$("url").value = query.get("url") ||
    `${location.origin}/rtc/v1/whip/?app=${query.get("app") || "live"}&stream=${query.get("stream") || "livestream"}`;
$("codec").value = query.get("codec") || "";
$("start").onclick = () => start().catch(error => stop(`failed: ${error.message || error}`));
$("stop").onclick = () => stop("stopped");
addEventListener("pagehide", () => stop("left"));
if (query.has("autostart")) $("start").click();

function say(text) { $("state").textContent = text; }

function headers(more) {
    const token = $("token").value;
    return token ? {...more, Authorization: `Bearer ${token}`} : more;
}

function open() {
    if (!navigator.mediaDevices)
        throw new Error("this browser gives cameras to pages of https:// and of localhost alone");
    if ($("source").value === "screen") return navigator.mediaDevices.getDisplayMedia({audio: true, video: true});
    return navigator.mediaDevices.getUserMedia({audio: true, video: {width: {ideal: 1280}, height: {ideal: 720}}});
}

function preferCodec(transceiver, name) {
    if (!name || !transceiver.setCodecPreferences) return;
    const all = RTCRtpSender.getCapabilities("video").codecs;
    const wanted = all.filter(codec => [`video/${name}`, "video/rtx"].includes(codec.mimeType));
    if (!wanted.some(codec => codec.mimeType === `video/${name}`)) throw new Error(`this browser has no ${name}`);
    transceiver.setCodecPreferences(wanted);
}

async function start() {
    $("start").disabled = true;
    say("asking for the source");
    const stream = await open();
    $("preview").srcObject = stream;
    $("stop").disabled = false;
    const own = peer = new RTCPeerConnection();
    for (const track of stream.getTracks()) {
        const transceiver = own.addTransceiver(track, {direction: "sendonly", streams: [stream]});
        if (track.kind === "video") preferCodec(transceiver, $("codec").value);
        track.onended = () => stop("the source ended");
    }
    own.onconnectionstatechange = () => {
        if (peer !== own) return;
        say(own.connectionState);
        if (own.connectionState === "failed") stop("the connection failed");
    };
    await own.setLocalDescription();
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
        if (one.type === "outbound-rtp")
            lines.push(`${one.kind}: ${one.packetsSent} packets, ${Math.round(one.bytesSent / 1000)} kB` +
                (one.kind === "video" ? `, ${one.framesPerSecond || 0} frames/s` : ""));
    if (peer === own) say(lines.join("\n"));
}

function stop(why) {
    clearInterval(timer);
    if (resource) fetch(resource, {method: "DELETE", headers: headers({}), keepalive: true}).catch(() => {});
    if (peer) peer.close();
    if ($("preview").srcObject) for (const track of $("preview").srcObject.getTracks()) track.stop();
    $("preview").srcObject = peer = resource = null;
    $("start").disabled = false;
    $("stop").disabled = true;
    say(why);
}
</script>
</html>
)html";
}

}  // namespace service::rtc
