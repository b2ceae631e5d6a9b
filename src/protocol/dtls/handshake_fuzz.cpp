// Whole handshakes of an endpoint with a peer, whose datagrams the input delivers, drops, repeats, reorders, joins,
// cuts and changes, so that deep states are reached. The peer is OpenSSL itself, or another endpoint. Its random
// numbers are OpenSSL's: an input does not give the same bytes twice, but the same steps.
//
// Whatever happens, no datagram is larger than the MTU, an answer is bounded, nothing is established with a certificate
// that was not announced, two sides that are established have the same keys, and nothing that was not encrypted by the
// peer ends what is established. What was only lost, repeated or reordered does not break a handshake of two endpoints,
// nor does what comes at a server before the hello.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>

#include "base/bytes.h"
#include "protocol/dtls/dtls_testing.h"

namespace {

using namespace dtls;

constexpr size_t kMaxSteps = 60;

// OpenSSL with its own settings, as a browser's or an encoder's library is. One record is one datagram.
class OpensslPeer {
  public:
    explicit OpensslPeer(Role role) : ssl_(SSL_new(context())), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())) {
        BIO_set_mem_eof_return(in_, -1);
        SSL_set_bio(ssl_, in_, out_);
        SSL_set_options(ssl_, SSL_OP_NO_QUERY_MTU);
        SSL_set_mtu(ssl_, 1000);
        role == Role::kClient ? SSL_set_connect_state(ssl_) : SSL_set_accept_state(ssl_);
    }
    ~OpensslPeer() { SSL_free(ssl_); }
    OpensslPeer(const OpensslPeer&) = delete;

    void on_datagram(std::span<const uint8_t> bytes) {
        if (!bytes.empty()) BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
        uint8_t ignored[100];
        if (SSL_do_handshake(ssl_) == 1) (void)SSL_read(ssl_, ignored, sizeof ignored);
        ERR_clear_error();
        (void)BIO_reset(in_);  // what it has not taken is of a datagram that is over
    }
    std::vector<Bytes> take() {
        std::vector<Bytes> out;
        uint8_t* data = nullptr;
        const auto size = static_cast<size_t>(BIO_get_mem_data(out_, &data));
        for (std::span<const uint8_t> rest(data, size); !rest.empty();) {
            const size_t length =
                rest.size() < kRecordHeader ? rest.size() : kRecordHeader + (rest[11] << 8 | rest[12]);
            const auto record = rest.first(std::min(length, rest.size()));
            out.emplace_back(record.begin(), record.end());
            rest = rest.subspan(record.size());
        }
        (void)BIO_reset(out_);
        return out;
    }
    bool established() const { return SSL_is_init_finished(ssl_) == 1; }
    // As the endpoint with that role has them.
    bool has_keys_of(const srtp::KeyPair& keys, Role role) const {
        uint8_t block[100];
        constexpr std::string_view kLabel = "EXTRACTOR-dtls_srtp";
        const size_t size = srtp::key_block_size(keys.profile);
        if (SSL_export_keying_material(ssl_, block, size, kLabel.data(), kLabel.size(), nullptr, 0, 0) != 1)
            return false;
        const auto exported = srtp::split_key_block(keys.profile, std::span(block, size), role == Role::kClient);
        return exported && exported->local.key == keys.local.key && exported->remote.key == keys.remote.key &&
               exported->local.salt == keys.local.salt && exported->remote.salt == keys.remote.salt;
    }

  private:
    static constexpr size_t kRecordHeader = 13;

    static SSL_CTX* context() {
        static SSL_CTX* const kContext = [] {
            SSL_CTX* made = SSL_CTX_new(DTLS_method());
            const Certificate& certificate = context_of(KeyKind::kEcdsa)->certificate();
            CHECK(SSL_CTX_use_certificate(made, certificate.x509()) == 1 &&
                  SSL_CTX_use_PrivateKey(made, certificate.key()) == 1);
            CHECK(SSL_CTX_set_tlsext_use_srtp(made, "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80") == 0);
            SSL_CTX_set_verify(made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                               [](int, X509_STORE_CTX*) { return 1; });
            return made;
        }();
        return kContext;
    }

    SSL* ssl_;
    BIO *in_, *out_;
};

// The side under test, and its peer.
class Pair {
  public:
    Pair(uint8_t form, uint8_t more)
        : role_(form & 1 ? Role::kServer : Role::kClient),
          mtu_(form & 2 ? 400 : Endpoint::kMtu),
          subject_(context_of(form & 4 ? KeyKind::kRsa : KeyKind::kEcdsa), role_, mtu_),
          wrong_certificate_((form & 8) != 0) {
        std::string fingerprint = context_of(KeyKind::kEcdsa)->certificate().fingerprint().substr(8);
        if (wrong_certificate_) fingerprint[0] = fingerprint[0] == '0' ? '1' : '0';
        CHECK(subject_.expect_fingerprint("sha-256", fingerprint));
        const Role other = role_ == Role::kServer ? Role::kClient : Role::kServer;
        if (form & 16) {
            endpoint_ = std::make_unique<Endpoint>(context_of(KeyKind::kEcdsa), other, Endpoint::kMtu,
                                                   more & 1 ? Version::kDtls10 : Version::kAuto);
            endpoint_->accept_any_certificate();
            if (other == Role::kClient) endpoint_->start(now_ms_);
        } else {
            openssl_ = std::make_unique<OpensslPeer>(other);
            if (other == Role::kClient) openssl_->on_datagram({});
        }
        if (role_ == Role::kClient) subject_.start(now_ms_);
        collect();
    }

    void step(base::ByteReader& in) {
        const uint8_t what = in.u8();
        if (flying_.empty() && what % 12 < 8) return pass(50);
        const size_t which = what / 12 % std::max<size_t>(1, flying_.size());
        switch (what % 12) {
            case 0:
            case 1:
            case 2:
                return deliver(take(what % 12 == 2 ? which : 0));
            case 3:
                (void)take(which);
                return;
            case 4:
                return deliver(changed(take(which), in));
            case 5: {  // in two datagrams: a record that is cut is none
                Flying one = take(which), rest = one;
                const size_t at = one.bytes.empty() ? 0 : in.u8() * one.bytes.size() / 256;
                rest.bytes.erase(rest.bytes.begin(), rest.bytes.begin() + static_cast<ptrdiff_t>(at));
                one.bytes.resize(at);
                is_changed_ = true;
                deliver(one);
                return deliver(rest);
            }
            case 6: {  // two records in one datagram, as senders have them
                Flying one = take(0);
                const auto next = std::ranges::find(flying_, one.to_subject, &Flying::to_subject);
                if (next != flying_.end()) {
                    one.bytes.insert(one.bytes.end(), next->bytes.begin(), next->bytes.end());
                    flying_.erase(next);
                }
                return deliver(one);
            }
            case 7:
                return deliver(refragmented(take(which)));
            case 8:
                return log_.empty() ? pass(50) : deliver(log_[in.u8() % log_.size()]);
            case 9:
                return pass(in.u8() * 4);
            case 10: {
                const auto bytes = in.bytes(std::min<size_t>(in.u8() * 8u, in.left()));
                const Flying one{(what & 0x80) == 0, Bytes(bytes.begin(), bytes.end())};
                deliver(one);
                // A server that did not answer it still begins with the peer's hello.
                is_changed_ |= !one.to_subject || has_sent_ || subject_.failed();
                return;
            }
            default:  // of one that was sent
                if (!log_.empty()) deliver(changed(log_[in.u8() % log_.size()], in));
        }
    }

    // Nothing is lost from now on.
    void finish() {
        // An endpoint gives up after 26 sends, 22 s.
        const bool is_late = now_ms_ > 20'000;
        for (int i = 0; i < 2000 && !(subject_.established() && peer_established()); ++i) {
            if (subject_.failed() || subject_.closed()) break;
            if (flying_.empty())
                pass(50);
            else
                deliver(take(0));
        }
        check_keys();
        if (endpoint_ && !is_changed_ && !is_late && !wrong_certificate_)
            CHECK(subject_.established() && endpoint_->established());
    }

  private:
    struct Flying {
        bool to_subject;
        Bytes bytes;
    };
    // A flight has at most ten messages, here in datagrams of at least a hundred bytes or so each.
    static constexpr size_t kMaxAnswer = 40;

    Flying take(size_t which) {
        Flying one = std::move(flying_[which]);
        flying_.erase(flying_.begin() + static_cast<ptrdiff_t>(which));
        return one;
    }
    Flying changed(Flying one, base::ByteReader& in) {
        is_changed_ = true;
        for (int left = 1 + in.u8() % 4; left > 0 && !one.bytes.empty(); --left) {
            // Headers are changed more often than what follows.
            const size_t at = in.u16();
            one.bytes[at % std::min(one.bytes.size(), at & 0x8000 ? one.bytes.size() : size_t{30})] ^= in.u8();
        }
        return one;
    }
    // A plaintext handshake message in two fragments of one datagram (RFC 6347, 4.2.3), as a smaller MTU has it.
    Flying refragmented(Flying one) {
        constexpr size_t kRecord = 13, kHeader = 12;
        Bytes& all = one.bytes;
        if (all.size() < kRecord + kHeader + 2 || all[0] != 22 || all[3] != 0 || all[4] != 0) return one;
        const size_t body = all.size() - kRecord - kHeader, first = body / 2;
        if (base::ByteReader(std::span(all).subspan(11)).u16() != body + kHeader) return one;
        const auto part = [&](size_t from, size_t size) {
            Bytes out(all.begin(), all.begin() + kRecord + kHeader);
            base::put_u16(&out[11], static_cast<uint32_t>(size + kHeader));
            const size_t offset = (all[kRecord + 6] << 16 | all[kRecord + 7] << 8 | all[kRecord + 8]) + from;
            base::put_u16(&out[kRecord + 7], static_cast<uint32_t>(offset));
            base::put_u16(&out[kRecord + 10], static_cast<uint32_t>(size));
            const auto at = all.begin() + static_cast<ptrdiff_t>(kRecord + kHeader + from);
            out.insert(out.end(), at, at + static_cast<ptrdiff_t>(size));
            return out;
        };
        Bytes both = part(first, body - first);
        const Bytes begin = part(0, first);
        both.insert(both.end(), begin.begin(), begin.end());
        is_changed_ = true;  // two records have one number
        all = std::move(both);
        return one;
    }

    void deliver(const Flying& one) {
        if (one.to_subject)
            subject_.on_datagram(one.bytes, now_ms_);
        else if (endpoint_)
            endpoint_->on_datagram(one.bytes, now_ms_);
        else
            openssl_->on_datagram(one.bytes);
        collect();
    }
    void pass(int64_t ms) {
        now_ms_ += ms;
        if (subject_.timeout_ms() <= now_ms_) subject_.on_timeout(now_ms_);
        if (endpoint_ && endpoint_->timeout_ms() <= now_ms_) endpoint_->on_timeout(now_ms_);
        collect();
    }
    void send(bool to_subject, Bytes bytes) {
        if (log_.size() < 64) log_.push_back({to_subject, bytes});
        flying_.push_back({to_subject, std::move(bytes)});
    }
    void collect() {
        size_t answer = 0;
        for (auto bytes = subject_.next_datagram(); !bytes.empty(); bytes = subject_.next_datagram()) {
            CHECK(bytes.size() <= mtu_ && ++answer <= kMaxAnswer);
            has_sent_ = true;
            send(false, Bytes(bytes.begin(), bytes.end()));
        }
        if (endpoint_) {
            for (auto bytes = endpoint_->next_datagram(); !bytes.empty(); bytes = endpoint_->next_datagram())
                send(true, Bytes(bytes.begin(), bytes.end()));
        } else {
            for (Bytes& bytes : openssl_->take()) send(true, std::move(bytes));
        }
        CHECK(!wrong_certificate_ || !subject_.established());
        // A side that is not yet established may send an alert that counts; afterwards an endpoint sends none. OpenSSL
        // does, for one forged record.
        if (was_established_ && (endpoint_ || peer_established())) CHECK(subject_.established() && peer_established());
        was_established_ |= subject_.established() && peer_established();
    }
    bool peer_established() const { return endpoint_ ? endpoint_->established() : openssl_->established(); }
    void check_keys() {
        if (!subject_.established() || !peer_established()) return;
        const auto keys = subject_.take_srtp_keys();
        CHECK(keys);
        if (openssl_) {
            CHECK(openssl_->has_keys_of(*keys, role_));
            return;
        }
        const auto peers = endpoint_->take_srtp_keys();
        CHECK(peers && peers->profile == keys->profile && peers->local.key == keys->remote.key &&
              peers->remote.key == keys->local.key && peers->local.salt == keys->remote.salt);
        CHECK(!subject_.take_srtp_keys());
    }

    const Role role_;
    const size_t mtu_;
    Endpoint subject_;
    const bool wrong_certificate_;
    std::unique_ptr<OpensslPeer> openssl_;
    std::unique_ptr<Endpoint> endpoint_;
    int64_t now_ms_ = 0;
    bool is_changed_ = false, has_sent_ = false, was_established_ = false;
    std::deque<Flying> flying_;
    std::vector<Flying> log_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    base::ByteReader in({data, size});
    const uint8_t form = in.u8(), more = in.u8();
    Pair pair(form, more);
    for (size_t steps = 0; steps < kMaxSteps && in.left() > 0; ++steps) pair.step(in);
    pair.finish();
    return 0;
}
