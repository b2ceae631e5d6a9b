// A flame graph's data: folded stacks ("a;b;c 12" a line) become a tree, and the tree under a frame becomes boxes.

const MAX_DEPTH = 200;
const MIN_SHARE = 0.0005; // of the width; narrower boxes are not drawn

const node = (name, parent) => ({ name, parent, value: 0, self: 0, children: new Map(), depth: parent ? parent.depth + 1 : 0 });

// value: samples in the frame and in what it called; self: in itself.
export function parse(text) {
    const root = node("all", null);
    for (const line of text.split("\n")) {
        const space = line.lastIndexOf(" ");
        const samples = Number(line.slice(space + 1));
        if (space < 1 || !(samples > 0)) continue;
        let at = root;
        root.value += samples;
        for (const name of line.slice(0, space).split(";").slice(0, MAX_DEPTH)) {
            if (!at.children.has(name)) at.children.set(name, node(name, at));
            at = at.children.get(name);
            at.value += samples;
        }
        at.self += samples;
    }
    return root;
}

export const childrenOf = (one) => [...one.children.values()].sort((a, b) => b.value - a.value || a.name.localeCompare(b.name));

// [{frame, x, width, row}], x and width as shares of the whole: callers of `top` over its full width, then what it called.
export function boxes(top) {
    const found = [];
    for (let at = top.parent; at; at = at.parent) found.push({ frame: at, x: 0, width: 1, row: at.depth, above: true });
    const place = (frame, x, width) => {
        found.push({ frame, x, width, row: frame.depth });
        for (const child of childrenOf(frame)) {
            const share = (child.value / top.value);
            if (share >= MIN_SHARE) place(child, x, share);
            x += share;
        }
    };
    if (top.value) place(top, 0, 1);
    return found;
}

// Functions by their own samples: [{name, self, value}]. A function counts once for a stack in which it is recursive.
export function functions(root) {
    const found = new Map();
    const visit = (frame, above) => {
        const one = found.get(frame.name) ?? { name: frame.name, self: 0, value: 0 };
        found.set(frame.name, one);
        one.self += frame.self;
        const inner = above.has(frame.name);
        if (!inner) {
            one.value += frame.value;
            above.add(frame.name);
        }
        for (const child of frame.children.values()) visit(child, above);
        if (!inner) above.delete(frame.name);
    };
    for (const child of root.children.values()) visit(child, new Set());
    return [...found.values()].sort((a, b) => b.self - a.self || b.value - a.value);
}

// The frame beside, above or below another one; the same where there is none.
export function step(frame, key, top) {
    if (key === "ArrowUp") return frame === top || !frame.parent ? frame : frame.parent;
    if (key === "ArrowDown") return childrenOf(frame)[0] ?? frame;
    if (frame === top || !frame.parent) return frame;
    const beside = childrenOf(frame.parent);
    return beside[beside.indexOf(frame) + (key === "ArrowRight" ? 1 : -1)] ?? frame;
}
