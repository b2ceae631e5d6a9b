// The reload: what the files would change is shown before it is asked for, and then what came of it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { ApiError, call } from "../api.js";
import { mayChange } from "../live.js";
import { count, explain, when } from "../text.js";
import { Modal } from "./dialogs.js";

const value = (text) => (text ? html`<code>${text}</code>` : html`<span class="quiet">–</span>`);

// Of a vhost that is added or removed the directive is empty.
function Change({ change }) {
    const { vhost, directive, before, after, effect } = change;
    const isVhost = !directive;
    return html`<tr data-directive=${directive}>
        <th scope="row">
            ${isVhost ? t("Vhost {name}", { name: vhost }) : html`<code>${directive}</code>`}
            ${!isVhost && vhost && html`<span class="quiet small"> ${vhost}</span>`}
        </th>
        <td class="break">
            ${isVhost
                ? html`<span class=${after === "there" ? "good" : "bad"}>${after === "there" ? t("is added") : t("is removed")}</span>`
                : html`${value(before)} → ${value(after)}`}
        </td>
        <td>${effect}</td>
    </tr>`;
}

function Changes({ changes }) {
    if (!changes.length) return null;
    return html`<div class="scroll" tabindex="0" role="region" aria-label=${t("Changes")}>
        <table class="plain changes">
            <thead><tr><th scope="col">${t("Directive")}</th><th scope="col">${t("Change")}</th><th scope="col">${t("Takes effect")}</th></tr></thead>
            <tbody>${changes.map((change) => html`<${Change} change=${change} />`)}</tbody>
        </table>
    </div>`;
}

// Errors and warnings, with file and line.
const Problems = ({ problems }) => problems.length > 0 && html`<ul class="problems">${problems.map((one) => html`<li class="break">${one}</li>`)}</ul>`;

const restart = () => html`<span class="warn">${t("on restart")}</span>`;
const planned = (changes) => changes.map((one) => ({ ...one, effect: one.apply === "live" ? t("on reload") : restart() }));
const done = (changes) => changes.map((one) => ({ ...one, effect: one.in_force ? html`<span class="good">${t("in force")}</span>` : restart() }));

function LastReload({ report }) {
    if (!report) return null;
    const text = t("The last reload: {when}, {cause}, {n} changes.", { when: when(report.began_ms), cause: report.cause, n: count(report.changes.length) });
    return html`<p class="quiet small">${text} ${!report.ok && html`<span class="bad">${report.error}</span>`}</p>`;
}

function Plan({ plan }) {
    return html`<p data-plan=${plan.ok ? "valid" : "invalid"} class=${plan.ok ? "" : "bad"}>
            ${!plan.ok
                ? t("Nothing can be changed: {why}", { why: plan.error })
                : plan.changes.length
                  ? t("The configuration differs from the one in force:")
                  : t("The configuration is the one in force. A reload reads keys and certificates again.")}
        </p>
        <${Problems} problems=${plan.problems} />
        <${Changes} changes=${planned(plan.changes)} />
        <${LastReload} report=${plan.last_reload} />
        ${!plan.may_reload && html`<p class="quiet">${t("Reloading from here is off: http_api { raw_api { enabled on; allow_reload on; } } switches it on. The signal SIGHUP reloads, too.")}</p>`}`;
}

function Report({ report }) {
    return html`<p data-report=${report.ok ? "taken" : "refused"} class=${report.ok ? "good" : "bad"} role="status">
            ${report.ok ? t("The configuration was reloaded, in {ms} ms.", { ms: report.took_ms }) : t("Nothing was changed: {why}", { why: report.error })}
        </p>
        <${Problems} problems=${report.problems} />
        ${report.ok && !report.changes.length && html`<p>${t("No directive has changed.")}</p>`}
        <${Changes} changes=${done(report.changes)} />`;
}

// The report of a refused reload comes with a status that is no success.
async function reload() {
    const answer = await call("raw?rpc=reload", { method: "POST", allow: 409 });
    if (!answer.reload) throw new ApiError(answer.code, answer.error);
    return answer.reload;
}

function Dialog({ onClose, onReload }) {
    const plan = useSignal(null);
    const report = useSignal(null);
    const failure = useSignal(null);
    const busy = useSignal(false);
    const run = async (task) => {
        busy.value = true;
        try {
            await task();
            failure.value = null;
        } catch (error) {
            failure.value = error;
        }
        busy.value = false;
    };
    const check = () => run(async () => (plan.value = await call("config/changes")));
    const confirm = () =>
        run(async () => {
            report.value = await reload();
            onReload();
        });
    useEffect(() => void check(), []);
    const may = plan.value?.ok && plan.value.may_reload && !busy.value;
    return html`<${Modal} label=${t("Reload the configuration")} onClose=${onClose} wide>
        <h2>${t("Reload the configuration")}</h2>
        ${failure.value && html`<p class="problem" role="alert">${explain(failure.value)}</p>`}
        ${!plan.value && !failure.value && html`<p class="quiet">${t("The configuration is being read.")}</p>`}
        ${report.value ? html`<${Report} report=${report.value} />` : plan.value && html`<${Plan} plan=${plan.value} />`}
        <div class="dialog-buttons">
            <button onClick=${onClose}>${report.value ? t("Close") : t("Cancel")}</button>
            ${!report.value && html`<button disabled=${busy.value} onClick=${check}>${t("Refresh")}</button>`}
            ${!report.value && html`<button class="primary" disabled=${!may} onClick=${confirm}>${t("Reload")}</button>`}
        </div>
    <//>`;
}

export function ReloadButton({ onReload }) {
    const open = useSignal(false);
    if (!mayChange.value) return null;
    return html`<button onClick=${() => (open.value = true)}>${t("Reload")}</button>
        ${open.value && html`<${Dialog} onClose=${() => (open.value = false)} onReload=${onReload} />`}`;
}
