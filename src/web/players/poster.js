// The newest keyframe of a stream that this visitor may play (doc/api.md, "Pictures"): the address of a blob, or "".
import { at } from "../shared/base.js";

// more: further parameters of the stream's addresses, as its signature.
export async function posterOf({ app, stream, vhost }, more) {
    const query = new URLSearchParams(more);
    query.set("app", app);
    query.set("stream", stream);
    if (vhost) query.set("vhost", vhost);
    try {
        const response = await fetch(at(`api/v1/poster?${query}`), { credentials: "omit" });
        return response.status === 200 ? URL.createObjectURL(await response.blob()) : "";
    } catch {
        return "";
    }
}
