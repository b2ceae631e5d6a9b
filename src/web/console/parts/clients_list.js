// Clients of the server, or of one stream, with the kick.
import { bitrate, duration } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call } from "../api.js";
import { mayChange } from "../live.js";
import { link } from "../route.js";
import { explain, percent, streamName } from "../text.js";
import { ask, notify } from "./dialogs.js";
import { List } from "./list.js";
import { TypeTag } from "./log_link.js";

async function kick(client) {
    const what = { id: client.id, ip: client.ip, stream: streamName(client) };
    const yes = await ask({
        title: t("Kick this client?"),
        text: client.publish
            ? t("{id} at {ip} publishes {stream}. Its stream ends for all players. It may connect again.", what)
            : t("{id} at {ip} plays {stream}. It may connect again.", what),
        action: t("Kick"),
    });
    if (!yes) return;
    try {
        await call(`clients/${encodeURIComponent(client.id)}`, { method: "DELETE" });
        notify(t("{id} was kicked.", what));
    } catch (error) {
        notify(explain(error), true);
    }
}

// What a WebRTC client's link does, in a few words.
function linkText({ sent, layer, estimate_kbps, lost_percent, rtt_ms }) {
    const names = { layer: t("layer {rid}", { rid: layer }), heads: t("part of the video"), audio: t("audio alone") };
    const words = [names[sent], estimate_kbps > 0 && bitrate(estimate_kbps), t("{share} lost", { share: percent(lost_percent / 100) })];
    return [...words, rtt_ms !== null && rtt_ms !== undefined && `${rtt_ms} ms`].filter(Boolean).join(", ");
}

// The same of a client by SRT.
function srtText({ lost_percent, rtt_ms }) {
    return [t("{share} lost", { share: percent(lost_percent / 100) }), rtt_ms !== null && `${rtt_ms} ms`].filter(Boolean).join(", ");
}

function qualityText(client) {
    if (client.rtc) return linkText(client.rtc);
    return client.srt ? srtText(client.srt) : "";
}

const columns = (ofStream) =>
    [
        { key: "id", title: t("Client"), class: "w-id", cell: (one) => html`<code>${one.id}</code>` },
        { key: "type", title: t("Type"), class: "w-type", cell: (one) => html`<${TypeTag} session=${one} publishes=${one.publish} />` },
        { key: "ip", title: t("Address"), class: "w-ip", cell: (one) => html`<a href=${link("sessions", "", one.ip)}>${one.ip}</a>` },
        !ofStream && { key: "stream", title: t("Stream"), class: "grow", cell: (one) => html`<a href=${link("streams", one.stream)}>${streamName(one)}</a>` },
        ofStream && {
            key: "page",
            title: t("Page or link"),
            class: "grow quiet",
            sort: "trouble",
            down: true,
            cell: (one) => (qualityText(one) ? html`<span title=${`${qualityText(one)} ${one.pageUrl}`}>${qualityText(one)}</span>` : one.pageUrl),
        },
        { key: "alive", title: t("Age"), class: "number w-time", sort: "alive", down: true, cell: (one) => duration(one.alive) },
        { key: "in", title: t("In"), class: "number w-rate", cell: (one) => bitrate(one.kbps.recv_30s) },
        { key: "out", title: t("Out"), class: "number w-rate", sort: "send_kbps", down: true, cell: (one) => bitrate(one.kbps.send_30s) },
        mayChange.value && {
            key: "kick",
            title: html`<span class="visually-hidden">${t("Kick")}</span>`,
            class: "w-button",
            cell: (one) => html`<button class="small" aria-label=${t("Kick {id}", { id: one.id })} onClick=${() => kick(one)}>${t("Kick")}</button>`,
        },
    ].filter(Boolean);

// stream: its id; undefined: all clients.
export const ClientsList = ({ stream }) =>
    html`<${List}
        label=${t("Clients")}
        kind=${stream ? "stream-clients" : "clients"}
        path="clients"
        field="clients"
        fixed=${{ stream }}
        order="-alive"
        columns=${columns(stream !== undefined)}
        id=${(one) => one.id}
        empty=${t("No client publishes or plays.")}
    >
        ${!mayChange.value && html`<span class="quiet small">${t("Kicking is for callers who may change something.")}</span>`}
    <//>`;
