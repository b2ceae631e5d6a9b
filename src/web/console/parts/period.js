// The choice of the period that charts show.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { PERIODS } from "../history.js";

// value: a signal with one of PERIODS.
export function PeriodChoice({ value }) {
    return html`<div class="periods" role="group" aria-label=${t("Period of the charts")}>
        ${PERIODS.map(
            (one) =>
                html`<button type="button" data-period=${one.key} aria-pressed=${value.value === one ? "true" : "false"} onClick=${() => (value.value = one)}>${t(one.label)}</button>`,
        )}
    </div>`;
}
