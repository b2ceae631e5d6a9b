#include "load/low_latency_playlist.h"

#include <zlib.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace load {

namespace {

constexpr size_t kMaxBytes = 4 * 1024 * 1024;

// The value of an attribute, without quotes; empty: it is not there.
std::string_view attribute(std::string_view list, std::string_view name) {
    for (size_t at = list.find(name); at != list.npos; at = list.find(name, at + 1)) {
        if (at > 0 && list[at - 1] != ',') continue;
        std::string_view value = list.substr(at + name.size());
        if (!value.starts_with('=')) continue;
        value.remove_prefix(1);
        if (!value.starts_with('"')) return value.substr(0, value.find(','));
        value.remove_prefix(1);
        return value.substr(0, value.find('"'));
    }
    return {};
}

base::Result<uint64_t> number(std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data())
        return base::fail(base::Code::kProtocol, fmt::format("\"{}\" is no number", text));
    return value;
}

base::Result<int64_t> seconds_us(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data() || !(value >= 0 && value < 1e6))
        return base::fail(base::Code::kProtocol, fmt::format("\"{}\" is no duration", text));
    return std::llround(value * 1e6);
}

// us since 1970; 0: it is no date.
int64_t date_us(std::string_view text) {
    tm date{};
    double seconds = 0;
    int read = 0, hours = 0, minutes = 0;
    const std::string copy(text);
    if (std::sscanf(copy.c_str(), "%d-%d-%dT%d:%d:%lf%n", &date.tm_year, &date.tm_mon, &date.tm_mday, &date.tm_hour,
                    &date.tm_min, &seconds, &read) != 6)
        return 0;
    date.tm_year -= 1900;
    date.tm_mon -= 1;
    int64_t zone_s = 0;
    if (std::sscanf(copy.c_str() + read, "%3d:%2d", &hours, &minutes) == 2)
        zone_s = hours * 3600 + (hours < 0 ? -minutes : minutes) * 60;
    return (timegm(&date) - zone_s) * 1'000'000 + std::llround(seconds * 1e6);
}

class Reader {
  public:
    base::Result<void> line(std::string_view line) {
        std::string_view value;
        const auto is = [&](std::string_view tag) {
            value = line.substr(std::min(tag.size(), line.size()));
            return line.starts_with(tag);
        };
        if (is("#EXT-X-PART:")) return part(value);
        if (is("#EXTINF:")) {
            duration_us_ = TRY(seconds_us(value.substr(0, value.find(','))));
        } else if (is("#EXT-X-PROGRAM-DATE-TIME:")) {
            begin_us_ = date_us(value);
        } else if (is("#EXT-X-MEDIA-SEQUENCE:")) {
            msn_ += TRY(number(value));
        } else if (is("#EXT-X-SKIP:")) {
            msn_ += TRY(number(attribute(value, "SKIPPED-SEGMENTS")));
        } else if (is("#EXT-X-ENDLIST")) {
            out_.ended = true;
        } else if (!line.empty() && !line.starts_with('#')) {
            end_segment();
        }
        return {};
    }
    LowLatencyPlaylist take() {
        out_.directives = fmt::format("_HLS_msn={}&_HLS_part={}", msn_, index_);
        return std::move(out_);
    }

  private:
    base::Result<void> part(std::string_view list) {
        within_us_ += TRY(seconds_us(attribute(list, "DURATION")));
        const int64_t due_us = begin_us_ ? begin_us_ + within_us_ : 0;
        out_.parts.push_back(
            {msn_, index_++, std::string(attribute(list, "URI")), due_us, attribute(list, "GAP") == "YES"});
        return {};
    }
    // The next one begins where it ends, unless it has a date of its own.
    void end_segment() {
        if (begin_us_) begin_us_ += duration_us_;
        within_us_ = duration_us_ = 0;
        ++msn_;
        index_ = 0;
    }

    LowLatencyPlaylist out_;
    uint64_t msn_ = 0, index_ = 0;
    int64_t begin_us_ = 0;  // of the segment; 0: not known
    int64_t within_us_ = 0, duration_us_ = 0;
};

// Calls read with each line, without its end.
base::Result<void> for_each_line(std::string_view text, auto read) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        TRY(read(line));
    }
    return {};
}

}  // namespace

base::Result<LowLatencyPlaylist> read_low_latency_playlist(std::string_view text) {
    if (!text.starts_with("#EXTM3U")) return base::fail(base::Code::kProtocol, "it does not begin with #EXTM3U");
    Reader reader;
    TRY(for_each_line(text, [&reader](std::string_view line) { return reader.line(line); }));
    return reader.take();
}

std::string first_variant(std::string_view text) {
    bool is_next = false;
    std::string found;
    (void)for_each_line(text, [&](std::string_view line) -> base::Result<void> {
        if (line.starts_with("#EXT-X-STREAM-INF:")) is_next = true;
        if (!is_next || !found.empty() || line.empty() || line.starts_with('#')) return {};
        found = line;
        return {};
    });
    return found;
}

base::Result<std::shared_ptr<const LowLatencyPlaylist>> LowLatencyPlaylists::read(std::string_view body) {
    for (const Kept& kept : kept_)
        if (kept.body == body) return kept.playlist;
    std::string text;
    if (!body.starts_with('#')) text = TRY(gunzip(body));
    auto playlist = std::make_shared<const LowLatencyPlaylist>(
        TRY(read_low_latency_playlist(text.empty() ? body : std::string_view(text))));
    kept_.push_front({std::string(body), playlist});
    if (kept_.size() > kKept) kept_.pop_back();
    return playlist;
}

base::Result<std::string> gunzip(std::string_view bytes) {
    constexpr int kGzip = 15 + 16;
    z_stream stream{};
    if (inflateInit2(&stream, kGzip) != Z_OK) return base::fail(base::Code::kSystem, "no memory for zlib");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string out;
    int result = Z_OK;
    std::array<char, 16 * 1024> piece;
    while (result == Z_OK && out.size() < kMaxBytes) {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = piece.size();
        result = inflate(&stream, Z_NO_FLUSH);
        out.append(piece.data(), piece.size() - stream.avail_out);
    }
    inflateEnd(&stream);
    if (result != Z_STREAM_END) return base::fail(base::Code::kProtocol, "a body that is not gzipped as it should be");
    return out;
}

}  // namespace load
