// Arbitrary bytes as key messages of the handshake and of a session; bytes as keys, whose message is read as the same;
// and bytes as payloads, which are the same after encryption and decryption.
#include <algorithm>
#include <vector>

#include "base/result.h"
#include "protocol/srt/session_keys.h"

namespace srt {
namespace {

const KeyBasis& fuzz_basis() {
    static const KeyBasis basis{.salt = {1, 2, 3}, .kek = derive_kek("correct horse", {1, 2, 3}, 16)};
    return basis;
}

void fill_with_sevens(std::span<uint8_t> bytes) { std::ranges::fill(bytes, uint8_t{7}); }

void check_message(std::span<const uint8_t> bytes) {
    if (const auto message = parse_key_message(bytes)) {
        CHECK(is_key_size(message->key_size) && message->wrapped.size() <= kMaxWrapped);
        if (message->key_size == 16) (void)unwrap_keys(*message, fuzz_basis().kek);
    }
    ReceiverKeys receiver({.even = make_key(std::vector<uint8_t>(16, 1)), .odd = {}}, fuzz_basis());
    const auto answer = receiver.on_key_request(bytes);
    CHECK(answer.accepted ? std::ranges::equal(answer.contents(), bytes)
                          : parse_key_failure(answer.contents()).has_value());
    (void)parse_key_failure(bytes);
}

// The first byte says which keys, and of which size.
void check_keys(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return;
    const size_t size = 16 + (bytes[0] & 3u) % 3 * 8;
    const auto parity = static_cast<KeyParity>(1 + (bytes[0] >> 2) % 3);
    std::vector<uint8_t> material(bytes.begin(), bytes.end());
    material.resize(2 * size + 32);
    SessionKeys keys;
    if (parity != KeyParity::kOdd) keys.even = make_key(std::span(material).first(size));
    if (parity != KeyParity::kEven) keys.odd = make_key(std::span(material).subspan(size, size));
    const AesKey kek = make_key(std::span(material).last(size));
    std::vector<uint8_t> message(kMaxKeyMessage);
    message.resize(write_key_message(message, keys, fuzz_basis().salt, kek));
    CHECK(unwrap_keys(*parse_key_message(message), kek) == keys);

    const KeyBasis basis{.salt = fuzz_basis().salt, .kek = kek};
    SenderKeys sender(keys, basis, {.refresh_packets = 16, .preannounce_packets = 4, .random = fill_with_sevens});
    ReceiverKeys receiver(keys, basis);
    for (uint32_t sequence = 0; sequence < 40; ++sequence) {
        const KeyParity used = sender.next_parity(sequence);
        CHECK(sender.parity_of(sequence) == used);
        std::vector<uint8_t> payload(bytes.size());
        sender.encrypt(used, sequence, bytes, payload.data());
        CHECK(receiver.decrypt({.sequence = sequence, .key = used}, payload));
        CHECK(std::ranges::equal(payload, bytes));
        std::array<uint8_t, kMaxDatagram> out;
        const size_t request = sender.poll(int64_t{sequence} * 1000, 1000, {}, out);
        if (request == 0) continue;
        CHECK(sender.on_key_response(receiver.on_key_request(body_of(std::span(out).first(request))).contents()));
    }
    CHECK(sender.refreshes() == 2);
}

}  // namespace
}  // namespace srt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    srt::check_message({data, size});
    if (size <= 1456) srt::check_keys({data, size});
    return 0;
}
