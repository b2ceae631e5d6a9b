#include "protocol/srtp/receiver.h"

#include <openssl/crypto.h>
#include <srtp2/srtp.h>

#include <algorithm>

#include "protocol/rtp/packet.h"
#include "protocol/srtp/crypto_kernel.h"
#include "protocol/srtp/packet_format.h"

namespace srtp {

namespace {

Drop drop_of(srtp_err_status_t status) {
    switch (status) {
        case srtp_err_status_auth_fail:
            return Drop::kNotAuthentic;
        case srtp_err_status_replay_fail:
            return Drop::kReplayed;
        case srtp_err_status_replay_old:
            return Drop::kTooOld;
        case srtp_err_status_bad_param:
        case srtp_err_status_parse_err:
            return Drop::kMalformed;
        case srtp_err_status_cant_check:
            return Drop::kNotEncrypted;
        default:
            return Drop::kFailed;
    }
}

}  // namespace

const char* drop_name(Drop drop) {
    switch (drop) {
        case Drop::kMalformed:
            return "malformed";
        case Drop::kReplayed:
            return "replayed";
        case Drop::kTooOld:
            return "too old";
        case Drop::kNotAuthentic:
            return "not authentic";
        case Drop::kTooManySsrcs:
            return "too many SSRCs";
        case Drop::kNotEncrypted:
            return "not encrypted";
        case Drop::kFailed:
            return "failed";
    }
    return "unknown";
}

void Receiver::Free::operator()(srtp_ctx_t_* session) const { srtp_dealloc(session); }

bool Receiver::make_session() {
    if (!start_crypto_kernel()) return false;
    std::array<uint8_t, kMasterKeySize + kMaxSaltSize> key_and_salt;
    std::ranges::copy(key_.salt, std::ranges::copy(key_.key, key_and_salt.begin()).out);
    srtp_policy_t policy{};
    if (profile_ == Profile::kAeadAes128Gcm) {
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp);
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp);
    } else {
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtp);
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy.rtcp);
    }
    policy.ssrc.type = ssrc_any_inbound;
    policy.key = key_and_salt.data();
    policy.window_size = kRtpWindow;
    srtp_t session = nullptr;
    const srtp_err_status_t status = srtp_create(&session, &policy);
    OPENSSL_cleanse(key_and_salt.data(), key_and_salt.size());
    if (status != srtp_err_status_ok) return false;
    session_.reset(session);
    OPENSSL_cleanse(&key_, sizeof key_);
    return true;
}

template <class Unprotect>
std::expected<size_t, Drop> Receiver::open(std::span<uint8_t> packet, uint32_t ssrc, Unprotect unprotect) {
    // The library's session does not limit the number of SSRCs.
    const bool known = std::find(ssrcs_.begin(), ssrcs_.end(), ssrc) != ssrcs_.end();
    if (!known && ssrcs_.size() >= kMaxSsrcs) return drop(Drop::kTooManySsrcs);
    if (!session_ && !make_session()) return drop(Drop::kFailed);
    int size = static_cast<int>(packet.size());
    if (const srtp_err_status_t status = unprotect(session_.get(), packet.data(), &size); status != srtp_err_status_ok)
        return drop(drop_of(status));
    if (!known) ssrcs_.push_back(ssrc);
    return static_cast<size_t>(size);
}

std::expected<size_t, Drop> Receiver::unprotect_rtp(std::span<uint8_t> packet) {
    const size_t header_size = rtp::header_size(packet);
    if (header_size == 0 || packet.size() < header_size + profile_info(profile_).tag_size)
        return drop(Drop::kMalformed);
    return open(packet, rtp::get_u32(&packet[8]), srtp_unprotect);
}

std::expected<size_t, Drop> Receiver::unprotect_rtcp(std::span<uint8_t> packet) {
    const size_t overhead = profile_info(profile_).tag_size + kRtcpIndexSize;
    if (packet.size() < kRtcpHeaderSize + overhead || packet[0] >> 6 != 2) return drop(Drop::kMalformed);
    // With GCM the library accepts authentic packets that are not encrypted. GCM has the index after the tag, AES-CM
    // before.
    const size_t index_at = packet.size() - (profile_ == Profile::kAeadAes128Gcm ? kRtcpIndexSize : overhead);
    if (!(rtp::get_u32(&packet[index_at]) & kEncryptedFlag)) return drop(Drop::kNotEncrypted);
    return open(packet, rtp::get_u32(&packet[4]), srtp_unprotect_rtcp);
}

}  // namespace srtp
