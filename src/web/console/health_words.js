// The texts of a stream's checks (doc/why.md). The server writes them in English, with what it found; in Chinese they
// follow from the check, its verdict and its figure.
import { language } from "../shared/preferences.js";

const NO_VIDEO = "没有视频，或测量时间还不够";
const KEYFRAMES = "请让编码器每 2 秒发送一个关键帧";

// By check and verdict: [text, advice]. {figure}: with its unit.
const CHINESE = {
    publisher: { ok: ["已推流 {figure}"], bad: ["没有推流者", "请重新启动编码器；结束原因见“会话结束”页面"] },
    headers: { ok: ["每条轨道都有序列头"], unknown: ["还没有收到任何帧"], bad: ["缺少序列头，播放器无法解码", "编码器必须发送序列头，最迟在重新推流时"] },
    codecs: { ok: ["所有协议都支持这些编码"], unknown: ["还没有收到任何帧"], warn: ["并非每种协议或浏览器都支持这些编码", "需要覆盖所有播放器时，请使用 H264 和 AAC 推流"] },
    keyframe_age: {
        ok: ["距上一个关键帧 {figure}"],
        unknown: ["没有视频"],
        warn: ["已有 {figure} 没有关键帧", `新的播放者要等待，或从很早的位置开始：${KEYFRAMES}`],
        bad: ["已有 {figure} 没有关键帧", `新的播放者要等待，或从很早的位置开始：${KEYFRAMES}`],
    },
    gop_length: {
        ok: ["两个关键帧之间最长 {figure}"],
        unknown: ["收到的关键帧少于两个"],
        warn: ["两个关键帧之间最长 {figure}", `新的播放者最多会落后这么多：${KEYFRAMES}`],
    },
    gop_hls_fragment: {
        ok: ["关键帧间隔 {figure}，不超过 hls_fragment"],
        unknown: ["未启用 HLS，或关键帧少于两个"],
        warn: ["关键帧间隔 {figure}，超过 hls_fragment：切片比配置的长", "请让编码器更频繁地发送关键帧，或增大 hls_fragment"],
    },
    gop_cache: { ok: ["GOP 可以放入缓存"], warn: ["GOP 太长或太大，没有缓存", `新的播放者在下一个关键帧之前没有画面：${KEYFRAMES}`] },
    b_frames: { ok: ["没有 B 帧"], unknown: [NO_VIDEO], warn: ["B 帧占 {figure}", "WebRTC 会丢弃 B 帧，且会增加延迟：如有影响，请关闭 B 帧（x264：bframes=0）"] },
    audio_video_drift: {
        ok: ["音频和视频的相对漂移为 {figure}"],
        unknown: ["没有同时包含音频和视频，或测量不足 30 秒"],
        warn: ["音频和视频的相对漂移为 {figure}", "推流者的音频和视频时钟不一致，或有轨道丢帧：请检查采样率和帧率"],
        bad: ["音频和视频的相对漂移为 {figure}", "推流者的音频和视频时钟不一致，或有轨道丢帧：请检查采样率和帧率"],
    },
    audio_video_offset: {
        ok: ["同时收到的音频与视频时间戳相差 {figure}"],
        unknown: ["没有同时包含音频和视频"],
        warn: ["同时收到的音频与视频时间戳相差 {figure}", "播放器必须缓冲这么多；如果持续增大，说明有轨道已停止"],
        bad: ["同时收到的音频与视频时间戳相差 {figure}", "播放器必须缓冲这么多；如果持续增大，说明有轨道已停止"],
    },
    clock_rate: {
        ok: ["时间戳与时钟相差 {figure}"],
        unknown: ["测量不足 30 秒"],
        warn: ["时间戳与时钟相差 {figure}", "为负：编码器或网络太慢，播放会停顿；为正：发送快于时钟，延迟会增大"],
        bad: ["时间戳与时钟相差 {figure}", "为负：编码器或网络太慢，播放会停顿；为正：发送快于时钟，延迟会增大"],
    },
    timestamp_jumps: { ok: ["时间戳跳变 {figure}"], warn: ["最近时间戳跳变 {figure}，已为播放者修正", "请检查推流者的时钟、来源，或其重启的原因"] },
    frame_rate: { ok: ["帧率稳定，{figure}"], unknown: [NO_VIDEO], warn: ["帧率 {figure}，有间断", "有缺失的帧：编码器丢帧，或来源有间断"] },
    bitrate: { ok: ["码率稳定，{figure}"], unknown: ["测量时间还不够"], warn: ["码率 {figure}，有突发", "突发对慢速播放者来说太快：请为编码器设置码率上限（maxrate 和 bufsize）"] },
    input_faults: { ok: ["丢弃 {figure}"], unknown: ["此协议不统计"], warn: ["最近丢弃无法使用的消息 {figure}", "播放者会缺少这些内容：请检查推流者的编码和版本"] },
    viewer_drops: { ok: ["没有播放者过慢"], warn: ["播放者因过慢而跳帧 {figure}", "他们的网络对此流来说太慢：请提供更低的码率；queue_length 是允许的延迟"] },
    outputs: { ok: ["没有输出报告问题"], bad: ["出现问题的输出：{figure}", "开始时间见日志；流本身不受影响"] },
};

const UNITS = { s: "秒", times: "次", messages: "条", outputs: "个" };

export const figureText = ({ figure, unit }) => {
    if (figure === null) return "";
    const value = Number(figure.toFixed(Math.abs(figure) < 10 ? 2 : 0));
    return `${value} ${language.value === "zh" ? (UNITS[unit] ?? unit) : unit}`;
};

// { text, advice } of a check. What has no translation is shown as the server wrote it.
export function wordsOf(check) {
    const translated = language.value === "zh" && CHINESE[check.name]?.[check.verdict];
    if (!translated) return { text: check.text, advice: check.advice };
    const [text, advice = ""] = translated;
    return { text: text.replace("{figure}", figureText(check)), advice };
}
