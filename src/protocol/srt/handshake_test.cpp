#include "protocol/srt/handshake.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/hex_testing.h"
#include "protocol/srt/sessions_testing.h"

namespace srt {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(SrtHandshake, ReadsAnInductionOfLibsrt) {
    const Bytes datagram = base::hex(kLibsrtSession.induction);
    const auto packet = parse_handshake(datagram);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->header.destination, 0u);
    EXPECT_EQ(packet->handshake, (Handshake{.version = 4,
                                            .extension_field = kDatagramSocket,
                                            .initial_sequence = 0x51077c94,
                                            .mtu = 1500,
                                            .flow_window = 8192,
                                            .type = HandshakeType::kInduction,
                                            .socket_id = 0x0b9a8061,
                                            .peer_ip = {1, 0, 0, 0x7f}}));
    EXPECT_TRUE(packet->extensions.empty());
}

TEST(SrtHandshake, ReadsAConclusionOfLibsrt) {
    const Bytes datagram = base::hex(kLibsrtSession.conclusion);
    const auto packet = parse_handshake(datagram);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->handshake.version, 5u);
    EXPECT_EQ(packet->handshake.type, HandshakeType::kConclusion);
    EXPECT_EQ(packet->handshake.encryption, 2);
    EXPECT_EQ(packet->handshake.extension_field, 7);
    ExtensionReader extensions(packet->extensions);
    auto extension = extensions.next();
    ASSERT_TRUE(extension);
    EXPECT_EQ(extension->type, ExtensionType::kHsRequest);
    EXPECT_EQ(parse_capabilities(extension->contents),
              (Capabilities{.version = 0x010501, .flags = 0xbf, .receiver_delay_ms = 80, .sender_delay_ms = 80}));
    extension = extensions.next();
    ASSERT_TRUE(extension);
    EXPECT_EQ(extension->type, ExtensionType::kStreamId);
    EXPECT_EQ(parse_text(extension->contents), "#!::r=live/one,m=publish");
    extension = extensions.next();
    ASSERT_TRUE(extension);
    EXPECT_EQ(extension->type, ExtensionType::kKmRequest);
    EXPECT_EQ(extension->contents.size(), 56u);
    EXPECT_FALSE(extensions.next());
    EXPECT_FALSE(extensions.truncated());
}

TEST(SrtHandshake, WhatIsWrittenIsWhatLibsrtSends) {
    for (const auto text : {kLibsrtSession.induction, kLibsrtSession.induction_answer, kLibsrtSession.conclusion,
                            kLibsrtSession.answer, kWrongPassphrase.answer, kNoPassphrase.answer}) {
        const Bytes datagram = base::hex(text);
        const auto packet = parse_handshake(datagram);
        ASSERT_TRUE(packet);
        std::array<uint8_t, kMaxDatagram> out;
        HandshakeWriter writer(out,
                               {.destination = packet->header.destination, .timestamp_us = packet->header.timestamp_us},
                               packet->handshake);
        ExtensionReader extensions(packet->extensions);
        while (const auto extension = extensions.next()) {
            if (extension->type == ExtensionType::kHsRequest || extension->type == ExtensionType::kHsResponse) {
                writer.capabilities(extension->type, *parse_capabilities(extension->contents));
            } else if (extension->type == ExtensionType::kStreamId) {
                writer.text(extension->type, parse_text(extension->contents));
            } else {
                writer.bytes(extension->type, extension->contents);
            }
        }
        EXPECT_EQ(Bytes(out.begin(), out.begin() + static_cast<ptrdiff_t>(writer.finish())), datagram);
    }
}

TEST(SrtHandshake, RefusesWhatIsShorterOrAnotherPacket) {
    const Bytes datagram = base::hex(kLibsrtSession.induction);
    for (size_t size = 0; size < datagram.size(); ++size) {
        EXPECT_FALSE(parse_handshake(std::span(datagram).first(size))) << size;
    }
    Bytes other = datagram;
    other[1] = 1;
    EXPECT_FALSE(parse_handshake(other)) << "a keepalive";
    other = datagram;
    other[0] = 0;
    EXPECT_FALSE(parse_handshake(other)) << "data";
}

TEST(SrtHandshake, ExtensionsThatDoNotFit) {
    struct Case {
        const char* name;
        const char* bytes;
        size_t extensions;
        bool truncated;
    };
    for (const auto& c :
         {Case{"none", "", 0, false}, Case{"an empty one", "00050000", 1, false},
          Case{"one and bytes", "00050001 61626364 000500", 1, false},
          Case{"a header without contents", "00050001", 0, true}, Case{"a byte is missing", "00050001 616263", 0, true},
          Case{"the largest length", "0005ffff 61626364", 0, true},
          Case{"the second is too long", "00050001 61626364 00010003 00000000 00000000", 1, true}}) {
        const Bytes bytes = base::hex(c.bytes);
        ExtensionReader reader(bytes);
        size_t count = 0;
        while (reader.next()) ++count;
        EXPECT_EQ(count, c.extensions) << c.name;
        EXPECT_EQ(reader.truncated(), c.truncated) << c.name;
    }
}

TEST(SrtHandshake, Capabilities) {
    const Bytes full = base::hex("00010505 000000bf 00780050");
    EXPECT_EQ(parse_capabilities(full),
              (Capabilities{.version = 0x010505, .flags = 0xbf, .receiver_delay_ms = 120, .sender_delay_ms = 80}));
    EXPECT_FALSE(parse_capabilities(std::span(full).first(8))) << "delays are wanted, but are not there";
    EXPECT_FALSE(parse_capabilities(std::span(full).first(7)));
    EXPECT_FALSE(parse_capabilities({}));
    EXPECT_EQ(parse_capabilities(base::hex("00010505 000000bc")), (Capabilities{.version = 0x010505, .flags = 0xbc}));
}

TEST(SrtHandshake, TextsOfAllLengths) {
    for (const std::string_view text :
         {"", "a", "ab", "abc", "abcd", "abcde", "live", "#!::r=live/livestream,m=request"}) {
        std::array<uint8_t, kMaxDatagram> out;
        HandshakeWriter writer(out, {}, {.type = HandshakeType::kConclusion});
        writer.text(ExtensionType::kCongestion, text);
        const auto packet = parse_handshake(std::span(out).first(writer.finish()));
        ASSERT_TRUE(packet) << text;
        EXPECT_EQ(packet->handshake.extension_field, 4) << text;
        const auto extension = ExtensionReader(packet->extensions).next();
        ASSERT_TRUE(extension) << text;
        EXPECT_EQ(extension->contents.size(), (text.size() + 3) / 4 * 4) << text;
        EXPECT_EQ(parse_text(extension->contents), text);
    }
    EXPECT_EQ(parse_text(base::hex("6576696c")), "live");
    EXPECT_EQ(parse_text(base::hex("00000000")), "");
    EXPECT_EQ(parse_text(base::hex("65766900 00000061")), std::string("\0iv", 3) + "ea") << "zeros inside stay";
}

TEST(SrtHandshake, TheWriterStopsAtTheEndOfItsMemory) {
    Bytes out(kBareHandshake - 1);
    EXPECT_EQ(HandshakeWriter(out, {}, {}).finish(), 0u);
    out.resize(kBareHandshake + 15);
    HandshakeWriter writer(out, {}, {.type = HandshakeType::kConclusion});
    EXPECT_EQ(writer.finish(), kBareHandshake);
    writer.capabilities(ExtensionType::kHsRequest, {});
    EXPECT_EQ(writer.finish(), 0u) << "16 bytes do not fit into 15";
    writer.text(ExtensionType::kStreamId, "a");
    EXPECT_EQ(writer.finish(), 0u) << "what fits later is not written";
}

TEST(SrtHandshake, RefusalsHaveNumbersAndTexts) {
    EXPECT_EQ(static_cast<uint32_t>(Refusal::kBadSecret), 1010u);
    EXPECT_EQ(refusal_text(Refusal::kBadSecret), "wrong passphrase");
    EXPECT_EQ(refusal_text(static_cast<Refusal>(2418)), "refused");
    EXPECT_TRUE(is_refusal(static_cast<HandshakeType>(1000)));
    EXPECT_TRUE(is_refusal(static_cast<HandshakeType>(3000)));
    for (const auto type : {HandshakeType::kWaveAHand, HandshakeType::kInduction, HandshakeType::kDone,
                            HandshakeType::kAgreement, HandshakeType::kConclusion}) {
        EXPECT_FALSE(is_refusal(type));
    }
}

}  // namespace
}  // namespace srt
