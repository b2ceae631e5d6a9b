// Arbitrary bytes as a datagram of RTCP: the parsed items are written and must parse to the same.
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "protocol/rtcp/rtcp_testing.h"

namespace {

// Writes each reported item as a packet of its own.
struct Rewriter final : rtcp::Visitor {
    void same(const char* what, rtcp::Writer& writer, const std::string& expected) {
        std::string got = rtcp::read(writer.written());
        if (got != expected) base::check_failed(what, std::source_location::current());
    }
    std::vector<uint8_t> memory = std::vector<uint8_t>(300'000);

    void on_sender_report(const rtcp::SenderReport& report) override {
        rtcp::Writer writer(memory);
        CHECK(writer.sender_report(report));
        rtcp::Notes notes;
        notes.on_sender_report(report);
        same("sr", writer, notes.text);
    }
    void on_report_block(uint32_t reporter, const rtcp::ReportBlock& block) override {
        rtcp::Writer writer(memory);
        CHECK(writer.receiver_report(reporter, {&block, 1}));
        rtcp::Notes notes;
        notes.on_report_block(reporter, block);
        same("block", writer, notes.text);
    }
    void on_cname(uint32_t ssrc, std::string_view name) override {
        rtcp::Writer writer(memory);
        CHECK(writer.cname(ssrc, name));
        rtcp::Notes notes;
        notes.on_cname(ssrc, name);
        same("cname", writer, notes.text);
    }
    void on_nack(uint32_t sender, uint32_t media, rtcp::LostSequences lost) override {
        std::vector<uint16_t> all;
        lost.for_each([&all](uint16_t sequence) { all.push_back(sequence); });
        CHECK(!all.empty());
        rtcp::Writer writer(memory);
        CHECK(writer.nack(sender, media, all) <= all.size());
        CHECK(rtcp::read(writer.written()).starts_with("nack "));
    }
    void on_fir(uint32_t sender, uint32_t media, uint8_t sequence) override {
        rtcp::Writer writer(memory);
        CHECK(writer.fir(sender, media, sequence));
        rtcp::Notes notes;
        notes.on_fir(sender, media, sequence);
        same("fir", writer, notes.text);
    }
    void on_remb(uint32_t sender, uint64_t rate, rtcp::SsrcList list) override {
        std::vector<uint32_t> ssrcs;
        for (size_t i = 0; i < list.size(); ++i) ssrcs.push_back(list[i]);
        rtcp::Writer writer(memory);
        CHECK(writer.remb(sender, rate, ssrcs));
        rtcp::Notes notes;
        notes.on_remb(sender, rate, list);
        same("remb", writer, notes.text);
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Rewriter rewriter;
    rtcp::Parsed parsed = rtcp::parse({data, size}, rewriter);
    CHECK(parsed.packets <= size / 4 && parsed.malformed + parsed.unknown <= parsed.packets);
    return 0;
}
