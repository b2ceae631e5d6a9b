// Arbitrary datagrams: what is read as ACK, NAK or DROPREQ is written again and read as the same.
#include <array>
#include <span>
#include <vector>

#include "base/result.h"
#include "protocol/srt/packet.h"
#include "protocol/srt/sequence.h"

namespace srt {
namespace {

Target target_of(const ControlHeader& header) {
    return {.destination = header.destination, .timestamp_us = header.timestamp_us};
}

void check_ack(const ControlHeader& header, std::span<const uint8_t> contents) {
    const auto ack = parse_ack(header, contents);
    CHECK(ack.has_value() || contents.size() < 4 || (contents[0] & 0x80));
    if (!ack) return;
    std::array<uint8_t, 64> out;
    const auto written = std::span<const uint8_t>(out).first(write_ack(out, target_of(header), *ack));
    CHECK(parse_ack(*parse_control(written), body_of(written)) == ack);
}

void check_nak(const ControlHeader& header, std::span<const uint8_t> contents) {
    LossList list(contents);
    std::vector<SequenceRange> ranges;
    while (const auto range = list.next()) {
        CHECK(range->first <= kMaxSequence && range->last <= kMaxSequence);
        CHECK(sequence_difference(range->last, range->first) >= 0);
        ranges.push_back(*range);
    }
    CHECK(ranges.size() + list.malformed() <= contents.size() / 4 + 1);
    std::vector<uint8_t> out(kHeaderSize + contents.size());
    NakWriter writer(out, target_of(header));
    for (const auto& range : ranges) CHECK(writer.add(range));
    CHECK(ranges.empty() == (writer.size() == 0));
    if (ranges.empty()) return;
    LossList again(std::span<const uint8_t>(out).first(writer.size()).subspan(kHeaderSize));
    for (const auto& range : ranges) CHECK(again.next() == range);
    CHECK(!again.next() && again.malformed() == 0);
}

void check_drop_request(const ControlHeader& header, std::span<const uint8_t> contents) {
    const auto request = parse_drop_request(header, contents);
    if (!request) return;
    std::array<uint8_t, 24> out;
    CHECK(write_drop_request(out, target_of(header), *request) == out.size());
    CHECK(parse_drop_request(*parse_control(out), body_of(out)) == request);
}

void check_packet(std::span<const uint8_t> datagram) {
    std::array<uint8_t, kHeaderSize> out;
    if (const auto data = parse_data(datagram)) {
        CHECK(!parse_control(datagram) && destination_of(datagram) == data->destination);
        write_data_header(out, *data);
        CHECK(std::ranges::equal(out, datagram.first(kHeaderSize)));
    }
    const auto control = parse_control(datagram);
    if (!control) return;
    write_control_header(out, *control);
    CHECK(std::ranges::equal(out, datagram.first(kHeaderSize)));
    const auto contents = body_of(datagram);
    check_ack(*control, contents);
    check_nak(*control, contents);
    check_drop_request(*control, contents);
}

}  // namespace
}  // namespace srt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    srt::check_packet({data, size});
    return 0;
}
