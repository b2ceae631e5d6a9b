// External programs that the server keeps running: transcode, ingest and exec.
import { duration } from "../../shared/format.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { Polled, Table } from "../parts/plain_table.js";
import { count } from "../text.js";

// Programs of exec need not be of a stream.
const streamOf = (one) => [one.vhost, one.app, one.stream].filter((part) => part && part !== "__defaultVhost__").join("/");

const columns = () => [
    [t("Type"), (one) => html`<span class="tag">${one.kind}</span>`],
    [t("Name"), (one) => [one.name, ...one.engines].filter(Boolean).join(", ")],
    [t("Stream"), streamOf],
    [t("State"), (one) => html`<span class=${one.running ? "good" : one.problem ? "bad" : "quiet"}>${one.state}</span>`],
    [t("Process"), (one) => one.process || "", "number"],
    [t("Runs for"), (one) => (one.running ? duration(one.running_ms / 1000) : ""), "number"],
    [t("Restarts"), (one) => (one.restarts ? html`<span class="warn">${count(one.restarts)}</span>` : ""), "number"],
    [t("Processor time"), (one) => duration(one.cpu_ms / 1000), "number"],
    [t("Program"), (one) => one.program],
    [t("Text"), (one) => one.problem, "quiet"],
];

const show = ({ tools, limit, refused }) =>
    html`${!tools.length && html`<p class="quiet" data-empty="tools">${t("No program runs. The blocks transcode, ingest and exec of a vhost start programs for its streams.")}</p>`}
        ${refused > 0 && html`<p class="warn">${t("{n} programs had to wait: max_tools is {limit}.", { n: count(refused), limit: count(limit) })}</p>`}
        <${Table} label=${t("Programs")} columns=${columns()} rows=${tools} />`;

export const Tools = () => html`<${Polled} path="tools" show=${show} />`;
