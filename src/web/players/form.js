// Fields by which a stream is chosen: names or a whole address, and the streams that are published now.
import { useEffect, useState } from "preact/hooks";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { placeText } from "./problems.js";
import { published, watchPublished } from "./published.js";

export function Field({ label, value, onInput, type = "text", wide = false, ...more }) {
    return html`<label class=${wide ? "field wide" : "field"}>
        <span>${label}</span>
        <input type=${type} value=${value} onInput=${(e) => onInput(e.target.value)} spellcheck="false" autocapitalize="off" ...${more} />
    </label>`;
}

export function Choice({ label, value, onChange, options, disabled = false }) {
    return html`<label class="field choice">
        <span>${label}</span>
        <select value=${value} disabled=${disabled} onChange=${(e) => onChange(e.target.value)}>
            ${options.map(([name, text]) => html`<option key=${name} value=${name}>${text}</option>`)}
        </select>
    </label>`;
}

// App, stream and vhost.
export function PlaceFields({ place, onChange }) {
    const set = (name) => (value) => onChange({ ...place, [name]: value });
    return html`<${Field} label=${t("App")} value=${place.app} onInput=${set("app")} />
        <${Field} label=${t("Stream")} value=${place.stream} onInput=${set("stream")} />`;
}

// What few need: behind a button.
export function MoreFields({ place, onChange, token, onToken, children }) {
    const [open, setOpen] = useState(Boolean(place.vhost));
    return html`<button aria-expanded=${open} onClick=${() => setOpen(!open)}>${t("More")}</button>
        ${open &&
        html`<div class="fields">
            <${Field} label=${t("Vhost")} value=${place.vhost} onInput=${(vhost) => onChange({ ...place, vhost })} placeholder=${t("by the address")} />
            ${onToken && html`<${Field} label=${t("Token")} type="password" value=${token} onInput=${onToken} autocomplete="off" />`}
            ${children}
        </div>`}`;
}

// The published streams, or children where there is none; nothing where the API may not be read.
export function PublishedStreams({ place, onChoose, children }) {
    useEffect(watchPublished, []);
    const found = published.value;
    if (!found) return null;
    if (found.total === 0) return children ?? html`<p class="quiet published">${t("No stream is published now.")}</p>`;
    const isThis = (one) => one.app === place.app && one.stream === place.stream && one.vhost === place.vhost;
    return html`<div class="published" role="group" aria-label=${t("Published streams")}>
        <span class="quiet">${t("Published now:")}</span>
        ${found.streams.map(
            (one) =>
                html`<button class="chip" key=${placeText(one)} aria-pressed=${isThis(one)} onClick=${() => onChoose({ vhost: one.vhost, app: one.app, stream: one.stream })}>
                    ${placeText(one)}
                </button>`,
        )}
        ${found.total > found.streams.length && html`<span class="quiet">${t("and {n} more", { n: found.total - found.streams.length })}</span>`}
    </div>`;
}
