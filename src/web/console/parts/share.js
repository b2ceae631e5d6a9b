// What leads others to a stream: its addresses, the players' page, a snippet for pages of other sites, each to copy and
// as a QR code. Where the vhost demands signed URLs, the server signs them.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { embedUrl } from "../../players/address.js";
import { CopyLine } from "../../shared/copy.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { addressesOf, playerPage, reader, vhostOf } from "../addresses.js";
import { call, withQuery } from "../api.js";
import { mayChange } from "../live.js";
import { link } from "../route.js";
import { explain, when } from "../text.js";
import { Modal, notify } from "./dialogs.js";
import { Icon } from "./icons.js";
import { QrCode } from "./qr_code.js";

const MAX_DIRECTIVES = 10000;
const LIFETIMES = () => [
    [600, t("10 minutes")],
    [3600, t("an hour")],
    [86400, t("a day")],
    [2592000, t("30 days")],
];

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
const snippet = (url) => `<iframe src="${escaped(url)}" style="width:100%;aspect-ratio:16/9;border:0" allow="autoplay; fullscreen"></iframe>`;

// signed: { query, expires } of the last signature, or null.
function Signing({ place, vhost, action, signed }) {
    const seconds = useSignal("3600");
    const name = useSignal("");
    const sign = async (event) => {
        event.preventDefault();
        const body = { action, vhost, app: place.app, stream: place.stream, seconds: Number(seconds.value), name: name.value.trim() };
        try {
            signed.value = await call("signed_urls", { method: "POST", body: JSON.stringify(body) });
        } catch (error) {
            notify(explain(error), true);
        }
    };
    return html`<form class="bar" onSubmit=${sign}>
        <label>${t("Valid for")} <select value=${seconds.value} onChange=${(e) => (seconds.value = e.target.value)}>
            ${LIFETIMES().map(([value, title]) => html`<option value=${value}>${title}</option>`)}
        </select></label>
        <label>${t("For whom")} <input name="for" maxlength="64" placeholder=${t("anybody")} value=${name.value} onInput=${(e) => (name.value = e.target.value)} /></label>
        <button class="primary">${t("Sign")}</button>
        <span class="quiet small" role="status" data-signed=${!!signed.value}>
            ${signed.value ? t("Signed until {time}.", { time: when(signed.value.expires * 1000) }) : t("These addresses need a signature.")}
        </span>
    </form>`;
}

// action: "play" or "publish", for the page that checks an address.
function Lines({ lines, shown, action }) {
    return html`<ul class="addresses">
        ${lines.map(
            ({ key, label, url, code = url }) =>
                html`<li data-address=${key}>
                    <span>${label}</span>
                    <${CopyLine} text=${code} label=${label} />
                    <span class="address-actions">
                        ${key !== "embed" && html`<a class="small" href=${link("why", url, action)} aria-label="${t("Check")}: ${label}">${t("Check")}</a>`}
                        <button aria-label=${t("QR code of {address}", { address: label })} aria-pressed=${shown.value === url} onClick=${() => (shown.value = url)}><${Icon} name="qr" /></button>
                    </span>
                </li>`,
        )}
    </ul>`;
}

const ACTIONS = () => [
    ["play", t("Play")],
    ["publish", t("Publish")],
];

function Choice({ action }) {
    return html`<div class="choices" role="radiogroup" aria-label=${t("What the addresses are for")}>
        ${ACTIONS().map(
            ([value, title]) =>
                html`<label class="choice"><input type="radio" name="action" checked=${action.value === value} onChange=${() => (action.value = value)} />${title}</label>`,
        )}
    </div>`;
}

function Addresses({ config, place, vhost }) {
    const action = useSignal("play");
    const signed = useSignal(null);
    const shown = useSignal("");
    useEffect(() => {
        signed.value = null;
        shown.value = "";
    }, [action.value]);
    const query = signed.value?.query ?? "";
    /** @type {{ key: string, label: string, url: string, code?: string }[]} */
    const lines = addressesOf(config, place, query).filter((one) => one.action === action.value || one.action === "both");
    if (action.value === "play") {
        const embed = embedUrl(place, query);
        lines.unshift({ key: "page", label: t("Player page"), url: playerPage(lines, place, query) }, { key: "embed", label: t("Embed"), url: embed, code: snippet(embed) });
    }
    const needsSignature = config.isOn("vhost/signed_urls") && config.value(`vhost/signed_urls/${action.value}`) === "on";
    const code = lines.find((one) => one.url === shown.value) ?? lines[0];
    return html`<${Choice} action=${action} />
        ${needsSignature && html`<${Signing} place=${place} vhost=${vhost} action=${action.value} signed=${signed} />`}
        ${config.value("console/embed_sites") === "none" && html`<p class="warn small">${t("No site may embed the player: embed_sites is none.")}</p>`}
        <div class="share">
            <${Lines} lines=${lines} shown=${shown} action=${action.value} />
            ${code && html`<figure class="share-code"><${QrCode} text=${code.url} /><figcaption class="quiet small">${code.label}</figcaption></figure>`}
        </div>`;
}

function Dialog({ stream, vhost, onClose }) {
    const directives = useSignal(null);
    const failure = useSignal(null);
    useEffect(() => {
        const load = async () => {
            if (!mayChange.peek()) return (directives.value = []);
            directives.value = (await call(withQuery("config", { vhost, count: MAX_DIRECTIVES }))).directives;
        };
        load().catch((error) => (failure.value = error));
    }, [vhost]);
    const place = { vhost: vhostOf(vhost), app: stream.app, stream: stream.name };
    return html`<${Modal} label=${t("Share")} onClose=${onClose} wide>
        <header class="card-head">
            <h2>${t("Share")}</h2>
            <button aria-label=${t("Close")} onClick=${onClose}><${Icon} name="close" /></button>
        </header>
        ${failure.value && html`<p class="problem" role="alert">${explain(failure.value)}</p>`}
        ${!mayChange.value && html`<p class="quiet">${t("Addresses of further protocols are for callers who may read the configuration.")}</p>`}
        ${directives.value && html`<${Addresses} config=${reader(directives.value)} place=${place} vhost=${vhost} />`}
    <//>`;
}

// stream: of the API; vhost: its name.
export function ShareButton({ stream, vhost }) {
    const open = useSignal(false);
    return html`<button onClick=${() => (open.value = true)}><${Icon} name="share" />${t("Share")}</button>
        ${open.value && html`<${Dialog} stream=${stream} vhost=${vhost} onClose=${() => (open.value = false)} />`}`;
}
