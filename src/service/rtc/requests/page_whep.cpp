#include "service/rtc/requests/pages.h"

namespace service::rtc {

PageParts whep_page() {
    return {
        .title = "Play by WHEP",
        .controls = R"html(
<p><label>URL <input id="url"></label>
<p><label>Token <input id="token" placeholder="none"></label>
<button id="start">Play</button><button id="stop" disabled>Stop</button>
<p id="state">stopped</p>
<video id="video" autoplay muted controls playsinline></video>
)html",
        .script = R"html(
async function start() {
    $("start").disabled = true;
    say("asking the server");
    const own = connection();
    const stream = new MediaStream();
    $("video").srcObject = stream;
    for (const kind of ["audio", "video"]) own.addTransceiver(kind, {direction: "recvonly"});
    own.ontrack = event => stream.addTrack(event.track);
    // Without this stereo is mixed down to mono.
    const offer = await own.createOffer();
    offer.sdp = offer.sdp.replace(/(a=fmtp:\d+ .*useinbandfec=1)(?!.*stereo)/g, "$1;stereo=1");
    await own.setLocalDescription(offer);
    await exchange(own);
}

function describe(one) {
    if (one.type !== "inbound-rtp") return "";
    return `${one.kind}: ${one.packetsReceived} packets, ${one.packetsLost} lost` +
        (one.kind === "video" ? `, ${one.frameWidth || 0}x${one.frameHeight || 0}, ${one.framesPerSecond || 0} frames/s` : "");
}

run("whep");
)html",
    };
}

}  // namespace service::rtc
