// A question before something is changed, and the line that says what came of it.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";

const question = signal(null);
const notice = signal(null);
const NOTICE_MS = 6000;

// Whether the answer is yes. title, text, action: of the dialog and its button.
export function ask({ title, text, action }) {
    question.value?.answer(false);
    return new Promise((resolve) => {
        question.value = {
            title,
            text,
            action,
            answer(yes) {
                question.value = null;
                resolve(yes);
            },
        };
    });
}

let timer = 0;
export function notify(text, bad = false) {
    clearTimeout(timer);
    notice.value = { text, bad };
    timer = setTimeout(() => (notice.value = null), NOTICE_MS);
}

// An element <dialog>, modal from its first moment. onClose: closed by the keyboard as well.
export function Modal({ label, onClose, children, wide }) {
    const ref = useRef(null);
    useEffect(() => {
        const before = document.activeElement;
        const dialog = ref.current;
        dialog.showModal();
        return () => {
            dialog.close();
            if (before instanceof HTMLElement && before.isConnected) before.focus();
        };
    }, []);
    return html`<dialog
        ref=${ref}
        class=${wide ? "wide" : ""}
        aria-label=${label}
        onCancel=${(event) => {
            event.preventDefault();
            onClose?.();
        }}
    >
        ${children}
    </dialog>`;
}

export function Dialogs() {
    const asked = question.value;
    return html`${asked &&
        html`<${Modal} label=${asked.title} onClose=${() => asked.answer(false)}>
            <h2>${asked.title}</h2>
            <p>${asked.text}</p>
            <div class="dialog-buttons">
                <button onClick=${() => asked.answer(false)}>${t("Cancel")}</button>
                <button class="danger" onClick=${() => asked.answer(true)}>${asked.action}</button>
            </div>
        <//>`}
        <div class="notice" role="status">
            ${notice.value && html`<p class=${notice.value.bad ? "bad" : ""}>${notice.value.text}</p>`}
        </div>`;
}
