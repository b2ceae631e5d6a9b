// Bundles the pages: node build.mjs MODULES OUT. MODULES is the folder that has node_modules, OUT the folder of web
// pages that gets start.html, console/ and players/. An index.html there is the operator's.
import { cp, mkdir, readdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const sources = dirname(fileURLToPath(import.meta.url));
const { build } = createRequire(join(modules, "package.json"))("esbuild");

// A page: its sources' folder, and where it is put below OUT.
const PAGES = [
    { from: "start", to: "." },
    { from: "console", to: "console" },
    // The engines are loaded by who plays by them: by the players, and by the start page, which is bundled alone. embed is
    // a page of its own.
    { from: "players", to: "players", more: ["embed", "engine_dash", "engine_flv", "engine_hls", "engine_whep"] },
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
