#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "protocol/m3u8/playlist.h"

namespace m3u8 {

namespace {

// The lowest version that supports the features of the playlist (section 7; 8 of the draft).
int version_of(const MediaPlaylist& playlist, const LeftOut& left_out) {
    if (left_out.segments > 0) return 9;
    for (const Segment& segment : playlist.segments)
        if (!segment.map_uri.empty()) return 6;
    return 3;
}

class Writer {
  public:
    Writer() = default;
    // Goes on behind that playlist: the text is what follows.
    explicit Writer(const WrittenPlaylist& playlist) {
        out_.key = playlist.key;
        out_.map_uri = playlist.map_uri;
    }

    void head(const MediaPlaylist& playlist, const LeftOut& left_out) {
        add("#EXTM3U\n#EXT-X-VERSION:{}\n", version_of(playlist, left_out));
        add("#EXT-X-TARGETDURATION:{}\n", playlist.target_duration_s);
        if (playlist.can_block || playlist.can_skip) server_control(playlist);
        if (playlist.part_target_us > 0 && !playlist.can_block) {
            add("{}", kPartTarget);
            add_seconds(playlist.part_target_us);
            add("\n");
        }
        // The discontinuity sequence is written even if it is 0: a playlist that has lost a segment cannot get the tag
        // later, when it has a discontinuity (6.2.2).
        add("#EXT-X-MEDIA-SEQUENCE:{}\n#EXT-X-DISCONTINUITY-SEQUENCE:{}\n", playlist.media_sequence,
            playlist.discontinuity_sequence);
        if (playlist.independent_segments) add("#EXT-X-INDEPENDENT-SEGMENTS\n");
        if (left_out.segments > 0) add("#EXT-X-SKIP:SKIPPED-SEGMENTS={}\n", left_out.segments);
    }

    void segment(const Segment& segment, bool with_parts) {
        with_parts &= !segment.parts.empty();
        begin(segment, with_parts || !segment.gap || !segment.map_uri.empty());
        if (with_parts) parts(segment.parts);
        // It is known at the segment's end only, when its parts are listed.
        if (segment.gap) add("#EXT-X-GAP\n");
        add("#EXTINF:");
        add_seconds(segment.duration_us);
        add(",\n");
        add_uri(segment.uri);
        add("\n");
    }

    void open(const Segment& segment) {
        if (segment.parts.empty()) return;
        begin(segment, true);
        parts(segment.parts);
    }

    void hint(const std::string& uri) {
        add("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"");
        add_uri(uri);
        add("\"\n");
    }

    void report(const RenditionReport& report) {
        add("#EXT-X-RENDITION-REPORT:URI=\"");
        add_uri(report.uri);
        add("\",LAST-MSN={}", report.last_msn);
        if (report.last_part) add(",LAST-PART={}", *report.last_part);
        add("\n");
    }

    void end() { add("#EXT-X-ENDLIST\n"); }
    WrittenPlaylist take() { return std::move(out_); }

  private:
    // Stands before the first part from the beginning: nothing can be put there later (6.2.1 of the draft).
    void begin(const Segment& segment, bool is_fetched) {
        if (segment.discontinuity) add("#EXT-X-DISCONTINUITY\n");
        if (is_fetched) key_and_map(segment);
        date(segment.date_ms);
    }

    // Nothing of it changes during a playlist's life: players give up when it does (6.2.1 of the draft).
    void server_control(const MediaPlaylist& playlist) {
        add("#EXT-X-SERVER-CONTROL:{}", playlist.can_block ? "CAN-BLOCK-RELOAD=YES" : "");
        if (playlist.can_skip)
            add("{}CAN-SKIP-UNTIL={}", playlist.can_block ? "," : "", kSkipTargets * playlist.target_duration_s);
        if (playlist.part_target_us > 0 && playlist.can_block) {
            // At least twice the part target (4.4.3.8); Apple's authoring specification wants three times (14.3).
            add(",PART-HOLD-BACK=");
            add_seconds(3 * playlist.part_target_us);
            add("\n#EXT-X-PART-INF:PART-TARGET=");
            add_seconds(playlist.part_target_us);
        }
        add("\n");
    }

    void parts(const std::vector<Part>& parts) {
        for (const Part& part : parts) {
            add("#EXT-X-PART:DURATION=");
            add_seconds(part.duration_us);
            add(",URI=\"");
            add_uri(part.uri);
            add("\"{}{}\n", part.independent ? ",INDEPENDENT=YES" : "", part.gap ? ",GAP=YES" : "");
        }
    }

    void key_and_map(const Segment& segment) {
        if (segment.map_uri != out_.map_uri) {
            // A key in force would apply to the map too.
            if (!out_.key.uri.empty()) {
                add("#EXT-X-KEY:METHOD=NONE\n");
                out_.key = {};
            }
            out_.map_uri = segment.map_uri;
            if (!segment.map_uri.empty()) {
                add("#EXT-X-MAP:URI=\"");
                add_uri(segment.map_uri);
                add("\"\n");
            }
        }
        if (segment.key != out_.key) key(segment.key);
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

    // With five decimals: sums stay exact to a frame for as long as a playlist is.
    void add_seconds(int64_t us) {
        const int64_t units = (us + 5) / 10;
        add("{}.{:05}", units / 100'000, units % 100'000);
    }

    void key(const Key& key) {
        out_.key = key;
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
};

// How many segments end further than limit_us before the end. after_us: what follows the last one.
size_t ending_before(const MediaPlaylist& playlist, int64_t limit_us, int64_t after_us) {
    size_t i = playlist.segments.size();
    for (; i > 0 && after_us <= limit_us; --i) after_us += playlist.segments[i - 1].duration_us;
    return i;
}

}  // namespace

WrittenPlaylist write(const MediaPlaylist& playlist, const LeftOut& left_out) {
    Writer writer;
    writer.head(playlist, left_out);
    for (size_t i = left_out.segments; i < playlist.segments.size(); ++i)
        writer.segment(playlist.segments[i], playlist.part_target_us > 0 && i >= left_out.without_parts);
    if (playlist.ended) writer.end();
    return writer.take();
}

size_t skippable(const MediaPlaylist& playlist) {
    if (!playlist.can_skip || playlist.ended) return 0;
    return ending_before(playlist, kSkipTargets * playlist.target_duration_s * 1'000'000, 0);
}

size_t without_parts(const MediaPlaylist& playlist, int64_t open_us) {
    return ending_before(playlist, kPartTargets * playlist.target_duration_s * 1'000'000, open_us);
}

WrittenPlaylist write_tail(const WrittenPlaylist& playlist, const PlaylistTail& tail) {
    Writer writer(playlist);
    writer.open(tail.open);
    if (!tail.hint_uri.empty()) writer.hint(tail.hint_uri);
    for (const RenditionReport& report : tail.reports) writer.report(report);
    return writer.take();
}

// Each viewer asks once for each segment: nothing is formatted here.
std::string with_query(const WrittenPlaylist& playlist, std::string_view query, size_t without) {
    std::string out;
    out.reserve(playlist.text.size() + playlist.uri_ends.size() * query.size());
    size_t from = 0;
    for (const auto& [at, has_query] : std::span(playlist.uri_ends).subspan(without)) {
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

void append_audio(std::string& out, std::string_view group, const AudioRendition& audio) {
    base::append_format(out, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"{}\",NAME=\"{}\"", group, quotable(audio.name));
    if (!audio.language.empty()) base::append_format(out, ",LANGUAGE=\"{}\"", quotable(audio.language));
    if (audio.is_default) out += ",DEFAULT=YES";
    // DEFAULT=YES requires it.
    if (audio.is_default || audio.autoselect) out += ",AUTOSELECT=YES";
    if (audio.channels > 0) base::append_format(out, ",CHANNELS=\"{}\"", audio.channels);
    if (!audio.uri.empty()) base::append_format(out, ",URI=\"{}\"", quotable_uri(audio.uri));
    out += '\n';
}

bool has_no_captions(const std::vector<Variant>& variants) {
    const auto is = [&](Variant::Captions captions) {
        return std::ranges::count(variants, captions, &Variant::captions) > 0;
    };
    return is(Variant::Captions::kNone) && !is(Variant::Captions::kSeen);
}

void append_variant(std::string& out, std::string_view group, const Variant& variant, bool no_captions) {
    base::append_format(out, "#EXT-X-STREAM-INF:BANDWIDTH={}", variant.bandwidth);
    if (variant.average_bandwidth > 0) base::append_format(out, ",AVERAGE-BANDWIDTH={}", variant.average_bandwidth);
    if (!variant.codecs.empty()) base::append_format(out, ",CODECS=\"{}\"", quotable(variant.codecs));
    if (variant.width > 0 && variant.height > 0)
        base::append_format(out, ",RESOLUTION={}x{}", variant.width, variant.height);
    if (variant.frame_rate > 0) base::append_format(out, ",FRAME-RATE={:.3f}", variant.frame_rate);
    if (!variant.audio.empty()) base::append_format(out, ",AUDIO=\"{}\"", group);
    if (no_captions) out += ",CLOSED-CAPTIONS=NONE";
    base::append_format(out, "\n{}\n", variant.uri);
}

}  // namespace

std::string write(const MultivariantPlaylist& playlist) {
    std::string out = "#EXTM3U\n";
    if (playlist.independent_segments) out += "#EXT-X-INDEPENDENT-SEGMENTS\n";
    const auto& variants = playlist.variants;
    const auto group_of = [&](size_t i) { return variants.size() == 1 ? "audio" : fmt::format("audio{}", i + 1); };
    for (size_t i = 0; i < variants.size(); ++i)
        for (const AudioRendition& rendition : variants[i].audio) append_audio(out, group_of(i), rendition);
    const bool no_captions = has_no_captions(variants);
    for (size_t i = 0; i < variants.size(); ++i) append_variant(out, group_of(i), variants[i], no_captions);
    return out;
}

}  // namespace m3u8
