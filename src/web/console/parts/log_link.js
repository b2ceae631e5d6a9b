// A session's type, which leads to the lines of the log about it, for who may read them.
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { mayChange } from "../live.js";
import { link } from "../route.js";

export function TypeTag({ session, publishes = false }) {
    const kind = publishes ? "tag tag-in" : "tag";
    if (!mayChange.value) return html`<span class=${kind}>${session.type}</span>`;
    return html`<a class=${kind} href=${link("log", "", session.id)} title=${t("Log of {id}", { id: session.id })}>${session.type}</a>`;
}
