#include "protocol/srt/session_keys.h"

#include <algorithm>

#include "base/result.h"

namespace srt {

namespace {

constexpr int64_t kMinRetryUs = 20'000;
constexpr uint64_t kForgetSwitch = 1u << 29;  // packets, after which "before the switch" has no meaning any more

}  // namespace

size_t write_key_packet(std::span<uint8_t> out, Target target, uint16_t subtype, std::span<const uint8_t> contents) {
    const size_t size = kHeaderSize + contents.size();
    if (out.size() < size) return 0;
    write_control_header(out.first<kHeaderSize>(), {.type = ControlType::kExtension,
                                                    .subtype = subtype,
                                                    .timestamp_us = target.timestamp_us,
                                                    .destination = target.destination});
    std::ranges::copy(contents, &out[kHeaderSize]);
    return size;
}

ReceiverKeys::ReceiverKeys(const SessionKeys& keys, const KeyBasis& basis) : basis_(basis) {
    set(KeyParity::kEven, keys.even);
    set(KeyParity::kOdd, keys.odd);
}

void ReceiverKeys::set(KeyParity parity, const AesKey& key) {
    if (!key || keys_.of(parity) == key) return;
    keys_.of(parity) = key;
    (parity == KeyParity::kOdd ? odd_ : even_).emplace(key, basis_.salt);
}

bool ReceiverKeys::decrypt(const DataHeader& header, std::span<uint8_t> payload) {
    if (header.key != KeyParity::kEven && header.key != KeyParity::kOdd) return false;
    auto& cipher = header.key == KeyParity::kOdd ? odd_ : even_;
    if (!cipher) return false;
    cipher->crypt(header.sequence, payload, payload.data());
    return true;
}

ReceiverKeys::Answer ReceiverKeys::refuse(KeyFailure failure) {
    Answer answer{.size = kKeyFailureSize};
    std::ranges::copy(write_key_failure(failure), answer.bytes.begin());
    return answer;
}

ReceiverKeys::Answer ReceiverKeys::on_key_request(std::span<const uint8_t> contents) {
    const auto message = parse_key_message(contents);
    if (!message) {
        return refuse(message.error() == Refusal::kCrypto ? KeyFailure::kBadCipher : KeyFailure::kBadSecret);
    }
    if (message->salt != basis_.salt || message->key_size != basis_.kek.size) return refuse(KeyFailure::kBadSecret);
    const auto keys = unwrap_keys(*message, basis_.kek);
    if (!keys) return refuse(KeyFailure::kBadSecret);
    set(KeyParity::kEven, keys->even);
    set(KeyParity::kOdd, keys->odd);
    Answer answer{.accepted = true, .size = contents.size()};
    std::ranges::copy(contents, answer.bytes.begin());
    return answer;
}

SenderKeys::SenderKeys(const SessionKeys& keys, const KeyBasis& basis, const RefreshSettings& settings)
    : basis_(basis), settings_(settings), keys_(keys) {
    CHECK(settings.random != nullptr && settings.preannounce_packets > 0 &&
          settings.preannounce_packets < settings.refresh_packets / 2 && settings.refresh_packets < kForgetSwitch);
    current_ = keys.even ? KeyParity::kEven : KeyParity::kOdd;
    CHECK(keys.of(current_));
    cipher(current_).emplace(keys.of(current_), basis.salt);
    announce_at_ = settings.refresh_packets - settings.preannounce_packets;
}

void SenderKeys::announce() {
    AesKey& next = keys_.of(other(current_));
    next.size = basis_.kek.size;
    settings_.random(std::span(next.bytes).first(next.size));
    cipher(other(current_)).emplace(next, basis_.salt);
    has_old_ = false;
    ++announcements_;
    request_size_ = write_key_message(request_, keys_, basis_.salt, basis_.kek);
    state_ = State::kAnnouncing;
    tries_ = 0;
    next_try_us_ = 0;
}

void SenderKeys::switch_key(uint32_t sequence) {
    current_ = other(current_);
    first_sequence_ = sequence;
    switched_ = has_old_ = true;
    state_ = State::kSteady;
    sent_ = 0;
    announce_at_ = settings_.refresh_packets - settings_.preannounce_packets;
    ++refreshes_;
}

KeyParity SenderKeys::next_parity(uint32_t sequence) {
    if (state_ == State::kSteady && sent_ >= announce_at_) announce();
    if (state_ == State::kAnnounced && sent_ >= settings_.refresh_packets) switch_key(sequence);
    if (++sent_ > kForgetSwitch) switched_ = has_old_ = false;
    return current_;
}

KeyParity SenderKeys::parity_of(uint32_t sequence) const {
    if (!switched_ || sequence_difference(sequence, first_sequence_) >= 0) return current_;
    return has_old_ ? other(current_) : KeyParity::kNone;
}

void SenderKeys::encrypt(KeyParity parity, uint32_t sequence, std::span<const uint8_t> in, uint8_t* out) {
    auto& chosen = cipher(parity);
    CHECK(chosen && (parity == KeyParity::kEven || parity == KeyParity::kOdd));
    chosen->crypt(sequence, in, out);
}

size_t SenderKeys::poll(int64_t now_us, int64_t rtt_us, Target target, std::span<uint8_t> out) {
    if (state_ != State::kAnnouncing || now_us < next_try_us_) return 0;
    if (tries_ == kMaxTries) {
        state_ = State::kSteady;
        announce_at_ = sent_ + settings_.preannounce_packets;
        return 0;
    }
    const size_t size = write_key_packet(out, target, kKeyRequest, std::span(request_).first(request_size_));
    if (size == 0) return 0;
    ++tries_;
    next_try_us_ = now_us + std::max(rtt_us * 3 / 2, kMinRetryUs);
    return size;
}

bool SenderKeys::on_key_response(std::span<const uint8_t> contents) {
    if (state_ != State::kAnnouncing || !std::ranges::equal(contents, std::span(request_).first(request_size_))) {
        return false;
    }
    state_ = State::kAnnounced;
    return true;
}

}  // namespace srt
