// Arbitrary datagrams for a receiving or a sending connection: nothing grows beyond its bound, sending comes to an end,
// each sequence number is delivered or skipped once, and an ended connection stays silent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "protocol/srt/connection.h"

namespace {

constexpr uint32_t kOwn = 1;
constexpr uint32_t kFirst = srt::kMaxSequence - 100;
constexpr int64_t kFirstIndex = srt::kMaxMessage - 100;

class Ring : public srt::History {
  public:
    void add(int64_t time_us) {
        times_.push_back(time_us);
        if (times_.size() > 500) ++first_;
    }
    int64_t first() const override { return kFirstIndex + first_; }
    int64_t end() const override { return kFirstIndex + static_cast<int64_t>(times_.size()); }
    Entry entry(int64_t index) const override {
        CHECK(first() <= index && index < end());
        return {times_[static_cast<size_t>(index - kFirstIndex)], bytes_};
    }

  private:
    std::vector<int64_t> times_;
    int64_t first_ = 0;
    std::array<uint8_t, 188> bytes_{};
};

class Sink : public srt::DataSink {
  public:
    void on_message(const Message& message) override { passed += 1 + message.skipped; }
    uint64_t passed = 0;
};

class Fuzzed {
  public:
    Fuzzed(base::ByteReader& in, uint8_t options) : in_(in), connection_(make(options)) {
        policy_.stream_rate = 200'000;
        for (int i = 0; i < (options & 8 ? 100 : 0); ++i) history_.add(now_us_ - 1'000'000);
    }

    void step() {
        const uint8_t command = in_.u8();
        switch (command & 3) {
            case 0:
                send(data(command));
                break;
            case 1:
                send(control(command));
                break;
            case 2:
                now_us_ += (command & 4 ? 100'000 : 700) * (command >> 4);
                if (command & 8) history_.add(now_us_);
                break;
            default:
                send(raw(command >> 2));
                break;
        }
        connection_.on_time(now_us_);
        drain();
        if (command == 0xfe) connection_.close(now_us_);
    }

    void drain() {
        uint8_t buffer[srt::kMaxDatagram];
        for (int n = 0; connection_.next_control(now_us_, buffer) > 0; ++n) CHECK(n < 20);
        for (int n = 0; connection_.next_data(now_us_, history_, policy_); ++n) CHECK(n < 1000);
        for (int n = 0; connection_.next_control(now_us_, buffer) > 0; ++n) CHECK(n < 20);
        const srt::Receiver* receiver = connection_.receiver();
        if (receiver) {
            CHECK(receiver->buffered() <= 128 && receiver->missing() <= receiver->buffered());
            CHECK(sink_.passed <= static_cast<uint64_t>(receiver->next_sequence() - kFirst));
            const auto& c = receiver->counters();
            CHECK(c.delivered + c.skipped == static_cast<uint64_t>(receiver->next_sequence() - kFirst));
        }
        const bool ended = connection_.end() != srt::Connection::End::kNone;
        const int64_t deadline = connection_.deadline(history_, policy_);
        CHECK(ended ? deadline == srt::kNever : deadline > now_us_);
    }

  private:
    srt::Connection make(uint8_t options) {
        const srt::Agreement agreement{.own_id = kOwn,
                                       .peer_id = 2,
                                       .initial_sequence = kFirst,
                                       .conclusion_us = now_us_,
                                       .conclusion_timestamp_us = 0xffff0000,
                                       .own_window = 128,
                                       .peer_window = 128,
                                       .drop_too_late = (options & 2) == 0,
                                       .peer_repeats_naks = (options & 4) == 0,
                                       .max_datagram = options & 16 ? size_t{40} : srt::kMaxDatagram};
        const srt::ConnectionOptions limits{.reorder = options & 32 ? 3u : 0u};
        if (options & 1) return srt::Connection::sending(agreement, limits, kFirstIndex);
        return srt::Connection::receiving(agreement, limits, sink_, nullptr);
    }
    uint32_t sequence() {
        return (kFirst + static_cast<uint32_t>(static_cast<int16_t>(in_.u16()))) & srt::kMaxSequence;
    }

    std::vector<uint8_t> data(uint8_t command) {
        std::vector<uint8_t> bytes(srt::kHeaderSize + (command & 4 ? 188 : 0));
        srt::write_data_header(std::span(bytes).first<srt::kHeaderSize>(),
                               {.sequence = sequence(),
                                .key = command & 8 ? srt::KeyParity::kEven : srt::KeyParity::kNone,
                                .retransmitted = (command & 16) != 0,
                                .timestamp_us = command & 32 ? in_.u32() : static_cast<uint32_t>(now_us_ - 65'536),
                                .destination = kOwn});
        return bytes;
    }
    // Its words are near the connection's sequence numbers, or small.
    std::vector<uint8_t> control(uint8_t command) {
        static constexpr srt::ControlType kTypes[] = {srt::ControlType::kAck, srt::ControlType::kNak,
                                                      srt::ControlType::kAckAck, srt::ControlType::kDropRequest};
        std::vector<uint8_t> bytes(srt::kHeaderSize);
        const uint8_t words = in_.u8();
        srt::write_control_header(std::span(bytes).first<srt::kHeaderSize>(),
                                  {.type = kTypes[command >> 2 & 3], .info = in_.u8(), .destination = kOwn});
        base::ByteWriter out(bytes);
        for (int i = 0; i < words % 16; ++i) {
            const uint8_t kind = in_.u8();
            out.u32(kind & 1 ? in_.u16() : sequence() | (kind & 2 ? 0x80000000 : 0));
        }
        return bytes;
    }
    std::vector<uint8_t> raw(uint8_t size) {
        const auto bytes = in_.bytes(std::min<size_t>(size, in_.left()));
        std::vector<uint8_t> datagram(bytes.begin(), bytes.end());
        if (datagram.size() >= srt::kHeaderSize) base::put_u32(&datagram[12], kOwn);
        return datagram;
    }
    void send(std::vector<uint8_t> datagram) { connection_.on_datagram(now_us_, datagram); }

    base::ByteReader& in_;
    int64_t now_us_ = 10'000'000;
    Sink sink_;
    Ring history_;
    srt::SendPolicy policy_;
    srt::Connection connection_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    base::ByteReader in({data, size});
    Fuzzed fuzzed(in, in.u8());
    while (in.left() > 0) fuzzed.step();
    return 0;
}
