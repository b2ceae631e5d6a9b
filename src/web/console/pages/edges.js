// What this server pulls from origins and passes up to them, and the state of the origins.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { withQuery } from "../api.js";
import { nameOf, Polled, Table } from "../parts/plain_table.js";
import { count } from "../text.js";

const SHOWN = 200;

const links = () => [
    [t("Stream"), nameOf],
    [t("State"), (one) => one.state],
    [t("Origin server"), (one) => one.origin],
    [t("Attempts"), (one) => count(one.attempts), "number"],
    [t("Text"), (one) => one.problem, "quiet"],
];

const origins = () => [
    [t("Origin server"), (one) => one.origin],
    [t("State"), (one) => html`<span class=${one.up ? "good" : "bad"}>${one.up ? t("answers") : t("is down")}</span>`],
    [t("Pulls"), (one) => count(one.pulls), "number"],
    [t("Pushes"), (one) => count(one.pushes), "number"],
    [t("Connections"), (one) => count(one.connections), "number"],
    [t("Errors"), (one) => count(one.failures), "number"],
    [t("Text"), (one) => one.problem, "quiet"],
];

const show = (known) =>
    html`${!known.origins.length &&
        !known.pulls.length &&
        !known.pushes.length &&
        html`<p class="quiet" data-empty="edges">${t("No stream is pulled from another server or passed up to one. A vhost is an edge with cluster { mode remote; origin HOST; }.")}</p>`}
        <${Table} label=${t("Origin servers")} columns=${origins()} rows=${known.origins} />
        <${Table} label=${t("Pulls")} columns=${links()} rows=${known.pulls} total=${known.pulls_total} />
        <${Table} label=${t("Pushes")} columns=${links()} rows=${known.pushes} total=${known.pushes_total} />`;

export const Edges = () => html`<${Polled} path=${withQuery("edges", { count: SHOWN })} show=${show} />`;
