// Samples for the charts: of the server's memory (/api/v1/history), and made of two overviews that follow each other.

const GAP_MS = 10000; // more between two overviews: the tab was hidden, or the server was not there

// The periods that charts show. step: seconds between two samples.
export const PERIODS = [
    { key: "minutes", label: "10 minutes", seconds: 600, step: 2 },
    { key: "hour", label: "an hour", seconds: 3600, step: 10 },
    { key: "day", label: "a day", seconds: 86400, step: 300 },
];

const PLAYERS = "players_";

// The samples of an answer of history, the oldest first; without figures where nothing is known.
export function samplesOf({ from_ms, step_ms, present, figures }) {
    const names = Object.keys(figures).filter((name) => name.startsWith(PLAYERS));
    const value = (name, at) => figures[name]?.[at] ?? 0;
    return present.map((known, at) => {
        const time = (from_ms + at * step_ms) / 1000;
        if (!known) return { time, unknown: true, in: null, out: null, cpu: null, machine_cpu: null, memory: null, stall: null, fps: null, drops: null, silent: null, lag: null, players: {} };
        return {
            time,
            in: value("recv_kbps", at),
            out: value("send_kbps", at),
            cpu: value("cpu", at),
            machine_cpu: value("machine_cpu", at),
            memory: value("memory_bytes", at),
            stall: value("stall_ms", at),
            fps: value("fps", at),
            drops: value("drops", at),
            silent: value("silent_s", at),
            lag: value("lag_ms", at),
            players: Object.fromEntries(names.map((name) => [name.slice(PLAYERS.length), value(name, at)])),
        };
    });
}

const NEAR_S = 1.5;

// Samples, with those of the past where they have none.
export function filled(samples, past) {
    const missing = past.filter((one) => !samples.some((other) => other.in !== null && Math.abs(other.time - one.time) < NEAR_S));
    const kept = samples.filter((one) => one.in !== null || !missing.some((other) => Math.abs(other.time - one.time) < NEAR_S));
    const all = [...missing, ...kept].sort((a, b) => a.time - b.time);
    const [last] = samples.slice(-1);
    // What the newest overview cannot know yet.
    if (last && last.in === null) {
        const before = past.findLast((one) => one.in !== null);
        const at = all.indexOf(last);
        const known = { ...last, in: before?.in ?? null, out: before?.out ?? null };
        if (at >= 0) all[at] = known;
        else all.push(known);
    }
    return all;
}

// Samples with newer ones behind them, of the last so many seconds; where both have a time the newer ones hold.
export function joined(samples, more, seconds) {
    if (more.length === 0) return samples;
    const end = more.at(-1).time;
    return [...samples.filter((one) => one.time < more[0].time && one.time > end - seconds), ...more];
}

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
