// A list of the API on a page: search, order, table, kept up to date.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { PagedList } from "../paged_list.js";
import { poll } from "../poll.js";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { count } from "../text.js";
import { Icon } from "./icons.js";
import { narrow } from "./media.js";
import { VirtualTable } from "./virtual_table.js";

const PERIOD_MS = 2000;
const QUIET_MS = 120; // scrolling and typing have paused

export function Search({ value, label }) {
    return html`<label class="search">
        <${Icon} name="search" /><span class="visually-hidden">${label}</span>
        <input type="search" placeholder=${label} value=${value.value} onInput=${(e) => (value.value = e.currentTarget.value)} />
    </label>`;
}

// In place of the head of the table, in a narrow window.
function Order({ columns, sort }) {
    const options = columns.filter((column) => column.sort).map((column) => [(column.down ? "-" : "") + column.sort, column.title]);
    return html`<label class="order">
        <span class="visually-hidden">${t("Order")}</span>
        <select value=${sort.value} onChange=${(e) => (sort.value = e.currentTarget.value)}>
            ${options.map(([value, title]) => html`<option value=${value}>${t("By {column}", { column: title })}</option>`)}
        </select>
    </label>`;
}

// all: how many there are without the search; null, "": it is not known, or there is no search.
function countText(total, all) {
    if (total === null) return "";
    if (typeof all === "number") return t("{n} of {all}", { n: count(total), all: count(all) });
    return t("total: {n}", { n: count(total) });
}

// fixed: parameters of the API. search, order: whether it has these. children: more for the bar.
export function List({ label, kind, path, field, fixed, search = true, order = "", columns, id, empty, period = PERIOD_MS, children }) {
    const text = useSignal("");
    const sort = useSignal(order);
    const list = useMemo(() => new PagedList(path, field), [path, field]);
    const again = useRef(() => {});
    const query = { ...fixed, search: text.value.trim(), sort: sort.value };
    const key = JSON.stringify(query);
    useEffect(() => {
        list.setQuery(query);
        let end = () => {};
        const begin = () => {
            end();
            end = poll((signal) => list.fetch(signal), period);
        };
        let timer = setTimeout(begin, text.value ? QUIET_MS : 0);
        again.current = () => {
            clearTimeout(timer);
            timer = setTimeout(begin, QUIET_MS);
        };
        return () => {
            clearTimeout(timer);
            end();
        };
    }, [list, key]);
    const total = list.total.value;
    list.version.value; // the rows are not a signal
    const failure = list.failure.value;
    return html`<div class="bar">
            ${search && html`<${Search} value=${text} label=${t("Search")} />`}
            ${narrow.value && order && html`<${Order} columns=${columns} sort=${sort} />`}
            ${children}
            <span class="quiet bar-count" data-total=${total}>${countText(total, query.search && list.all.value)}</span>
        </div>
        ${failure && html`<p class="problem" role="alert">${t(failure.message)}</p>`}
        <${VirtualTable}
            label=${label}
            kind=${kind}
            total=${failure && total === null ? 0 : total}
            columns=${columns}
            row=${(index) => list.rows.get(index)}
            id=${id}
            onRange=${(first, last) => list.want(first, last) && again.current()}
            sort=${sort.value}
            onSort=${(value) => (sort.value = value)}
            empty=${failure ? "" : text.value ? t("Nothing matches the search.") : empty}
        />`;
}
