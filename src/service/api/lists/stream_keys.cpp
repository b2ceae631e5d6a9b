#include "service/api/lists/stream_keys.h"

#include <algorithm>

namespace service::api {

bool is_there(const live::Stream& stream) { return stream.published() || stream.demand() > 0; }

// Both sources are nearly sorted by name.
std::vector<live::StreamKey> keys_of_streams(const SharedParts& parts) {
    std::vector<live::StreamKey> keys;
    keys.reserve(parts.registry.size() + parts.sessions.accounts().streams());
    parts.registry.for_each([&](const live::Stream& stream) {
        if (is_there(stream)) keys.push_back(stream.key());
    });
    const auto middle = static_cast<ptrdiff_t>(keys.size());
    parts.sessions.accounts().for_each([&](const net::StreamAccount& account) { keys.push_back(account.key()); });
    const auto begin = keys.begin() + middle;
    if (!std::is_sorted(begin, keys.end())) std::sort(begin, keys.end());
    std::inplace_merge(keys.begin(), begin, keys.end());
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    return keys;
}

}  // namespace service::api
