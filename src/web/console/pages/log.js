// The newest lines of the server's log, of all or of one stream or client: #/log/STREAM/CLIENT. After an upgrade also
// those of the process before, while that has clients.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, login, withQuery } from "../api.js";
import { mayChange, overview } from "../live.js";
import { poll } from "../poll.js";
import { Icon } from "../parts/icons.js";
import { Search } from "../parts/list.js";
import { SubjectFilter } from "../parts/subject_filter.js";
import { link, route } from "../route.js";
import { explain } from "../text.js";

const PERIOD_MS = 2000;
const MAX_LINES = 1000;
const TYPING_MS = 250;
const NEAR_END_PX = 40;
const TONES = { warn: "warn", error: "bad", err: "bad", critical: "bad" };

const clock = (ms) => new Date(ms).toTimeString().slice(0, 8) + "." + String(ms % 1000).padStart(3, "0");

const Line = ({ line }) =>
    html`<li class=${TONES[line.level] ?? ""}>
        <time class="quiet">${clock(line.time_ms)}</time><span class="log-level">${line.level}</span><code
            >${line.id.length > 1 && html`<a class="quiet" href=${link("log", "", line.id)} title=${t("Log of {id}", { id: line.id })}>${line.id}</a>`}</code
        ><span class="log-text">${line.text}</span>
    </li>`;

// Scrolls with new lines, unless the reader has scrolled back.
function Lines({ lines }) {
    const ref = useRef(null);
    const follows = useRef(true);
    useLayoutEffect(() => {
        if (follows.current) ref.current.scrollTop = ref.current.scrollHeight;
    }, [lines]);
    const look = (event) => {
        const box = event.currentTarget;
        follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
    };
    return html`<div class="log-box card" tabindex="0" role="log" aria-live="off" aria-label=${t("Log")} ref=${ref} onScroll=${look}>
        ${lines.length === 0 && html`<p class="quiet">${t("No line matches.")}</p>`}
        <ol class="log">${lines.map((line) => html`<${Line} key=${line.seq} line=${line} />`)}</ol>
    </div>`;
}

export function Log() {
    if (!overview.value) return html`<p class="quiet">${t("Loading")}</p>`;
    if (!mayChange.value) return html`<p class="quiet">${t("The log is for callers who may change something.")}</p>`;
    return html`<${Tail} />`;
}

function ProcessChoice({ value, earlier }) {
    return html`<select name="process" aria-label=${t("Process")} value=${value.value} onChange=${(e) => (value.value = e.currentTarget.value)}>
        <option value="">${t("This process")}</option>
        <option value="earlier">${t("Earlier process ({pid})", { pid: earlier.pid })}</option>
    </select>`;
}

function Tail() {
    const lines = useSignal([]);
    const failure = useSignal(null);
    const level = useSignal("trace");
    const text = useSignal("");
    const chosen = useSignal("");
    const paused = useSignal(false);
    const next = useRef(0);
    const asked = useRef("");
    const { id: stream, filter: client } = route.value;
    const earlier = overview.value.earlier_process;
    const process = earlier ? chosen.value : "";
    const key = `${process} ${level.value} ${stream} ${client} ${text.value}`;
    const fetchLines = async (signal) => {
        try {
            const query = { process, after: next.current, level: level.value, stream, client, search: text.value.trim(), count: MAX_LINES };
            const answer = await call(withQuery("log", query), { signal });
            if (answer.lines.length) lines.value = [...lines.peek(), ...answer.lines].slice(-MAX_LINES);
            next.current = answer.next ?? next.current;
            failure.value = null;
        } catch (error) {
            if (signal.aborted) throw error;
            if (!login.peek()) failure.value = error;
        }
    };
    useEffect(() => {
        if (paused.value) return undefined;
        if (asked.current !== key) {
            asked.current = key;
            next.current = 0;
            lines.value = [];
        }
        let end = () => {};
        const timer = setTimeout(() => (end = poll(fetchLines, PERIOD_MS)), text.value ? TYPING_MS : 0);
        return () => {
            clearTimeout(timer);
            end();
        };
    }, [key, paused.value]);
    return html`<${SubjectFilter} page="log" stream=${stream} client=${client} clientLabel=${t("Address or id")} />
        <div class="bar">
            <${Search} value=${text} label=${t("Search")} />
            ${earlier && html`<${ProcessChoice} value=${chosen} earlier=${earlier} />`}
            <select aria-label=${t("Level")} value=${level.value} onChange=${(e) => (level.value = e.currentTarget.value)}>
                <option value="trace">${t("All levels")}</option>
                <option value="warn">${t("Warnings and errors")}</option>
                <option value="error">${t("Errors")}</option>
            </select>
            <button aria-pressed=${paused.value} onClick=${() => (paused.value = !paused.value)}>
                <${Icon} name=${paused.value ? "play" : "pause"} />${paused.value ? t("Go on") : t("Pause")}
            </button>
            <span class="quiet bar-count" data-total=${lines.value.length}>${t("{n} lines", { n: lines.value.length })}</span>
        </div>
        ${failure.value && html`<p class="problem" role="alert">${explain(failure.value)}</p>`}
        <${Lines} lines=${lines.value} />`;
}
