// Saves what HLS has kept of a stream as an MP4 file, from so many seconds ago to so many.
import { useSignal } from "@preact/signals";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, withQuery } from "../api.js";
import { mayChange } from "../live.js";
import { explain } from "../text.js";
import { notify } from "./dialogs.js";
import { Icon } from "./icons.js";

const CLIP_TIMEOUT_MS = 600000;
const MOST_S = 86400;

async function save(stream, from, to) {
    const path = withQuery(`streams/${encodeURIComponent(stream.id)}/clip`, { from: -from, to: to > 0 ? -to : "" });
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(await call(path, { as: "blob", timeout: CLIP_TIMEOUT_MS }));
    anchor.download = `${stream.name}.${new Date(Date.now() - from * 1000).toISOString().replaceAll(":", "-")}.mp4`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 60000);
}

function Seconds({ name, label, value, least }) {
    return html`<label>${label} <input type="number" name=${name} min=${least} max=${MOST_S} step="1" required value=${value.value} onInput=${(e) => (value.value = e.target.value)} /></label>`;
}

export function Clip({ stream }) {
    const from = useSignal("60");
    const to = useSignal("0");
    const busy = useSignal(false);
    if (!mayChange.value) return null;
    const submit = async (event) => {
        event.preventDefault();
        busy.value = true;
        try {
            await save(stream, Number(from.value), Number(to.value));
        } catch (error) {
            notify(explain(error), true);
        }
        busy.value = false;
    };
    return html`<form class="clip" aria-label=${t("Clip")} onSubmit=${submit}>
        <span class="clip-title">${t("Clip")}</span>
        <${Seconds} name="from" label=${t("from, seconds ago")} value=${from} least="1" />
        <${Seconds} name="to" label=${t("to, seconds ago")} value=${to} least="0" />
        <button disabled=${busy.value}><${Icon} name="download" />${busy.value ? t("Fetching") : t("Save as MP4")}</button>
    </form>`;
}
