// The top of each page: name, links between the pages, language and theme.
import { at } from "./base.js";
import { html } from "./html.js";
import { t } from "./i18n.js";
import { choose, language, theme } from "./preferences.js";
import "./page_header.css";

const LINKS = [
    { page: "console", path: "console/", text: "Console" },
    { page: "players", path: "players/", text: "Players" },
];

// The fragment of the address is the console's page.
function skip(event) {
    event.preventDefault();
    const main = document.querySelector("main");
    main.tabIndex = -1;
    main.focus();
}

// page: which of the links is this page's; null: none. children: between links and choices.
export function PageHeader({ page, children }) {
    const dark = theme.value === "dark";
    return html`<a class="skip-link" href="#" onClick=${skip}>${t("Skip to the content")}</a>
    <header class="page-header">
        <a class="page-name" href=${at("")}><img src=${at("icon.svg")} alt="" width="24" height="24" />${t("Media server")}</a>
        <nav aria-label=${t("Pages")}>
            ${LINKS.map(
                (link) =>
                    html`<a href=${at(link.path)} aria-current=${link.page === page ? "page" : undefined}>${t(link.text)}</a>`,
            )}
        </nav>
        <div class="page-space">${children}</div>
        <select aria-label=${t("Language")} value=${language.value} onChange=${(e) => choose.language(e.target.value)}>
            <option value="en">English</option>
            <option value="zh">中文</option>
        </select>
        <button
            aria-label=${dark ? t("Light theme") : t("Dark theme")}
            onClick=${() => choose.theme(dark ? "light" : "dark")}
        >
            ${dark ? "☀" : "☾"}
        </button>
    </header>`;
}
