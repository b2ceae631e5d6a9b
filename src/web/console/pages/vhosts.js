// The vhosts of the configuration.
import { bitrate, bytes } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { List } from "../parts/list.js";
import { count } from "../text.js";

const segments = ({ enabled, fragment }) => (enabled ? `${fragment} s` : "");

const columns = () => [
    { key: "name", title: t("Vhost"), class: "grow", cell: (one) => html`<span class=${one.enabled ? "dot good" : "dot quiet"} title=${one.enabled ? t("enabled") : t("disabled")}></span>${one.name}` },
    { key: "streams", title: t("Streams"), class: "number w-count", cell: (one) => count(one.streams) },
    { key: "clients", title: t("Clients"), class: "number w-count", cell: (one) => count(one.clients) },
    { key: "in", title: t("In"), class: "number w-rate", cell: (one) => bitrate(one.kbps.recv_30s) },
    { key: "out", title: t("Out"), class: "number w-rate", cell: (one) => bitrate(one.kbps.send_30s) },
    { key: "received", title: t("Received"), class: "number w-bytes", cell: (one) => bytes(one.recv_bytes) },
    { key: "sent", title: t("Sent"), class: "number w-bytes", cell: (one) => bytes(one.send_bytes) },
    { key: "hls", title: "HLS", class: "number w-count", cell: (one) => segments(one.hls) },
    { key: "dash", title: "DASH", class: "number w-count", cell: (one) => segments(one.dash) },
];

export const Vhosts = () =>
    html`<${List}
        label=${t("Vhosts")}
        kind="vhosts"
        path="vhosts"
        field="vhosts"
        search=${false}
        columns=${columns()}
        id=${(one) => one.id}
        empty=${t("The configuration has no vhost.")}
    />`;
