// The servers of http_hooks: whether they answer, and the reports that wait for them.
import { duration } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { List } from "../parts/list.js";
import { count } from "../text.js";

const columns = () => [
    { key: "host", title: t("Host"), class: "w-stream", cell: (one) => html`<span title=${one.host}>${one.host}</span>` },
    { key: "state", title: t("State"), class: "w-type", cell: (one) => html`<span class=${one.up ? "good" : "bad"}>${one.up ? t("answers") : t("is down")}</span>` },
    { key: "since", title: t("Since"), class: "number w-time", cell: (one) => (one.since_ms ? duration(one.since_ms / 1000) : "") },
    { key: "waiting", title: t("Waiting"), class: "number w-count", cell: (one) => count(one.waiting) },
    { key: "oldest", title: t("Oldest"), class: "number w-time", cell: (one) => (one.waiting ? duration(one.oldest_ms / 1000) : "") },
    { key: "delivered", title: t("Delivered"), class: "number w-count", cell: (one) => count(one.delivered) },
    { key: "dropped", title: t("Dropped"), class: "number w-count", cell: (one) => count(one.dropped) },
    { key: "problem", title: t("Text"), class: "grow quiet", cell: (one) => html`<span title=${one.problem}>${one.problem}</span>` },
];

export const Hooks = () =>
    html`<${List}
        label=${t("Hook servers")}
        kind="hooks"
        path="hooks"
        field="hosts"
        search=${false}
        columns=${columns()}
        id=${(one) => one.host}
        empty=${t("No hook server has been called.")}
    />`;
