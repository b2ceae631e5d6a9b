#pragma once
// A network and a pair of connections in simulated time: a sender with a history, a receiver, and a link each way that
// loses, repeats, delays and reorders datagrams. No clock and no random source: the same seed gives the same run.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/srt/connection.h"

namespace srt::testing {

// SplitMix64.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next();
    // 0 to below - 1.
    int64_t below(int64_t limit) { return static_cast<int64_t>(next() % static_cast<uint64_t>(limit)); }
    bool chance(double probability) { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }

  private:
    uint64_t state_;
};

struct LinkOptions {
    double loss = 0, duplicate = 0, reorder = 0;
    int64_t delay_us = 10'000, jitter_us = 0;
    int64_t bytes_per_second = 0;      // 0: unlimited
    int64_t queue_us = 200'000;        // more is dropped
    unsigned max_losses = UINT32_MAX;  // of one data packet, repairs included
};

class Link {
  public:
    Link(const LinkOptions& options, uint64_t seed) : options_(options), random_(seed) {}
    void send(int64_t now_us, std::span<const uint8_t> datagram);
    int64_t next_us() const { return flying_.empty() ? kNever : flying_.begin()->first; }
    std::optional<std::vector<uint8_t>> receive(int64_t now_us);
    LinkOptions& options() { return options_; }
    uint64_t lost_data() const { return lost_data_; }

  private:
    bool loses(std::span<const uint8_t> datagram);
    LinkOptions options_;
    Random random_;
    std::multimap<int64_t, std::vector<uint8_t>> flying_;  // by arrival
    std::unordered_map<uint32_t, unsigned> losses_;
    int64_t busy_us_ = 0, last_arrival_us_ = 0;
    uint64_t lost_data_ = 0;
};

// Messages of a length and contents that follow from their index.
class TestHistory : public History {
  public:
    explicit TestHistory(int64_t first, size_t kept = 4096) : first_(first), start_(first), kept_(kept) {}
    void add(int64_t time_us);
    int64_t first() const override { return first_; }
    int64_t end() const override { return first_ + static_cast<int64_t>(times_.size()); }
    Entry entry(int64_t index) const override;
    int64_t start() const { return start_; }
    static size_t size_of(int64_t index) { return static_cast<size_t>(1 + index * 5 % 7) * 188; }
    static bool matches(int64_t index, std::span<const uint8_t> bytes);

  private:
    int64_t first_, start_;
    size_t kept_;
    base::FlatQueue<int64_t> times_;
    mutable std::array<uint8_t, kLivePayload> bytes_{};
};

// Checks that each message comes once, in order, or is counted as skipped.
class CheckingSink : public DataSink {
  public:
    explicit CheckingSink(int64_t first) : next_(first) {}
    void on_message(const Message& message) override;
    int64_t next() const { return next_; }
    uint64_t delivered() const { return delivered_; }
    uint64_t skipped() const { return skipped_; }
    const std::string& error() const { return error_; }

  private:
    int64_t next_;
    int64_t last_timestamp_us_ = INT64_MIN;
    uint64_t delivered_ = 0, skipped_ = 0;
    std::string error_;
};

struct PairOptions {
    LinkOptions there{}, back{};  // data; ACK and NAK
    uint64_t seed = 1;
    int64_t latency_us = 120'000;
    int64_t messages = 1000, interval_us = 2'000;
    int burst = 1;               // messages at a time
    int64_t ready_messages = 0;  // in the history when the connection begins
    uint32_t initial_sequence = 1000;
    int64_t first_index = 1;
    int64_t handshake_timestamp_us = 0;  // of the sender's clock, when its conclusion is received
    double drift_ppm = 0;                // the receiver's clock is faster
    uint32_t window = 8192, reorder = 0;
    bool drop_too_late = true, repeat_naks = true;
    size_t history_kept = 4096;
    SendPolicy policy{.stream_rate = 500'000};
    int64_t idle_timeout_us = 10'000'000;
};

class Pair {
  public:
    explicit Pair(const PairOptions& options);
    // Until all messages have been added and the time after it, in us, has passed.
    void run(int64_t after_us = 3'000'000);
    void run_until(int64_t us);

    int64_t now_us() const { return now_us_; }
    Connection& sender() { return sender_; }
    Connection& receiver() { return receiver_; }
    Link& there() { return there_; }
    Link& back() { return back_; }
    TestHistory& history() { return history_; }
    const CheckingSink& sink() const { return sink_; }
    // At its own time.
    int64_t receiver_time(int64_t us) const;
    void inject_to_sender(std::span<uint8_t> datagram);
    void inject_to_receiver(std::span<uint8_t> datagram);
    // What does not hold, or nothing.
    std::string violation() const;
    uint64_t steps() const { return steps_; }
    int64_t max_delay_us() const { return max_delay_us_; }

  private:
    int64_t next_event_us() const;
    void step(int64_t us);
    void pump_sender();
    void pump_receiver();

    PairOptions options_;
    TestHistory history_;
    CheckingSink sink_;
    Link there_, back_;
    Connection sender_, receiver_;
    int64_t now_us_ = kStartUs, next_message_us_ = kStartUs;
    int64_t added_ = 0, max_delay_us_ = 0;
    uint64_t steps_ = 0;
    int64_t last_timestamp_us_ = INT64_MIN;
    std::string error_;
    static constexpr int64_t kStartUs = 1'000'000'000;
};

}  // namespace srt::testing
