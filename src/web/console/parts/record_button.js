// Starts and stops a recording of a stream by the API.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call } from "../api.js";
import { mayChange } from "../live.js";
import { explain } from "../text.js";
import { notify } from "./dialogs.js";
import { Icon } from "./icons.js";

// recording: whether one is in progress, null: not known. onChange: after it was started or stopped.
export function RecordButton({ id, recording, onChange }) {
    if (!mayChange.value) return html`<span class="quiet small">${t("Recording is for callers who may change something.")}</span>`;
    const change = async () => {
        try {
            await call(`streams/${encodeURIComponent(id)}/recording`, { method: recording ? "DELETE" : "POST" });
            notify(recording ? t("The recording was stopped.") : t("The recording was started."));
        } catch (error) {
            notify(explain(error), true);
        }
        onChange?.();
    };
    return html`<button class=${recording ? "recording" : ""} disabled=${recording === null} onClick=${change}>
        <${Icon} name=${recording ? "stop" : "recordings"} />${recording ? t("Stop the recording") : t("Record")}
    </button>`;
}
