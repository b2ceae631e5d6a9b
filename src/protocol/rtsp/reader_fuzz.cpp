// The reader fed in pieces whose size is the first byte: the result must not depend on the size. What it reads is
// written and read again.

#include <algorithm>
#include <string>

#include "base/result.h"
#include "protocol/rtsp/headers.h"
#include "protocol/rtsp/reader.h"

namespace {

const rtsp::Limits kLimits{.header_bytes = 1024, .header_count = 10, .body_bytes = 256};

void write_again(const rtsp::Message& message) {
    rtsp::Message copy = message;
    if (copy.is_http || (copy.is_request && copy.method == rtsp::Method::kOther)) return;
    copy.headers.clear();
    const std::string text = rtsp::write(copy);
    rtsp::Reader reader(kLimits);
    size_t used = 0;
    const auto step = reader.feed({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, used);
    CHECK(step == rtsp::Reader::Step::kMessage && used == text.size());
    const rtsp::Message read = reader.take_message();
    CHECK(read.url == message.url && read.status == message.status && read.body == message.body);
}

std::string read(std::span<const uint8_t> bytes, size_t piece) {
    rtsp::Reader reader(kLimits);
    std::string seen;
    while (true) {
        size_t used = 0;
        const auto step = reader.feed(bytes.first(std::min(piece, bytes.size())), used);
        CHECK(used <= bytes.size());
        CHECK(reader.memory() <= 70'000);
        bytes = bytes.subspan(used);
        if (step == rtsp::Reader::Step::kError) return seen + "error";
        if (step == rtsp::Reader::Step::kNeedMore && bytes.empty()) return seen;
        if (step == rtsp::Reader::Step::kInterleaved) {
            seen += static_cast<char>(reader.channel());
            seen.append(reinterpret_cast<const char*>(reader.payload().data()), reader.payload().size());
        } else if (step == rtsp::Reader::Step::kMessage) {
            const rtsp::Message message = reader.take_message();
            CHECK(message.headers.size() <= kLimits.header_count && message.body.size() <= kLimits.body_bytes);
            (void)rtsp::parse_session(message.headers.get("Session"));
            (void)rtsp::parse_range(message.headers.get("Range"));
            CHECK(rtsp::parse_rtp_info(message.headers.get("RTP-Info")).size() <= rtsp::kMaxRtpInfos);
            write_again(message);
            seen += message.url + "\n" + message.body + "\n";
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::span<const uint8_t> bytes(data + 1, size - 1);
    CHECK(read(bytes, data[0] + 1u) == read(bytes, SIZE_MAX));
    return 0;
}
