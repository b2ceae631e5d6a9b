// Arbitrary bytes as a packet: all lengths stay inside it; its header is unchanged after writing and parsing; RTX; and
// the bytes as sequence numbers for the classes that track them.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "protocol/rtp/nack_tracker.h"
#include "protocol/rtp/packet.h"
#include "protocol/rtp/reception_stats.h"
#include "protocol/rtp/rtx.h"

namespace {

void write_again(const rtp::PacketView& view) {
    std::vector<rtp::Extension> extensions;
    auto reader = view.extensions();
    while (auto e = reader.next()) extensions.push_back(*e);
    std::vector<uint8_t> out(rtp::written_header_size(extensions));
    if (out.empty()) return;
    CHECK(rtp::write_header(out.data(), view.header(), extensions) == out.size());
    auto again = rtp::PacketView::parse(out);
    CHECK(again && again->header() == view.header() && again->payload().empty());
    for (const rtp::Extension& e : extensions) {
        auto first = view.extension(e.id), second = again->extension(e.id);
        CHECK(first && second && std::ranges::equal(*first, *second));
    }
}

void packet(std::span<const uint8_t> bytes) {
    size_t header = rtp::header_size(bytes);
    CHECK(header <= bytes.size());
    auto view = rtp::PacketView::parse(bytes);
    if (!view) return;
    CHECK(view->header_size() == header && header + view->payload().size() + view->padding() == bytes.size());
    write_again(*view);
    std::vector<uint8_t> copy(bytes.begin(), bytes.end());
    auto restored = rtp::restore_rtx(copy, 1, 2);
    CHECK(restored.has_value() == (view->payload().size() >= 2));
    if (restored) {
        auto original = rtp::PacketView::parse(*restored);
        CHECK(original && original->ssrc() == 1 && original->payload_type() == 2);
        CHECK(original->payload().size() + 2 == view->payload().size());
    }
}

void sequences(std::span<const uint8_t> bytes) {
    rtp::NackTracker tracker({.max_missing = 64});
    rtp::ReceptionStats stats(1, 90'000);
    int64_t now = 0;
    uint16_t room[16];
    for (; bytes.size() >= 3; bytes = bytes.subspan(3)) {
        now += bytes[2];
        tracker.on_packet(rtp::get_u16(&bytes[0]), now);
        stats.on_packet(rtp::get_u16(&bytes[0]), bytes[2] * 0x1010101u, now * 1000);
        if (bytes[2] & 1) CHECK(tracker.due(now, bytes[2], room).size() <= 16);
        if (bytes[2] & 4) CHECK(stats.report(now * 1000).has_value());
        CHECK(tracker.missing() <= 64);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    packet({data, size});
    sequences({data, size});
    return 0;
}
