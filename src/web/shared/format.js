// Figures as people read them. The decimal point is a point in both languages.
export function bitrate(kbps) {
    if (kbps >= 1e6) return `${(kbps / 1e6).toFixed(2)} Gbit/s`;
    if (kbps >= 1e3) return `${(kbps / 1e3).toFixed(2)} Mbit/s`;
    return `${Math.round(kbps)} kbit/s`;
}

export function bytes(value) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) {
        value /= 1000;
        ++unit;
    }
    return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

// 3 d 4 h, 2 h 5 min, 3 min 20 s, 12 s
export function duration(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
    if (d > 0) return `${d} d ${h} h`;
    if (h > 0) return `${h} h ${m} min`;
    if (m > 0) return `${m} min ${s % 60} s`;
    return `${s} s`;
}
