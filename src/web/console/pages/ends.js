// Why sessions ended: counts since the start, and the newest of them.
import { bytes, duration } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { overview } from "../live.js";
import { EndsBars } from "../parts/ends_bars.js";
import { link } from "../route.js";
import { List } from "../parts/list.js";
import { TypeTag } from "../parts/log_link.js";
import { endText, reasonTone } from "../reasons.js";
import { moment, streamName, when } from "../text.js";

const columns = () => [
    { key: "ended", title: t("Ended"), class: "w-moment", cell: (one) => html`<time title=${when(one.ended_ms)}>${moment(one.ended_ms)}</time>` },
    { key: "reason", title: t("Reason"), class: "w-reason", cell: (one) => html`<span class=${reasonTone(one.reason)}>${one.reason}</span>` },
    { key: "type", title: t("Type"), class: "w-type", cell: (one) => html`<${TypeTag} session=${one} />` },
    { key: "ip", title: t("Address"), class: "w-ip", cell: (one) => html`<a href=${link("sessions", "", one.ip)}>${one.ip}</a>` },
    { key: "stream", title: t("Stream"), class: "w-stream", cell: streamName },
    { key: "text", title: t("Text"), class: "grow quiet", cell: (one) => html`<span title=${one.text}>${endText(one)}</span>` },
    { key: "alive", title: t("After"), class: "number w-time", cell: (one) => duration((one.ended_ms - one.started_ms) / 1000) },
    { key: "received", title: t("Received"), class: "number w-bytes", cell: (one) => bytes(one.recv_bytes) },
    { key: "sent", title: t("Sent"), class: "number w-bytes", cell: (one) => bytes(one.send_bytes) },
];

export const Ends = () =>
    html`<section class="card" aria-label=${t("Since the start")}>
            <h2>${t("Since the start")}</h2>
            <${EndsBars} ends=${overview.value?.client_ends} explained />
        </section>
        <h2>${t("The last sessions")}</h2>
        <${List}
            label=${t("The last sessions")}
            kind="ends"
            path="clients"
            field="clients"
            fixed=${{ closed: "true" }}
            search=${false}
            columns=${columns()}
            id=${(one) => `${one.id} ${one.ended_ms}`}
            empty=${t("No client has left since the server started.")}
        />`;
