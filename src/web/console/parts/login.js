// The login: opened by a call that was answered with 401.
import { useState } from "preact/hooks";
import { basic, bearer, login, logIn } from "../api.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { Modal } from "./dialogs.js";

let lastUser = ""; // the form opens anew when its credentials are refused

function Form({ refused }) {
    const [byToken, setByToken] = useState(false);
    const submit = (event) => {
        event.preventDefault();
        const values = new FormData(event.currentTarget);
        const text = (name) => String(values.get(name) ?? "");
        lastUser = text("user") || lastUser;
        logIn(byToken ? bearer(text("token").trim()) : basic(text("user"), text("password")));
    };
    const choice = (token, text) =>
        html`<label class="choice">
            <input type="radio" name="kind" checked=${byToken === token} onChange=${() => setByToken(token)} />${text}
        </label>`;
    return html`<form class="login" onSubmit=${submit}>
        <h2>${t("Log in")}</h2>
        <p class=${refused ? "bad" : "quiet"} role=${refused ? "alert" : undefined}>
            ${refused
                ? t("The server did not accept this.")
                : t("The server's API asks for credentials: those of http_api { auth { } }.")}
        </p>
        <div class="choices" role="radiogroup" aria-label=${t("Kind of credentials")}>
            ${choice(false, t("Name and password"))} ${choice(true, t("Token"))}
        </div>
        ${byToken
            ? html`<label>${t("Token")}<input name="token" type="password" autocomplete="off" required /></label>`
            : html`<label>${t("Name")}<input name="user" autocomplete="username" required defaultValue=${lastUser} autofocus=${!lastUser} /></label>
                  <label>
                      ${t("Password")}<input name="password" type="password" autocomplete="current-password" required autofocus=${!!lastUser} />
                  </label>`}
        <p class="quiet small">${t("It is kept until this tab is closed.")}</p>
        <div class="dialog-buttons"><button class="primary">${t("Log in")}</button></div>
    </form>`;
}

export function Login() {
    const open = login.value;
    return open && html`<${Modal} label=${t("Log in")}><${Form} refused=${open.refused} /><//>`;
}
