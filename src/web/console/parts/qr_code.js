// An address as a QR code, for the camera of a phone. The library is loaded when a code is first shown.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";

const BORDER = 4; // light modules around it, as ISO/IEC 18004 has them

// A path of squares, one for each dark module.
function pathOf(rows) {
    const squares = rows.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])));
    return squares.join("");
}

export function QrCode({ text }) {
    const rows = useSignal(null);
    useEffect(() => {
        let gone = false;
        import("qr").then(({ default: encode }) => {
            if (!gone) rows.value = encode(text, "raw", { border: BORDER, ecc: "medium" });
        });
        return () => {
            gone = true;
        };
    }, [text]);
    if (!rows.value) return html`<div class="qr"></div>`;
    const size = rows.value.length;
    return html`<svg class="qr" role="img" aria-label=${t("QR code of {address}", { address: text })} viewBox=${`0 0 ${size} ${size}`} shape-rendering="crispEdges">
        <rect width=${size} height=${size} fill="#fff" />
        <path d=${pathOf(rows.value)} fill="#000" />
    </svg>`;
}
