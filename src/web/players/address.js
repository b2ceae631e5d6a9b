// Addresses: of a stream by each protocol, of this page with what it plays, and what of a foreign address is accepted.
import { at } from "../shared/base.js";

// The order of the pages. `ws-flv` and `flv` are played by mpegts.js, `hls` and `ll-hls` by hls.js, `dash` by
// shaka-player, `whep` by rtc.js.
export const PROTOCOLS = ["flv", "ws-flv", "hls", "ll-hls", "dash", "whep"];
// Without what a vhost has only where it was switched on.
export const USUAL = PROTOCOLS.filter((one) => one !== "dash");
export const NAMES = { flv: "HTTP-FLV", "ws-flv": "WS-FLV", hls: "HLS", "ll-hls": "LL-HLS", dash: "DASH", whep: "WebRTC (WHEP)", whip: "WebRTC (WHIP)" };
export const DEFAULT_PLACE = { vhost: "", app: "live", stream: "livestream" };

// What the address ends with. LL-HLS is the same playlist, played with its parts.
const ENDINGS = { hls: "m3u8", "ll-hls": "m3u8", dash: "mpd" };
export const hasSegments = (protocol) => protocol in ENDINGS;

const SCHEMES = ["http:", "https:", "ws:", "wss:"];
// Below this server, whatever a link says: a name of an app or a stream has no empty part, and none of dots alone.
const path = (text) => text.split("/").filter((one) => !["", ".", ".."].includes(one)).map(encodeURIComponent).join("/");

// The absolute address of a stream of this server. place: vhost ("": by the page's host), app, stream. more: further
// parameters, of a signed URL or for hooks.
export function streamUrl(protocol, { vhost, app, stream }, more = "") {
    const query = new URLSearchParams(more);
    if (protocol === "whep" || protocol === "whip") {
        query.set("app", app);
        query.set("stream", stream);
    }
    if (vhost) query.set("vhost", vhost);
    const text = `${query}` ? `?${query}` : "";
    if (protocol === "whep" || protocol === "whip") return at(`rtc/v1/${protocol}/${text}`);
    const url = at(`${path(app)}/${path(stream)}.${ENDINGS[protocol] ?? "flv"}${text}`);
    return protocol === "ws-flv" ? url.replace(/^http/, "ws") : url;
}

// What is wrong with an address that a link or a visitor gave: a problem (see problems.js), or null. Only what a player
// can fetch is let through: javascript:, data:, file: and the like are not.
export function addressProblem(text, protocol) {
    let url;
    try {
        url = new URL(text);
    } catch {
        return { kind: "bad-address", detail: text };
    }
    if (!SCHEMES.includes(url.protocol)) return { kind: "bad-scheme", detail: url.protocol };
    if (url.username || url.password) return { kind: "credentials-in-address" };
    const isSocket = url.protocol.startsWith("ws");
    if (isSocket !== (protocol === "ws-flv")) return { kind: "wrong-protocol", detail: url.protocol };
    if (location.protocol === "https:" && (url.protocol === "http:" || url.protocol === "ws:")) return { kind: "mixed-content" };
    return null;
}

// The protocol that an address looks like.
export function protocolOf(text) {
    if (/^wss?:/i.test(text)) return "ws-flv";
    const name = text.split(/[?#]/)[0];
    if (/\.m3u8$/i.test(name)) return "hls";
    if (/\.mpd$/i.test(name)) return "dash";
    if (/\/whip\/?$/i.test(name)) return "whip";
    if (/\/(whep|whip-play)\/?$/i.test(name)) return "whep";
    return "flv";
}

// What the page's address asks for. view: a protocol, "whip" or "compare". url: "" for a stream of this server.
export function readRequest(search, views) {
    const query = new URLSearchParams(search);
    const url = query.get("url") ?? "";
    const wanted = query.get("protocol") ?? (url ? protocolOf(url) : "flv");
    return {
        view: views.includes(wanted) ? wanted : "flv",
        vhost: query.get("vhost") ?? DEFAULT_PLACE.vhost,
        app: query.get("app") || DEFAULT_PLACE.app,
        stream: query.get("stream") || DEFAULT_PLACE.stream,
        url,
        autostart: query.has("autostart") && !["0", "false", "no", "off"].includes(query.get("autostart")),
    };
}

const OWN = ["app", "stream", "vhost", "protocol"];

// The stream that the address of a page for one stream names. more: the parameters that are not the page's but the
// stream's, of a signed URL or for hooks. query: URLSearchParams.
export function readPlace(query) {
    const place = { vhost: query.get("vhost") ?? "", app: query.get("app") || DEFAULT_PLACE.app, stream: query.get("stream") || DEFAULT_PLACE.stream };
    return { place, more: `${new URLSearchParams([...query].filter(([name]) => !OWN.includes(name)))}` };
}

// The address of the players' page that shows the same.
export function pageUrl({ view, vhost, app, stream, url = "", autostart = false }) {
    const query = new URLSearchParams({ protocol: view });
    if (url) {
        query.set("url", url);
    } else {
        query.set("app", app);
        query.set("stream", stream);
        if (vhost) query.set("vhost", vhost);
    }
    if (autostart) query.set("autostart", "true");
    return at(`players/?${query}`);
}

// The address of the player for pages of other sites. more: as of streamUrl.
export function embedUrl({ vhost, app, stream }, more = "") {
    const query = new URLSearchParams({ app, stream });
    if (vhost) query.set("vhost", vhost);
    const rest = `${new URLSearchParams(more)}`;
    return at(`players/embed.html?${query}${rest && `&${rest}`}`);
}
