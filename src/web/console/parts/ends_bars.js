// Counts of the reasons why sessions ended, as bars, the most frequent first.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { reasonText, reasonTone } from "../reasons.js";
import { count } from "../text.js";
import { Meter } from "./meter.js";

export function EndsBars({ ends, limit = Infinity, explained }) {
    const all = Object.entries(ends ?? {}).filter(([, n]) => n > 0);
    all.sort((a, b) => b[1] - a[1]);
    if (!all.length) return html`<p class="quiet">${t("No session has ended since the server started.")}</p>`;
    const most = all[0][1];
    return html`<ul class=${explained ? "ends" : "ends ends-short"}>
        ${all.slice(0, limit).map(
            ([reason, n]) =>
                html`<li data-reason=${reason}>
                    <span class="ends-name"><b>${reason}</b> <span class="quiet">${t(reasonText(reason))}</span></span>
                    <${Meter} value=${n / most} tone=${reasonTone(reason)} />
                    <span class="number">${count(n)}</span>
                </li>`,
        )}
    </ul>`;
}
