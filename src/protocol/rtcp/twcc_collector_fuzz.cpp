// Arbitrary arrivals: the collector's packets, of any size, must contain the same arrivals.
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/result.h"
#include "protocol/rtcp/rtcp_testing.h"
#include "protocol/rtcp/twcc_collector.h"

namespace {

void drain(rtcp::TwccCollector& collector, size_t room, const std::map<uint16_t, int64_t>& last) {
    std::vector<uint8_t> memory(room);
    for (int n = 0;; ++n) {
        rtcp::Writer writer(memory);
        if (!collector.write(1, 2, writer)) break;
        CHECK(n < rtcp::TwccCollector::kWindow && writer.size() <= room);
        rtcp::Notes notes;
        rtcp::Parsed parsed = rtcp::parse(writer.written(), notes);
        CHECK(parsed.framed && parsed.malformed == 0 && !notes.arrivals.empty());
        for (auto [sequence, at] : notes.arrivals) {
            if (at) CHECK(last.contains(sequence));
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    base::ByteReader in({data, size});
    rtcp::TwccCollector collector;
    std::map<uint16_t, int64_t> last;
    int64_t now = in.u32();
    uint16_t sequence = in.u16();
    while (in.left() > 0) {
        uint8_t command = in.u8();
        now += (command & 15) * (command & 16 ? 100'000 : 300);
        sequence = static_cast<uint16_t>(sequence + (command & 32 ? in.u16() : command & 64 ? -3 : 1));
        collector.on_packet(sequence, now);
        last[sequence] = now;
        if (command & 128) drain(collector, 40u + in.u8() * 4u, last);
    }
    drain(collector, 1200, last);
    return 0;
}
