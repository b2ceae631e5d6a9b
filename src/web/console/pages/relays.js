// Streams that this server fetches from other servers, or passes on to them: ingests, pulls and pushes of edges,
// forwards.
import { useSignal } from "@preact/signals";
import { bytes } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { link } from "../route.js";
import { List } from "../parts/list.js";
import { narrow } from "../parts/media.js";
import { nameOf } from "../parts/plain_table.js";
import { count } from "../text.js";

const TONES = { works: "good", fails: "bad", starts: "warn", idle: "quiet" };
const states = () => ({ works: t("works"), fails: t("fails"), starts: t("starts"), idle: t("waits for players") });
const kinds = () => ({ ingest: t("Ingest"), pull: t("Pull"), push: t("Push"), forward: t("Forward") });

const columns = () => [
    { key: "state", title: t("State"), class: "w-reason", cell: (one) => html`<span class=${TONES[one.state]}>${states()[one.state] ?? one.state}</span>` },
    { key: "kind", title: t("Type"), class: "w-type", cell: (one) => html`<span class="tag">${kinds()[one.kind] ?? one.kind}</span>` },
    { key: "stream", title: t("Stream"), class: "grow", cell: (one) => html`<a href=${link("sessions", nameOf(one))}>${nameOf(one)}</a>` },
    { key: "server", title: t("Server"), class: "grow", cell: (one) => html`<span title=${one.server}>${(narrow.value && one.problem) || one.server}</span>` },
    { key: "attempts", title: t("Attempts"), class: "number w-count", cell: (one) => count(one.attempts) },
    { key: "bytes", title: t("Transferred"), class: "number w-bytes", cell: (one) => bytes(one.bytes) },
    { key: "problem", title: t("Text"), class: "grow quiet", cell: (one) => html`<span title=${one.problem}>${one.problem}</span>` },
];

export function Relays() {
    const kind = useSignal("");
    return html`<${List}
        label=${t("Relays")}
        kind="relays"
        path="relays"
        field="relays"
        fixed=${{ kind: kind.value }}
        columns=${columns()}
        id=${(one) => `${one.kind} ${nameOf(one)} ${one.server}`}
        empty=${t("No stream is fetched from another server or passed on to one. The blocks forward, ingest and cluster of a vhost do so.")}
    >
        <select aria-label=${t("Type")} value=${kind.value} onChange=${(e) => (kind.value = e.currentTarget.value)}>
            <option value="">${t("All")}</option>
            ${Object.entries(kinds()).map(([value, title]) => html`<option value=${value}>${title}</option>`)}
        </select>
    <//>`;
}
