#include "protocol/http/gzip.h"

#include <zlib.h>

#include "protocol/http/headers.h"

namespace http {

namespace {

// flush: Z_FINISH, or Z_SYNC_FLUSH for whole bytes that others may follow. Empty if zlib has no memory.
std::string compress(std::string_view text, int flush) {
    z_stream stream{};
    // A playlist's lines are like the ones before: a window of 4 kB finds as much, and zlib has 20 kB to clear for each
    // text instead of 268.
    constexpr int kWindowBits = 12, kGzip = 16, kMemoryLevel = 5;
    constexpr size_t kSyncBytes = 16;  // that deflateBound() does not count
    if (deflateInit2(&stream, Z_BEST_SPEED + 2, Z_DEFLATED, kWindowBits + kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return {};
    std::string out(deflateBound(&stream, text.size()) + kSyncBytes, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int done = deflate(&stream, flush);
    const bool good = done == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && stream.avail_in == 0;
    out.resize(good ? stream.total_out : 0);
    deflateEnd(&stream);
    return out;
}

uint32_t crc_of(std::string_view text) {
    return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

void append_little_endian(std::string& out, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

}  // namespace

std::string gzip(std::string_view text) { return compress(text, Z_FINISH); }

std::optional<GzipPrefix> GzipPrefix::make(std::string_view text) {
    GzipPrefix prefix;
    prefix.bytes_ = compress(text, Z_SYNC_FLUSH);
    if (prefix.bytes_.empty()) return std::nullopt;
    prefix.crc_ = crc_of(text);
    prefix.size_ = static_cast<uint32_t>(text.size());
    return prefix;
}

// Blocks that are stored (RFC 1951, 3.2.4), of which the last one ends the data; then CRC and size of all (RFC 1952).
std::string GzipPrefix::with(std::string_view end) const {
    constexpr size_t kMaxStored = 0xffff;
    std::string out = bytes_;
    std::string_view rest = end;
    do {
        const std::string_view block = rest.substr(0, kMaxStored);
        rest.remove_prefix(block.size());
        const auto length = static_cast<uint32_t>(block.size());
        out += rest.empty() ? '\x01' : '\0';
        append_little_endian(out, length, 2);
        append_little_endian(out, ~length, 2);
        out += block;
    } while (!rest.empty());
    const auto size = static_cast<uint32_t>(end.size());
    append_little_endian(out, static_cast<uint32_t>(crc32_combine(crc_, crc_of(end), static_cast<z_off_t>(size))), 4);
    append_little_endian(out, size_ + size, 4);
    return out;
}

bool accepts_gzip(std::string_view list) {
    while (!list.empty()) {
        size_t comma = std::min(list.find(','), list.size());
        std::string_view item = trim(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
        size_t semicolon = std::min(item.find(';'), item.size());
        std::string_view name = trim(item.substr(0, semicolon));
        std::string_view parameters = trim(item.substr(std::min(semicolon + 1, item.size())));
        if (!equal_ignoring_case(name, "gzip") && name != "*") continue;
        // "q=0", "q=0.000": not acceptable.
        bool never = parameters.starts_with("q=0") && parameters.find_first_not_of("0.", 2) == parameters.npos;
        return !never;
    }
    return false;
}

}  // namespace http
