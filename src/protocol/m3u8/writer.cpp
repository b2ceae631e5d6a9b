#include <fmt/format.h>

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
    explicit Writer(std::string_view query) : query_(query) {}

    void head(const MediaPlaylist& playlist) {
        add("#EXTM3U\n#EXT-X-VERSION:{}\n", version_of(playlist));
        add("#EXT-X-TARGETDURATION:{}\n#EXT-X-MEDIA-SEQUENCE:{}\n", playlist.target_duration_s,
            playlist.media_sequence);
        if (playlist.discontinuity_sequence > 0)
            add("#EXT-X-DISCONTINUITY-SEQUENCE:{}\n", playlist.discontinuity_sequence);
        if (playlist.independent_segments) add("#EXT-X-INDEPENDENT-SEGMENTS\n");
    }

    void segment(const Segment& segment) {
        if (segment.discontinuity) add("#EXT-X-DISCONTINUITY\n");
        if (segment.map_uri != map_) {
            // A key in force would apply to the map too.
            if (!key_.uri.empty()) {
                add("#EXT-X-KEY:METHOD=NONE\n");
                key_ = {};
            }
            map_ = segment.map_uri;
            if (!map_.empty()) add("#EXT-X-MAP:URI=\"{}\"\n", with_query(map_));
        }
        if (segment.key != key_) key(segment.key);
        add("#EXTINF:{}.{:03},\n{}\n", segment.duration_ms / 1000, segment.duration_ms % 1000, with_query(segment.uri));
    }

    void end() { add("#EXT-X-ENDLIST\n"); }
    std::string take() { return std::move(out_); }

  private:
    template <class... Args>
    void add(fmt::format_string<Args...> format, Args&&... args) {
        base::append_format(out_, format, std::forward<Args>(args)...);
    }

    void key(const Key& key) {
        key_ = key;
        if (key.uri.empty()) return add("#EXT-X-KEY:METHOD=NONE\n");
        add("#EXT-X-KEY:METHOD=AES-128,URI=\"{}\"", with_query(key.uri));
        if (!key.iv.empty()) add(",IV=0x{}", key.iv);
        add("\n");
    }

    std::string with_query(const std::string& uri) const {
        if (query_.empty()) return uri;
        bool has_one = uri.find('?') != std::string::npos;
        return fmt::format("{}{}{}", uri, has_one ? "&" : "?", query_.substr(1));
    }

    std::string_view query_;
    std::string out_;
    Key key_;
    std::string map_;
};

}  // namespace

std::string write(const MediaPlaylist& playlist, std::string_view segment_query) {
    Writer writer(segment_query);
    writer.head(playlist);
    for (const Segment& segment : playlist.segments) writer.segment(segment);
    if (playlist.ended) writer.end();
    return writer.take();
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

// Of a URI, which keeps its meaning.
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
    if (variant.width > 0 && variant.height > 0)
        base::append_format(out, ",RESOLUTION={}x{}", variant.width, variant.height);
    if (!audio.empty()) base::append_format(out, ",AUDIO=\"{}\"", kAudioGroup);
    base::append_format(out, "\n{}\n", variant.uri);
    return out;
}

}  // namespace m3u8
