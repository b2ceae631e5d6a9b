#include "protocol/srt/handshake.h"

#include <algorithm>

#include "base/bytes.h"

namespace srt {

using base::get_u16;
using base::get_u32;
using base::put_u16;
using base::put_u32;

namespace {

constexpr size_t kExtensionHeader = 4;
constexpr size_t kFieldOffset = kHeaderSize + 6;  // of the extension field in the datagram
constexpr uint16_t kHsBit = 1, kKmBit = 2, kConfigBit = 4;

uint16_t field_bit(ExtensionType type) {
    switch (type) {
        case ExtensionType::kHsRequest:
        case ExtensionType::kHsResponse:
            return kHsBit;
        case ExtensionType::kKmRequest:
        case ExtensionType::kKmResponse:
            return kKmBit;
        default:
            return kConfigBit;
    }
}

}  // namespace

std::string_view refusal_text(Refusal refusal) {
    switch (refusal) {
        case Refusal::kUnknown:
            return "unknown reason";
        case Refusal::kSystem:
            return "system error";
        case Refusal::kPeer:
            return "refused by the peer";
        case Refusal::kResource:
            return "no resources";
        case Refusal::kRogue:
            return "malformed handshake";
        case Refusal::kBacklog:
            return "too many connections wait";
        case Refusal::kInternal:
            return "internal error of the library";
        case Refusal::kClosed:
            return "closed";
        case Refusal::kVersion:
            return "unsupported version";
        case Refusal::kRendezvousCookie:
            return "rendezvous cookies collide";
        case Refusal::kBadSecret:
            return "wrong passphrase";
        case Refusal::kUnsecure:
            return "only one side has a passphrase";
        case Refusal::kMessageApi:
            return "buffer mode is not live mode";
        case Refusal::kCongestion:
            return "unsupported congestion control";
        case Refusal::kFilter:
            return "unsupported packet filter";
        case Refusal::kGroup:
            return "unsupported group";
        case Refusal::kTimeout:
            return "timeout";
        case Refusal::kCrypto:
            return "unsupported cipher";
        case Refusal::kUnknownHost:
            return "unknown host";
        case Refusal::kBadRequest:
            return "bad request";
        case Refusal::kUnauthorized:
            return "unauthorized";
        case Refusal::kOverload:
            return "overload";
        case Refusal::kForbidden:
            return "forbidden";
        case Refusal::kNotFound:
            return "not found";
        case Refusal::kBadMode:
            return "bad mode";
        case Refusal::kConflict:
            return "conflict";
        case Refusal::kMediaType:
            return "unsupported media";
        case Refusal::kLocked:
            return "locked";
        case Refusal::kInternalError:
            return "internal error";
        case Refusal::kLoop:
            return "a loop";
        case Refusal::kUnavailable:
            return "unavailable";
    }
    return "refused";
}

std::optional<HandshakePacket> parse_handshake(std::span<const uint8_t> datagram) {
    const auto header = parse_control(datagram);
    if (!header || header->type != ControlType::kHandshake || datagram.size() < kBareHandshake) return std::nullopt;
    base::ByteReader in(body_of(datagram));
    Handshake handshake{.version = in.u32(),
                        .encryption = in.u16(),
                        .extension_field = in.u16(),
                        .initial_sequence = in.u32(),
                        .mtu = in.u32(),
                        .flow_window = in.u32(),
                        .type = static_cast<HandshakeType>(in.u32()),
                        .socket_id = in.u32(),
                        .cookie = in.u32()};
    std::ranges::copy(in.bytes(handshake.peer_ip.size()), handshake.peer_ip.begin());
    return HandshakePacket{.header = *header, .handshake = handshake, .extensions = in.rest()};
}

std::optional<Extension> ExtensionReader::next() {
    if (rest_.size() < kExtensionHeader) return std::nullopt;
    const auto type = static_cast<ExtensionType>(get_u16(rest_.data()));
    const size_t size = size_t{get_u16(&rest_[2])} * 4;
    if (size > rest_.size() - kExtensionHeader) {
        truncated_ = true;
        rest_ = {};
        return std::nullopt;
    }
    const auto contents = rest_.subspan(kExtensionHeader, size);
    rest_ = rest_.subspan(kExtensionHeader + size);
    return Extension{.type = type, .contents = contents};
}

std::optional<Capabilities> parse_capabilities(std::span<const uint8_t> contents) {
    base::ByteReader in(contents);
    Capabilities capabilities{.version = in.u32(), .flags = in.u32()};
    if (!in.ok()) return std::nullopt;
    capabilities.receiver_delay_ms = in.u16();
    capabilities.sender_delay_ms = in.u16();
    if (!in.ok() && (capabilities.flags & (kTsbpdSend | kTsbpdReceive))) return std::nullopt;
    return capabilities;
}

std::string parse_text(std::span<const uint8_t> contents) {
    std::string text;
    text.reserve(contents.size());
    for (; contents.size() >= 4; contents = contents.subspan(4)) {
        for (size_t i = 4; i > 0; --i) text.push_back(static_cast<char>(contents[i - 1]));
    }
    const size_t last = text.find_last_not_of('\0');
    text.resize(last == std::string::npos ? 0 : last + 1);
    return text;
}

HandshakeWriter::HandshakeWriter(std::span<uint8_t> out, Target target, const Handshake& handshake)
    : out_(out), concludes_(handshake.type == HandshakeType::kConclusion), ok_(out.size() >= kBareHandshake) {
    if (!ok_) return;
    write_control_header(
        out.first<kHeaderSize>(),
        {.type = ControlType::kHandshake, .timestamp_us = target.timestamp_us, .destination = target.destination});
    uint8_t* p = put_u32(&out[kHeaderSize], handshake.version);
    p = put_u16(p, handshake.encryption);
    p = put_u16(p, concludes_ ? 0 : handshake.extension_field);
    for (const uint32_t word : {handshake.initial_sequence, handshake.mtu, handshake.flow_window,
                                static_cast<uint32_t>(handshake.type), handshake.socket_id, handshake.cookie}) {
        p = put_u32(p, word);
    }
    std::ranges::copy(handshake.peer_ip, p);
    size_ = kBareHandshake;
}

uint8_t* HandshakeWriter::begin(ExtensionType type, size_t size) {
    const size_t words = (size + 3) / 4;
    ok_ = ok_ && words <= 0xffff && out_.size() - size_ >= kExtensionHeader + words * 4;
    if (!ok_) return nullptr;
    if (concludes_) put_u16(&out_[kFieldOffset], get_u16(&out_[kFieldOffset]) | field_bit(type));
    uint8_t* p = put_u16(&out_[size_], static_cast<uint32_t>(type));
    p = put_u16(p, static_cast<uint32_t>(words));
    std::fill_n(p, words * 4, uint8_t{0});
    size_ += kExtensionHeader + words * 4;
    return p;
}

void HandshakeWriter::capabilities(ExtensionType type, const Capabilities& capabilities) {
    uint8_t* p = begin(type, 12);
    if (p == nullptr) return;
    p = put_u32(p, capabilities.version);
    p = put_u32(p, capabilities.flags);
    p = put_u16(p, capabilities.receiver_delay_ms);
    put_u16(p, capabilities.sender_delay_ms);
}

void HandshakeWriter::bytes(ExtensionType type, std::span<const uint8_t> contents) {
    uint8_t* p = begin(type, contents.size());
    if (p != nullptr) std::ranges::copy(contents, p);
}

void HandshakeWriter::text(ExtensionType type, std::string_view text) {
    uint8_t* p = begin(type, text.size());
    if (p == nullptr) return;
    for (size_t i = 0; i < text.size(); ++i) p[i ^ 3] = static_cast<uint8_t>(text[i]);
}

}  // namespace srt
