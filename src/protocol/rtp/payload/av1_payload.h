#pragma once
// AV1 temporal units (RTP Payload Format For AV1, 4). Packetizer: OBU elements without OBU size fields, each preceded
// by its length (W is 0), fragmented where a packet is full. Temporal delimiters and tile lists are omitted. A keyframe
// without a sequence header gets that of the configuration. Depacketizer: units in the low overhead format, every OBU
// with its size. All spatial layers are kept, in their order.

#include <utility>

#include "protocol/rtp/payload/depacketizer.h"
#include "protocol/rtp/payload/packetizer.h"

namespace rtp {

// Whether a coded video sequence begins with this payload (its N bit is set, or a sequence header is first).
bool begins_av1_sequence(std::span<const uint8_t> payload);

class Av1Packetizer final : public Packetizer {
  public:
    explicit Av1Packetizer(const PacketizerOptions& options) : Packetizer(options) {}
    base::Result<void> set_header(const media::Frame& header) override;

  private:
    base::Result<void> write_payloads(const media::Frame& frame) override;
    // An OBU: its header without has_size, and its content.
    struct Element {
        uint8_t head[2];
        size_t head_size;
        std::span<const uint8_t> body;
        size_t size() const { return head_size + body.size(); }
        void copy(size_t from, size_t count, uint8_t* to) const;
    };
    base::Result<void> collect(std::span<const uint8_t> obus, bool& has_sequence);
    size_t even_size() const;
    void put_packets(bool keyframe);

    base::Slice header_;  // the configuration record
    std::vector<Element> elements_;
};

class Av1Depacketizer final : public Depacketizer {
  public:
    void push(const DepacketizerPacket& packet, std::vector<Unit>& out) override;
    size_t memory() const override {
        const size_t held = part_.capacity() + body_.capacity() + sequence_.capacity();
        return open_ || held > 1'000'000 ? held : 0;
    }
    void drop() override;

  private:
    static constexpr size_t kMaxElements = 4096;  // in one unit
    bool take(std::span<const uint8_t> payload);
    bool take_element(std::span<const uint8_t> element, bool continues, bool goes_on);
    bool end_element();
    void finish(std::vector<Unit>& out);

    bool open_ = false;
    bool damaged_ = false;
    bool uncertain_ = false;
    uint32_t timestamp_ = 0;
    std::vector<uint8_t> part_;  // of an element that continues in the next packet
    bool in_part_ = false;
    size_t elements_ = 0;
    std::vector<uint8_t> body_;
    std::vector<uint8_t> sequence_;  // payload of the sequence header in the current unit
    base::Slice config_;
};

}  // namespace rtp
