#include "protocol/srt/network_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bytes.h"

namespace srt::testing {

uint64_t Random::next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

// --- Link ----------------------------------------------------------------------------------------------------------

bool Link::loses(std::span<const uint8_t> datagram) {
    if (!random_.chance(options_.loss)) return false;
    if (is_control(datagram)) return true;
    if (losses_[base::get_u32(datagram.data())]++ >= options_.max_losses) return false;
    ++lost_data_;
    return true;
}

void Link::send(int64_t now_us, std::span<const uint8_t> datagram) {
    if (loses(datagram)) return;
    int64_t sent_us = now_us;
    if (options_.bytes_per_second > 0) {
        busy_us_ = std::max(busy_us_, now_us);
        if (busy_us_ - now_us > options_.queue_us) {
            lost_data_ += is_control(datagram) ? 0 : 1;
            return;
        }
        sent_us = busy_us_ += static_cast<int64_t>(datagram.size()) * 1'000'000 / options_.bytes_per_second;
    }
    const int copies = random_.chance(options_.duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
        int64_t arrival_us = sent_us + options_.delay_us;
        if (options_.jitter_us > 0) arrival_us += random_.below(options_.jitter_us);
        if (random_.chance(options_.reorder)) {
            arrival_us += 1 + random_.below(options_.delay_us / 4 + 1000);
        } else {
            arrival_us = last_arrival_us_ = std::max(last_arrival_us_, arrival_us);
        }
        flying_.emplace(arrival_us, std::vector(datagram.begin(), datagram.end()));
    }
}

std::optional<std::vector<uint8_t>> Link::receive(int64_t now_us) {
    if (next_us() > now_us) return std::nullopt;
    auto datagram = std::move(flying_.begin()->second);
    flying_.erase(flying_.begin());
    return datagram;
}

// --- TestHistory, CheckingSink -------------------------------------------------------------------------------------

void TestHistory::add(int64_t time_us) {
    times_.push_back(time_us);
    if (times_.size() <= kept_) return;
    times_.pop_front();
    ++first_;
}

History::Entry TestHistory::entry(int64_t index) const {
    CHECK(first() <= index && index < end());
    const size_t size = size_of(index);
    base::put_u32(bytes_.data(), static_cast<uint32_t>(index >> 32));
    base::put_u32(bytes_.data() + 4, static_cast<uint32_t>(index));
    bytes_[size - 1] = static_cast<uint8_t>(index);
    return {times_[static_cast<size_t>(index - first_)], std::span(bytes_).first(size)};
}

bool TestHistory::matches(int64_t index, std::span<const uint8_t> bytes) {
    if (bytes.size() != size_of(index)) return false;
    if (base::get_u32(bytes.data()) != static_cast<uint32_t>(index >> 32)) return false;
    return base::get_u32(bytes.data() + 4) == static_cast<uint32_t>(index) &&
           bytes.back() == static_cast<uint8_t>(index);
}

void CheckingSink::on_message(const Message& message) {
    next_ += static_cast<int64_t>(message.skipped);
    skipped_ += message.skipped;
    if (error_.empty() && !TestHistory::matches(next_, message.bytes)) {
        const uint32_t got = message.bytes.size() < 8 ? 0 : base::get_u32(message.bytes.data() + 4);
        error_ = fmt::format("message {} came, {} was expected", got, next_);
    }
    if (error_.empty() && message.timestamp_us < last_timestamp_us_) {
        error_ = fmt::format("the time of message {} goes back from {} to {}", next_, last_timestamp_us_,
                             message.timestamp_us);
    }
    last_timestamp_us_ = message.timestamp_us;
    ++next_;
    ++delivered_;
}

// --- Pair ----------------------------------------------------------------------------------------------------------

namespace {

constexpr uint32_t kSenderId = 0x1234, kReceiverId = 0x4321;

Agreement agreement_of(const PairOptions& options, int64_t now_us, bool sending) {
    return {.own_id = sending ? kSenderId : kReceiverId,
            .peer_id = sending ? kReceiverId : kSenderId,
            .initial_sequence = options.initial_sequence,
            .start_us = sending ? now_us - options.handshake_timestamp_us : now_us,
            .conclusion_us = sending ? now_us : now_us + options.there.delay_us,
            .conclusion_timestamp_us = wire_timestamp(sending ? 0 : options.handshake_timestamp_us),
            .receive_latency_us = options.latency_us,
            .send_latency_us = options.latency_us,
            .own_window = options.window,
            .peer_window = options.window,
            .drop_too_late = options.drop_too_late,
            .peer_repeats_naks = options.repeat_naks};
}

}  // namespace

Pair::Pair(const PairOptions& options)
    : options_(options),
      history_(options.first_index, options.history_kept),
      sink_(options.first_index),
      there_(options.there, options.seed * 2),
      back_(options.back, options.seed * 2 + 1),
      sender_(Connection::sending(agreement_of(options, kStartUs, true), {.idle_timeout_us = options.idle_timeout_us},
                                  options.first_index)),
      receiver_(Connection::receiving(agreement_of(options, kStartUs, false),
                                      {.idle_timeout_us = options.idle_timeout_us, .reorder = options.reorder}, sink_,
                                      nullptr)) {
    for (; added_ < options.ready_messages; ++added_) {
        history_.add(kStartUs - (options.ready_messages - added_) * options.interval_us);
    }
}

int64_t Pair::receiver_time(int64_t us) const {
    return us + static_cast<int64_t>(static_cast<double>(us - kStartUs) * options_.drift_ppm / 1e6);
}

int64_t Pair::next_event_us() const {
    int64_t at = std::min(there_.next_us(), back_.next_us());
    if (added_ < options_.messages) at = std::min(at, next_message_us_);
    at = std::min(at, sender_.deadline(history_, options_.policy));
    // The receiver's clock, a us early at most.
    const int64_t own = receiver_.deadline();
    if (own == kNever) return at;
    const int64_t wait = std::max<int64_t>(own - receiver_time(now_us_), 0);
    return std::min(at, now_us_ + (wait > 1'000 ? static_cast<int64_t>(static_cast<double>(wait) * 0.999) : wait));
}

void Pair::pump_sender() {
    uint8_t buffer[kMaxDatagram];
    sender_.on_time(now_us_);
    for (int i = 0; i < 10'000; ++i) {
        if (const size_t size = sender_.next_control(now_us_, buffer)) {
            there_.send(now_us_, std::span(buffer, size));
            continue;
        }
        const auto packet = sender_.next_data(now_us_, history_, options_.policy);
        if (!packet) {
            // What next_data() found out may have to be told.
            if (const size_t size = sender_.next_control(now_us_, buffer)) {
                there_.send(now_us_, std::span(buffer, size));
                continue;
            }
            return;
        }
        const auto bytes = history_.entry(packet->index).bytes;
        write_data_header(std::span(buffer).first<kHeaderSize>(), packet->header);
        std::ranges::copy(bytes, buffer + kHeaderSize);
        there_.send(now_us_, std::span(buffer, kHeaderSize + bytes.size()));
        if (packet->header.retransmitted) continue;
        max_delay_us_ = std::max(max_delay_us_, now_us_ - history_.entry(packet->index).time_us);
        const int64_t timestamp_us = unwrap_timestamp(packet->header.timestamp_us, now_us_ - kStartUs);
        if (timestamp_us < last_timestamp_us_) error_ = "a timestamp goes back";
        last_timestamp_us_ = timestamp_us;
    }
    error_ = "the sender does not come to an end";
}

void Pair::pump_receiver() {
    uint8_t buffer[kMaxDatagram];
    const int64_t now_us = receiver_time(now_us_);
    receiver_.on_time(now_us);
    for (int i = 0; i < 1'000; ++i) {
        const size_t size = receiver_.next_control(now_us, buffer);
        if (size == 0) return;
        back_.send(now_us_, std::span(buffer, size));
    }
    error_ = "the receiver does not come to an end";
}

void Pair::inject_to_sender(std::span<uint8_t> datagram) {
    sender_.on_datagram(now_us_, datagram);
    pump_sender();
}

void Pair::inject_to_receiver(std::span<uint8_t> datagram) {
    receiver_.on_datagram(receiver_time(now_us_), datagram);
    pump_receiver();
}

void Pair::step(int64_t us) {
    now_us_ = us;
    ++steps_;
    while (added_ < options_.messages && next_message_us_ <= now_us_) {
        for (int i = 0; i < options_.burst && added_ < options_.messages; ++i, ++added_) history_.add(next_message_us_);
        next_message_us_ += options_.interval_us * options_.burst;
    }
    while (auto datagram = there_.receive(now_us_)) receiver_.on_datagram(receiver_time(now_us_), *datagram);
    while (auto datagram = back_.receive(now_us_)) sender_.on_datagram(now_us_, *datagram);
    pump_sender();
    pump_receiver();
}

void Pair::run_until(int64_t us) {
    while (now_us_ < us && error_.empty()) {
        const int64_t next = std::min(next_event_us(), us);
        // A deadline that has passed must have been served: time goes on.
        step(std::max(next, now_us_ + 1));
        if (steps_ > 50'000'000) error_ = "too many steps";
    }
}

void Pair::run(int64_t after_us) {
    const int64_t groups = (options_.messages - options_.ready_messages + options_.burst - 1) / options_.burst;
    run_until(now_us_ + std::max<int64_t>(groups, 0) * options_.interval_us * options_.burst + after_us);
}

std::string Pair::violation() const {
    if (!error_.empty()) return error_;
    if (!sink_.error().empty()) return sink_.error();
    const Receiver& receiver = *receiver_.receiver();
    const Receiver::Counters& in = receiver.counters();
    if (in.delivered != sink_.delivered()) return "the count of delivered messages is wrong";
    const auto passed = static_cast<uint64_t>(receiver.next_sequence() - int64_t{options_.initial_sequence});
    if (in.delivered + in.skipped != passed) {
        return fmt::format("{} delivered and {} skipped of {}", in.delivered, in.skipped, passed);
    }
    if (in.packets != in.delivered + in.unreadable + in.belated + in.duplicates + in.out_of_window +
                          (receiver.buffered() - receiver.missing())) {
        return "a packet is not counted";
    }
    return {};
}

}  // namespace srt::testing
