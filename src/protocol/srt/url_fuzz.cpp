// Arbitrary URLs and names of streams: what is accepted has the bounds that a caller relies on, and a stream id that
// was made names the stream that it was made for.
#include <cstddef>
#include <cstdint>
#include <string>

#include "protocol/srt/key_material.h"
#include "protocol/srt/url.h"

namespace {

void check_url(std::string_view text) {
    const auto url = srt::parse_url(text);
    if (!url) {
        CHECK(!url.error().text().empty());
        return;
    }
    CHECK(!url->host.empty() && url->port != 0 && url->stream_id.size() <= srt::kMaxStreamId);
    CHECK(srt::is_key_size(url->key_size));
    CHECK(url->passphrase.empty() ||
          (url->passphrase.size() >= srt::kMinPassphrase && url->passphrase.size() <= srt::kMaxPassphrase));
    CHECK(url->receive_latency_ms <= srt::kMaxLatencyMs && url->peer_latency_ms <= srt::kMaxLatencyMs);
    CHECK(!url->shown.contains('?') && srt::parse_url(url->shown));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check_url(text);
    check_url("srt://h:1?" + std::string(text));
    const size_t end = text.find('\n');
    if (end == text.npos) return 0;
    const base::StreamKey key{"", "live", std::string(text.substr(0, end))};
    const auto id = srt::make_stream_id(srt::StreamMode::kRequest, key, text.substr(end + 1));
    if (!id) return 0;
    CHECK(id->size() <= srt::kMaxStreamId);
    const auto read = srt::parse_stream_id(*id, {});
    CHECK(read && read->stream == key.name && read->app == "live" && read->mode == srt::StreamMode::kRequest);
    return 0;
}
