// What a session shows: its video, what goes wrong, and its statistics.
import { useLayoutEffect, useRef } from "preact/hooks";
import { bitrate } from "../shared/format.js";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { wordsOf } from "./problems.js";
import "./player.css";

export const milliseconds = (ms) => (ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${Math.round(ms)} ms`);
const NOTHING = "–";
const orNothing = (value, text) => (value === null || value === undefined ? NOTHING : text(value));

export function stateText(session) {
    const retry = session.retry.value;
    switch (session.state.value) {
        case "connecting":
            return session.notice.value === "unpublished" ? t("Nobody publishes this stream yet. Waiting …") : t("Connecting …");
        case "playing":
            return t("Playing");
        case "retrying":
            return t("Next attempt in {seconds} s ({attempt} of {of})", retry);
        case "failed":
            return t("Stopped by a problem");
        default:
            return t("Stopped");
    }
}

// role alert: a screen reader says it at once.
export function ProblemBox({ problem, onRetry, children }) {
    if (!problem) return html`<div role="alert"></div>`;
    const { title, advice, detail } = wordsOf(problem);
    return html`<div role="alert">
        <div class="problem" data-kind=${problem.kind}>
            <strong>${title}</strong>
            <p>${advice}</p>
            ${detail && html`<p class="problem-detail"><code>${detail}</code></p>`}
            <p class="problem-actions">${onRetry && html`<button onClick=${onRetry}>${t("Try again")}</button>`} ${children}</p>
        </div>
    </div>`;
}

// onVideo gets the element; label names it for screen readers. onPlay: a button on the video while nothing plays.
export function Screen({ session, label, onVideo, onPlay, compact = false }) {
    const video = useRef(null);
    useLayoutEffect(() => {
        onVideo?.(video.current);
        const stop = () => session.stop();
        addEventListener("pagehide", stop);
        return () => {
            removeEventListener("pagehide", stop);
            stop();
        };
    }, [session]);
    const state = session.state.value;
    const busy = state === "connecting" || state === "retrying";
    return html`<div class="screen" data-state=${state}>
        <video ref=${video} controls=${!compact && state === "playing"} playsinline onVolumeChange=${() => session.onVolume()} aria-label=${label}></video>
        ${state === "idle" && onPlay && html`<button class="screen-play" aria-label=${t("Play")} onClick=${onPlay}>▶</button>`}
        ${busy && html`<div class="screen-busy"><span class="spinner" aria-hidden="true"></span>${stateText(session)}</div>`}
        ${session.notice.value === "muted" &&
        html`<button class="screen-unmute" onClick=${() => session.unmute()}>🔇 ${t("Unmute")}</button>`}
    </div>`;
}

function Figures({ rows }) {
    return html`<dl class="figures">
        ${rows.map(
            ([name, value, title, key]) =>
                html`<div key=${name}><dt>${name}</dt><dd class="number" title=${title} data-figure=${key}>${value}</dd></div>`,
        )}
    </dl>`;
}

const MEASURED = () => t("Measured: the video frames carry the time at which they were made.");
const ESTIMATED = () => t("At least: what waits in this browser. The frames carry no time.");

export function latencyText(s) {
    if (s?.latency === null || s?.latency === undefined) return NOTHING;
    return `${s.isMeasured ? "" : "≥ "}${milliseconds(s.latency)}`;
}
export const latencyTitle = (s) => (s?.isMeasured ? MEASURED() : ESTIMATED());

export function PlayerFigures({ statistics: s }) {
    const rows = [
        [t("Latency"), latencyText(s), latencyTitle(s), "latency"],
        [t("Buffer"), orNothing(s?.buffer, milliseconds), undefined, "buffer"],
        [t("First frame after"), orNothing(s?.firstFrameMs, milliseconds), undefined, "start"],
        [t("Resolution"), s?.width ? `${s.width} × ${s.height}` : NOTHING, undefined, "resolution"],
        [t("Frames per second"), orNothing(s?.fps, (fps) => fps.toFixed(1)), undefined, "fps"],
        [t("Dropped frames"), orNothing(s?.dropped, String), undefined, "dropped"],
        [t("Bitrate"), orNothing(s?.kbps, bitrate), undefined, "bitrate"],
        [t("Codecs"), s?.codecs || NOTHING, undefined, "codecs"],
    ];
    if (s?.lost !== null && s?.lost !== undefined) rows.push([t("Packets lost"), String(s.lost), undefined, "lost"]);
    return html`<${Figures} rows=${rows} />
        <p class="quiet small">${s && s.latency !== null ? latencyTitle(s) : ""}</p>`;
}

const LIMITS = { bandwidth: () => t("the network"), cpu: () => t("this computer"), other: () => t("other") };

export function PublisherFigures({ statistics: s }) {
    return html`<${Figures}
        rows=${[
            [t("Resolution"), s?.width ? `${s.width} × ${s.height}` : NOTHING, undefined, "resolution"],
            [t("Frames per second"), orNothing(s?.fps, (fps) => fps.toFixed(1)), undefined, "fps"],
            [t("Bitrate"), orNothing(s?.kbps, bitrate), undefined, "bitrate"],
            [t("Codecs"), s?.codecs || NOTHING, undefined, "codecs"],
            [t("Round trip"), orNothing(s?.roundTrip, milliseconds), undefined, "round-trip"],
            [t("Packets lost"), orNothing(s?.lost, String), undefined, "lost"],
            [t("Quality limited by"), LIMITS[s?.limit]?.() ?? NOTHING, undefined, "limit"],
        ]}
    />`;
}
