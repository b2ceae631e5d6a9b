// Comparison with unmodified libsrtp, the reference: it opens what we protect, our receiver opens what it protects, and
// both produce the same bytes.
#include <gtest/gtest.h>
#include <srtp2/srtp.h>

#include <algorithm>
#include <optional>

#include "protocol/srtp/crypto_kernel.h"
#include "protocol/srtp/receiver.h"
#include "protocol/srtp/sender.h"
#include "protocol/srtp/srtp_testing.h"

namespace srtp {
namespace {

class Libsrtp {
  public:
    Libsrtp(Profile profile, const MasterKey& master, srtp_ssrc_type_t direction) {
        std::copy(master.key.begin(), master.key.end(), key_);
        std::copy(master.salt.begin(), master.salt.end(), key_ + master.key.size());
        srtp_policy_t policy = {};
        if (profile == Profile::kAeadAes128Gcm) {
            srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp);
            srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp);
        } else {
            srtp_crypto_policy_set_rtp_default(&policy.rtp);
            srtp_crypto_policy_set_rtcp_default(&policy.rtcp);
        }
        policy.ssrc.type = direction;
        policy.key = key_;
        policy.window_size = 1024;
        EXPECT_EQ(srtp_create(&session_, &policy), srtp_err_status_ok);
    }
    ~Libsrtp() { srtp_dealloc(session_); }
    Libsrtp(const Libsrtp&) = delete;

    Bytes protect(Bytes packet) { return run(srtp_protect, packet); }
    Bytes protect_rtcp(Bytes packet) { return run(srtp_protect_rtcp, packet); }
    Bytes open(Bytes packet) { return run(srtp_unprotect, packet); }
    Bytes open_rtcp(Bytes packet) { return run(srtp_unprotect_rtcp, packet); }

  private:
    template <class F>
    Bytes run(F function, Bytes& packet) {
        int size = static_cast<int>(packet.size());
        packet.resize(packet.size() + SRTP_MAX_TRAILER_LEN);
        srtp_err_status_t status = function(session_, packet.data(), &size);
        EXPECT_EQ(status, srtp_err_status_ok);
        packet.resize(status == srtp_err_status_ok ? static_cast<size_t>(size) : 0);
        return packet;
    }
    srtp_t session_ = nullptr;
    uint8_t key_[kMasterKeySize + kMaxSaltSize];
};

// While this object exists, new sessions of the library use its built-in ciphers; afterwards they use those of our
// receiver, which would be compared with themselves.
struct AsBuilt {
    AsBuilt() {
        EXPECT_TRUE(start_crypto_kernel());
        EXPECT_EQ(srtp_shutdown(), srtp_err_status_ok);
        EXPECT_EQ(srtp_init(), srtp_err_status_ok);
    }
    ~AsBuilt() { EXPECT_TRUE(replace_ciphers()); }
};

class Reference : public testing::TestWithParam<Profile> {
  protected:
    Reference() {
        AsBuilt built;
        their_sender_.emplace(GetParam(), example_key(), ssrc_any_outbound);
        their_receiver_.emplace(GetParam(), example_key(), ssrc_any_inbound);
    }
    Sender sender_{GetParam(), example_key()};
    Receiver receiver_{GetParam(), example_key()};
    std::optional<Libsrtp> their_sender_, their_receiver_;

    Bytes protect(const Bytes& plain, uint64_t index) {
        auto view = rtp::PacketView::parse(plain);
        Bytes out(plain.size() + sender_.rtp_overhead());
        auto header = std::span(plain).first(view->header_size());
        sender_.protect_rtp(header, std::span(plain).subspan(header.size()), index, out.data());
        return out;
    }
    void both_ways(const Bytes& plain, uint64_t index) {
        Bytes ours = protect(plain, index), theirs = their_sender_->protect(plain);
        ASSERT_EQ(ours, theirs) << "index " << index;
        ASSERT_EQ(their_receiver_->open(ours), plain) << "index " << index;
        auto opened = receiver_.unprotect_rtp(theirs);
        ASSERT_TRUE(opened) << drop_name(opened.error()) << ", index " << index;
        theirs.resize(*opened);
        ASSERT_EQ(theirs, plain) << "index " << index;
    }
};

INSTANTIATE_TEST_SUITE_P(Profiles, Reference, testing::Values(Profile::kAeadAes128Gcm, Profile::kAes128CmSha1_80),
                         [](const auto& p) { return p.param == Profile::kAeadAes128Gcm ? "Gcm" : "Cm"; });

TEST_P(Reference, RtpOfAllSizesOverRollovers) {
    size_t size = 0;
    for (uint64_t index = 100; index < 300'000; index += 611, size = (size * 7 + 1) % 1400) {
        both_ways(rtp_packet(0xcafebabe, static_cast<uint16_t>(index), size), index);
        if (HasFatalFailure()) return;
    }
}

TEST_P(Reference, HeadersWithCsrcsAndExtensions) {
    Bytes mid = {'0', '1'};
    rtp::Extension extensions[] = {{1, mid}, {200, mid}};
    for (size_t n = 1; n <= 2; ++n) {
        auto some = std::span(extensions).first(n);
        Bytes plain(rtp::written_header_size(some));
        rtp::write_header(plain.data(), {true, 111, static_cast<uint16_t>(n), 77, 88}, some);
        plain.insert(plain.end(), 50, 0x5a);
        both_ways(plain, n);
    }
    Bytes with_csrcs = rtp_packet(88, 3, 40);
    with_csrcs[0] |= 3;
    both_ways(with_csrcs, 3);
}

TEST_P(Reference, Rtcp) {
    for (size_t words = 0; words < 200; ++words) {
        Bytes plain = rtcp_packet(0xcafebabe, words), ours(plain.size() + sender_.rtp_overhead() + 4);
        EXPECT_EQ(sender_.protect_rtcp(plain, ours.data()), ours.size());
        EXPECT_EQ(their_receiver_->open_rtcp(ours), plain) << words;
        // libsrtp's index begins with 1 and ours with 0, so the bytes differ.
        Bytes theirs = their_sender_->protect_rtcp(plain);
        auto size = receiver_.unprotect_rtcp(theirs);
        ASSERT_TRUE(size) << drop_name(size.error());
        theirs.resize(*size);
        EXPECT_EQ(theirs, plain) << words;
    }
}

}  // namespace
}  // namespace srtp
