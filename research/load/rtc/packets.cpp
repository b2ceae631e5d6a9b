#include "load/rtc/packets.h"

#include <algorithm>

#include "load/script.h"
#include "protocol/flv/body.h"
#include "protocol/flv/reader.h"
#include "protocol/rtp/payload/packetizer.h"

namespace load::rtc {

namespace {

constexpr int64_t kVideoFrameUs = 40'000, kAudioFrameUs = 20'000;

// One frame of 20 ms that decodes to silence: a packet of code 3 with one frame and padding.
std::vector<uint8_t> silence(size_t bytes) {
    std::vector<uint8_t> out(std::max<size_t>(bytes, 8), 0);
    out[0] = 0xfb;                    // CELT, fullband, 20 ms, mono, code 3
    out[1] = 0x41;                    // one frame, padding follows
    size_t padding = out.size() - 5;  // behind: its length, and the frame's two bytes
    out[2] = static_cast<uint8_t>(std::min<size_t>(padding, 254));
    out[3] = 0xff;
    out[4] = 0xfe;
    return out;
}

}  // namespace

base::Result<Packets> Packets::from_flv(const std::string& path, uint32_t audio_kbps) {
    auto file = TRY(load::read_file(path));
    Packets packets;
    TRY(packets.add_video(file), path);
    packets.add_audio(audio_kbps);
    std::stable_sort(packets.list_.begin(), packets.list_.end(),
                     [](const Packet& a, const Packet& b) { return a.at_us < b.at_us; });
    return packets;
}

base::Result<void> Packets::add_video(std::span<const uint8_t> file) {
    flv::Reader reader;
    reader.feed(file);
    flv::BodyParser parser;
    auto packetizer = rtp::make_packetizer(media::Codec::kH264, {});
    base::SliceBuilder buffer;
    std::vector<rtp::PayloadSpan> payloads;
    std::optional<media::Time> first;
    while (auto tag = TRY(reader.next())) {
        if (tag->type != static_cast<uint8_t>(flv::TagType::kVideo)) continue;
        auto parsed = TRY(parser.video(tag->body, tag->timestamp));
        if (!parsed.frame || parsed.frame->codec != media::Codec::kH264) continue;
        if (parsed.frame->sequence_header) {
            TRY(packetizer->set_header(*parsed.frame));
            continue;
        }
        if (!first) first = parsed.frame->dts;
        payloads.clear();
        TRY(packetizer->write(*parsed.frame, buffer, payloads));
        const base::Slice bytes = buffer.freeze();
        const int64_t at_us = media::to_us(parsed.frame->dts - *first);
        for (const rtp::PayloadSpan& payload : payloads)
            list_.push_back({bytes.sub(payload.begin, payload.end - payload.begin), at_us, true, payload.marker});
        round_us_ = at_us + kVideoFrameUs;
    }
    if (list_.empty()) return base::fail(base::Code::kProtocol, "there is no H.264 in the file");
    return {};
}

void Packets::add_audio(uint32_t kbps) {
    auto packet = base::Slice::copy(silence(kbps * kAudioFrameUs / 8000));
    for (int64_t at_us = 0; at_us < round_us_; at_us += kAudioFrameUs) list_.push_back({packet, at_us, false, false});
}

uint32_t Packets::kbps() const {
    uint64_t bytes = 0;
    for (const auto& packet : list_) bytes += packet.payload.size();
    return static_cast<uint32_t>(bytes * 8000 / static_cast<uint64_t>(round_us_));
}

}  // namespace load::rtc
