// A player: one stream by one protocol.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { NAMES, pageUrl, streamUrl } from "./address.js";
import { CopyButton } from "../shared/copy.js";
import { Field, MoreFields, PlaceFields, PublishedStreams } from "./form.js";
import { PlayerFigures, ProblemBox, Screen, stateText } from "./player_view.js";
import { PlayerSession } from "./session.js";

const ABOUT = {
    flv: () => t("FLV over HTTP, played by mpegts.js. Latency of about a second, through every proxy."),
    "ws-flv": () => t("FLV over WebSocket, played by mpegts.js. For networks that buffer HTTP."),
    hls: () => t("Segments over HTTP, played by hls.js or the browser. For many viewers, at several seconds of latency."),
    "ll-hls": () => t("HLS in parts of segments, played by hls.js. For many viewers, at one to two seconds of latency, where the server has hls_low_latency on."),
    dash: () => t("Segments of one track each over HTTP, played by shaka-player. For vhosts with dash; with hls_low_latency at one to two seconds of latency."),
    whep: () => t("WebRTC, signalled by WHEP. The lowest latency; media by UDP or TCP."),
};

export function PlayView({ protocol, request, onRequest }) {
    const session = useMemo(() => new PlayerSession(), [protocol]);
    const video = useRef(null);
    const [token, setToken] = useState("");
    const { url: custom, ...place } = request;
    const url = custom || streamUrl(protocol, place);
    const state = session.state.value;
    const running = state !== "idle" && state !== "failed";

    const start = (muted) => session.start(video.current, { protocol, url, token, place: custom ? null : place }, { muted });
    useEffect(() => {
        if (request.autostart) start(true);
    }, [session]);
    const choose = (next) => {
        session.stop();
        onRequest({ ...request, ...next, url: "", autostart: false });
    };

    return html`<p class="quiet about">${ABOUT[protocol]()}</p>
        <div class="card controls">
            <div class="fields">
                <${PlaceFields} place=${place} onChange=${choose} />
                <${MoreFields} place=${place} onChange=${choose} token=${token} onToken=${protocol === "whep" ? setToken : null} />
                <${PublishedStreams} place=${custom ? {} : place} onChoose=${choose} />
            </div>
            <div class="fields">
                <${Field} wide label=${t("Address")} type="url" value=${url} onInput=${(text) => onRequest({ ...request, url: text.trim(), autostart: false })} />
                <div class="buttons">
                    <button class="primary" disabled=${running} onClick=${() => start(false)}>${t("Play")}</button>
                    <button disabled=${state === "idle"} onClick=${() => session.stop()}>${t("Stop")}</button>
                    <${CopyButton} text=${pageUrl({ view: protocol, ...place, url: custom, autostart: true })} label=${t("Copy a link to this page")} />
                </div>
            </div>
        </div>
        <${ProblemBox} problem=${session.problem.value} onRetry=${() => session.tryAgain()} />
        <div class="stage">
            <${Screen} key=${protocol} session=${session} label=${t("Video by {protocol}", { protocol: NAMES[protocol] })} onVideo=${(element) => (video.current = element)} onPlay=${() => start(false)} />
            <section class="card" aria-label=${t("Statistics")}>
                <p class="state" role="status" data-state=${state}>${stateText(session)}</p>
                <${PlayerFigures} statistics=${session.statistics.value} />
            </section>
        </div>`;
}
