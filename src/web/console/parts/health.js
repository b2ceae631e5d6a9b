// The checks of a stream's health (doc/why.md): what is wrong comes first.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";

const ORDER = ["bad", "warn", "unknown", "ok"];
const MARKS = { ok: "✓", unknown: "?", warn: "!", bad: "✕" };
const TONES = { ok: "good", unknown: "quiet", warn: "warn", bad: "bad" };
const NAMES = {
    publisher: "publisher",
    headers: "sequence headers",
    codecs: "codecs",
    keyframe_age: "age of the keyframe",
    gop_length: "GOP length",
    gop_hls_fragment: "GOP and HLS fragment",
    gop_cache: "GOP cache",
    b_frames: "B-frames",
    audio_video_drift: "audio/video drift",
    audio_video_offset: "audio/video offset",
    clock_rate: "clock rate",
    timestamp_jumps: "timestamp jumps",
    frame_rate: "frame rate",
    bitrate: "bitrate",
    viewer_drops: "viewer drops",
    outputs: "outputs",
};

const figure = ({ figure: value, unit }) => (value === null ? "" : `${Number(value.toFixed(Math.abs(value) < 10 ? 2 : 0))} ${unit}`);

export function Verdict({ verdict }) {
    const words = { ok: t("healthy"), unknown: t("not known yet"), warn: t("needs attention"), bad: t("broken") };
    return html`<span class=${`verdict ${TONES[verdict]}`} data-verdict=${verdict}><span aria-hidden="true">${MARKS[verdict]}</span> ${words[verdict]}</span>`;
}

export function Health({ checks }) {
    const sorted = [...checks].sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
    return html`<ul class="health">
        ${sorted.map(
            (one) =>
                html`<li data-check=${one.name} class=${one.verdict === "ok" ? "health-ok" : ""}>
                    <span class=${`mark ${TONES[one.verdict]}`} role="img" aria-label=${one.verdict}>${MARKS[one.verdict]}</span>
                    <span class="health-name">${t(NAMES[one.name] ?? one.name)}</span>
                    <span class="number health-figure">${figure(one)}</span>
                    <span class="quiet small health-text" title=${one.text}>${one.text}${one.advice && html`<br /><b>${one.advice}</b>`}</span>
                </li>`,
        )}
    </ul>`;
}
