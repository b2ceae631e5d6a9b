// Fuzzes the messages of an upgrade: what is read is written and read again unchanged, and stays within its bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/upgrade/messages.h"

using namespace server::upgrade;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto message = parse_message({reinterpret_cast<const char*>(data), size});
    if (!message) return 0;
    CHECK(message->keys.size() <= kMaxKeys);
    for (const base::StreamKey& key : message->keys)
        CHECK(key.vhost.size() + key.app.size() + key.name.size() <= kMaxKeyBytes);
    auto again = parse_message(write_message(*message));
    CHECK(again && again->kind == message->kind && again->keys == message->keys && again->id == message->id &&
          again->version == message->version && again->pid == message->pid && again->is_granted == message->is_granted);
    CHECK(again->figures.has_value() == message->figures.has_value());
    if (!message->figures) return 0;
    CHECK(message->figures->addresses.size() <= kMaxAddresses);
    // A text that was cut is written as UTF-8.
    again->figures->version = message->figures->version;
    CHECK(again->figures == message->figures);
    return 0;
}
