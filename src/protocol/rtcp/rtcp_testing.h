#pragma once
// For tests: a visitor that records its callbacks as text, and datagrams made with a Writer.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "protocol/rtcp/parser.h"
#include "protocol/rtcp/transport_feedback_testing.h"
#include "protocol/rtcp/writer.h"

namespace rtcp {

using Bytes = std::vector<uint8_t>;

// One line of text for each callback, without the newline at the end.
struct Notes final : Visitor {
    std::string text;
    std::vector<std::pair<uint16_t, std::optional<int64_t>>> arrivals;

    void add(std::string line) { text += (text.empty() ? "" : "\n") + line; }
    void on_sender_report(const SenderReport& r) override {
        add(fmt::format("sr {} {:x} {} {} {}", r.ssrc, r.ntp, r.rtp_timestamp, r.packets, r.octets));
    }
    void on_report_block(uint32_t reporter, const ReportBlock& b) override {
        add(fmt::format("block of {}: {} {} {} {} {} {} {}", reporter, b.ssrc, b.fraction_lost, b.cumulative_lost,
                        b.highest_sequence, b.jitter, b.last_sr, b.delay_since_sr));
    }
    void on_cname(uint32_t ssrc, std::string_view name) override { add(fmt::format("cname {} {}", ssrc, name)); }
    void on_bye(uint32_t ssrc) override { add(fmt::format("bye {}", ssrc)); }
    void on_nack(uint32_t sender, uint32_t media, LostSequences lost) override {
        std::string line = fmt::format("nack {} {}:", sender, media);
        lost.for_each([&](uint16_t sequence) { line += fmt::format(" {}", sequence); });
        add(line);
    }
    void on_pli(uint32_t sender, uint32_t media) override { add(fmt::format("pli {} {}", sender, media)); }
    void on_fir(uint32_t sender, uint32_t media, uint8_t sequence) override {
        add(fmt::format("fir {} {} {}", sender, media, sequence));
    }
    void on_transport_feedback(uint32_t sender, uint32_t media, std::span<const uint8_t> body) override {
        const auto parsed = TransportFeedback::parse(sender, media, body);
        if (!parsed) return add("malformed 1");
        const TransportFeedback& f = *parsed;
        add(fmt::format("twcc {} {} from {} count {} reference {} feedback {}", f.sender_ssrc(), f.media_ssrc(),
                        f.base_sequence(), f.packet_count(), f.reference_time(), f.feedback_count()));
        f.for_each([this](uint16_t sequence, std::optional<int64_t> at) { arrivals.emplace_back(sequence, at); });
    }
    void on_remb(uint32_t sender, uint64_t rate, SsrcList ssrcs) override {
        std::string line = fmt::format("remb {} {}:", sender, rate);
        for (size_t i = 0; i < ssrcs.size(); ++i) line += fmt::format(" {}", ssrcs[i]);
        add(line);
    }
};

// The recorded text, followed by the numbers of malformed and unknown packets, if any; or "not framed".
inline std::string read(std::span<const uint8_t> datagram) {
    Notes notes;
    Parsed parsed = parse(datagram, notes);
    if (!parsed.framed) {
        return notes.text.empty() ? "not framed" : "not framed, but reported: " + notes.text;
    }
    if (parsed.malformed) notes.add(fmt::format("malformed {}", parsed.malformed));
    if (parsed.unknown) notes.add(fmt::format("unknown {}", parsed.unknown));
    return notes.text;
}

}  // namespace rtcp
