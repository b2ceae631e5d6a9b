// The players' page: a view per protocol, publishing by WHIP, and the comparison. The address says what is shown; see
// address.js.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { chinese } from "../shared/chinese.js";
import { html } from "../shared/html.js";
import { t } from "../shared/i18n.js";
import { PageHeader } from "../shared/page_header.js";
import "../shared/theme.css";
import { NAMES, pageUrl, PROTOCOLS, readRequest } from "./address.js";
import { chinese as own } from "./chinese.js";
import { CompareView } from "./compare_view.js";
import { PlayView } from "./play_view.js";
import { PublishView } from "./publish_view.js";

Object.assign(chinese, own);
const VIEWS = [...PROTOCOLS, "compare", "whip"];
const viewName = (view) => (view === "compare" ? t("Compare latency") : view === "whip" ? t("Publish (WHIP)") : NAMES[view]);

function Page() {
    const [state, setState] = useState(() => readRequest(location.search, VIEWS));
    const { view, ...request } = state;
    useEffect(() => {
        const onBack = () => setState(readRequest(location.search, VIEWS));
        addEventListener("popstate", onBack);
        return () => removeEventListener("popstate", onBack);
    }, []);
    useEffect(() => {
        document.title = `${viewName(view)} – ${t("Players")}`;
    });
    // The address of the page stays the one that shows the same, without autostart: a reload must not start it.
    const onRequest = (next) => {
        setState({ view, ...next });
        try {
            history.replaceState(null, "", pageUrl({ view, ...next }));
        } catch {
            // Safari allows 100 changes in 30 s; who types fast gets the address of some characters ago.
        }
    };
    const show = (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        history.pushState(null, "", event.currentTarget.href);
        setState(readRequest(location.search, VIEWS));
    };
    const props = { request, onRequest };
    return html`<${PageHeader} page="players" />
        <main class="players">
            <h1>${t("Players")}</h1>
            <nav class="views" aria-label=${t("Protocols")}>
                ${VIEWS.map(
                    (one) =>
                        html`<a key=${one} href=${pageUrl({ view: one, ...request, url: "", autostart: false })} aria-current=${one === view ? "page" : undefined} onClick=${show}>
                            ${viewName(one)}
                        </a>`,
                )}
            </nav>
            ${view === "compare"
                ? html`<${CompareView} ...${props} />`
                : view === "whip"
                  ? html`<${PublishView} ...${props} />`
                  : html`<${PlayView} key=${view} protocol=${view} ...${props} />`}
        </main>`;
}

render(html`<${Page} />`, document.body);
