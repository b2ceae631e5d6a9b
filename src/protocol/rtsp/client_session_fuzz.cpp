// Arbitrary bytes of a server, after a byte of options: the client ends or goes on, has one request under way at a
// time, and names channels of tracks that it asked for. The length of an interleaved frame is time that passes.
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "protocol/rtsp/client_session.h"
#include "protocol/rtsp/reader.h"

namespace {

void check(const rtsp::ClientSession& client, size_t tracks) {
    for (int i = 0; i < 256; ++i) {
        auto channel = client.channel(static_cast<uint8_t>(i));
        CHECK(!channel || (channel->track < tracks && client.transport(channel->track)->interleaved));
    }
    CHECK(client.keep_alive_ms() >= 5'000 && client.keep_alive_ms() <= 300'000);
}

bool pass(rtsp::ClientSession& client, const rtsp::Message& message, int64_t now_ms, bool& tcp, size_t tracks) {
    if (message.is_request) {
        CHECK(!client.on_request(message).is_request);
        return true;
    }
    auto event = client.on_response(message, now_ms);
    if (!event) {
        CHECK(client.state() == rtsp::ClientSession::State::kEnded && !event.error().text().empty());
        return false;
    }
    using Event = rtsp::ClientSession::Event;
    if (*event == Event::kDescribed || *event == Event::kOtherTransport) {
        client.set_up(std::vector<rtsp::ClientTrack>(tracks, {"rtsp://h/s/1", {5000, 5001}}), tcp, "rtsp://h/s");
        tcp = !tcp;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    rtsp::ClientOptions options;
    options.url = "rtsp://h/s";
    options.cnonce = "00";
    if (data[0] & 1) options.description = "v=0\r\n";
    if (data[0] & 2) options.credentials = {"u", "p"};
    bool tcp = data[0] & 4;
    const size_t tracks = 1 + (data[0] >> 4);
    rtsp::ClientSession client(options);
    const rtsp::Limits limits;
    rtsp::Reader reader(limits);
    int64_t now_ms = 0;
    for (auto rest = std::span(data + 1, size - 1); !rest.empty();) {
        if (auto request = client.take_request(now_ms)) {
            CHECK(request->is_request && !rtsp::write(*request).empty());
            CHECK(!client.take_request(now_ms));
        }
        size_t used = 0;
        const auto step = reader.feed(rest, used);
        rest = rest.subspan(used);
        if (step == rtsp::Reader::Step::kError) break;
        if (step == rtsp::Reader::Step::kInterleaved) {
            now_ms += static_cast<int64_t>(reader.payload().size()) * 1000;
            if (!client.on_timer(now_ms)) break;
        }
        if (step == rtsp::Reader::Step::kMessage && !pass(client, reader.take_message(), now_ms, tcp, tracks)) break;
        check(client, tracks);
    }
    return 0;
}
