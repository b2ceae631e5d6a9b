// The addresses by which a stream is published and played, for every protocol that is on, from the directives in force
// (api/v1/config) and the address of this page. What a proxy or a router makes of ports is not known here.
import { base } from "../shared/base.js";
import { pageUrl, streamUrl } from "../players/address.js";

export const DEFAULT_VHOST = "__defaultVhost__";

// directives: of the configuration, those of the stream's vhost among them.
export function reader(directives) {
    const values = new Map(directives.map((one) => [one.name, one.value]));
    const value = (name) => values.get(name) ?? "";
    return {
        value,
        isOn: (...names) => names.every((name) => value(`${name}/enabled`) === "on"),
        // Of the first address at which it listens; 0: at none.
        ports: (name) => value(name).split(/\s+/).map((word) => Number(word.split(":").at(-1))).filter(Boolean),
    };
}

// Where http_server is: at this page's origin, unless the page came by a port that only the API has.
function httpBase({ ports }) {
    const own = Number(location.port) || (location.protocol === "https:" ? 443 : 80);
    const [http, api] = [ports("http_server/listen"), ports("http_api/listen")];
    if (location.protocol === "https:" || http.includes(own) || !api.includes(own) || !http.length) return base.href;
    return `http://${location.hostname}:${http[0]}/`;
}

const withPort = (port, usual) => (port === usual ? location.hostname : `${location.hostname}:${port}`);
const joined = (path, query) => `${path}${query ? `?${query}` : ""}`;

// The vhost as the address has to name it: "" where it follows from the host.
export const vhostOf = (name) => (name === DEFAULT_VHOST || name === location.hostname ? "" : name);

// [{ key, label, action, url }]. place: vhost ("" as of vhostOf), app, stream; query: what a signed URL has.
export function addressesOf(config, place, query = "") {
    const { isOn, ports, value } = config;
    const http = httpBase(config);
    const web = (protocol) => streamUrl(protocol, place, query).replace(base.href.replace(/^http/, protocol === "ws-flv" ? "ws" : "http"), protocol === "ws-flv" ? http.replace(/^http/, "ws") : http);
    const name = `${place.app}/${place.stream}`;
    const params = `${place.vhost ? `vhost=${place.vhost}${query && "&"}` : ""}${query}`;
    const keys = `${place.vhost && `h=${place.vhost},`}r=${name}`;
    const signed = query && `,${query.replaceAll("&", ",")}`;
    const srt = (mode) => `srt://${withPort(ports("srt_server/listen")[0], 0)}?streamid=#!::${keys},m=${mode}${signed}`;
    const rtmp = () => joined(`rtmp://${withPort(ports("rtmp/listen")[0], 1935)}/${name}`, params);
    const rtmps = () => joined(`rtmps://${withPort(ports("rtmps/listen")[0], 443)}/${name}`, params);
    const rtsp = () => joined(`rtsp://${withPort(ports("rtsp_server/listen")[0], 554)}/${name}`, params);
    const overHttp = isOn("http_server");
    const hls = overHttp && isOn("vhost/hls");
    const flv = overHttp && isOn("vhost/http_remux") && value("vhost/http_remux/mount") === "[vhost]/[app]/[stream].flv";
    const rtc = isOn("rtc_server", "vhost/rtc");
    const rows = [
        ["whep", "WebRTC (WHEP)", "play", rtc, () => web("whep")],
        ["hls", isOn("vhost/hls") && value("vhost/hls/hls_low_latency") === "on" ? "LL-HLS" : "HLS", "play", hls, () => web("hls")],
        ["dash", "DASH", "play", overHttp && isOn("vhost/dash"), () => web("dash")],
        ["flv", "HTTP-FLV", "play", flv, () => web("flv")],
        ["ws-flv", "WS-FLV", "play", flv, () => web("ws-flv")],
        ["rtmp", "RTMP", "both", ports("rtmp/listen").length > 0, rtmp],
        ["rtmps", "RTMPS", "both", isOn("rtmps"), rtmps],
        ["rtsp", "RTSP", "both", isOn("rtsp_server", "vhost/rtsp"), rtsp],
        ["srt", "SRT", "play", isOn("srt_server", "vhost/srt"), () => srt("request")],
        ["srt", "SRT", "publish", isOn("srt_server", "vhost/srt"), () => srt("publish")],
        ["whip", "WebRTC (WHIP)", "publish", rtc, () => web("whip")],
    ];
    return rows.filter(([, , , is]) => is).map(([key, label, action, , url]) => ({ key, label, action, url: url() }));
}

// The players' page, by the first of these protocols. A signed URL is given to it whole.
export function playerPage(addresses, place, query) {
    const view = ["whep", "hls", "flv", "dash"].find((key) => addresses.some((one) => one.key === key)) ?? "flv";
    const url = query ? addresses.find((one) => one.key === view)?.url : "";
    return pageUrl({ view, ...place, url, autostart: true });
}
