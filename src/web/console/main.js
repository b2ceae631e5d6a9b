// The console: its frame, and the page that the address names.
import { render } from "preact";
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { chinese } from "../shared/chinese.js";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { PageHeader } from "../shared/page_header.js";
import { authorization, logIn } from "./api.js";
import { consoleChinese } from "./chinese.js";
import { failure, overview, start } from "./live.js";
import { link, route } from "./route.js";
import { Dialogs } from "./parts/dialogs.js";
import { Icon } from "./parts/icons.js";
import { Login } from "./parts/login.js";
import { narrow } from "./parts/media.js";
import { Clients } from "./pages/clients.js";
import { Cluster } from "./pages/cluster.js";
import { Config } from "./pages/config.js";
import { Edges } from "./pages/edges.js";
import { Ends } from "./pages/ends.js";
import { Hooks } from "./pages/hooks.js";
import { Log } from "./pages/log.js";
import { Overview } from "./pages/overview.js";
import { Profile } from "./pages/profile.js";
import { Recordings } from "./pages/recordings.js";
import { Relays } from "./pages/relays.js";
import { Sessions } from "./pages/sessions.js";
import { Stream } from "./pages/stream.js";
import { Streams } from "./pages/streams.js";
import { Threads } from "./pages/threads.js";
import { Tools } from "./pages/tools.js";
import { Vhosts } from "./pages/vhosts.js";
import { Why } from "./pages/why.js";
import "../shared/theme.css";
import "./console.css";

Object.assign(chinese, consoleChinese);

// Groups of pages. fills: its list has the rest of the window's height.
const GROUPS = [
    { title: () => t("Live"), pages: [
        { name: "", icon: "overview", title: () => t("Overview"), page: Overview },
        { name: "streams", icon: "streams", title: () => t("Streams"), page: Streams, fills: true },
        { name: "clients", icon: "clients", title: () => t("Clients"), page: Clients, fills: true },
        { name: "why", icon: "search", title: () => t("Check a URL"), page: Why },
        { name: "recordings", icon: "recordings", title: () => t("Recordings"), page: Recordings, fills: true },
    ] },
    { title: () => t("Past"), pages: [
        { name: "sessions", icon: "sessions", title: () => t("Sessions"), page: Sessions, fills: true },
        { name: "ends", icon: "ends", title: () => t("Ended sessions"), page: Ends },
        { name: "log", icon: "log", title: () => t("Log"), page: Log, fills: true },
    ] },
    { title: () => t("Other servers"), pages: [
        { name: "relays", icon: "relays", title: () => t("Relays"), page: Relays, fills: true },
        { name: "edges", icon: "edges", title: () => t("Edges"), page: Edges },
        { name: "cluster", icon: "cluster", title: () => t("Cluster"), page: Cluster },
        { name: "hooks", icon: "hooks", title: () => t("Hook servers"), page: Hooks, fills: true },
    ] },
    { title: () => t("This server"), pages: [
        { name: "config", icon: "config", title: () => t("Configuration"), page: Config, fills: true },
        { name: "vhosts", icon: "vhosts", title: () => t("Vhosts"), page: Vhosts, fills: true },
        { name: "tools", icon: "tools", title: () => t("Programs"), page: Tools },
        { name: "threads", icon: "threads", title: () => t("Threads"), page: Threads },
        { name: "profile", icon: "profile", title: () => t("Profile"), page: Profile },
    ] },
];
const PAGES = GROUPS.flatMap((group) => group.pages);

// In a narrow window behind a button that names the page.
function Navigation({ current }) {
    const open = useSignal(false);
    const links = (pages) =>
        pages.map(
            (page) =>
                html`<a href=${link(page.name)} aria-current=${page === current ? "page" : undefined} onClick=${() => (open.value = false)}>
                    <${Icon} name=${page.icon} /><span>${page.title()}</span>
                </a>`,
        );
    return html`<nav class=${open.value ? "side open" : "side"} aria-label=${t("Console")}>
        ${narrow.value &&
        html`<button class="side-button" aria-expanded=${open.value} onClick=${() => (open.value = !open.value)}>
            <${Icon} name=${open.value ? "close" : "menu"} /><span>${current.title()}</span><span class="visually-hidden">${t("All pages")}</span>
        </button>`}
        ${(!narrow.value || open.value) &&
        GROUPS.map((group, i) => html`<div class="side-group" role="group" aria-labelledby=${`group-${i}`}><span class="side-title" id=${`group-${i}`}>${group.title()}</span>${links(group.pages)}</div>`)}
    </nav>`;
}

function State() {
    const failed = failure.value;
    const known = overview.value;
    const text = failed ? t("No contact") : known ? t("Connected") : t("Loading");
    return html`<span class="state"><span class=${failed ? "dot bad" : known ? "dot good live" : "dot quiet"}></span>${text}</span>
        ${authorization.value && html`<button class="small" onClick=${() => logIn(null)}>${t("Log out")}</button>`}`;
}

function Failure() {
    const failed = failure.value;
    return failed && html`<p class="problem" role="alert">${t("The overview is not up to date: {why}", { why: t(failed.message) })}</p>`;
}

function App() {
    const { page: name, id } = route.value;
    const current = PAGES.find((page) => page.name === name) ?? PAGES[0];
    const isStream = current.name === "streams" && id;
    const heading = useRef(null);
    const first = useRef(true);
    const title = current.title();
    useEffect(() => {
        document.title = `${title} – ${t("Console")}`;
    }, [title]);
    // A screen reader goes on at the new page.
    useEffect(() => {
        if (!first.current) heading.current?.focus();
        first.current = false;
    }, [name, id]);
    return html`<${PageHeader} page="console"><${State} /><//>
        <div class="frame">
            <${Navigation} current=${current} />
            <main class=${current.fills && !isStream ? "fills" : ""} key=${`${name}/${isStream ? id : ""}`} data-page=${current.name}>
                <h1 ref=${heading} tabindex="-1" class=${isStream ? "visually-hidden" : ""}>${title}</h1>
                <${Failure} />
                ${isStream ? html`<${Stream} id=${id} />` : html`<${current.page} />`}
            </main>
        </div>
        <${Dialogs} /><${Login} />`;
}

start();
render(html`<${App} />`, document.body);
