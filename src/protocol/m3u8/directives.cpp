#include "protocol/m3u8/directives.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "protocol/m3u8/number.h"

namespace m3u8 {

namespace {

using base::Code;
using base::fail;

constexpr std::string_view kPrefix = "_HLS_";
// How many segments behind the last one a client may ask for.
constexpr uint64_t kMaxAheadSegments = 2;

base::Result<void> set_once(std::optional<uint64_t>& value, std::string_view name, std::string_view text) {
    if (value) return fail(Code::kProtocol, fmt::format("{} is there twice", name));
    value = TRY(number(name, text));
    return {};
}

}  // namespace

base::Result<Directives> parse_directives(const http::Parameters& parameters) {
    std::optional<uint64_t> msn, part;
    Directives out;
    for (const auto& [name, value] : parameters) {
        if (name == "_HLS_msn") {
            TRY(set_once(msn, name, value));
        } else if (name == "_HLS_part") {
            TRY(set_once(part, name, value));
        } else if (name == "_HLS_skip") {
            if (value != "YES" && value != "v2")
                return fail(Code::kProtocol,
                            fmt::format("_HLS_skip: '{}' is neither YES nor v2", base::for_log(value, 40)));
            out.skip = true;
        }
    }
    if (part && !msn) return fail(Code::kProtocol, "_HLS_part without _HLS_msn");
    if (msn) out.awaited = PartPosition{*msn, part.value_or(0)};
    return out;
}

std::string without_directives(std::string_view query) {
    return http::without_parameters(query, [](std::string_view name) { return name.starts_with(kPrefix); });
}

bool PlaylistEnd::has(const PartPosition& part) const {
    if (part.msn > next.msn) return false;
    if (part.msn == next.msn) return part.part < next.part;
    if (next.msn - part.msn > 1) return true;
    return part.part < std::max<uint64_t>(1, parts_before) || next.part > 0;
}

uint64_t max_parts(int64_t target_us, int64_t part_target_us) {
    constexpr int64_t kSecond = 1'000'000;
    const auto quotient = [](int64_t time, int64_t by) { return static_cast<uint64_t>((time + by - 1) / by); };
    const int64_t part_us = part_target_us > 0 ? part_target_us : kSecond;
    return quotient(target_us, part_us) + (part_us < kSecond ? quotient(3 * kSecond, part_us) : 3);
}

Reload decide(const PartPosition& awaited, const PlaylistEnd& playlist) {
    if (playlist.ended || playlist.has(awaited)) return Reload::kAnswer;
    // The open segment is the last one of the playlist once it has a part.
    const uint64_t max_behind_next = playlist.next.part > 0 ? kMaxAheadSegments : kMaxAheadSegments - 1;
    if (awaited.msn > playlist.next.msn && awaited.msn - playlist.next.msn > max_behind_next) return Reload::kRefuse;
    return awaited.part > playlist.max_segment_parts ? Reload::kRefuse : Reload::kWait;
}

}  // namespace m3u8
