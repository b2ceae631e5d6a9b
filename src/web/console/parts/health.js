// The checks of a stream's health (doc/why.md): what is wrong comes first.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { figureText, wordsOf } from "../health_words.js";

const MARKS = { ok: "✓", unknown: "?", warn: "!", bad: "✕" };
const TONES = { ok: "good", unknown: "quiet", warn: "warn", bad: "bad" };
const NAMES = {
    publisher: "publisher",
    headers: "sequence headers",
    codecs: "codecs",
    keyframe_age: "keyframe age",
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
    input_faults: "unusable messages",
    viewer_drops: "viewer drops",
    outputs: "outputs",
};

export const verdictWords = (verdict) => ({ ok: t("healthy"), unknown: t("not known yet"), warn: t("needs attention"), bad: t("broken") })[verdict];

export const checkName = (name) => t(NAMES[name] ?? name);

export const Mark = ({ verdict }) => html`<span class=${`mark ${TONES[verdict]}`} role="img" aria-label=${verdictWords(verdict)}>${MARKS[verdict]}</span>`;

export function Verdict({ verdict }) {
    return html`<span class=${`verdict ${TONES[verdict]}`} data-verdict=${verdict}><span aria-hidden="true">${MARKS[verdict]}</span> ${verdictWords(verdict)}</span>`;
}

function Check({ check }) {
    const { text, advice } = wordsOf(check);
    return html`<li data-check=${check.name}>
        <${Mark} verdict=${check.verdict} />
        <span class="health-name">${checkName(check.name)}</span>
        <span class="number health-figure">${figureText(check)}</span>
        <span class="quiet small health-text" title=${check.text}>${text}${advice && html`<br /><b>${advice}</b>`}</span>
    </li>`;
}

const Checks = ({ checks }) => html`<ul class="health">${checks.map((one) => html`<${Check} key=${one.name} check=${one} />`)}</ul>`;

// What is fine, and what cannot be said yet, is folded.
function Folded({ checks, title }) {
    return checks.length > 0 && html`<details class="health-folded"><summary>${title}</summary><${Checks} checks=${checks} /></details>`;
}

export function Health({ checks }) {
    const of = (verdict) => checks.filter((one) => one.verdict === verdict);
    const [fine, open] = [of("ok"), of("unknown")];
    const wrong = [...of("bad"), ...of("warn")];
    return html`${wrong.length > 0 && html`<${Checks} checks=${wrong} />`}
        <${Folded} checks=${fine} title=${t("Fine: {n}", { n: fine.length })} />
        <${Folded} checks=${open} title=${t("Not known yet: {n}", { n: open.length })} />`;
}
