// One stream by all protocols beside each other, with their latencies.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { bitrate } from "../shared/format.js";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { NAMES, pageUrl, streamUrl } from "./address.js";
import { CopyButton } from "../shared/copy.js";
import { MoreFields, PlaceFields, PublishedStreams } from "./form.js";
import { latencyText, latencyTitle, milliseconds, ProblemBox, Screen, stateText } from "./player_view.js";
import { published } from "./published.js";
import { PublisherSession } from "./publisher.js";
import { PlayerSession } from "./session.js";

const ORDER = ["whep", "flv", "ws-flv", "ll-hls", "hls"]; // as their latencies are expected
const KEPT = 60; // samples: half a minute

// The least and greatest latency of the last half minute; null before there is one. Estimates and measurements are not
// mixed.
function useSpread(session) {
    const kept = useRef({ values: [], isMeasured: false });
    const now = session.statistics.value;
    useMemo(() => {
        if (!now || now.isMeasured !== kept.current.isMeasured) kept.current = { values: [], isMeasured: now?.isMeasured ?? false };
        if (now && now.latency !== null && session.state.value === "playing")
            kept.current.values = [...kept.current.values, now.latency].slice(-KEPT);
    }, [now]);
    const { values } = kept.current;
    return values.length ? [Math.min(...values), Math.max(...values)] : null;
}

function Row({ protocol, session, scale }) {
    const s = session.statistics.value;
    const spread = useSpread(session);
    const latency = session.state.value === "playing" ? (s?.latency ?? null) : null;
    return html`<tr data-protocol=${protocol} data-measured=${s?.isMeasured ? "true" : "false"} data-latency=${latency === null ? "" : Math.round(latency)}>
        <th scope="row">${NAMES[protocol]}</th>
        <td class="bar-cell">
            <span class="bar" style=${{ width: `${latency === null ? 0 : Math.max(1, (latency / scale) * 100)}%` }}></span>
            <span class="bar-text" title=${latencyTitle(s)}>${latency === null ? "–" : latencyText(s)}</span>
        </td>
        <td class="number">${spread ? `${milliseconds(spread[0])} – ${milliseconds(spread[1])}` : "–"}</td>
        <td class="number">${s?.firstFrameMs ? milliseconds(s.firstFrameMs) : "–"}</td>
        <td class="number">${s?.buffer !== null && s?.buffer !== undefined ? milliseconds(s.buffer) : "–"}</td>
        <td class="number">${s?.kbps ? bitrate(s.kbps) : "–"}</td>
        <td class="number">${s?.dropped ?? "–"}</td>
    </tr>`;
}

function Tile({ protocol, session, place, onVideo }) {
    return html`<section class="tile" aria-label=${NAMES[protocol]}>
        <h2><a href=${pageUrl({ view: protocol, ...place })}>${NAMES[protocol]}</a> <span class="quiet" role="status">${stateText(session)}</span></h2>
        <${Screen} session=${session} compact label=${t("Video by {protocol}", { protocol: NAMES[protocol] })} onVideo=${onVideo} />
        <${ProblemBox} problem=${session.problem.value} onRetry=${() => session.tryAgain()} />
    </section>`;
}

// The scale of the bars: the next of 1, 2, 5 seconds and so on, so that they do not change all the time.
function scaleOf(sessions) {
    const most = Math.max(...Object.values(sessions).map((one) => one.statistics.value?.latency ?? 0));
    return [500, 1000, 2000, 5000, 10_000, 20_000, 60_000].find((step) => step >= most) ?? 60_000;
}

export function CompareView({ request, onRequest }) {
    const sessions = useMemo(() => Object.fromEntries(ORDER.map((protocol) => [protocol, new PlayerSession()])), []);
    const publisher = useMemo(() => new PublisherSession(), []);
    const videos = useRef({});
    const [started, setStarted] = useState(false);
    const { vhost, app, stream } = request;
    const place = { vhost, app, stream };

    const start = (where = place) => {
        setStarted(true);
        for (const protocol of ORDER)
            sessions[protocol].start(videos.current[protocol], { protocol, url: streamUrl(protocol, where), token: "", place: where }, { silent: true });
    };
    const stop = () => {
        setStarted(false);
        for (const protocol of ORDER) sessions[protocol].stop();
    };
    useEffect(() => {
        if (request.autostart) start();
        return () => publisher.stop();
    }, []);
    const choose = (next) => {
        stop();
        onRequest({ ...request, ...next, url: "", autostart: false });
    };
    // The pattern of this page goes through the server and comes back, so one clock makes and reads the time code. A
    // stream that is published already is left alone.
    const isTaken = (published.value?.streams ?? []).some((one) => one.app === place.app && one.stream === place.stream && one.vhost === place.vhost);
    const publish = () => {
        const target = isTaken ? { ...place, stream: `${place.stream}-pattern` } : place;
        choose(target);
        publisher.start({ url: streamUrl("whip", target), token: "", source: "pattern", codec: "h264" });
        start(target);
    };
    const publishing = ["connecting", "publishing"].includes(publisher.state.value);
    const playing = Object.values(sessions).filter((one) => one.state.value === "playing");
    const measured = playing.length > 0 && playing.every((one) => one.statistics.value?.isMeasured);
    const scale = scaleOf(sessions);

    return html`<p class="quiet about">${t("The same stream by every protocol, muted. Latency is from the publisher to this screen.")}</p>
        <div class="card controls">
            <div class="fields">
                <${PlaceFields} place=${place} onChange=${choose} />
                <${MoreFields} place=${place} onChange=${choose} />
                <div class="buttons">
                    <button class="primary" disabled=${started} onClick=${() => start()}>${t("Compare")}</button>
                    <button disabled=${!started} onClick=${stop}>${t("Stop")}</button>
                    <button onClick=${() => (publishing ? publisher.stop() : publish())}>${publishing ? t("End the test pattern") : t("Publish a test pattern and compare it")}</button>
                    <${CopyButton} text=${pageUrl({ view: "compare", ...place, autostart: true })} label=${t("Copy a link to this page")} />
                </div>
            </div>
            <${PublishedStreams} place=${place} onChoose=${choose} />
        </div>
        <${ProblemBox} problem=${publisher.problem.value} onRetry=${publish} />
        <div class="card table-box" tabindex="0" role="region" aria-label=${t("Latency by protocol")}>
            <table class="compare">
                <thead><tr>
                    <th scope="col">${t("Protocol")}</th>
                    <th scope="col">${t("Latency")}</th>
                    <th scope="col" class="number">${t("Last 30 s")}</th>
                    <th scope="col" class="number">${t("First frame after")}</th>
                    <th scope="col" class="number">${t("Buffer")}</th>
                    <th scope="col" class="number">${t("Bitrate")}</th>
                    <th scope="col" class="number">${t("Dropped frames")}</th>
                </tr></thead>
                <tbody>${ORDER.map((protocol) => html`<${Row} key=${protocol} protocol=${protocol} session=${sessions[protocol]} scale=${scale} />`)}</tbody>
            </table>
            <p class="quiet small">${
                playing.length === 0
                    ? ""
                    : measured
                      ? t("Measured: the video frames carry the time at which they were made. On two machines their clocks must agree.")
                      : t("≥: at least, from what waits in this browser. A test pattern carries the time in its frames, and makes it exact.")
            }</p>
        </div>
        <div class="tiles">
            ${ORDER.map((protocol) => html`<${Tile} key=${protocol} protocol=${protocol} session=${sessions[protocol]} place=${place} onVideo=${(video) => (videos.current[protocol] = video)} />`)}
        </div>`;
}
