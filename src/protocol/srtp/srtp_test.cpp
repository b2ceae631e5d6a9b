// Sender to receiver, and packets that must not be accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <thread>

#include "protocol/srtp/crypto_kernel.h"
#include "protocol/srtp/deferred_rtp.h"
#include "protocol/srtp/index_check.h"
#include "protocol/srtp/receiver.h"
#include "protocol/srtp/sender.h"
#include "protocol/srtp/srtp_testing.h"

namespace srtp {
namespace {

class Srtp : public testing::TestWithParam<Profile> {
  protected:
    Profile profile_ = GetParam();
    Sender sender_{profile_, example_key()};
    Receiver receiver_{profile_, example_key()};

    Bytes protect(const Bytes& plain, uint64_t index) {
        auto view = rtp::PacketView::parse(plain);
        Bytes out(plain.size() + sender_.rtp_overhead());
        auto header = std::span(plain).first(view->header_size());
        EXPECT_EQ(sender_.protect_rtp(header, std::span(plain).subspan(header.size()), index, out.data()), out.size());
        return out;
    }
    Bytes protect(uint32_t ssrc, uint64_t index) {
        return protect(rtp_packet(ssrc, static_cast<uint16_t>(index), 20), index);
    }
    Bytes protect_rtcp(const Bytes& plain) {
        Bytes out(plain.size() + sender_.rtp_overhead() + 4);
        EXPECT_EQ(sender_.protect_rtcp(plain, out.data()), out.size());
        return out;
    }
    // "ok" or the reason of the drop.
    std::string open(Bytes packet) {
        auto opened = receiver_.unprotect_rtp(packet);
        return opened ? "ok" : drop_name(opened.error());
    }
    std::string open_rtcp(Bytes packet) {
        auto opened = receiver_.unprotect_rtcp(packet);
        return opened ? "ok" : drop_name(opened.error());
    }
};

INSTANTIATE_TEST_SUITE_P(Profiles, Srtp, testing::Values(Profile::kAeadAes128Gcm, Profile::kAes128CmSha1_80),
                         [](const auto& p) { return p.param == Profile::kAeadAes128Gcm ? "Gcm" : "Cm"; });

TEST_P(Srtp, PacketsOfAllSizesComeBack) {
    uint16_t sequence = 0;
    for (size_t size = 0; size < 1300; size += size < 70 ? 1 : 97) {
        Bytes plain = rtp_packet(7, sequence, size);
        Bytes sealed = protect(plain, sequence++);
        EXPECT_TRUE(std::equal(plain.begin(), plain.begin() + 12, sealed.begin())) << "the header stays readable";
        auto opened = receiver_.unprotect_rtp(sealed);
        ASSERT_TRUE(opened) << size;
        EXPECT_EQ(*opened, plain.size());
        sealed.resize(*opened);
        EXPECT_EQ(sealed, plain);
    }
}

TEST_P(Srtp, TheHeadersExtensionIsAuthenticAndNotEncrypted) {
    Bytes mid = {'a'}, plain(rtp::written_header_size(std::vector<rtp::Extension>{{3, mid}}));
    rtp::write_header(plain.data(), {true, 111, 5, 6, 7}, std::vector<rtp::Extension>{{3, mid}});
    plain.insert(plain.end(), {1, 2, 3, 4, 5});
    Bytes sealed = protect(plain, 5);
    EXPECT_EQ(rtp::PacketView::parse(sealed)->extension(3)->front(), 'a');
    Bytes changed = sealed;
    changed[17] ^= 1;
    EXPECT_EQ(open(changed), "not authentic");
    EXPECT_EQ(open(sealed), "ok");
}

TEST_P(Srtp, APayloadInTwoPartsIsOnePayload) {
    Bytes plain = rtp_packet(7, 9, 333), whole = protect(plain, 9), parts(whole.size());
    std::span<const uint8_t> bytes(plain);
    for (size_t cut : {0, 1, 2, 15, 16, 17, 333}) {
        EXPECT_EQ(
            sender_.protect_rtp(bytes.first(12), bytes.subspan(12, cut), bytes.subspan(12 + cut), 9, parts.data()),
            whole.size());
        EXPECT_EQ(parts, whole) << cut;
    }
}

TEST_P(Srtp, APacketIsProtectedLaterByAnotherThread) {
    const Bytes header = rtp_packet(7, 3, 0), first = {1, 2};
    const Bytes payload(1000, 0x33);
    Bytes at_once(1100), later(1100);
    at_once.resize(sender_.protect_rtp(header, first, payload, 70'003, at_once.data()));
    alignas(DeferredRtp) std::array<uint8_t, sizeof(DeferredRtp)> record;
    const DeferredRtp packet(header, first, payload, 70'003);
    ASSERT_EQ(packet.used(), 20 + header.size() + first.size());
    std::memcpy(record.data(), &packet, packet.used());
    (void)protect(9, 1);  // by this thread, with other contexts
    std::thread([&] {
        const auto& copy = *reinterpret_cast<const DeferredRtp*>(record.data());
        later.resize(copy.protect(sender_.rtp_cipher(), later.data()));
    }).join();
    EXPECT_EQ(later, at_once);
}

TEST_P(Srtp, KeysAreWipedWhenTheyEnd) {
    alignas(SessionKeys) std::array<uint8_t, sizeof(SessionKeys)> memory;
    auto* keys = new (memory.data()) SessionKeys(derive_keys(GetParam(), example_key(), Traffic::kRtp));
    EXPECT_TRUE(std::ranges::any_of(memory, [](uint8_t byte) { return byte != 0; }));
    std::destroy_at(keys);
    EXPECT_TRUE(std::ranges::all_of(memory, [](uint8_t byte) { return byte == 0; }));
}

TEST_P(Srtp, AnyChangedByteIsNoticed) {
    Bytes sealed = protect(7, 1000);
    for (size_t i = 0; i < sealed.size(); ++i) {
        Bytes changed = sealed;
        changed[i] ^= 0x10;
        EXPECT_NE(open(changed), "ok") << i;
    }
    EXPECT_EQ(open(sealed), "ok") << "the dropped packets changed no state";
    Bytes report = protect_rtcp(rtcp_packet(7, 3));
    for (size_t i = 0; i < report.size(); ++i) {
        Bytes changed = report;
        changed[i] ^= 0x10;
        EXPECT_NE(open_rtcp(changed), "ok") << i;
    }
    EXPECT_EQ(open_rtcp(report), "ok");
}

TEST_P(Srtp, AnythingCutShortIsRefused) {
    Bytes sealed = protect(7, 1), report = protect_rtcp(rtcp_packet(7, 3));
    for (size_t size = 0; size < sealed.size(); ++size) EXPECT_NE(open({sealed.begin(), sealed.begin() + size}), "ok");
    for (size_t size = 0; size < report.size(); ++size) {
        EXPECT_NE(open_rtcp({report.begin(), report.begin() + size}), "ok");
    }
    EXPECT_GT(receiver_.dropped(Drop::kMalformed), 0u);
    EXPECT_GT(receiver_.dropped(Drop::kNotAuthentic), 0u);
}

TEST_P(Srtp, AReplayIsDroppedInAnyOrder) {
    std::vector<Bytes> packets;
    for (uint64_t i = 0; i < 300; ++i) packets.push_back(protect(7, i));
    for (size_t i : {5, 3, 4, 299, 100, 0}) EXPECT_EQ(open(packets[i]), "ok") << i;
    for (size_t i : {5, 3, 4, 299, 100, 0}) EXPECT_EQ(open(packets[i]), "replayed") << i;
    EXPECT_EQ(receiver_.dropped(Drop::kReplayed), 6u);
    EXPECT_EQ(open(packets[200]), "ok");
}

TEST_P(Srtp, WhatIsBehindTheWindowIsDropped) {
    uint64_t newest = 5000, oldest = newest - Receiver::kRtpWindow + 1;
    EXPECT_EQ(open(protect(7, newest)), "ok");
    EXPECT_EQ(open(protect(7, oldest)), "ok");
    EXPECT_EQ(open(protect(7, oldest - 1)), "too old");
    EXPECT_EQ(open(protect(7, oldest)), "replayed");
}

TEST_P(Srtp, RolloversAreFollowed) {
    for (uint64_t index = 60'000; index < 400'000; index += 1357) ASSERT_EQ(open(protect(7, index)), "ok") << index;
    EXPECT_EQ(open(protect(7, 400'001)), "ok");
    // Around a wrap, out of order: the packet before it arrives after it.
    Receiver fresh(profile_, example_key());
    std::swap(fresh, receiver_);
    EXPECT_EQ(open(protect(8, 65'534)), "ok");
    EXPECT_EQ(open(protect(8, 65'537)), "ok");
    EXPECT_EQ(open(protect(8, 65'535)), "ok");
    EXPECT_EQ(open(protect(8, 65'536)), "ok");
    EXPECT_EQ(open(protect(8, 65'535)), "replayed");
    EXPECT_EQ(open(protect(8, 65'538)), "ok");
}

// There is no rollover period before the first: the library takes such a number for one far ahead.
TEST_P(Srtp, BeforeTheVeryFirstIsNoEarlierRollover) {
    EXPECT_EQ(open(protect(7, 3)), "ok");
    Bytes forged = protect(rtp_packet(7, 65'535, 10), 65'535);
    forged.back() ^= 1;
    EXPECT_EQ(open(forged), "not authentic");
    EXPECT_EQ(open(protect(7, 4)), "ok");
}

TEST_P(Srtp, AForgedJumpMovesNothing) {
    EXPECT_EQ(open(protect(7, 100)), "ok");
    Bytes forged = protect(7, 30'000);
    forged.back() ^= 1;
    EXPECT_EQ(open(forged), "not authentic");
    EXPECT_EQ(open(protect(7, 99)), "ok") << "the window has not moved";
}

TEST_P(Srtp, SsrcsAreBoundedAndOnlyAuthenticOnesCount) {
    for (uint32_t ssrc = 0; ssrc < 100; ++ssrc) {
        Bytes forged = protect(1000 + ssrc, 1);
        forged.back() ^= 1;
        EXPECT_EQ(open(forged), "not authentic");
    }
    for (uint32_t ssrc = 0; ssrc < Receiver::kMaxSsrcs; ++ssrc) EXPECT_EQ(open(protect(ssrc, 1)), "ok");
    EXPECT_EQ(open(protect(500, 1)), "too many SSRCs");
    EXPECT_EQ(open(protect(0, 2)), "ok");
    for (uint32_t ssrc = 0; ssrc < Receiver::kMaxSsrcs; ++ssrc)
        EXPECT_EQ(open_rtcp(protect_rtcp(rtcp_packet(ssrc, 0))), "ok");
    EXPECT_EQ(open_rtcp(protect_rtcp(rtcp_packet(500, 0))), "too many SSRCs");
}

TEST_P(Srtp, RtcpComesBackAndIsNotReplayed) {
    std::vector<Bytes> sealed;
    for (size_t words = 0; words < 300; ++words) {
        Bytes plain = rtcp_packet(7, words);
        sealed.push_back(protect_rtcp(plain));
        Bytes copy = sealed.back();
        auto size = receiver_.unprotect_rtcp(copy);
        ASSERT_TRUE(size) << words;
        copy.resize(*size);
        EXPECT_EQ(copy, plain);
    }
    EXPECT_EQ(open_rtcp(sealed[299]), "replayed");
    EXPECT_EQ(open_rtcp(sealed[250]), "replayed");
    EXPECT_EQ(open_rtcp(sealed[10]), "too old");
}

TEST_P(Srtp, RtcpThatIsNotEncryptedIsRefused) {
    Bytes sealed = protect_rtcp(rtcp_packet(7, 1));
    size_t trailer = profile_ == Profile::kAeadAes128Gcm ? sealed.size() - 4 : sealed.size() - 14;
    sealed[trailer] &= 0x7f;
    EXPECT_EQ(open_rtcp(sealed), "not encrypted");
}

TEST_P(Srtp, OtherKeysOpenNothing) {
    MasterKey other = example_key();
    other.key[0] ^= 1;
    receiver_ = Receiver(profile_, other);
    EXPECT_EQ(open(protect(7, 1)), "not authentic");
    EXPECT_EQ(open_rtcp(protect_rtcp(rtcp_packet(7, 1))), "not authentic");
    MasterKey other_salt = example_key();
    other_salt.salt[3] ^= 1;
    receiver_ = Receiver(profile_, other_salt);
    EXPECT_EQ(open(protect(7, 1)), "not authentic");
}

TEST_P(Srtp, SessionsDoNotDisturbEachOther) {
    MasterKey other = example_key();
    other.key[5] ^= 1;
    Sender second(profile_, other);
    Bytes plain = rtcp_packet(9, 1), sealed(plain.size() + second.rtp_overhead() + 4);
    for (int i = 0; i < 3; ++i) {
        second.protect_rtcp(plain, sealed.data());
        EXPECT_EQ(open_rtcp(protect_rtcp(plain)), "ok");
        EXPECT_EQ(open(protect(7, static_cast<uint64_t>(i))), "ok");
    }
}

TEST(KeyBlock, IsClientKeyServerKeyClientSaltServerSalt) {
    for (Profile profile : {Profile::kAeadAes128Gcm, Profile::kAes128CmSha1_80}) {
        Bytes block(key_block_size(profile));
        for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<uint8_t>(i);
        auto client = split_key_block(profile, block, true), server = split_key_block(profile, block, false);
        ASSERT_TRUE(client && server);
        EXPECT_EQ(client->local.key[0], 0);
        EXPECT_EQ(client->remote.key[15], 31);
        EXPECT_EQ(client->local.salt[0], 32);
        EXPECT_EQ(client->remote.salt[0], 32 + profile_info(profile).salt_size);
        EXPECT_EQ(server->local.key, client->remote.key);
        EXPECT_EQ(server->remote.salt, client->local.salt);
        block.pop_back();
        EXPECT_FALSE(split_key_block(profile, block, true));
        EXPECT_EQ(profile_of_dtls(profile_info(profile).dtls_id), profile);
    }
    EXPECT_FALSE(profile_of_dtls(2));
}

TEST(IndexCheck, AnIndexIsForOnePacketOfItsSsrc) {
    IndexCheck check;
    const Bytes a = {1, 2, 3}, b = {1, 2, 4};
    const std::span<const uint8_t> none;
    EXPECT_TRUE(check.permits(1, 7, a, b, none));
    EXPECT_TRUE(check.permits(1, 7, a, none, b)) << "the same bytes";
    EXPECT_TRUE(check.permits(2, 7, b, b, none));
    EXPECT_TRUE(check.permits(1, 8, b, b, none));
    EXPECT_TRUE(check.permits(1, 7 + (uint64_t{1} << 32), b, b, none)) << "after wraps";
    EXPECT_TRUE(check.permits(3, 0, a, a, none));
    EXPECT_FALSE(check.permits(3, 0, a, b, none));
    EXPECT_FALSE(check.permits(3, 0, b, a, none));
}

#ifdef SRS_SANITIZER
TEST(SenderDeathTest, AnIndexUsedForOtherBytesAborts) {
    Sender sender(Profile::kAeadAes128Gcm, example_key());
    Bytes packet = rtp_packet(5, 9, 20), out(100);
    const auto send = [&] {
        const std::span<const uint8_t> bytes(packet);
        return sender.protect_rtp(bytes.first(12), bytes.subspan(12), 9, out.data());
    };
    EXPECT_EQ(send(), send());
    packet.back() ^= 1;
    EXPECT_DEATH(send(), "index_check_");
}
#endif

}  // namespace
}  // namespace srtp
