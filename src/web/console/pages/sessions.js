// Sessions that are there and that have ended, of all, of one stream or of one address: as far back as the server knows
// them (doc/operations.md). The address of the page says which: #/sessions/STREAM/CLIENT.
import { bytes, duration } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { endText, reasonTone } from "../reasons.js";
import { link, route } from "../route.js";
import { List } from "../parts/list.js";
import { TypeTag } from "../parts/log_link.js";
import { SubjectFilter } from "../parts/subject_filter.js";
import { count, moment, when } from "../text.js";

const PERIOD_MS = 10000; // the server may read files for it

const streamOf = (one) => [one.vhost, one.app, one.stream].filter((part) => part && part !== "__defaultVhost__").join("/");

const columns = () => [
    { key: "started", title: t("Begin"), class: "w-moment", cell: (one) => html`<time title=${when(one.started_ms)}>${moment(one.started_ms)}</time>` },
    { key: "reason", title: t("Reason"), class: "w-reason", cell: (one) => (one.ended_ms ? html`<span class=${reasonTone(one.reason)} title=${endText(one)}>${one.reason}</span>` : html`<span class="tag tag-in">${t("now")}</span>`) },
    { key: "type", title: t("Type"), class: "w-type", cell: (one) => html`<${TypeTag} session=${one} />` },
    { key: "ip", title: t("Address"), class: "w-ip", cell: (one) => html`<a href=${link("sessions", "", one.ip)}>${one.ip}</a>` },
    { key: "stream", title: t("Stream"), class: "grow", cell: (one) => one.stream && html`<a href=${link("sessions", streamOf(one))}>${streamOf(one)}</a>` },
    { key: "duration", title: t("After"), class: "number w-time", cell: (one) => duration(one.duration_ms / 1000) },
    { key: "stalls", title: t("Stalls"), class: "number w-count", cell: (one) => (one.stalls ? html`<span class="warn">${count(one.stalls)}</span>` : "") },
    { key: "received", title: t("Received"), class: "number w-bytes", cell: (one) => bytes(one.received_bytes) },
    { key: "sent", title: t("Sent"), class: "number w-bytes", cell: (one) => bytes(one.sent_bytes) },
];

export function Sessions() {
    const { id: stream, filter: client } = route.value;
    return html`<${SubjectFilter} page="sessions" stream=${stream} client=${client} clientLabel=${t("Address, id or token")} />
        <${List}
            label=${t("Sessions")}
            kind="sessions"
            path="sessions"
            field="sessions"
            fixed=${{ stream, client }}
            search=${false}
            period=${PERIOD_MS}
            columns=${columns()}
            id=${(one) => `${one.id} ${one.started_ms} ${one.ended_ms}`}
            empty=${t("No session is known.")}
        />`;
}
