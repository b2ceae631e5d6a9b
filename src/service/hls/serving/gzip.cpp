#include "service/hls/serving/gzip.h"

#include <zlib.h>

#include "protocol/http/headers.h"

namespace service::hls {

std::string gzip(std::string_view text) {
    z_stream stream{};
    // A playlist's lines are like the ones before: a window of 4 kB finds as much, and zlib has 20 kB to clear for each
    // text instead of 268.
    constexpr int kWindowBits = 12, kGzip = 16, kMemoryLevel = 5;
    if (deflateInit2(&stream, Z_BEST_SPEED + 2, Z_DEFLATED, kWindowBits + kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return {};
    std::string out(deflateBound(&stream, text.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    bool good = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    out.resize(good ? stream.total_out : 0);
    deflateEnd(&stream);
    return out;
}

bool accepts_gzip(std::string_view list) {
    while (!list.empty()) {
        size_t comma = std::min(list.find(','), list.size());
        std::string_view item = http::trim(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
        size_t semicolon = std::min(item.find(';'), item.size());
        std::string_view name = http::trim(item.substr(0, semicolon));
        std::string_view parameters = http::trim(item.substr(std::min(semicolon + 1, item.size())));
        if (!http::equal_ignoring_case(name, "gzip") && name != "*") continue;
        // "q=0", "q=0.000": not acceptable.
        bool never = parameters.starts_with("q=0") && parameters.find_first_not_of("0.", 2) == parameters.npos;
        return !never;
    }
    return false;
}

}  // namespace service::hls
