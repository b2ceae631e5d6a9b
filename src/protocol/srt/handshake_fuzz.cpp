// Arbitrary datagrams as handshakes: to a listener, with a cookie of ours to the parser of what a caller wants, and to
// callers that wait for either answer. What a listener accepts is answered, and a caller understands the answer.
#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "protocol/srt/caller.h"
#include "protocol/srt/listener.h"

namespace srt {
namespace {

constexpr size_t kIdOffset = 12, kCookieOffset = kHeaderSize + 28;
const CookieSecret kFuzzSecret{1, 2, 3};
const base::Endpoint kFuzzFrom{.port = 9};

CallerSettings fuzz_settings(std::span<const uint8_t> key_message, uint32_t sequence) {
    return {.own_id = 7,
            .initial_sequence = sequence,
            .stream_id = "a/b",
            .key_message = {key_message.begin(), key_message.end()}};
}

// A caller that waits for the answer to its conclusion.
Caller concluding_caller(CallerSettings settings) {
    Caller caller(std::move(settings), 0);
    BareHandshake answer;
    const auto request = parse_handshake(caller.poll(0));
    CHECK(Listener(kFuzzSecret, 16).on_handshake(0, kFuzzFrom, *request, answer) == Listener::Step::kAnswer);
    CHECK(caller.on_datagram(0, answer) && caller.state() == Caller::State::kConclusion);
    return caller;
}

void check_request(const CallerRequest& request) {
    CHECK(request.stream_id.size() <= kMaxStreamId && request.key_message.size() <= kMaxKeyMessage);
    const ListenerTerms terms{.own_id = 4};
    const auto answer = make_answer(request, terms);
    CHECK(answer == make_answer(request, terms));
    const Agreement agreement = agree(request, terms, 0);
    CHECK(agreement.max_datagram >= kHeaderSize + 188 && agreement.max_datagram <= kMaxDatagram);
    CHECK(agreement.receive_latency_us >= 120'000 && agreement.send_latency_us >= 120'000);
    Caller caller = concluding_caller(fuzz_settings(request.key_message, request.handshake.initial_sequence));
    auto to_caller = answer;
    base::put_u32(&to_caller[kIdOffset], 7);
    CHECK(caller.on_datagram(0, to_caller) && caller.state() == Caller::State::kConnected);
    CHECK(caller.agreement().max_datagram == agreement.max_datagram);
}

void check_listener(std::vector<uint8_t> datagram) {
    const Listener listener(kFuzzSecret, 16);
    BareHandshake answer;
    auto packet = parse_handshake(datagram);
    if (!packet) return;
    const auto step = listener.on_handshake(0, kFuzzFrom, *packet, answer);
    if (step == Listener::Step::kAnswer) CHECK(parse_handshake(answer) && answer.size() <= datagram.size());
    base::put_u32(&datagram[kCookieOffset], make_cookie(kFuzzSecret, kFuzzFrom, 0));
    packet = parse_handshake(datagram);
    if (listener.on_handshake(0, kFuzzFrom, *packet, answer) != Listener::Step::kConclusion) return;
    const auto request = parse_caller_request(*packet);
    if (request) return check_request(*request);
    CHECK(!request.error().reason.empty());
    CHECK(is_refusal(parse_handshake(make_refusal(packet->handshake, request.error().code))->handshake.type));
}

void check_caller(Caller caller, std::vector<uint8_t> datagram) {
    if (datagram.size() >= kHeaderSize) base::put_u32(&datagram[kIdOffset], 7);
    caller.on_datagram(0, datagram);
    if (caller.state() == Caller::State::kFailed) CHECK(!caller.error().text().empty());
    caller.poll(1'000'000);
    caller.poll(caller.deadline_us());
}

}  // namespace
}  // namespace srt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 2048) return 0;
    const std::vector<uint8_t> datagram(data, data + size);
    srt::check_listener(datagram);
    srt::check_caller(srt::Caller(srt::fuzz_settings({}, 5), 0), datagram);
    srt::check_caller(srt::concluding_caller(srt::fuzz_settings({}, 5)), datagram);
    return 0;
}
