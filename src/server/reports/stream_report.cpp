#include "server/reports/stream_report.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"

namespace server {

namespace {

constexpr int64_t kPeriodMs = 1'000;
// Streams that are reported between two checks of the clock.
constexpr size_t kStreamsPerCheck = 16;

void add(std::string& text, std::string_view separator, const std::string& part) {
    if (part.empty()) return;
    if (!text.empty()) text += separator;
    text += part;
}

// As people write it.
std::string codec_name(media::Codec codec) {
    return codec == media::Codec::kH264 ? "H.264" : std::string(media::codec_info(codec).name);
}

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string describe_video(const media::VideoInfo& video) {
    std::string text = codec_name(video.codec);
    add(text, " ", video.profile);
    if (video.width > 0) add(text, " ", fmt::format("{}x{}", video.width, video.height));
    return text;
}

std::string describe_audio(const media::AudioInfo& audio) {
    std::string text = codec_name(audio.codec);
    if (audio.sample_rate > 0) add(text, " ", number(audio.sample_rate / 1000.0) + " kHz");
    if (audio.channels > 0)
        add(text, " ",
            audio.channels == 1   ? "mono"
            : audio.channels == 2 ? "stereo"
                                  : fmt::format("{} channels", audio.channels));
    return text;
}

std::string describe(const service::StreamView& stream, bool with_figures) {
    std::string text;
    if (stream.video) {
        text = describe_video(*stream.video);
        if (with_figures && stream.frame_rate > 0)
            add(text, " ", number(std::round(stream.frame_rate * 10) / 10) + " fps");
    }
    if (stream.audio) add(text, ", ", describe_audio(*stream.audio));
    if (!stream.tracks.empty()) add(text, ", ", fmt::format("{} tracks", stream.tracks.size()));
    if (with_figures && stream.gop_ms > 0)
        add(text, ", ", fmt::format("GOP {} s", number(std::round(static_cast<double>(stream.gop_ms) / 100) / 10)));
    return text;
}

bool has_headers(const media::TrackSet& set) {
    return !set.tracks.empty() && std::ranges::all_of(set.tracks, [](const media::Track& track) {
        return track.config() || !media::codec_info(track.codec).has_sequence_header;
    });
}

}  // namespace

std::string describe_tracks(const service::StreamView& stream) { return describe(stream, true); }

std::string describe_codecs(const service::StreamView& stream) { return describe(stream, false); }

std::string describe_figures(const service::StreamView& stream, uint64_t drops) {
    const size_t players = stream.players;
    return fmt::format("in {} kbit/s, {} {}, out {} kbit/s, {} {}", stream.rates.received, players,
                       players == 1 ? "player" : "players", stream.rates.sent, drops, drops == 1 ? "drop" : "drops");
}

base::Result<void> StreamReport::start() {
    registry_.watch(*this);
    task_ = runtime::spawn("stream-report", [this] { run(); });
    return {};
}

void StreamReport::stop() {
    if (!task_) return;
    task_.cancel_and_join();
    task_ = {};
    registry_.unwatch(*this);
    published_.clear();
}

void StreamReport::stream_published(live::Stream& stream) {
    const int64_t now_ms = runtime::now_ms();
    published_[&stream] = {.since_ms = now_ms, .printed_ms = now_ms, .drops = stream.counters().viewer_jumps};
}

void StreamReport::run() {
    std::vector<live::Stream*> streams;
    while (runtime::sleep_ms(kPeriodMs)) {
        streams.clear();
        for (const auto& [stream, published] : published_) streams.push_back(stream);
        runtime::CpuSlice slice(kStreamsPerCheck);
        for (live::Stream* stream : streams) {
            // It may have ended meanwhile.
            const auto found = published_.find(stream);
            if (found != published_.end()) report(*stream, found->second, runtime::now_ms());
            if (!slice.step()) return;
        }
    }
}

void StreamReport::report(live::Stream& stream, Published& published, int64_t now_ms) const {
    const bool prints = now_ms - published.printed_ms >= snapshot_->global.pithy_print_ms;
    const bool has_news = !published.codecs || published.tracks != stream.tracks();
    if (!prints && !has_news) return;
    const service::StreamView view = service::view_of(stream.key(), registry_, sessions_);
    const runtime::ContextScope scope(view.publisher);
    if (has_news) report_tracks(view, stream, published, now_ms);
    if (!prints) return;
    published.printed_ms = now_ms;
    const uint64_t jumps = stream.counters().viewer_jumps;
    base::log::trace("{}: {}", stream.key().text(), describe_figures(view, jumps - published.drops));
    published.drops = jumps;
}

void StreamReport::report_tracks(const service::StreamView& view, live::Stream& stream, Published& published,
                                 int64_t now_ms) const {
    const bool is_old = now_ms - published.since_ms >= kDescribeMs;
    const bool is_known = has_headers(*stream.tracks()) && (!view.video || view.gop_ms > 0);
    if (!published.codecs && !is_known && !is_old) return;
    const std::string codecs = describe_codecs(view);
    const bool is_first = !published.codecs;
    published.tracks = stream.tracks();
    if (codecs == published.codecs) return;
    published.codecs = codecs;
    if (codecs.empty()) return;
    base::log::trace("{}{}: {}", stream.key().text(), is_first ? "" : " is now", describe_tracks(view));
}

}  // namespace server
