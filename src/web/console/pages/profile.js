// Where the server spends its processor time: a flame graph, made on demand.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { call, login } from "../api.js";
import { functions, parse } from "../flame.js";
import { mayChange, overview } from "../live.js";
import { FlameView } from "../parts/flame_view.js";
import { Search } from "../parts/list.js";
import { explain, percent } from "../text.js";

const DURATIONS = [2, 5, 15, 60]; // s
const SHOWN_FUNCTIONS = 15;
const GRACE_MS = 20000;

function Functions({ root }) {
    return html`<section class="card" aria-label=${t("Functions")}>
        <h2>${t("Functions by their own time")}</h2>
        <div class="scroll" tabindex="0" role="region" aria-label=${t("Functions by their own time")}>
            <table class="plain">
                <thead><tr><th scope="col">${t("Function")}</th><th scope="col" class="number">${t("itself")}</th><th scope="col" class="number">${t("with callees")}</th></tr></thead>
                <tbody>
                    ${functions(root).slice(0, SHOWN_FUNCTIONS).map(
                        (one) =>
                            html`<tr><td><code>${one.name}</code></td><td class="number">${percent(one.self / root.value)}</td><td class="number">${percent(one.value / root.value)}</td></tr>`,
                    )}
                </tbody>
            </table>
        </div>
    </section>`;
}

function useProfile() {
    const state = useSignal({ root: null, failure: null, left: 0 });
    const running = useRef(null);
    useEffect(() => () => running.current?.abort(), []);
    const take = async (seconds) => {
        running.current?.abort();
        const mine = (running.current = new AbortController());
        const end = performance.now() + seconds * 1000;
        const count = () => (state.value = { ...state.peek(), failure: null, left: Math.max(1, Math.ceil((end - performance.now()) / 1000)) });
        count();
        const timer = setInterval(count, 250);
        const done = (values) => {
            clearInterval(timer);
            if (running.current === mine) state.value = { ...state.peek(), left: 0, ...values };
        };
        try {
            const path = `debug/profile?seconds=${seconds}&format=folded`;
            const root = parse(await call(path, { as: "text", signal: mine.signal, timeout: seconds * 1000 + GRACE_MS }));
            done({ root, failure: null });
        } catch (error) {
            done({ failure: mine.signal.aborted || login.peek() ? null : error });
        }
    };
    return { state, take, stop: () => running.current?.abort() };
}

const DIAGNOSTICS_OFF =
    "Diagnostics are off: http_api { debug on; auth { enabled on; username NAME; password PASSWORD; } } switches them on, by a reload. Where the API listens on 127.0.0.1 alone, debug on is enough.";

export function Profile() {
    const access = overview.value?.access;
    if (!access) return html`<p class="quiet">${t("Loading")}</p>`;
    if (!mayChange.value) return html`<p class="quiet">${t("Profiles are for callers who may change something.")}</p>`;
    if (access.debug === false) return html`<p class="quiet">${t(DIAGNOSTICS_OFF)}</p>`;
    return html`<${Measurement} />`;
}

function Measurement() {
    const { state, take, stop } = useProfile();
    const seconds = useSignal(5);
    const text = useSignal("");
    const found = useComputed(() => text.value.trim().toLowerCase());
    const { root, failure, left } = state.value;
    return html`<div class="bar">
            <select aria-label=${t("Duration")} value=${seconds.value} onChange=${(e) => (seconds.value = Number(e.currentTarget.value))}>
                ${DURATIONS.map((n) => html`<option value=${n}>${t("{n} seconds", { n })}</option>`)}
            </select>
            ${left
                ? html`<button onClick=${stop}>${t("Cancel")}</button><span role="status" class="quiet">${t("Measuring")}… ${left} s</span>`
                : html`<button class="primary" onClick=${() => take(seconds.value)}>${t("Measure")}</button>`}
            ${root && html`<${Search} value=${text} label=${t("Highlight functions")} />`}
        </div>
        ${failure && html`<p class="problem" role="alert">${failure.status === 404 ? t(DIAGNOSTICS_OFF) : explain(failure)}</p>`}
        ${!root && !failure && html`<p class="quiet">${t("A profile shows where the server's event loop and sender threads spend their processor time. The server goes on meanwhile.")}</p>`}
        ${root && root.value === 0 && html`<p class="quiet">${t("No sample: the server was idle.")}</p>`}
        ${root?.value > 0 && html`<section class="card" aria-label=${t("Flame graph")}><${FlameView} root=${root} found=${found.value} /></section><${Functions} root=${root} />`}`;
}
