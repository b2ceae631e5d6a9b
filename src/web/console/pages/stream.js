// One stream: preview, figures, health, its clients.
import { useSignal } from "@preact/signals";
import { bitrate, bytes } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, login } from "../api.js";
import { mayChange } from "../live.js";
import { usePoll } from "../poll.js";
import { link } from "../route.js";
import { Clip } from "../parts/clip.js";
import { ClientsList } from "../parts/clients_list.js";
import { Health, Verdict } from "../parts/health.js";
import { Icon } from "../parts/icons.js";
import { Meter } from "../parts/meter.js";
import { Incidents, Outputs } from "../parts/outputs.js";
import { Preview } from "../parts/preview.js";
import { RecordButton } from "../parts/record_button.js";
import { ShareButton } from "../parts/share.js";
import { StreamCharts } from "../parts/stream_charts.js";
import { count, explain, streamName } from "../text.js";
import { audioText, videoText } from "./streams.js";

const PERIOD_MS = 2000;
const NO_STREAM = 2048;

async function load(id, state, signal) {
    const path = `streams/${encodeURIComponent(id)}`;
    try {
        const { stream } = await call(path, { signal });
        const [health, { recording }] = await Promise.all([
            call(`${path}/explain`, { signal }),
            mayChange.peek() ? call(`${path}/recording`, { signal }) : { recording: null },
        ]);
        state.value = { stream, health, recording };
    } catch (error) {
        if (signal?.aborted) throw error;
        if (!login.peek()) state.value = { ...state.peek(), failure: error };
    }
}

function Facts({ stream, health }) {
    const { memory } = stream;
    const check = (name) => health.checks.find((one) => one.name === name);
    const fps = check("frame_rate")?.figure;
    const gop = check("gop_length")?.figure;
    const rows = [
        ["video", t("Video"), [videoText(stream.video), stream.video?.profile].filter(Boolean).join(", ") || t("none")],
        ["audio", t("Audio"), [audioText(stream.audio), stream.audio?.profile].filter(Boolean).join(", ") || t("none")],
        ["fps", t("Frame rate"), typeof fps === "number" ? `${fps.toFixed(1)} fps` : "–"],
        ["in", t("In"), bitrate(stream.kbps.recv_30s)],
        ["out", t("Out"), bitrate(stream.kbps.send_30s)],
        ["gop", t("GOP"), typeof gop === "number" ? `${Number(gop.toFixed(2))} s` : "–"],
        ["frames", t("Frames"), count(stream.frames)],
        ["tracks", t("Tracks"), stream.tracks?.length ?? (stream.video ? 1 : 0) + (stream.audio ? 1 : 0)],
        ["dropped", t("Dropped tracks"), stream.dropped_tracks ?? 0],
        ...(stream.hls_variant_of ? [["variant", t("HLS variant of"), stream.hls_variant_of]] : []),
        ["clients", t("Clients"), count(stream.clients)],
        ["received", t("Received"), bytes(stream.recv_bytes)],
        ["sent", t("Sent"), bytes(stream.send_bytes)],
    ];
    return html`<dl class="facts">
            ${rows.map(([name, label, value]) => html`<div data-fact=${name}><dt>${label}</dt><dd>${value}</dd></div>`)}
        </dl>
        ${memory &&
        html`<div class="memory" data-fact="memory">
            <span>${t("Memory")}</span>
            <${Meter} value=${memory.limit ? memory.total / memory.limit : 0} label=${t("Memory")} />
            <span class="quiet small">${t("{used} of {all}; GOP cache {gop}", { used: bytes(memory.total), all: bytes(memory.limit), gop: bytes(memory.gop) })}</span>
        </div>`}`;
}

function Tracks({ tracks }) {
    return html`<section class="card" aria-label=${t("Tracks")}>
        <h2>${t("Tracks")}</h2>
        <ul class="tracks">
            ${tracks.map((one) => html`<li><span class="tag">${one.kind ?? one.type ?? ""}</span> ${one.kind === "audio" || one.type === "audio" ? audioText(one) : videoText(one)} <span class="quiet">${one.id ?? ""}</span></li>`)}
        </ul>
    </section>`;
}

export function Stream({ id }) {
    const state = useSignal(/** @type {{ stream?: any, health?: any, recording?: any, failure?: any }} */ ({}));
    usePoll((signal) => load(id, state, signal), PERIOD_MS, [id]);
    const { stream, health, recording, failure } = state.value;
    const back = html`<a class="back" href=${link("streams")}><${Icon} name="back" />${t("Streams")}</a>`;
    const problem = failure && html`<p class="problem" role="alert">${failure.status === NO_STREAM ? t("There is no such stream now.") : explain(failure)}</p>`;
    if (!stream) return html`${back}${problem ?? html`<p class="quiet">${t("Loading")}</p>`}${problem && html`<${StreamCharts} id=${id} />`}`;
    return html`${back}
        <header class="stream-head">
            <h2 class="stream-name">${streamName(stream)}</h2>
            <${Verdict} verdict=${health.verdict} />
            ${stream.recording && html`<span class="tag" data-tag="recorded">${t("recorded")}</span>`}
            <span class="space"></span>
            <${ShareButton} stream=${stream} vhost=${health.stream.vhost} />
            <${RecordButton} id=${id} recording=${recording} onChange=${() => load(id, state).catch(() => {})} />
        </header>
        ${problem}
        <div class="stream">
            <section class="card stream-left" aria-label=${t("Preview")}>
                <${Preview} stream=${stream} vhost=${health.stream.vhost} />
                <${Facts} stream=${stream} health=${health} />
                <${Clip} stream=${stream} />
            </section>
            <div class="stream-right">
                <section class="card" aria-label=${t("Health")}>
                    <h2>${t("Health")}</h2>
                    <${Health} checks=${health.checks} />
                </section>
                <${Incidents} stream=${id} />
                <${Outputs} outputs=${stream.outputs} />
            </div>
        </div>
        ${stream.tracks?.length > 0 && html`<${Tracks} tracks=${stream.tracks} />`}
        <${StreamCharts} id=${id} />
        <h2 class="list-title">${t("Clients")} <a class="small" href=${link("sessions", streamName(stream))}>${t("Past sessions")}</a> ${mayChange.value && html`<a class="small" href=${link("log", streamName(stream))}>${t("Log")}</a>`}</h2>
        <${ClientsList} stream=${id} />`;
}
