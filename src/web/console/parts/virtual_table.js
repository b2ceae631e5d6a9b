// A table of any length of which only the visible rows are in the document. Rows have one height. In a narrow window a
// row is a card, and the head is left out.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { narrow } from "./media.js";

const OVERSCAN = 6; // rows before and after the visible ones
const HEIGHT = 38; // px, of a row
const CARD_HEIGHT = 66;

function Head({ columns, sort, onSort }) {
    const cell = (column) => {
        const is = !!column.sort && sort.replace("-", "") === column.sort;
        const order = !is ? undefined : sort.startsWith("-") ? "descending" : "ascending";
        const next = is && sort.startsWith("-") === !!column.down ? (column.down ? "" : "-") : column.down ? "-" : "";
        return html`<div role="columnheader" class=${column.class} data-column=${column.key} aria-sort=${order}>
            ${column.sort
                ? html`<button onClick=${() => onSort(next + column.sort)}>
                      ${column.title}${order && html`<span aria-hidden="true" class="sort-mark">${order === "ascending" ? "▲" : "▼"}</span>`}
                  </button>`
                : column.title}
        </div>`;
    };
    return html`<div role="rowgroup" class="vt-head"><div role="row" aria-rowindex="1" class="vt-row">${columns.map(cell)}</div></div>`;
}

function Row({ row, index, columns, height }) {
    const style = { transform: `translateY(${index * height}px)`, height: `${height}px` };
    const cell = (column) =>
        html`<div role="cell" class=${column.class} data-column=${column.key}>${row ? column.cell(row) : ""}</div>`;
    return html`<div role="row" class=${row ? "vt-row" : "vt-row vt-missing"} aria-rowindex=${index + 2} style=${style}>
        ${columns.map(cell)}
    </div>`;
}

// The rows that the scroll position shows: [first, last).
function visible(element, height) {
    const first = Math.floor(element.scrollTop / height);
    return [first, first + Math.ceil(element.clientHeight / height) + 1];
}

// columns: {key, title, class, cell(row), sort: name for the API, down: descending first}. row(index): undefined where it
// is not loaded; id(row): unique. onRange(first, last): the visible rows have changed. sort: as in the API.
export function VirtualTable({ label, kind, total, columns, row, id, onRange, sort = "", onSort, empty }) {
    const ref = useRef(null);
    const [range, setRange] = useState([0, 20]);
    const height = narrow.value ? CARD_HEIGHT : HEIGHT;
    const look = () => {
        const [first, last] = visible(ref.current, height);
        if (first === range[0] && last === range[1]) return;
        setRange([first, last]);
        onRange?.(first, last);
    };
    useLayoutEffect(() => {
        look();
        const observer = new ResizeObserver(look);
        observer.observe(ref.current);
        return () => observer.disconnect();
    });
    const first = Math.max(0, range[0] - OVERSCAN);
    const last = Math.min(total ?? 0, range[1] + OVERSCAN);
    const rows = [];
    for (let index = first; index < last; ++index) {
        const one = row(index);
        rows.push(html`<${Row} key=${one ? id(one) : index} row=${one} index=${index} columns=${columns} height=${height} />`);
    }
    return html`<div
        ref=${ref}
        class=${`vt vt-${kind}`}
        role="table"
        tabindex="0"
        aria-label=${label}
        aria-rowcount=${(total ?? 0) + 1}
        onScroll=${look}
    >
        ${!narrow.value && html`<${Head} columns=${columns} sort=${sort} onSort=${onSort} />`}
        <div role="rowgroup" class="vt-rows" style=${{ height: `${(total ?? 0) * height}px` }}>${rows}</div>
        ${total === 0 && html`<div role="row" class="vt-empty"><div role="cell">${empty}</div></div>`}
        ${total === null && html`<div role="row" class="vt-empty"><div role="cell">${t("Loading")}</div></div>`}
    </div>`;
}
