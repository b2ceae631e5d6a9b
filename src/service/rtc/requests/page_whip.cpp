#include "service/rtc/requests/pages.h"

namespace service::rtc {

PageParts whip_page() {
    return {
        .title = "Publish by WHIP",
        .controls = R"html(
<p><label>URL <input id="url"></label>
<p><label>Source <select id="source"><option value="camera">camera and microphone<option value="screen">screen</select></label>
<label>Video <select id="codec"><option value="">any codec<option>H264<option>VP8<option>VP9<option>AV1</select></label>
<label>Token <input id="token" placeholder="none"></label>
<p><button id="start">Publish</button><button id="stop" disabled>Stop</button>
<p id="state">stopped</p>
<video id="video" autoplay muted playsinline></video>
)html",
        .script = R"html(
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
    $("video").srcObject = stream;
    const own = connection();
    for (const track of stream.getTracks()) {
        const transceiver = own.addTransceiver(track, {direction: "sendonly", streams: [stream]});
        if (track.kind === "video") preferCodec(transceiver, $("codec").value);
        track.onended = () => stop("the source ended");
    }
    await own.setLocalDescription();
    await exchange(own);
}

function describe(one) {
    if (one.type !== "outbound-rtp") return "";
    return `${one.kind}: ${one.packetsSent} packets, ${Math.round(one.bytesSent / 1000)} kB` +
        (one.kind === "video" ? `, ${one.framesPerSecond || 0} frames/s` : "");
}

$("codec").value = query.get("codec") || "";
run("whip");
)html",
    };
}

}  // namespace service::rtc
