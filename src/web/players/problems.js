// Words for what went wrong, and what to do.
import { t } from "../shared/i18n.js";
import { DEFAULT_PLACE } from "./address.js";

// A function per kind of Problem: { title, advice }. Evaluated when shown, in the page's language.
const WORDS = {
    "bad-address": () => ({
        title: t("This is not an address"),
        advice: t("An address is complete, as in https://example.com/live/livestream.flv."),
    }),
    "bad-scheme": ({ detail }) => ({
        title: t("Addresses of {scheme} are not played", { scheme: detail }),
        advice: t("Use http, https, ws or wss. RTMP is for programs such as ffplay and VLC."),
    }),
    "credentials-in-address": () => ({
        title: t("The address has a user name or password"),
        advice: t("Browsers do not send these for streams. Use a signed URL or a token."),
    }),
    "wrong-protocol": ({ detail }) => ({
        title: t("This protocol does not use addresses of {scheme}", { scheme: detail }),
        advice: t("Choose WS-FLV for ws and wss, and another one for http and https."),
    }),
    "mixed-content": () => ({
        title: t("A page by HTTPS cannot play a stream by HTTP"),
        advice: t("Use the https or wss address of the stream, or open this page by http."),
    }),
    "not-found": () => ({
        title: t("There is no such stream"),
        advice: t("Check the names, and that the protocol is enabled for this vhost (http_remux, hls, dash, rtc)."),
    }),
    unpublished: () => ({
        title: t("Nobody publishes this stream"),
        advice: t("Start the encoder, or publish from this browser by WebRTC."),
    }),
    "not-ready": () => ({
        title: t("The first segment is not ready yet"),
        advice: t("The stream is published. HLS and DASH begin when their first segment is complete, where they are enabled for this vhost (hls, dash)."),
    }),
    forbidden: () => ({
        title: t("The server refuses this stream"),
        advice: t("The address may need a signature or token, or this machine is not allowed (security, refer, hooks)."),
    }),
    busy: () => ({
        title: t("Somebody else publishes this stream"),
        advice: t("Choose another stream name, or end the other publisher."),
    }),
    overload: () => ({
        title: t("The server has too many clients"),
        advice: t("It limits them (max_connections, address_limits, circuit_breaker), or it is stopping."),
    }),
    status: ({ status }) => ({
        title: t("The server answered with status {status}", { status }),
        advice: t("Its reason is below."),
    }),
    codec: () => ({
        title: t("This browser does not play the codec of the stream"),
        advice: t("H.264 and AAC play everywhere; WebRTC needs H.264, VP8, VP9 or AV1, and Opus (rtmp_to_rtc converts AAC)."),
    }),
    "new-track": () => ({
        title: t("Audio or video was added to the stream"),
        advice: t("The player begins again, with all of it."),
    }),
    media: () => ({
        title: t("The stream cannot be decoded"),
        advice: t("Look at the encoder's log, and try another protocol."),
    }),
    "no-mse": () => ({
        title: t("This browser cannot play this protocol"),
        advice: t("It has no Media Source Extensions. Try HLS or WebRTC."),
    }),
    "no-webrtc": () => ({
        title: t("This browser has no WebRTC"),
        advice: t("Try HLS or HTTP-FLV."),
    }),
    network: () => ({
        title: t("The server cannot be reached, or the connection was lost"),
        advice: t("Check the network and the address. A server of another origin must allow it by CORS."),
    }),
    "no-candidate": ({ detail }) => ({
        title: t("The media of WebRTC cannot reach this browser"),
        advice: detail
            ? t("The server named {addresses}. Set CANDIDATE to an address by which this browser reaches the server, and open that port for UDP, or enable rtc_server.tcp.", { addresses: detail })
            : t("The server named no address. Set CANDIDATE to an address by which this browser reaches it."),
    }),
    "bad-answer": () => ({
        title: t("The browser does not accept the server's answer"),
        advice: t("Its reason is below."),
    }),
    ended: () => ({
        title: t("The stream has ended"),
        advice: t("It plays again when it is published again."),
    }),
    stalled: () => ({
        title: t("Nothing arrives any more"),
        advice: t("The encoder or the network has stopped."),
    }),
    "no-media": () => ({
        title: t("The connection is there, but no media arrives"),
        advice: t("Check that the stream has video or audio that this protocol carries."),
    }),
    "no-camera": () => ({
        title: t("There is no camera or microphone"),
        advice: t("Connect one, or publish the test pattern."),
    }),
    "camera-denied": () => ({
        title: t("The browser may not use the camera or the screen"),
        advice: t("Allow it in the browser's settings for this page."),
    }),
    "insecure-page": () => ({
        title: t("Browsers allow the camera and the screen only for https and localhost"),
        advice: t("Open this page by https, or publish the test pattern."),
    }),
    "source-ended": () => ({
        title: t("The source was switched off"),
        advice: t("Start it again to go on."),
    }),
    "check-off": () => ({
        title: t("This server does not offer the check, or it took too long"),
        advice: t("Its operator switches it on: bandwidth_check { enabled on; }."),
    }),
    "check-busy": () => ({
        title: t("Too many checks are under way"),
        advice: t("The server limits them, of an address and in all. Try again in a minute."),
    }),
    "check-refused": () => ({
        title: t("The server refuses the check"),
        advice: t("It is for pages of this server alone. A proxy between must pass the fields Host and Origin."),
    }),
    unexpected: () => ({
        title: t("Something unexpected happened"),
        advice: t("Its reason is below."),
    }),
};

const NO_DETAIL = ["no-candidate", "bad-scheme", "wrong-protocol"];

// detail: what a server or the browser said, or "".
export function wordsOf(problem) {
    const { title, advice } = (WORDS[problem.kind] ?? WORDS.unexpected)(problem);
    const status = problem.status ? `${problem.status} ` : "";
    return { title, advice, detail: NO_DETAIL.includes(problem.kind) ? "" : `${status}${problem.detail}`.trim() };
}

export const placeText = ({ vhost, app, stream }) => `${vhost && vhost !== DEFAULT_PLACE.vhost ? `${vhost} ` : ""}${app}/${stream}`;
