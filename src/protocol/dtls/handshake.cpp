#include "protocol/dtls/handshake.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>

#include "protocol/dtls/openssl.h"
#include "protocol/dtls/record_keys.h"

namespace dtls {

// The callbacks of OpenSSL's BIO.
struct BioCalls {
    static int write(BIO* bio, const char* data, int size) {
        auto& handshake = *static_cast<Handshake*>(BIO_get_data(bio));
        if (handshake.fresh_) handshake.flight_.clear();
        handshake.fresh_ = false;
        handshake.flight_.add({reinterpret_cast<const uint8_t*>(data), static_cast<size_t>(size)});
        return size;
    }
    static int read(BIO* bio, char* out, int room) {
        auto& in = static_cast<Handshake*>(BIO_get_data(bio))->in_;
        BIO_clear_retry_flags(bio);
        if (in.empty()) {
            BIO_set_retry_read(bio);
            return -1;
        }
        const size_t n = std::min(in.size(), static_cast<size_t>(room));
        std::copy_n(in.begin(), n, reinterpret_cast<uint8_t*>(out));
        in = {};
        return static_cast<int>(n);
    }
    static long control(BIO* bio, int command, long, void*) {
        switch (command) {
            case BIO_CTRL_FLUSH:
                return 1;
            case BIO_CTRL_DGRAM_QUERY_MTU:
            case BIO_CTRL_DGRAM_GET_FALLBACK_MTU:
                return static_cast<long>(static_cast<Handshake*>(BIO_get_data(bio))->mtu_);
            default:
                return 0;
        }
    }
    static const BIO_METHOD* method() {
        static BIO_METHOD* const kMethod = [] {
            BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "datagrams");
            BIO_meth_set_write(made, write);
            BIO_meth_set_read(made, read);
            BIO_meth_set_ctrl(made, control);
            return made;
        }();
        return kMethod;
    }
};

namespace {

// Explicit nonce and tag, which OpenSSL does not count when it fills datagrams.
constexpr size_t kGcmOverhead = 24;
constexpr size_t kMaxEarly = 256;  // an encrypted Finished has 61 bytes, in DTLS 1.0 77

// OpenSSL's own timer reads the clock; it is set so far ahead that it never fires.
unsigned never_us(SSL*, unsigned) { return 4'000'000'000u; }

}  // namespace

base::Result<std::unique_ptr<Handshake>> Handshake::make(const Context& context, bool client, size_t mtu,
                                                         const std::vector<Fingerprint>* expected) {
    ERR_clear_error();
    auto made = std::make_unique<Handshake>(client, mtu, expected);
    made->ssl_ = SSL_new(context.get());
    BIO* bio = made->ssl_ ? BIO_new(BioCalls::method()) : nullptr;
    if (!bio) return base::fail(base::Code::kSystem, "DTLS: " + openssl_error_text());
    BIO_set_data(bio, made.get());
    BIO_set_init(bio, 1);
    SSL_set_bio(made->ssl_, bio, bio);
    SSL_set_app_data(made->ssl_, made.get());
    SSL_set_mtu(made->ssl_, static_cast<long>(mtu - kGcmOverhead));
    DTLS_set_timer_cb(made->ssl_, never_us);
    if (client) {
        SSL_set_connect_state(made->ssl_);
    } else {
        SSL_set_accept_state(made->ssl_);
    }
    return made;
}

void Handshake::limit(Version version) {
    if (version == Version::kAuto) return;
    const int only = version == Version::kDtls10 ? DTLS1_VERSION : DTLS1_2_VERSION;
    SSL_set_min_proto_version(ssl_, only);
    SSL_set_max_proto_version(ssl_, only);
}

Handshake::~Handshake() { SSL_free(ssl_); }

// Replaces the check of a chain of authorities: whether the certificate matches a fingerprint from SDP.
int Handshake::verify_certificate(X509_STORE_CTX* store, void*) {
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& handshake = *static_cast<Handshake*>(SSL_get_app_data(ssl));
    if (!handshake.expected_) return 1;
    const X509* certificate = X509_STORE_CTX_get0_cert(store);
    for (const auto& expected : *handshake.expected_) {
        if (expected.matches(certificate)) return 1;
    }
    handshake.refused_ = true;
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

bool Handshake::ready_for_epoch_1() const {
    return SSL_get_state(ssl_) == (client_ ? TLS_ST_CR_CHANGE : TLS_ST_SR_CHANGE) || SSL_is_init_finished(ssl_);
}

bool Handshake::answered() const {
    const auto state = SSL_get_state(ssl_);
    return state != TLS_ST_BEFORE && state != TLS_ST_SR_CLNT_HELLO;
}

// False: OpenSSL must not see the record, or not yet.
bool Handshake::wanted(const Record& record) {
    if (record.epoch == 1) {
        if (ready_for_epoch_1()) return record.type != Content::kApplicationData;
        // OpenSSL would keep up to a hundred of them, with 17 kB each.
        if (record.type == Content::kHandshake && record.all.size() <= kMaxEarly)
            early_.assign(record.all.begin(), record.all.end());
        return false;
    }
    if (record.epoch != 0) return false;
    if (record.type == Content::kHandshake) return filter_.admits(record.body);
    if (record.type == Content::kChangeCipherSpec) return record.body.size() == 1 && record.body[0] == 1;
    // A plaintext alert may be forged: it does not end the handshake, but is reported if no better error follows.
    if (record.type == Content::kAlert && record.body.size() == 2)
        error_ = fmt::format("alert from the peer: {}", SSL_alert_desc_string_long(record.body[1]));
    return false;
}

Handshake::Step Handshake::advance(const Record* record) {
    if (record && !wanted(*record)) return Step::kWaits;
    Step step = feed(record);
    if (step != Step::kWaits || early_.empty() || !ready_for_epoch_1()) return step;
    const auto early = std::move(early_);
    early_.clear();
    std::span<const uint8_t> rest = early;
    const auto held = next_record(rest);
    return feed(&*held);
}

Handshake::Step Handshake::feed(const Record* record) {
    in_ = record ? record->all : std::span<const uint8_t>();
    fresh_ = true;
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    in_ = {};
    if (result == 1) return Step::kDone;
    if (SSL_get_error(ssl_, result) == SSL_ERROR_WANT_READ) {
        // This frees 19 kB while waiting. OpenSSL allocates the buffers again on its next read, which precedes any
        // write.
        SSL_free_buffers(ssl_);
        return Step::kWaits;
    }
    const std::string said = openssl_error_text();
    error_ = refused_ ? "the certificate does not have the announced fingerprint" : said;
    return Step::kFailed;
}

std::optional<srtp::KeyPair> Handshake::srtp_keys() const {
    const SRTP_PROTECTION_PROFILE* chosen = SSL_get_selected_srtp_profile(ssl_);
    const auto profile = chosen ? srtp::profile_of_dtls(static_cast<uint16_t>(chosen->id)) : std::nullopt;
    if (!profile) return std::nullopt;
    constexpr std::string_view kLabel = "EXTRACTOR-dtls_srtp";
    std::vector<uint8_t> block(srtp::key_block_size(*profile));
    if (SSL_export_keying_material(ssl_, block.data(), block.size(), kLabel.data(), kLabel.size(), nullptr, 0, 0) != 1)
        return std::nullopt;
    auto keys = srtp::split_key_block(*profile, block, client_);
    OPENSSL_cleanse(block.data(), block.size());
    return keys;
}

base::Result<Epilogue> Handshake::epilogue() {
    // Only a server has to repeat its last flight: a client that is done has received the server's last flight.
    std::vector<uint8_t> last;
    if (!client_) last.assign(flight_.bytes().begin(), flight_.bytes().end());
    auto kept = TRY(Epilogue::make(ssl_, client_, last, flight_.sequence()));
    // Encrypted now, so that close_notify can be sent later without any OpenSSL state.
    farewell();
    if (encrypted_) {
        // Uses the number after those that resend() assigned, which OpenSSL's counter does not include.
        if (auto keys = RecordKeys::of(ssl_, client_)) keys->reseal(flight_.to_change(), ++encrypted_);
    }
    kept.set_farewell(flight_.bytes());
    return kept;
}

void Handshake::farewell() {
    flight_.clear();
    fresh_ = true;
    ERR_clear_error();
    SSL_shutdown(ssl_);
}

bool Handshake::after(const Record& record) {
    if (record.epoch != 1 || record.type == Content::kApplicationData) return false;
    in_ = record.all;
    fresh_ = true;
    ERR_clear_error();
    uint8_t nothing[16];
    SSL_read(ssl_, nothing, sizeof nothing);
    in_ = {};
    ERR_clear_error();  // records that are not authentic leave errors in the queue, which are ignored
    return SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN;
}

// A client's Finished is encrypted, and a peer that has received it treats a copy with the same number as a replay: it
// would never repeat its own last flight, should that be lost. So the record gets a new number, which is not possible
// with suites other than AES-GCM.
void Handshake::resend() {
    const auto bytes = flight_.to_change();
    std::span<const uint8_t> rest = bytes;
    while (auto record = next_record(rest)) {
        if (record->epoch != 1) continue;
        const auto record_bytes =
            bytes.subspan(static_cast<size_t>(record->all.data() - bytes.data()), record->all.size());
        if (auto keys = RecordKeys::of(ssl_, client_)) keys->reseal(record_bytes, ++encrypted_);
    }
    flight_.again();
}

}  // namespace dtls
