#include "protocol/srt/listener.h"

#include <algorithm>

#include "base/result.h"

namespace srt {

namespace {

// A cell of MPEG-TS fits.
constexpr uint32_t kMinMtu = kIpUdpHeaders + kHeaderSize + 188;
constexpr uint32_t kMinWindow = 32;
constexpr size_t kMaxAnswer = kBareHandshake + 4 + 12 + 4 + kMaxKeyMessage;

std::unexpected<Refused> refuse(Refusal code, std::string_view reason) {
    return std::unexpected(Refused{.code = code, .reason = reason});
}

// Each extension at most once; a group and unknown ones are skipped.
std::expected<void, Refused> read_extension(const Extension& extension, CallerRequest& request) {
    switch (extension.type) {
        case ExtensionType::kHsRequest: {
            const auto capabilities = parse_capabilities(extension.contents);
            if (!capabilities) return refuse(Refusal::kRogue, "HSREQ is too short");
            request.capabilities = *capabilities;
            return {};
        }
        case ExtensionType::kKmRequest: {
            const auto message = parse_key_message(extension.contents);
            if (!message) {
                const bool cipher = message.error() == Refusal::kCrypto;
                return refuse(message.error(), cipher ? "the cipher is not AES-CTR" : "KMREQ is malformed");
            }
            request.key_message.assign(extension.contents.begin(), extension.contents.end());
            return {};
        }
        case ExtensionType::kStreamId:
            if (extension.contents.size() > kMaxStreamId) {
                return refuse(Refusal::kBadRequest, "the stream id is longer than 512 bytes");
            }
            request.stream_id = parse_text(extension.contents);
            return {};
        case ExtensionType::kCongestion:
            if (extension.contents.size() > kMaxStreamId || parse_text(extension.contents) != "live") {
                return refuse(Refusal::kCongestion, "the congestion control is not live");
            }
            return {};
        case ExtensionType::kFilter:
            return refuse(Refusal::kFilter, "packet filters are not supported");
        case ExtensionType::kGroup:
            request.wants_group = true;
            return {};
        default:
            return {};
    }
}

std::expected<void, Refused> check_handshake(const Handshake& handshake) {
    if (handshake.version != 5) return refuse(Refusal::kVersion, "the handshake is not of version 5");
    if (handshake.initial_sequence > kMaxSequence) return refuse(Refusal::kRogue, "the sequence number has 32 bits");
    if (handshake.mtu < kMinMtu) return refuse(Refusal::kRogue, "the MTU is too small");
    if (handshake.flow_window < kMinWindow) return refuse(Refusal::kRogue, "the flow window is too small");
    return {};
}

std::expected<void, Refused> check_capabilities(const Capabilities& capabilities) {
    if (capabilities.version < kMinLibraryVersion) return refuse(Refusal::kRogue, "a library before 1.3");
    if (capabilities.flags & kStreamMode) return refuse(Refusal::kMessageApi, "buffer mode is not supported");
    return {};
}

Capabilities answer_of(const CallerRequest& request, const ListenerTerms& terms) {
    const Capabilities& caller = request.capabilities;
    uint32_t flags = kCrypt | kPeriodicNak | kRetransmitFlag;
    if (terms.delivers_by_time) flags |= kTsbpdSend | kTsbpdReceive;
    if (terms.drops_too_late) flags |= kTooLateDrop;
    return {.flags = flags,
            .receiver_delay_ms = std::max(terms.receive_latency_ms, caller.sender_delay_ms),
            .sender_delay_ms = std::max(terms.peer_latency_ms, caller.receiver_delay_ms)};
}

}  // namespace

Listener::Step Listener::on_handshake(int64_t now_us, const base::Endpoint& from, const HandshakePacket& packet,
                                      BareHandshake& answer) const {
    const Handshake& handshake = packet.handshake;
    if (packet.header.destination != 0 || handshake.socket_id == 0) return Step::kIgnore;
    if (handshake.type == HandshakeType::kConclusion) {
        return is_cookie(handshake.cookie, secret_, from, now_us) ? Step::kConclusion : Step::kIgnore;
    }
    if (handshake.type != HandshakeType::kInduction) return Step::kIgnore;
    Handshake reply = handshake;
    reply.version = 5;
    reply.encryption = key_size_ / 8;
    reply.extension_field = kInductionMagic;
    reply.cookie = make_cookie(secret_, from, now_us);
    const HandshakeWriter writer(answer, {.destination = handshake.socket_id}, reply);
    CHECK(writer.finish() == answer.size());
    return Step::kAnswer;
}

std::expected<CallerRequest, Refused> parse_caller_request(const HandshakePacket& packet) {
    if (const auto good = check_handshake(packet.handshake); !good) return std::unexpected(good.error());
    CallerRequest request{.handshake = packet.handshake, .timestamp_us = packet.header.timestamp_us};
    uint32_t seen = 0;
    ExtensionReader extensions(packet.extensions);
    while (const auto extension = extensions.next()) {
        const auto type = static_cast<uint32_t>(extension->type);
        if (type < 32 && (seen & 1u << type)) return refuse(Refusal::kRogue, "an extension is there twice");
        if (type < 32) seen |= 1u << type;
        if (const auto good = read_extension(*extension, request); !good) return std::unexpected(good.error());
    }
    if (extensions.truncated()) return refuse(Refusal::kRogue, "an extension is longer than the datagram");
    if (!(seen & 1u << static_cast<uint32_t>(ExtensionType::kHsRequest))) {
        return refuse(Refusal::kRogue, "there is no HSREQ");
    }
    if (const auto good = check_capabilities(request.capabilities); !good) return std::unexpected(good.error());
    return request;
}

Agreement agree(const CallerRequest& request, const ListenerTerms& terms, int64_t now_us) {
    const Capabilities answer = answer_of(request, terms);
    const Capabilities& caller = request.capabilities;
    return {.own_id = terms.own_id,
            .peer_id = request.handshake.socket_id,
            .initial_sequence = request.handshake.initial_sequence,
            .start_us = now_us,
            .conclusion_us = now_us,
            .conclusion_timestamp_us = request.timestamp_us,
            .receive_latency_us = int64_t{answer.receiver_delay_ms} * 1000,
            .send_latency_us = int64_t{answer.sender_delay_ms} * 1000,
            .own_window = terms.window,
            .peer_window = request.handshake.flow_window,
            .drop_too_late = terms.drops_too_late,
            .peer_repeats_naks = (caller.flags & kPeriodicNak) != 0,
            .max_datagram = std::min(terms.mtu, request.handshake.mtu) - kIpUdpHeaders,
            .peer_version = caller.version,
            .peer_flags = caller.flags};
}

std::vector<uint8_t> make_answer(const CallerRequest& request, const ListenerTerms& terms) {
    Handshake reply = request.handshake;
    reply.type = HandshakeType::kConclusion;
    if (const auto message = parse_key_message(request.key_message)) reply.encryption = message->key_size / 8;
    reply.mtu = std::min(terms.mtu, reply.mtu);
    reply.flow_window = terms.window;
    reply.socket_id = terms.own_id;
    std::vector<uint8_t> bytes(kMaxAnswer);
    HandshakeWriter writer(bytes, {.destination = request.handshake.socket_id}, reply);
    writer.capabilities(ExtensionType::kHsResponse, answer_of(request, terms));
    if (!request.key_message.empty()) writer.bytes(ExtensionType::kKmResponse, request.key_message);
    CHECK(writer.finish() != 0);
    bytes.resize(writer.finish());
    return bytes;
}

BareHandshake make_refusal(const Handshake& handshake, Refusal code) {
    Handshake reply = handshake;
    reply.version = 5;
    reply.type = static_cast<HandshakeType>(code);
    BareHandshake bytes{};
    const HandshakeWriter writer(bytes, {.destination = handshake.socket_id}, reply);
    CHECK(writer.finish() == bytes.size());
    return bytes;
}

}  // namespace srt
