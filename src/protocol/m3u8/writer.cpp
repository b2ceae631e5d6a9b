#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/text.h"
#include "protocol/m3u8/playlist.h"

namespace m3u8 {

namespace {

// The lowest version that supports the features of the playlist (section 7).
int version_of(const MediaPlaylist& playlist) {
    for (const Segment& segment : playlist.segments)
        if (!segment.map_uri.empty()) return 6;
    return 3;
}

class Writer {
  public:
    void head(const MediaPlaylist& playlist) {
        add("#EXTM3U\n#EXT-X-VERSION:{}\n", version_of(playlist));
        // The discontinuity sequence is written even if it is 0: a playlist that has lost a segment cannot get the tag
        // later, when it has a discontinuity (6.2.2).
        add("#EXT-X-TARGETDURATION:{}\n#EXT-X-MEDIA-SEQUENCE:{}\n#EXT-X-DISCONTINUITY-SEQUENCE:{}\n",
            playlist.target_duration_s, playlist.media_sequence, playlist.discontinuity_sequence);
        if (playlist.independent_segments) add("#EXT-X-INDEPENDENT-SEGMENTS\n");
    }

    void segment(const Segment& segment) {
        if (segment.discontinuity) add("#EXT-X-DISCONTINUITY\n");
        if (segment.gap)
            add("#EXT-X-GAP\n");
        else
            key_and_map(segment);
        date(segment.date_ms);
        // With five decimals: sums stay exact to a frame for as long as a playlist is.
        const int64_t units = (segment.duration_us + 5) / 10;
        add("#EXTINF:{}.{:05},\n", units / 100'000, units % 100'000);
        add_uri(segment.uri);
        add("\n");
    }

    void end() { add("#EXT-X-ENDLIST\n"); }
    WrittenPlaylist take() { return std::move(out_); }

  private:
    void key_and_map(const Segment& segment) {
        if (segment.map_uri != map_) {
            // A key in force would apply to the map too.
            if (!key_.uri.empty()) {
                add("#EXT-X-KEY:METHOD=NONE\n");
                key_ = {};
            }
            map_ = segment.map_uri;
            if (!map_.empty()) {
                add("#EXT-X-MAP:URI=\"");
                add_uri(map_);
                add("\"\n");
            }
        }
        if (segment.key != key_) key(segment.key);
    }

    // Each segment of each playlist has a date: formatting it by fmt would take most of the text's time.
    void digits(int64_t value, int count, char behind) {
        char text[8];
        for (int i = count - 1; i >= 0; --i, value /= 10) text[i] = static_cast<char>('0' + value % 10);
        text[count] = behind;
        out_.text.append(text, static_cast<size_t>(count) + 1);
    }

    void date(int64_t ms) {
        if (ms <= 0) return;
        const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(ms)};
        const auto day = std::chrono::floor<std::chrono::days>(time);
        const std::chrono::year_month_day date(day);
        const std::chrono::hh_mm_ss clock(time - day);
        out_.text += "#EXT-X-PROGRAM-DATE-TIME:";
        digits(static_cast<int>(date.year()), 4, '-');
        digits(static_cast<unsigned>(date.month()), 2, '-');
        digits(static_cast<unsigned>(date.day()), 2, 'T');
        digits(clock.hours().count(), 2, ':');
        digits(clock.minutes().count(), 2, ':');
        digits(clock.seconds().count(), 2, '.');
        digits(clock.subseconds().count(), 3, 'Z');
        out_.text += '\n';
    }

    template <class... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        base::append_format(out_.text, format, std::forward<Args>(args)...);
    }

    void key(const Key& key) {
        key_ = key;
        if (key.uri.empty()) return add("#EXT-X-KEY:METHOD=NONE\n");
        add("#EXT-X-KEY:METHOD=AES-128,URI=\"");
        add_uri(key.uri);
        add("\"");
        if (!key.iv.empty()) add(",IV=0x{}", key.iv);
        add("\n");
    }

    void add_uri(const std::string& uri) {
        out_.text += uri;
        out_.uri_ends.push_back({static_cast<uint32_t>(out_.text.size()), uri.find('?') != std::string::npos});
    }

    WrittenPlaylist out_;
    Key key_;
    std::string map_;
};

}  // namespace

WrittenPlaylist write(const MediaPlaylist& playlist) {
    Writer writer;
    writer.head(playlist);
    for (const Segment& segment : playlist.segments) writer.segment(segment);
    if (playlist.ended) writer.end();
    return writer.take();
}

// Each viewer asks once for each segment: nothing is formatted here.
std::string with_query(const WrittenPlaylist& playlist, std::string_view query) {
    std::string out;
    out.reserve(playlist.text.size() + playlist.uri_ends.size() * query.size());
    size_t from = 0;
    for (const auto& [at, has_query] : playlist.uri_ends) {
        out.append(playlist.text, from, at - from).append(has_query ? "&" : "?").append(query.substr(1));
        from = at;
    }
    return out.append(playlist.text, from);
}

std::string quotable(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        out += c == '"' ? '\'' : byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
    return out;
}

namespace {

constexpr std::string_view kAudioGroup = "audio";

// A form of the URI that may stand in quotes, and means the same.
std::string quotable_uri(std::string_view uri) {
    std::string out;
    for (const char c : uri) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || byte <= 0x20 || byte == 0x7f) {
            base::append_format(out, "%{:02X}", byte);
        } else {
            out += c;
        }
    }
    return out;
}

void append_audio(std::string& out, const AudioRendition& audio) {
    base::append_format(out, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"{}\",NAME=\"{}\"", kAudioGroup, quotable(audio.name));
    if (!audio.language.empty()) base::append_format(out, ",LANGUAGE=\"{}\"", quotable(audio.language));
    if (audio.is_default) out += ",DEFAULT=YES";
    // DEFAULT=YES requires it.
    if (audio.is_default || audio.autoselect) out += ",AUTOSELECT=YES";
    if (audio.channels > 0) base::append_format(out, ",CHANNELS=\"{}\"", audio.channels);
    if (!audio.uri.empty()) base::append_format(out, ",URI=\"{}\"", quotable_uri(audio.uri));
    out += '\n';
}

}  // namespace

std::string write_master(const Variant& variant, std::span<const AudioRendition> audio) {
    std::string out = "#EXTM3U\n";
    for (const AudioRendition& rendition : audio) append_audio(out, rendition);
    base::append_format(out, "#EXT-X-STREAM-INF:BANDWIDTH={}", variant.bandwidth);
    if (variant.average_bandwidth > 0) base::append_format(out, ",AVERAGE-BANDWIDTH={}", variant.average_bandwidth);
    if (!variant.codecs.empty()) base::append_format(out, ",CODECS=\"{}\"", quotable(variant.codecs));
    if (variant.width > 0 && variant.height > 0)
        base::append_format(out, ",RESOLUTION={}x{}", variant.width, variant.height);
    if (variant.frame_rate > 0) base::append_format(out, ",FRAME-RATE={:.3f}", variant.frame_rate);
    if (!audio.empty()) base::append_format(out, ",AUDIO=\"{}\"", kAudioGroup);
    base::append_format(out, "\n{}\n", variant.uri);
    return out;
}

}  // namespace m3u8
