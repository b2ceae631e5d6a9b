#include "service/caster/gb_channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace service::caster {

using base::Code;
using base::fail;
using base::Result;

Result<uint32_t> parse_ssrc(std::string_view text) {
    constexpr size_t kMaxDigits = 10;
    uint32_t ssrc = 0;
    const bool has_digits = !text.empty() && text.size() <= kMaxDigits &&
                            std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    if (has_digits && std::from_chars(text.data(), text.data() + text.size(), ssrc).ec == std::errc()) return ssrc;
    return fail(Code::kProtocol, fmt::format("ssrc '{}' is no decimal number of 32 bits", base::for_log(text, 32)));
}

Result<void> GbChannels::reserve(GbChannel channel) {
    if (by_id_.contains(channel.id)) return fail(Code::kBusy, fmt::format("id '{}' is announced already", channel.id));
    if (by_ssrc_.contains(channel.ssrc))
        return fail(Code::kBusy, fmt::format("ssrc {} is announced already", channel.ssrc));
    if (size() >= kMax) return fail(Code::kLimit, fmt::format("{} streams are announced", kMax));
    by_id_[channel.id] = channel.ssrc;
    const uint32_t ssrc = channel.ssrc;
    by_ssrc_[ssrc] = std::move(channel);
    return {};
}

GbChannel* GbChannels::find(uint32_t ssrc) {
    const auto found = by_ssrc_.find(ssrc);
    return found == by_ssrc_.end() ? nullptr : &found->second;
}

void GbChannels::release(uint32_t ssrc) {
    const auto found = by_ssrc_.find(ssrc);
    if (found == by_ssrc_.end()) return;
    by_id_.erase(found->second.id);
    by_ssrc_.erase(found);
}

std::optional<GbChannel> GbChannels::take_expired(int64_t now_us) {
    const auto found = std::ranges::find_if(
        by_ssrc_, [now_us](const auto& entry) { return !entry.second.session && now_us >= entry.second.expires_us; });
    if (found == by_ssrc_.end()) return std::nullopt;
    GbChannel expired = found->second;
    release(expired.ssrc);
    return expired;
}

size_t GbChannels::waiting() const {
    return static_cast<size_t>(
        std::ranges::count_if(by_ssrc_, [](const auto& entry) { return !entry.second.session; }));
}

}  // namespace service::caster
