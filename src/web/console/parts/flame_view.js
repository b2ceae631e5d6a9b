// A flame graph on a canvas: the callers above, what they called below. By pointer or keyboard: arrows choose a frame,
// Enter shows it over the full width, Escape goes back.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { html } from "../../shared/html.js";
import { t } from "../../shared/i18n.js";
import { theme } from "../../shared/preferences.js";
import { boxes, step } from "../flame.js";
import { percent } from "../text.js";

const ROW = 20; // px
const MIN_TEXT = 24; // px, of a box with a name
const MAX_ROWS = 60;
const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

// A hue by the namespace, so that parts of the server look alike.
function hue(name) {
    let hash = 0;
    for (const c of name.split(/::|[.(<]/)[0]) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
    return hash % 360;
}

function fill(name, dark, faint) {
    if (faint) return dark ? "#2a323c" : "#e6e9ee";
    return dark ? `hsl(${hue(name)} 32% 36%)` : `hsl(${hue(name)} 46% 82%)`;
}

function draw(canvas, list, { chosen, found, dark }) {
    const scale = devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const rows = Math.min(MAX_ROWS, Math.max(...list.map((box) => box.row)) + 1);
    canvas.style.height = `${rows * ROW}px`;
    canvas.width = width * scale;
    canvas.height = rows * ROW * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (const { frame, x, width: share, row, above } of list) {
        if (row >= MAX_ROWS) continue;
        const [left, top, wide] = [x * width, row * ROW, Math.max(share * width - 1, 0.5)];
        const dim = found && !frame.name.toLowerCase().includes(found);
        pen.fillStyle = fill(frame.name, dark, above || dim || !frame.parent);
        pen.fillRect(left, top, wide, ROW - 1);
        if (frame === chosen) {
            pen.strokeStyle = dark ? "#ffffff" : "#000000";
            pen.lineWidth = 2;
            pen.strokeRect(left + 1, top + 1, Math.max(wide - 2, 1), ROW - 3);
        }
        if (wide < MIN_TEXT) continue;
        pen.save();
        pen.beginPath();
        pen.rect(left, top, wide - 3, ROW);
        pen.clip();
        pen.fillStyle = dark ? (dim ? "#a3adb9" : "#f4f6f8") : dim ? "#57606a" : "#1b1f24";
        pen.fillText(frame.parent ? frame.name : t("all"), left + 5, top + ROW / 2);
        pen.restore();
    }
}

function boxAt(list, canvas, event) {
    const area = canvas.getBoundingClientRect();
    const x = (event.clientX - area.left) / area.width;
    const row = Math.floor((event.clientY - area.top) / ROW);
    return list.find((box) => box.row === row && x >= box.x && x < box.x + box.width)?.frame;
}

const line = (frame, root) =>
    t("{name}: {n} samples, {share} of all; {self} in itself", { name: frame.parent ? frame.name : t("all"), n: frame.value, share: percent(frame.value / root.value), self: frame.self });

// found: lower case; frames with that in their name keep their colour.
export function FlameView({ root, found }) {
    const ref = useRef(null);
    const top = useSignal(root);
    const chosen = useSignal(root);
    const under = useSignal(null);
    const list = useMemo(() => boxes(top.value), [top.value]);
    const zoom = (frame) => {
        top.value = chosen.value = frame;
    };
    useEffect(() => zoom(root), [root]);
    useEffect(() => {
        const paint = () => draw(ref.current, list, { chosen: chosen.value, found, dark: theme.value === "dark" });
        paint();
        const observer = new ResizeObserver(paint);
        observer.observe(ref.current.parentElement);
        return () => observer.disconnect();
    }, [list, chosen.value, found, theme.value]);
    const key = (event) => {
        if (ARROWS.includes(event.key)) chosen.value = step(chosen.value, event.key, top.value);
        else if (event.key === "Enter") zoom(chosen.value);
        else if (event.key === "Escape" || event.key === "Backspace") zoom(top.value.parent ?? root);
        else if (event.key === "Home") zoom(root);
        else return;
        under.value = null;
        event.preventDefault();
    };
    return html`<div class="flame" data-top=${top.value.name} data-chosen=${chosen.value.name}>
        <div class="flame-bar">
            <p class="flame-line" role="status">${line(under.value ?? chosen.value, root)}</p>
            <button disabled=${top.value === root} onClick=${() => zoom(top.value.parent ?? root)}>${t("Zoom out")}</button>
            <button disabled=${top.value === root} onClick=${() => zoom(root)}>${t("Show all")}</button>
        </div>
        <canvas
            ref=${ref}
            role="application"
            tabindex="0"
            aria-label=${t("Flame graph. Arrow keys choose a frame, Enter zooms in, Escape zooms out.")}
            onKeyDown=${key}
            onClick=${(event) => {
                const frame = boxAt(list, ref.current, event);
                if (frame) zoom(frame);
            }}
            onPointerMove=${(event) => (under.value = boxAt(list, ref.current, event) ?? null)}
            onPointerLeave=${() => (under.value = null)}
        ></canvas>
    </div>`;
}
