#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "protocol/http/timestamp.h"
#include "protocol/m3u8/number.h"
#include "protocol/m3u8/playlist.h"

namespace m3u8 {

namespace {

using base::Code;
using base::fail;

// The value of EXTINF: "9.009,title", in seconds; what the writer makes of it, five decimals, is read back as it is.
base::Result<int64_t> duration_us(std::string_view text) {
    text = text.substr(0, text.find(','));
    double seconds = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0 && seconds < 1e9))
        return fail(Code::kProtocol, fmt::format("EXTINF: '{}' is no duration", text.substr(0, 40)));
    return std::llround(seconds * 100'000) * 10;
}

// The value of an attribute in an attribute list (section 4.2), without quotes; empty when it is absent.
std::string_view attribute(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        size_t equals = list.find('=');
        if (equals == std::string_view::npos) return {};
        std::string_view key = list.substr(0, equals);
        list.remove_prefix(equals + 1);
        std::string_view value;
        if (list.starts_with('"')) {
            size_t close = list.find('"', 1);
            if (close == std::string_view::npos) return {};
            value = list.substr(1, close - 1);
            list.remove_prefix(close + 1);
        } else {
            value = list.substr(0, list.find(','));
            list.remove_prefix(value.size());
        }
        if (key == name) return value;
        if (list.starts_with(',')) list.remove_prefix(1);
    }
    return {};
}

bool is_uri(std::string_view text) { return !text.empty() && text.find('"') == std::string_view::npos; }

bool is_iv(std::string_view text) {
    return text.size() == 34 && (text.starts_with("0x") || text.starts_with("0X")) &&
           text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
}

class Reader {
  public:
    base::Result<void> line(std::string_view line) {
        if (line.empty()) return {};
        if (!line.starts_with('#')) return uri(line);
        std::string_view value;
        auto is = [&](std::string_view tag) {
            if (!line.starts_with(tag)) return false;
            value = line.substr(tag.size());
            return true;
        };
        if (is("#EXTINF:")) {
            next_.duration_us = TRY(duration_us(value));
            has_duration_ = true;
        } else if (is("#EXT-X-TARGETDURATION:")) {
            out_.target_duration_s = static_cast<int64_t>(TRY(number("EXT-X-TARGETDURATION", value)) & INT64_MAX);
        } else if (is("#EXT-X-MEDIA-SEQUENCE:")) {
            out_.media_sequence = TRY(number("EXT-X-MEDIA-SEQUENCE", value));
        } else if (is("#EXT-X-DISCONTINUITY-SEQUENCE:")) {
            out_.discontinuity_sequence = TRY(number("EXT-X-DISCONTINUITY-SEQUENCE", value));
        } else if (line == "#EXT-X-DISCONTINUITY") {
            next_.discontinuity = true;
        } else if (line == "#EXT-X-GAP") {
            next_.gap = true;
        } else if (is("#EXT-X-PROGRAM-DATE-TIME:")) {
            next_.date_ms = http::parse_timestamp(value).value_or(0);
        } else if (line == "#EXT-X-INDEPENDENT-SEGMENTS") {
            out_.independent_segments = true;
        } else if (line == "#EXT-X-ENDLIST") {
            out_.ended = true;
        } else if (is(kPartTarget)) {
            if (auto us = duration_us(value)) out_.part_target_us = *us;
        } else if (is("#EXT-X-MAP:")) {
            // A map cannot be removed, only replaced.
            if (auto uri = attribute(value, "URI"); is_uri(uri)) next_.map_uri = uri;
        } else if (is("#EXT-X-KEY:")) {
            key(value);
        } else if (is("#EXT-X-STREAM-INF")) {
            return fail(Code::kProtocol, "a master playlist");
        }
        return {};
    }

    MediaPlaylist take() { return std::move(out_); }

  private:
    void key(std::string_view attributes) {
        next_.key = {};
        if (attribute(attributes, "METHOD") == "NONE") return;
        if (auto uri = attribute(attributes, "URI"); is_uri(uri)) next_.key.uri = uri;
        std::string_view iv = attribute(attributes, "IV");
        if (!next_.key.uri.empty() && is_iv(iv)) next_.key.iv = iv.substr(2);
    }

    base::Result<void> uri(std::string_view text) {
        if (!has_duration_) return fail(Code::kProtocol, "a segment without EXTINF");
        if (out_.segments.size() >= kMaxSegments) return fail(Code::kLimit, "too many segments");
        next_.uri = text;
        out_.segments.push_back(next_);
        next_.discontinuity = next_.gap = has_duration_ = false;  // key and map stay in force
        next_.date_ms = 0;
        return {};
    }

    MediaPlaylist out_;
    Segment next_;
    bool has_duration_ = false;
};

}  // namespace

base::Result<MediaPlaylist> read(std::string_view text) {
    if (text.size() > kMaxBytes) return fail(Code::kLimit, fmt::format("a playlist of {} bytes", text.size()));
    Reader reader;
    bool first = true;
    while (!text.empty()) {
        size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        while (line.ends_with('\r')) line.remove_suffix(1);
        if (first && line != "#EXTM3U") return fail(Code::kProtocol, "it does not begin with #EXTM3U");
        first = false;
        TRY(reader.line(line));
    }
    if (first) return fail(Code::kProtocol, "an empty playlist");
    return reader.take();
}

}  // namespace m3u8
