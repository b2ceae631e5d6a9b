// The configuration in force, with the origin of each value.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { authorization, call, login } from "../api.js";
import { Search } from "../parts/list.js";
import { ReloadButton } from "../parts/reload.js";
import { VirtualTable } from "../parts/virtual_table.js";
import { explain } from "../text.js";

const MAX_DIRECTIVES = 10000;

const columns = () => [
    { key: "name", title: t("Directive"), class: "grow", cell: (one) => html`<code title=${one.name}>${one.name}</code>` },
    { key: "vhost", title: t("Vhost"), class: "w-stream quiet", cell: (one) => one.vhost },
    { key: "value", title: t("Value"), class: "grow", cell: (one) => html`<code class=${one.origin === "default" ? "quiet" : "strong"} title=${one.value}>${one.value || "–"}</code>` },
    { key: "initial", title: t("Default"), class: "w-stream quiet", cell: (one) => html`<code title=${one.initial}>${one.initial || "–"}</code>` },
    { key: "origin", title: t("Origin"), class: "w-stream", cell: (one) => (one.origin === "default" ? html`<span class="quiet">${t("default")}</span>` : html`<span title=${one.origin}>${one.origin}</span>`) },
    { key: "apply", title: t("Takes effect"), class: "w-count", cell: (one) => (one.apply === "live" ? t("on reload") : t("on restart")) },
];

const matches = (one, words) => words.every((word) => `${one.vhost} ${one.name} ${one.value} ${one.origin}`.toLowerCase().includes(word));

export function Config() {
    const all = useSignal(null);
    const failure = useSignal(null);
    const onlySet = useSignal(true);
    const text = useSignal("");
    const load = async () => {
        try {
            all.value = (await call(`config?count=${MAX_DIRECTIVES}`)).directives;
            failure.value = null;
        } catch (error) {
            if (!login.peek()) failure.value = error;
        }
    };
    useEffect(() => void load(), [authorization.value]);
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = (all.value ?? []).filter((one) => (!onlySet.value || one.origin !== "default") && matches(one, words));
    return html`<div class="bar">
            <${Search} value=${text} label=${t("Search")} />
            <label class="choice">
                <input type="checkbox" checked=${onlySet.value} onChange=${(e) => (onlySet.value = e.currentTarget.checked)} />${t("Only what is set")}
            </label>
            <button onClick=${load}>${t("Refresh")}</button>
            <${ReloadButton} onReload=${load} />
            <span class="quiet bar-count" data-total=${rows.length}>${t("{n} of {all}", { n: rows.length, all: all.value?.length ?? 0 })}</span>
        </div>
        ${failure.value && html`<p class="problem" role="alert">${explain(failure.value)}</p>`}
        <${VirtualTable}
            label=${t("Configuration")}
            kind="config"
            total=${all.value || failure.value ? rows.length : null}
            columns=${columns()}
            row=${(index) => rows[index]}
            id=${(one) => `${one.vhost} ${one.name}`}
            empty=${failure.value ? "" : t("Nothing matches the search.")}
        />`;
}
