// Bundles the pages: node build.mjs MODULES OUT. MODULES is the folder that has node_modules, OUT the folder of web
// pages that gets start.html, console/ and players/, and beside what is worth it a compressed form, NAME.br and NAME.gz.
// An index.html there is the operator's.
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const sources = dirname(fileURLToPath(import.meta.url));
const { build } = createRequire(join(modules, "package.json"))("esbuild");

// A page: its sources' folder, and where it is put below OUT.
const PAGES = [
    { from: "start", to: "." },
    { from: "console", to: "console" },
    // The engines are loaded by who plays by them: by the players, and by the start page, which is bundled alone. check and
    // embed are pages of their own.
    { from: "players", to: "players", more: ["check", "embed", "engine_dash", "engine_flv", "engine_hls", "engine_whep"] },
];

for (const page of PAGES) {
    const folder = join(out, page.to);
    if (page.to !== ".") await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    const name = page.from;
    await build({
        entryPoints: {
            [name]: join(sources, page.from, "main.js"),
            ...Object.fromEntries((page.more ?? []).map((part) => [part, join(sources, page.from, `${part}.js`)])),
        },
        outdir: folder,
        bundle: true,
        splitting: page.from !== "start", // the engines of the players are loaded by who plays by them
        chunkNames: "[name]-[hash]",
        format: "esm",
        target: ["chrome100", "firefox100", "safari15"],
        minify: true,
        legalComments: "linked",
        nodePaths: [join(modules, "node_modules")],
        logLevel: "warning",
    });
    const names = (await readdir(join(sources, page.from))).filter((name) => name.endsWith(".html"));
    for (const name of names) await cp(join(sources, page.from, name), join(folder, name));
}
await cp(join(sources, "shared", "icon.svg"), join(out, "icon.svg"));

const MIN_COMPRESSED = 1024; // bytes; less fits into a packet anyway
const CODINGS = { br: promisify(brotliCompress), gz: (bytes) => promisify(gzip)(bytes, { level: 9 }) };

for (const folder of ["", "console", "players"]) {
    const names = (await readdir(join(out, folder))).filter((name) => /\.(js|css|html|svg)$/.test(name));
    for (const name of names) {
        const path = join(out, folder, name);
        const bytes = await readFile(path);
        for (const [ending, compress] of Object.entries(CODINGS)) {
            const form = `${path}.${ending}`;
            if (bytes.length < MIN_COMPRESSED) await rm(form, { force: true });
            else await writeFile(form, await compress(bytes));
        }
    }
}
