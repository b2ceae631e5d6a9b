#include "protocol/sdp/sprop.h"

#include <algorithm>

#include "protocol/sdp/format.h"
#include "protocol/sdp/text.h"

namespace sdp {
namespace {

constexpr std::string_view kNames[] = {"sprop-parameter-sets", "sprop-vps", "sprop-sps", "sprop-pps"};

std::span<const std::string_view> names_of(media::Codec codec) {
    const std::span all(kNames);
    if (codec == media::Codec::kH264) return all.first(1);
    return codec == media::Codec::kHevc ? all.subspan(1) : all.first(0);
}

std::optional<uint32_t> base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    if (c == '/') return 63;
    return std::nullopt;
}

}  // namespace

std::optional<std::vector<uint8_t>> from_base64(std::string_view text) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
    if (text.empty() || text.size() % 4 == 1) return std::nullopt;
    std::vector<uint8_t> out;
    out.reserve(text.size() * 3 / 4);
    uint32_t bits = 0;
    int count = 0;
    for (char c : text) {
        const auto digit = base64_digit(c);
        if (!digit) return std::nullopt;
        bits = (bits << 6 | *digit) & 0xffff;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out.push_back(static_cast<uint8_t>(bits >> count));
    }
    return out;
}

std::string to_base64(std::span<const uint8_t> bytes) {
    static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t i = 0; i < bytes.size(); i += 3) {
        const size_t count = std::min<size_t>(3, bytes.size() - i);
        uint32_t bits = uint32_t{bytes[i]} << 16;
        if (count > 1) bits |= uint32_t{bytes[i + 1]} << 8;
        if (count > 2) bits |= bytes[i + 2];
        for (size_t digit = 0; digit < 4; ++digit) out += digit <= count ? kDigits[bits >> (18 - 6 * digit) & 63] : '=';
    }
    return out;
}

std::vector<std::vector<uint8_t>> parameter_sets(media::Codec codec, std::string_view fmtp) {
    std::vector<std::vector<uint8_t>> sets;
    for (std::string_view name : names_of(codec)) {
        std::string_view rest = parameter(fmtp, name);
        while (!rest.empty()) {
            auto set = from_base64(take_word(rest, ','));
            if (!set || sets.size() == kMaxParameterSets) return {};
            sets.push_back(*std::move(set));
        }
    }
    return sets;
}

std::string sprop_of(media::Codec codec, std::string_view fmtp) {
    std::string all;
    if (parameter_sets(codec, fmtp).empty()) return all;
    for (std::string_view name : names_of(codec)) {
        const std::string_view value = parameter(fmtp, name);
        if (!value.empty()) all.append(all.empty() ? "" : ";").append(name).append("=").append(value);
    }
    return all;
}

std::string without_sprop(std::string_view fmtp) {
    std::string kept;
    bool any = false;
    for (std::string_view rest = fmtp; !rest.empty();) {
        const std::string_view pair = take_word(rest, ';');
        std::string_view key = pair;
        key = take_word(key, '=');
        bool is_sprop = false;
        for (std::string_view name : kNames) is_sprop |= same_word(key, name);
        any |= is_sprop;
        if (!is_sprop) kept.append(kept.empty() ? "" : ";").append(pair);
    }
    return any ? kept : std::string(fmtp);
}

}  // namespace sdp
