#include "protocol/rtp/packet.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocol/rtp/extensions.h"
#include "protocol/rtp/rtx.h"
#include "protocol/rtp/unwrap.h"

namespace rtp {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes packet_of(const Header& header, std::span<const Extension> extensions, const Bytes& payload) {
    Bytes out(written_header_size(extensions));
    EXPECT_EQ(write_header(out.data(), header, extensions), out.size());
    out.insert(out.end(), payload.begin(), payload.end());
    return out;
}

const Header kHeader{true, 96, 0x1234, 0xdeadbeef, 0xcafebabe};

TEST(PacketView, WhatIsWrittenIsRead) {
    Bytes bytes = packet_of(kHeader, {}, {1, 2, 3});
    EXPECT_EQ(bytes, Bytes({0x80, 0xe0, 0x12, 0x34, 0xde, 0xad, 0xbe, 0xef, 0xca, 0xfe, 0xba, 0xbe, 1, 2, 3}));
    auto view = PacketView::parse(bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->header(), kHeader);
    EXPECT_EQ(view->header_size(), 12u);
    EXPECT_EQ(Bytes(view->payload().begin(), view->payload().end()), Bytes({1, 2, 3}));
    EXPECT_FALSE(view->extension(1));
}

TEST(PacketView, CsrcsExtensionAndPadding) {
    Bytes bytes = {0xb2, 0x60, 0, 1, 0, 0, 0, 2, 0,    0,    0, 3, 0, 0, 0, 4,  //
                   0,    0,    0, 5, 0, 1, 0, 1, 0xaa, 0xbb, 1, 2, 7, 8, 9, 3};
    auto view = PacketView::parse(bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->csrc_count(), 2u);
    EXPECT_FALSE(view->extension(10)) << "a profile that is neither form has no elements";
    EXPECT_EQ(view->header_size(), 28u);
    EXPECT_EQ(view->padding(), 3u);
    EXPECT_EQ(view->payload().size(), 1u);
}

TEST(PacketView, RefusesWhatGoesBeyondTheDatagram) {
    struct {
        const char* what;
        Bytes bytes;
    } rows[] = {
        {"nothing", {}},
        {"eleven bytes", Bytes(11, 0x80)},
        {"version 1", {0x40, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"a CSRC that is not there", {0x81, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"half an extension header", {0x90, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbe, 0xde}},
        {"extension too long", {0x90, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbe, 0xde, 0, 1}},
        {"extension of 65535 words", {0x90, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbe, 0xde, 0xff, 0xff, 1, 2, 3, 4}},
        {"padding of 0", {0xa0, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
        {"more padding than payload", {0xa0, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3}},
        {"padding and no payload", {0xa0, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}},
    };
    for (const auto& row : rows) EXPECT_FALSE(PacketView::parse(row.bytes)) << row.what;
    EXPECT_TRUE(PacketView::parse(Bytes{0xa0, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3})) << "padding alone is fine";
}

TEST(Extensions, OneByteForm) {
    Bytes mid = {'v', '0'}, cc(2), time = {0x06, 0x00, 0x00};
    base::put_u16(cc.data(), 0xabcd);
    Extension all[] = {{1, mid}, {14, cc}, {2, time}};
    Bytes bytes = packet_of(kHeader, all, {9});
    EXPECT_EQ(bytes.size(), 12u + 4 + 12 + 1);  // 3 + 3 + 4 and padding
    auto view = PacketView::parse(bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(base::get_u16(&bytes[12]), kOneByteProfile);
    EXPECT_EQ(text_value(*view->extension(1)), "v0");
    EXPECT_EQ(transport_cc(*view->extension(14)), 0xabcd);
    EXPECT_EQ(view->extension(2)->size(), 3u);
    EXPECT_FALSE(view->extension(3));
    EXPECT_EQ(view->payload().size(), 1u);
}

// RFC 8285, 4.2: the example of three elements with padding between them.
TEST(Extensions, PaddingBetweenElements) {
    Bytes bytes = {0x90, 96, 0,    0,    0,    0, 0, 0, 0, 0,    0, 0, 0xbe, 0xde,
                   0,    3,  0x10, 0xaa, 0x21, 1, 2, 0, 0, 0x33, 5, 6, 7,    8};
    auto view = PacketView::parse(bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->extension(1)->size(), 1u);
    EXPECT_EQ(view->extension(2)->size(), 2u);
    EXPECT_EQ(view->extension(3)->size(), 4u);
    EXPECT_EQ(view->extension(3)->back(), 8);
}

TEST(Extensions, TwoByteFormWhereAnElementNeedsIt) {
    Bytes long_mid(17, 'x'), nothing, one = {4};
    Extension all[] = {{1, long_mid}, {200, nothing}, {15, one}};
    Bytes bytes = packet_of(kHeader, all, {});
    auto view = PacketView::parse(bytes);
    ASSERT_TRUE(view);
    EXPECT_EQ(base::get_u16(&bytes[12]), kTwoByteProfile);
    EXPECT_EQ(view->extension(1)->size(), 17u);
    EXPECT_TRUE(view->extension(200)->empty());
    EXPECT_EQ(view->extension(15)->front(), 4);
}

TEST(Extensions, CutShortOrId15EndsThem) {
    Bytes cut = {0x90, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbe, 0xde, 0, 1, 0x10, 0xaa, 0x23, 1};
    auto view = PacketView::parse(cut);
    ASSERT_TRUE(view);
    EXPECT_TRUE(view->extension(1));
    EXPECT_FALSE(view->extension(2));
    Bytes fifteen = {0x90, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbe, 0xde, 0, 1, 0xf0, 0xaa, 0x10, 1};
    EXPECT_FALSE(PacketView::parse(fifteen)->extension(1));
    Bytes zero = {0x90, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xbe, 0xde, 0, 1, 0x01, 0xaa, 0x10, 1};
    EXPECT_FALSE(PacketView::parse(zero)->extension(1)) << "an id of 0 has no length";
}

TEST(Extensions, WhatCannotBeWrittenIsRefused) {
    Bytes large(255), too_large(256), one(1);
    EXPECT_EQ(written_header_size(std::vector<Extension>{{0, one}}), 0u);
    EXPECT_EQ(written_header_size(std::vector<Extension>{{1, too_large}}), 0u);
    EXPECT_EQ(written_header_size(std::vector<Extension>{{1, large}, {2, one}}), 0u);
    EXPECT_EQ(written_header_size(std::vector<Extension>{{1, std::span(large).first(254)}}), kMaxHeaderSize);
}

TEST(Patches, ChangeTheirFieldAlone) {
    Bytes bytes = packet_of(kHeader, {}, {});
    set_marker(bytes.data(), false);
    set_payload_type(bytes.data(), 127);
    set_sequence(bytes.data(), 7);
    set_timestamp(bytes.data(), 8);
    set_ssrc(bytes.data(), 9);
    EXPECT_EQ(PacketView::parse(bytes)->header(), (Header{false, 127, 7, 8, 9}));
    set_marker(bytes.data(), true);
    EXPECT_EQ(PacketView::parse(bytes)->header(), (Header{true, 127, 7, 8, 9}));
}

TEST(Rtx, TheOriginalComesBack) {
    Bytes mid = {'0'};
    Extension extensions[] = {{1, mid}};
    Bytes rtx = packet_of({true, 97, 5, 1000, 222}, extensions, {0x12, 0x34, 1, 2, 3});
    auto restored = restore_rtx(rtx, 111, 96);
    ASSERT_TRUE(restored);
    EXPECT_EQ(Bytes(restored->begin(), restored->end()),
              packet_of({true, 96, 0x1234, 1000, 111}, extensions, {1, 2, 3}));
}

TEST(Rtx, PaddingAloneIsNoOriginal) {
    Bytes empty = packet_of(kHeader, {}, {}), one = packet_of(kHeader, {}, {1}), two = packet_of(kHeader, {}, {1, 2});
    EXPECT_FALSE(restore_rtx(empty, 1, 1));
    EXPECT_FALSE(restore_rtx(one, 1, 1));
    EXPECT_EQ(restore_rtx(two, 1, 1)->size(), 12u);
    Bytes padded = packet_of(kHeader, {}, {0, 0, 3});
    padded[0] |= 0x20;
    EXPECT_FALSE(restore_rtx(padded, 1, 1));
}

TEST(Unwrapper, SequencesGoOnOverTheEnd) {
    SequenceUnwrapper unwrapper;
    EXPECT_EQ(unwrapper.unwrap(65534), 65534);
    EXPECT_EQ(unwrapper.unwrap(1), 65537);
    EXPECT_EQ(unwrapper.unwrap(65535), 65535);
    EXPECT_EQ(unwrapper.unwrap(0), 65536);
    EXPECT_EQ(*unwrapper.newest(), 65537);
    EXPECT_EQ(unwrapper.peek(3), 65539);
    EXPECT_EQ(*unwrapper.newest(), 65537);
    for (int i = 2; i < 200'000; ++i) ASSERT_EQ(unwrapper.unwrap(static_cast<uint16_t>(i)), 65536 + i);
}

TEST(Unwrapper, BeforeTheFirstIsNegative) {
    SequenceUnwrapper sequences;
    EXPECT_EQ(sequences.unwrap(1), 1);
    EXPECT_EQ(sequences.unwrap(65535), -1);
    EXPECT_EQ(sequences.unwrap(2), 2);
    TimestampUnwrapper times;
    EXPECT_EQ(times.unwrap(0xffffff00), 0xffffff00);
    EXPECT_EQ(times.unwrap(0x100), 0x100000100);
}

}  // namespace
}  // namespace rtp
