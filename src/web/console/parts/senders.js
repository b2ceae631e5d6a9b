// The sender threads: how busy each is, and what it does. Nothing where there are none.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { count, percent } from "../text.js";
import { Meter } from "./meter.js";

const rate = (perSecond) => (perSecond === null ? "–" : count(Math.round(perSecond)));

export function Senders({ threads }) {
    if (!threads.length) return null;
    return html`<section class="card" aria-label=${t("Sender threads")}>
        <header class="card-head">
            <h2>${t("Sender threads")}</h2>
        </header>
        <ul class="senders">
            ${threads.map(
                (one, i) =>
                    html`<li data-sender=${i}>
                        <span class="number" data-value="busy">${percent(one.busy)}</span>
                        <${Meter} value=${one.busy} label=${t("Thread {n} is busy", { n: i + 1 })} />
                        <span class="senders-facts quiet">
                            <span data-value="calls">${t("{n} calls/s", { n: rate(one.calls) })}</span>
                            <span data-value="datagrams">${t("{n} datagrams/s", { n: rate(one.datagrams) })}</span>
                            <span data-value="awaited">${t("{n} awaited by the loop", { n: count(one.awaited) })}</span>
                        </span>
                    </li>`,
            )}
        </ul>
    </section>`;
}
