// This server in its cluster: the Redis that says where streams are, the leases of its own, and its coworkers.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { withQuery } from "../api.js";
import { nameOf, Polled, Table } from "../parts/plain_table.js";
import { count, when } from "../text.js";

const SHOWN = 200;
const LEASES = { held: "good", lost: "bad", unregistered: "warn", waiting: "quiet" };

const leases = () => [
    [t("Stream"), nameOf],
    [t("State"), (one) => html`<span class=${LEASES[one.state] ?? ""}>${one.state}</span>`],
    [t("Since"), (one) => (one.since ? when(one.since) : "")],
];

const coworkers = () => [
    [t("Server"), (one) => one.coworker],
    [t("State"), (one) => html`<span class=${one.up ? "good" : "bad"}>${one.up ? t("answers") : t("is down")}</span>`],
    [t("Asked"), (one) => count(one.asked), "number"],
    [t("Errors"), (one) => count(one.failures), "number"],
    [t("Text"), (one) => one.problem, "quiet"],
];

function Redis({ redis, self, known }) {
    const rows = [
        [t("Server"), redis.server],
        [t("State"), html`<span class=${redis.state === "up" ? "good" : redis.problem ? "bad" : ""}>${redis.state}</span>`],
        [t("Calls"), count(redis.calls)],
        [t("Errors"), count(redis.failures)],
        [t("Connections"), count(redis.connections)],
        [t("Streams of others"), count(known)],
        [t("Addresses of this server"), [self.rtmp, self.http, self.api].filter(Boolean).join(" ")],
    ];
    return html`<section class="card" aria-label="Redis">
        <h2>Redis</h2>
        <dl class="facts">${rows.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value || "–"}</dd></div>`)}</dl>
        ${redis.problem && html`<p class="bad">${redis.problem}</p>`}
    </section>`;
}

const show = (cluster) => {
    const hasRedis = cluster.redis.state !== "off";
    const none = !hasRedis && !cluster.coworkers.length;
    if (none) return html`<p class="quiet" data-empty="cluster">${t("This server is in no cluster. redis { enabled on; server HOST; } and cluster { registry on; } in a vhost make it a part of one; cluster { coworkers HOST; } asks others without Redis.")}</p>`;
    return html`${hasRedis && html`<${Redis} ...${cluster} />`}
        <${Table} label=${t("Streams of this server")} columns=${leases()} rows=${cluster.leases} total=${cluster.leases_total} />
        <${Table} label=${t("Coworkers")} columns=${coworkers()} rows=${cluster.coworkers} />`;
};

export const Cluster = () => html`<${Polled} path=${withQuery("cluster", { count: SHOWN })} show=${show} />`;
