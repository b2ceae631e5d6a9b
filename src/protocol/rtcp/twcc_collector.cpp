#include "protocol/rtcp/twcc_collector.h"

#include <algorithm>

#include "base/result.h"

namespace rtcp {

namespace {

constexpr size_t kFixedSize = 16;  // of the body: two SSRCs, base, count, reference time, feedback count

constexpr uint8_t kNotReceived = 0, kSmall = 1, kLarge = 2;

size_t run_of(std::span<const uint8_t> symbols) {
    size_t run = 1;
    while (run < symbols.size() && run < 0x1fff && symbols[run] == symbols[0]) ++run;
    return run;
}

// A chunk and the number of symbols it covers.
struct PackedSymbols {
    uint16_t bits;
    size_t symbols;
};

PackedSymbols vector_of(std::span<const uint8_t> symbols, size_t capacity, unsigned width, uint16_t head) {
    size_t n = std::min(symbols.size(), capacity);
    uint16_t bits = head;
    for (size_t i = 0; i < n; ++i) bits = static_cast<uint16_t>(bits | symbols[i] << (capacity - 1 - i) * width);
    return {bits, n};
}

PackedSymbols next_chunk(std::span<const uint8_t> symbols) {
    size_t run = run_of(symbols);
    auto first_14 = symbols.first(std::min<size_t>(symbols.size(), 14));
    bool large = std::ranges::find(first_14, kLarge) != first_14.end();
    // A run is used when a vector would not cover more symbols.
    if (run == symbols.size() || run >= (large ? 7 : 14)) {
        return {static_cast<uint16_t>(symbols[0] << 13 | run), run};
    }
    return large ? vector_of(symbols, 7, 2, 0xc000) : vector_of(symbols, 14, 1, 0x8000);
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

struct TwccCollector::Batch {
    int64_t reference = 0;  // in units of 64 ms
    size_t packets = 0, received = 0, delta_bytes = 0;
    std::array<uint8_t, kWindow> symbols;
    std::array<int16_t, kWindow> deltas;  // in ticks, of the received packets
    uint8_t* put_chunks(uint8_t* p) const;
    uint8_t* put_deltas(uint8_t* p) const;
};

void TwccCollector::on_packet(uint16_t sequence, int64_t arrival_us) {
    int64_t at = unwrapper_.unwrap(sequence);
    if (!started_ || at > newest_ + kWindow) {
        if (started_ && next_ <= newest_) forgotten_ += static_cast<uint64_t>(newest_ - next_ + 1);
        started_ = true;
        arrivals_.fill(kMissing);
        next_ = newest_ = at;
        arrival(at) = arrival_us;
        return;
    }
    if (at <= newest_ - kWindow) return;  // too old to be reported
    for (int64_t s = newest_ + 1; s <= at; ++s) arrival(s) = kMissing;
    newest_ = std::max(newest_, at);
    if (next_ <= newest_ - kWindow) {
        forgotten_ += static_cast<uint64_t>(newest_ - kWindow + 1 - next_);
        next_ = newest_ - kWindow + 1;
    }
    if (arrival(at) != kMissing) return;  // a duplicate: the first arrival counts
    arrival(at) = arrival_us;
    next_ = std::min(next_, at);
}

TwccCollector::Batch TwccCollector::gather(size_t max_packets) {
    int64_t received = next_;
    while (arrival(received) == kMissing) ++received;  // terminates: the newest was received
    Batch batch;
    batch.reference = floor_div(floor_div(arrival(received), kTwccTickUs), kTwccReferenceTicks);
    int64_t ticks = batch.reference * kTwccReferenceTicks;  // sum of the deltas so far
    int64_t end = std::min<int64_t>(newest_ + 1, next_ + static_cast<int64_t>(max_packets));
    for (int64_t s = next_; s < end; ++s) {
        int64_t arrived = arrival(s);
        if (arrived == kMissing) {
            batch.symbols[batch.packets++] = kNotReceived;
            continue;
        }
        int64_t tick = floor_div(arrived, kTwccTickUs), delta = tick - ticks;
        if (delta != static_cast<int16_t>(delta)) break;  // the next feedback has its own reference time
        ticks = tick;
        bool small = delta >= 0 && delta <= 255;
        batch.deltas[batch.received++] = static_cast<int16_t>(delta);
        batch.symbols[batch.packets++] = small ? kSmall : kLarge;
        batch.delta_bytes += small ? 1 : 2;
    }
    return batch;
}

// Writes the chunks; returns their end.
uint8_t* TwccCollector::Batch::put_chunks(uint8_t* p) const {
    for (auto rest = std::span(symbols).first(packets); !rest.empty();) {
        PackedSymbols chunk = next_chunk(rest);
        p = base::put_u16(p, chunk.bits);
        rest = rest.subspan(chunk.symbols);
    }
    return p;
}

uint8_t* TwccCollector::Batch::put_deltas(uint8_t* p) const {
    size_t next = 0;
    for (uint8_t symbol : std::span(symbols).first(packets)) {
        if (symbol == kSmall) *p++ = static_cast<uint8_t>(deltas[next++]);
        if (symbol == kLarge) p = base::put_u16(p, static_cast<uint16_t>(deltas[next++]));
    }
    return p;
}

bool TwccCollector::write(uint32_t sender_ssrc, uint32_t media_ssrc, Writer& out) {
    if (!has_news()) return false;
    // A packet needs at most two bytes of delta and two sevenths of a chunk.
    size_t fixed = kHeaderSize + kFixedSize + 8;
    if (out.left() < fixed + 16) return false;
    Batch batch = gather(std::min<size_t>((out.left() - fixed) * 7 / 16, kWindow));
    std::array<uint8_t, kWindow> chunks;  // two bytes for seven packets at most
    auto chunk_bytes = static_cast<size_t>(batch.put_chunks(chunks.data()) - chunks.data());
    size_t body = (kFixedSize + chunk_bytes + batch.delta_bytes + 3) & ~size_t{3};
    uint8_t* p = out.add(kTransportFeedback, kTransportCcFormat, body);
    CHECK(p != nullptr);
    uint8_t* end = p + body;
    p = base::put_u32(base::put_u32(p, sender_ssrc), media_ssrc);
    p = base::put_u16(base::put_u16(p, static_cast<uint32_t>(next_)), static_cast<uint32_t>(batch.packets));
    p = base::put_u24(p, static_cast<uint32_t>(batch.reference));
    *p++ = feedback_count_++;
    p = batch.put_deltas(std::copy_n(chunks.data(), chunk_bytes, p));
    std::fill(p, end, 0);
    next_ += static_cast<int64_t>(batch.packets);
    return true;
}

}  // namespace rtcp
