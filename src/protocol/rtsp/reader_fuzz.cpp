// The reader fed in pieces whose size is the first byte: no field of what it reads may depend on the size, nor may its
// refusals. What it reads is written and read again, unchanged but for the length and the control bytes of its fields.

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/result.h"
#include "protocol/rtsp/headers.h"
#include "protocol/rtsp/reader.h"

namespace {

const rtsp::Limits kLimits{.header_bytes = 1024, .header_count = 10, .body_bytes = 256};
// What was read is written with more spaces, and with a length.
const rtsp::Limits kAgainLimits{.header_bytes = 4096, .header_count = 11, .body_bytes = 256};

// Every field, so that messages are equal exactly if this text is.
std::string text_of(const rtsp::Message& message) {
    std::string text = fmt::format("{} {} {} {}", message.is_request, message.is_http, static_cast<int>(message.method),
                                   message.status);
    const auto add = [&](std::string_view field) { text += fmt::format(" {}:{}", field.size(), field); };
    add(message.url);
    for (const auto& [name, value] : message.headers) add(name), add(value);
    add(message.body);
    return text + "\n";
}

// As it is written: the length comes from the body, and control bytes are replaced.
rtsp::Message without_length(const rtsp::Message& message) {
    const auto safe = [](std::string text) {
        for (char& c : text)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
        return text;
    };
    rtsp::Message copy = message;
    copy.url = safe(copy.url);
    copy.headers.clear();
    for (const auto& [name, value] : message.headers)
        if (!http::equal_ignoring_case(name, "Content-Length")) copy.headers.add(name, safe(value));
    return copy;
}

void write_again(const rtsp::Message& message) {
    if (message.is_http || (message.is_request && message.method == rtsp::Method::kOther)) return;
    const std::string text = rtsp::write(without_length(message));
    rtsp::Reader reader(kAgainLimits);
    size_t used = 0;
    const auto step = reader.feed({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, used);
    CHECK(step == rtsp::Reader::Step::kMessage && used == text.size());
    CHECK(text_of(without_length(reader.take_message())) == text_of(without_length(message)));
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
        if (step == rtsp::Reader::Step::kError)
            return seen + fmt::format("{} {}", reader.error_status(), reader.error_text());
        if (step == rtsp::Reader::Step::kNeedMore && bytes.empty()) return seen;
        if (step == rtsp::Reader::Step::kInterleaved) {
            const auto payload = reader.payload();
            seen += fmt::format("${} {}:", reader.channel(), payload.size());
            seen.append(reinterpret_cast<const char*>(payload.data()), payload.size());
        } else if (step == rtsp::Reader::Step::kMessage) {
            const rtsp::Message message = reader.take_message();
            CHECK(message.headers.size() <= kLimits.header_count && message.body.size() <= kLimits.body_bytes);
            (void)rtsp::parse_session(message.headers.get("Session"));
            (void)rtsp::parse_range(message.headers.get("Range"));
            CHECK(rtsp::parse_rtp_info(message.headers.get("RTP-Info")).size() <= rtsp::kMaxRtpInfos);
            write_again(message);
            seen += text_of(message);
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
