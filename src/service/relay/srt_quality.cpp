#include "service/relay/srt_quality.h"

namespace service::relay {

namespace {

double percent_of(uint32_t part, uint32_t whole) { return whole == 0 ? 0 : 100.0 * part / whole; }

}  // namespace

SrtMeter::Counts SrtMeter::counts_of(const ::srt::Connection& connection) {
    const auto low = [](uint64_t count) { return static_cast<uint32_t>(count); };
    if (const ::srt::Sender* sender = connection.sender()) {
        const ::srt::Sender::Counters& of = sender->counters();
        return {low(of.packets - of.repairs), low(of.lost), low(of.repairs)};
    }
    // A packet that was lost comes as a repair, if at all.
    const ::srt::Receiver::Counters& of = connection.receiver()->counters();
    return {low(of.packets - of.retransmitted + of.lost), low(of.lost), low(of.retransmitted)};
}

void SrtMeter::on_second(const ::srt::Connection& connection) {
    if (++seconds_ < kSeconds) return;
    seconds_ = 0;
    samples_[next_] = counts_of(connection);
    next_ = static_cast<uint8_t>((next_ + 1) % samples_.size());
}

net::SrtQuality SrtMeter::quality(const ::srt::Connection& connection, size_t key_bytes) const {
    const Counts now = counts_of(connection), before = samples_[next_];
    const uint32_t packets = now.packets - before.packets;
    const ::srt::Agreement& agreed = connection.agreement();
    net::SrtQuality quality;
    quality.lost_percent = percent_of(now.lost - before.lost, packets);
    quality.retransmitted_percent = percent_of(now.repairs - before.repairs, packets);
    if (connection.round_trip().is_measured())
        quality.rtt_ms = static_cast<int>((connection.round_trip().us() + 500) / 1000);
    quality.peer_version = agreed.peer_version;
    quality.key_bits = static_cast<int>(8 * key_bytes);
    if (const ::srt::Sender* sender = connection.sender()) {
        const ::srt::Sender::Counters& of = sender->counters();
        const uint64_t sent = of.packets - of.repairs;
        const auto flight = static_cast<uint64_t>(sender->in_flight());
        quality.latency_ms = static_cast<int>(agreed.send_latency_us / 1000);
        quality.dropped = of.dropped;
        quality.flight_bytes = sent == 0 ? 0 : flight * ((of.bytes - of.repair_bytes) / sent);
    } else {
        quality.latency_ms = static_cast<int>(agreed.receive_latency_us / 1000);
        quality.dropped = connection.receiver()->counters().skipped;
        quality.flight_bytes = connection.receiver()->buffered_bytes();
    }
    return quality;
}

}  // namespace service::relay
