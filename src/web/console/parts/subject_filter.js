// Of which stream and client a page shows lines or sessions. The address of the page says it: #/PAGE/STREAM/CLIENT.
import { useSignal } from "@preact/signals";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { link } from "../route.js";

function Fields({ page, stream, client, clientLabel }) {
    const names = useSignal({ stream, client });
    const field = (name, label) =>
        html`<label>${label} <input name=${name} value=${names.value[name]} onInput=${(e) => (names.value = { ...names.peek(), [name]: e.target.value.trim() })} /></label>`;
    const submit = (event) => {
        event.preventDefault();
        location.hash = link(page, names.value.stream, names.value.client);
    };
    return html`<form class="bar" onSubmit=${submit}>
        ${field("stream", t("Stream"))} ${field("client", clientLabel)}
        <button>${t("Show")}</button>
        ${(stream || client) && html`<a href=${link(page)}>${t("Show all")}</a>`}
    </form>`;
}

// What is typed holds until the address has something else.
export const SubjectFilter = (props) => html`<${Fields} key=${`${props.stream} ${props.client}`} ...${props} />`;
