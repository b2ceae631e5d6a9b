#include "protocol/srt/caller.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"

namespace srt {

namespace {

constexpr size_t kTimestampOffset = 8;
constexpr uint32_t kFlags = kTsbpdSend | kTsbpdReceive | kCrypt | kPeriodicNak | kRetransmitFlag;

std::string_view text_of(KeyFailure failure) {
    switch (failure) {
        case KeyFailure::kUnsecured:
        case KeyFailure::kNoSecret:
            return "the listener has no passphrase";
        case KeyFailure::kBadCipher:
            return "the listener does not support the cipher";
        case KeyFailure::kBadSecret:
            break;
    }
    return "the listener has another passphrase";
}

}  // namespace

Caller::Caller(CallerSettings settings, int64_t now_us)
    : settings_(std::move(settings)), start_us_(now_us), next_us_(now_us) {
    CHECK(settings_.own_id != 0 && settings_.stream_id.size() <= kMaxStreamId &&
          settings_.key_message.size() <= kMaxKeyMessage);
    write_induction();
}

void Caller::write_induction() {
    datagram_.resize(kBareHandshake);
    const HandshakeWriter writer(datagram_, {},
                                 {.version = 4,
                                  .extension_field = kDatagramSocket,
                                  .initial_sequence = settings_.initial_sequence,
                                  .mtu = settings_.mtu,
                                  .flow_window = settings_.window,
                                  .type = HandshakeType::kInduction,
                                  .socket_id = settings_.own_id});
    CHECK(writer.finish() == datagram_.size());
}

void Caller::write_conclusion() {
    datagram_.resize(kMaxDatagram);
    uint16_t encryption = 0;
    if (const auto message = parse_key_message(settings_.key_message)) encryption = message->key_size / 8;
    HandshakeWriter writer(datagram_, {},
                           {.encryption = encryption,
                            .initial_sequence = settings_.initial_sequence,
                            .mtu = settings_.mtu,
                            .flow_window = settings_.window,
                            .type = HandshakeType::kConclusion,
                            .socket_id = settings_.own_id,
                            .cookie = cookie_});
    writer.capabilities(ExtensionType::kHsRequest, {.flags = kFlags | (settings_.drops_too_late ? kTooLateDrop : 0),
                                                    .receiver_delay_ms = settings_.receive_latency_ms,
                                                    .sender_delay_ms = settings_.peer_latency_ms});
    if (!settings_.stream_id.empty()) writer.text(ExtensionType::kStreamId, settings_.stream_id);
    if (!settings_.key_message.empty()) writer.bytes(ExtensionType::kKmRequest, settings_.key_message);
    CHECK(writer.finish() != 0);
    datagram_.resize(writer.finish());
}

int64_t Caller::deadline_us() const {
    if (state_ == State::kConnected || state_ == State::kFailed) return INT64_MAX;
    return std::min(next_us_, start_us_ + settings_.timeout_us);
}

std::span<const uint8_t> Caller::poll(int64_t now_us) {
    if (state_ == State::kConnected || state_ == State::kFailed) return {};
    if (now_us >= start_us_ + settings_.timeout_us) {
        fail(base::Code::kTimeout, state_ == State::kInduction ? "no answer" : "no answer to the conclusion");
        return {};
    }
    if (now_us < next_us_) return {};
    next_us_ = now_us + kRepeatUs;
    base::put_u32(&datagram_[kTimestampOffset], static_cast<uint32_t>(now_us - start_us_));
    return datagram_;
}

bool Caller::on_datagram(int64_t now_us, std::span<const uint8_t> datagram) {
    if (state_ == State::kConnected || state_ == State::kFailed) return false;
    const auto header = parse_control(datagram);
    // Data may come before the answer to the conclusion; the listener repeats them.
    if (!header || header->destination != settings_.own_id) return false;
    if (header->type == ControlType::kShutdown) {
        fail(base::Code::kRefused, "the listener closed the connection");
        return true;
    }
    const auto packet = parse_handshake(datagram);
    if (!packet) return false;
    const HandshakeType type = packet->handshake.type;
    if (is_refusal(type)) {
        refusal_ = static_cast<Refusal>(type);
        fail(base::Code::kRefused,
             fmt::format("the listener refused: {} ({})", refusal_text(*refusal_), static_cast<uint32_t>(type)));
    } else if (state_ == State::kInduction && type == HandshakeType::kInduction) {
        on_induction(now_us, packet->handshake);
    } else if (state_ == State::kConclusion && type == HandshakeType::kConclusion) {
        on_conclusion(now_us, *packet);
    } else {
        return false;
    }
    return true;
}

void Caller::on_induction(int64_t now_us, const Handshake& answer) {
    if (answer.version != 5 || answer.extension_field != kInductionMagic) {
        return fail(base::Code::kProtocol, "the listener has no handshake of version 5");
    }
    cookie_ = answer.cookie;
    state_ = State::kConclusion;
    next_us_ = now_us;
    write_conclusion();
}

void Caller::on_conclusion(int64_t now_us, const HandshakePacket& packet) {
    std::optional<Capabilities> listener;
    std::optional<std::span<const uint8_t>> key_response;
    ExtensionReader extensions(packet.extensions);
    while (const auto extension = extensions.next()) {
        if (extension->type == ExtensionType::kHsResponse) listener = parse_capabilities(extension->contents);
        if (extension->type == ExtensionType::kKmResponse) key_response = extension->contents;
    }
    const Handshake& answer = packet.handshake;
    if (extensions.truncated()) return fail(base::Code::kProtocol, "an extension is longer than the answer");
    if (!listener) return fail(base::Code::kProtocol, "the answer has no HSRSP");
    if (answer.version != 5 || answer.socket_id == 0 || answer.mtu <= kIpUdpHeaders + kHeaderSize) {
        return fail(base::Code::kProtocol, "the answer is malformed");
    }
    if (answer.initial_sequence != settings_.initial_sequence) {
        return fail(base::Code::kProtocol, "the answer has another initial sequence number");
    }
    if (auto error = key_error(key_response)) return fail(base::Code::kRefused, std::move(*error));
    agree(now_us, packet, *listener);
}

std::optional<std::string> Caller::key_error(std::optional<std::span<const uint8_t>> response) const {
    if (settings_.key_message.empty()) {
        if (response) return "the answer has keys that were not asked for";
        return std::nullopt;
    }
    if (!response) return "the listener has no encryption";
    if (const auto failure = parse_key_failure(*response)) return std::string(text_of(*failure));
    if (!std::ranges::equal(*response, settings_.key_message)) return "the answer has other keys";
    return std::nullopt;
}

void Caller::agree(int64_t now_us, const HandshakePacket& packet, const Capabilities& listener) {
    const Handshake& answer = packet.handshake;
    const auto longer = [](uint16_t a, uint16_t b) { return int64_t{std::max(a, b)} * 1000; };
    agreement_ = {.own_id = settings_.own_id,
                  .peer_id = answer.socket_id,
                  .initial_sequence = settings_.initial_sequence,
                  .start_us = start_us_,
                  .conclusion_us = now_us,
                  .conclusion_timestamp_us = packet.header.timestamp_us,
                  .receive_latency_us = longer(settings_.receive_latency_ms, listener.sender_delay_ms),
                  .send_latency_us = longer(settings_.peer_latency_ms, listener.receiver_delay_ms),
                  .own_window = settings_.window,
                  .peer_window = answer.flow_window,
                  .drop_too_late = settings_.drops_too_late,
                  .peer_repeats_naks = (listener.flags & kPeriodicNak) != 0,
                  .max_datagram = std::min(settings_.mtu, answer.mtu) - kIpUdpHeaders,
                  .peer_version = listener.version,
                  .peer_flags = listener.flags};
    state_ = State::kConnected;
}

void Caller::fail(base::Code code, std::string text) {
    state_ = State::kFailed;
    code_ = code;
    error_ = std::move(text);
}

base::Error Caller::error() const {
    CHECK(state_ == State::kFailed);
    return {code_, error_};
}

}  // namespace srt
