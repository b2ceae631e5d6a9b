// A bar of a share, by an SVG: its width is an attribute, which the policy of the page allows.
import { html } from "../../shared/html.js";

export function Meter({ value, label, tone }) {
    const share = Math.min(1, Math.max(0, value));
    const kind = tone ?? (share > 0.9 ? "bad" : share > 0.7 ? "warn" : "accent");
    return html`<svg
        class=${`meter meter-${kind}`}
        role=${label ? "img" : undefined}
        aria-label=${label && `${label}: ${Math.round(share * 100)} %`}
        aria-hidden=${label ? undefined : "true"}
        width="100%"
        height="4"
    >
        <rect width="100%" height="4" rx="2" class="meter-all" />
        <rect width=${`${share * 100}%`} height="4" rx="2" class="meter-part" />
    </svg>`;
}
