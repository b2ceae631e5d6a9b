#include "load/packet_skimmer.h"

#include <algorithm>
#include <cstring>

namespace load {

base::Result<void> PacketSkimmer::feed(std::span<const uint8_t> bytes, MediaSink& sink) {
    while (have_ + bytes.size() >= kPacketSize) {
        if (have_ == 0) {
            TRY(packet(bytes.first(kPacketSize), sink));
            bytes = bytes.subspan(kPacketSize);
            continue;
        }
        size_t rest = kPacketSize - have_;
        std::memcpy(cut_.data() + have_, bytes.data(), rest);
        bytes = bytes.subspan(rest);
        have_ = 0;
        TRY(packet(cut_, sink));
    }
    if (!bytes.empty()) std::memcpy(cut_.data() + have_, bytes.data(), bytes.size());
    have_ = static_cast<uint8_t>(have_ + bytes.size());
    return {};
}

base::Result<void> PacketSkimmer::packet(std::span<const uint8_t> bytes, MediaSink& sink) {
    if (bytes[0] != 0x47)
        return base::fail(base::Code::kProtocol, fmt::format("a transport packet that begins with {:#x}", bytes[0]));
    bool start = bytes[1] & 0x40, adaptation = bytes[3] & 0x20, payload = bytes[3] & 0x10;
    if (!start || !payload) return {};
    size_t at = adaptation ? 5u + bytes[4] : 4;
    // start code, stream id, length, flags, PTS
    if (at + 14 > kPacketSize || bytes[at] || bytes[at + 1] || bytes[at + 2] != 1) return {};
    const uint8_t* pes = &bytes[at];
    bool video = (pes[3] & 0xf0) == 0xe0;
    uint64_t pts = uint64_t{pes[9] & 0x0eu} << 29 | uint64_t{pes[10]} << 22 | uint64_t{pes[11] & 0xfeu} << 14 |
                   uint64_t{pes[12]} << 7 | pes[13] >> 1;
    auto size = static_cast<uint32_t>(std::max(pes[4] << 8 | pes[5], 2));
    sink.on_media({static_cast<uint8_t>(video ? 9 : 8), static_cast<uint32_t>(pts / 90), size, {}});
    return {};
}

}  // namespace load
