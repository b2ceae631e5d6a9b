// The newest keyframe of a stream, where the API lets this visitor have it (doc/api.md, "Pictures"): the address of a
// blob, or "".
import { at } from "../shared/base.js";

const WIDTH = 1280;

async function ask(path) {
    const response = await fetch(at(`api/v1/${path}`), { credentials: "omit" });
    if (!response.ok) throw new Error(`${response.status}`);
    return response;
}

export async function posterOf({ app, stream, vhost }) {
    try {
        // Asked first: a refused picture would be an error in the console of each visitor.
        const { overview } = await (await ask("overview")).json();
        if (!overview.access.changes) return "";
        const search = new URLSearchParams({ search: `${app}/${stream}`, count: "100" });
        const { streams } = await (await ask(`streams?${search}`)).json();
        const found = streams.filter((one) => one.app === app && one.name === stream && one.publish.active && one.video);
        const is = vhost ? await vhostId(vhost) : found[0]?.vhost;
        const one = found.find(({ vhost: id }) => id === is);
        if (!one) return "";
        return URL.createObjectURL(await (await ask(`streams/${encodeURIComponent(one.id)}/snapshot.jpg?width=${WIDTH}`)).blob());
    } catch {
        return "";
    }
}

async function vhostId(name) {
    const { vhost } = await (await ask(`vhosts/${encodeURIComponent(name)}`)).json();
    return vhost.id;
}
