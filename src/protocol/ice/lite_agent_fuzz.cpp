// Arbitrary datagrams as requests to a lite agent, and the same bytes as the attributes of a request with right
// integrity: an unverified sender gets no more bytes than it sent, and only a verified sender counts as verified.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "protocol/ice/lite_agent.h"
#include "protocol/stun/message.h"

namespace {

constexpr char kPassword[] = "passwordOfTheServer24Chr";

void ask(ice::LiteAgent& agent, std::span<const uint8_t> datagram, uint16_t port, int64_t now_ms) {
    const base::Endpoint from{base::IpAddress::parse("192.0.2.1").value(), port};
    std::array<uint8_t, ice::kMaxReplySize> out;
    const bool known = agent.verified(from);
    const auto reply = agent.on_request(datagram, from, now_ms, out);
    CHECK(reply.size <= out.size());
    CHECK(reply.verified() || reply.size <= datagram.size());
    CHECK(agent.verified(from) == (known || reply.refusal == ice::Refusal::kNone));
    CHECK(!reply.selected_changed || *agent.selected() == from);
    if (!reply.size) return;
    auto message = stun::parse(std::span(out).first(reply.size));
    CHECK(message && message->has_fingerprint);
    CHECK(reply.verified() == message->check_integrity(kPassword));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    ice::LiteAgent agent({"servUfra", kPassword});
    const std::span<const uint8_t> input(data, size);
    ask(agent, input, 1, 0);
    agent.set_remote("pee", kPassword);
    const base::Endpoint elsewhere{base::IpAddress::parse("192.0.2.2").value(), 1};
    const auto answer = stun::parse(input);
    const bool is_signed = answer && answer->check_integrity(kPassword);
    CHECK(!agent.on_answer(input, answer ? answer->transaction : stun::TransactionId{}, elsewhere, 0, 0) || is_signed);
    if (size > 1000) return 0;
    // Header, user name, the input, integrity.
    std::vector<uint8_t> bytes;
    base::ByteWriter writer(bytes);
    writer.u16(1);
    writer.u16(static_cast<uint16_t>(16 + size / 4 * 4 + stun::kIntegritySize));
    writer.u32(stun::kMagicCookie);
    writer.bytes(std::array<uint8_t, 12>{7});
    writer.u16(6);
    writer.u16(12);
    writer.text("servUfra:pee");
    writer.bytes(input.first(size / 4 * 4));
    const auto digest = stun::hmac_sha1(kPassword, bytes);
    writer.u16(8);
    writer.u16(20);
    writer.bytes(digest);
    for (uint16_t port = 1; port < 4; ++port) ask(agent, bytes, port, port * 700);
    return 0;
}
