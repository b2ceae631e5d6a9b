// A button that copies a text; where the clipboard is not allowed (a page by http), the text is selected instead.
import { useRef, useState } from "preact/hooks";
import { html } from "./html.js";
import { t } from "./i18n.js";

export function CopyButton({ text, label, from = null }) {
    const [copied, setCopied] = useState("");
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(text);
            setCopied("copied");
        } catch {
            const range = document.createRange();
            const target = from?.current;
            if (!target) return setCopied("failed");
            if (target.select) {
                target.select();
            } else {
                range.selectNodeContents(target);
                getSelection().removeAllRanges();
                getSelection().addRange(range);
            }
            setCopied("selected");
        }
        setTimeout(() => setCopied(""), 3000);
    };
    const said = { copied: t("Copied"), selected: t("Selected: press Ctrl+C"), failed: t("Not allowed by the browser") }[copied];
    return html`<button onClick=${copy}>${said ?? label ?? t("Copy")}</button><span class="visually-hidden" role="status">${said ?? ""}</span>`;
}

// A command or address in a line of its own, with its button.
export function CopyLine({ text, label }) {
    const code = useRef(null);
    return html`<div class="copy-line" role="group" aria-label=${label}><code ref=${code} title=${text}>${text}</code>
        <${CopyButton} text=${text} from=${code} /></div>`;
}
