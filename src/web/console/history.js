// Samples for the charts, made of two overviews that follow each other.

const GAP_MS = 10000; // more between two overviews: the tab was hidden, or the server was not there

function kbps(now, before, name) {
    const ms = now.now_ms - before.now_ms;
    const bytes = now.traffic[name] - before.traffic[name];
    return ms > 0 && bytes >= 0 ? (bytes * 8) / ms : null;
}

// Of a counter that each sender thread has, its growth per second.
function perSecond(now, before, i, name) {
    const ms = now.now_ms - before.now_ms;
    return ms > 0 && before.senders?.[i] ? ((now.senders[i][name] - before.senders[i][name]) * 1000) / ms : null;
}

const sendersOf = (now, before) =>
    (now.senders ?? []).map((one, i) => ({
        busy: one.cpu_percent,
        calls: before ? perSecond(now, before, i, "calls") : null,
        datagrams: before ? perSecond(now, before, i, "datagrams") : null,
        awaited: one.awaited,
    }));

// before: null at the beginning. Figures that are not known are null.
export function sampleOf(now, before) {
    const follows = before && now.uptime_ms >= before.uptime_ms && now.now_ms - before.now_ms < GAP_MS;
    return {
        time: now.now_ms / 1000,
        in: follows ? kbps(now, before, "recv_bytes") : null,
        out: follows ? kbps(now, before, "send_bytes") : null,
        cpu: now.process.cpu_percent,
        machine_cpu: now.machine.cpu_percent,
        memory: now.process.memory_bytes,
        stall: now.longest_stall_ms,
        players: now.players ?? {},
        senders: sendersOf(now, follows ? before : null),
    };
}

export const total = (counts) => Object.values(counts ?? {}).reduce((sum, count) => sum + count, 0);

// The protocols that had a player in one of the samples, in the order in which they appeared.
export function protocolsOf(samples) {
    const found = new Set();
    for (const sample of samples) {
        for (const [name, count] of Object.entries(sample.players)) if (count > 0) found.add(name);
    }
    return [...found];
}
