#include "runtime/socket/tls_tickets.h"

#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/clock.h"
#include "base/result.h"

namespace runtime {

namespace {

constexpr size_t kSecretBytes = 32, kDigestBytes = 32;
constexpr size_t kKeyBytes = 80;  // a name, a key of HMAC and one of AES, as OpenSSL has them

struct Secret {
    std::array<uint8_t, kSecretBytes> bytes{};
    int64_t made_s = 0;
};

std::optional<Secret>& known() {
    static std::optional<Secret> secret;
    return secret;
}

const Secret& secret() {
    const int64_t now_s = base::wall_ms() / 1'000;
    if (!known() || now_s - known()->made_s > kTicketSecretS) {
        Secret fresh{.made_s = now_s};
        CHECK(RAND_bytes(fresh.bytes.data(), kSecretBytes) == 1);
        known() = fresh;
    }
    return *known();
}

// "TIME HEX"
std::optional<Secret> parse(std::string_view text) {
    Secret out;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, out.made_s);
    if (error != std::errc() || static_cast<size_t>(end - at) != 1 + 2 * kSecretBytes || *at != ' ') return {};
    for (size_t i = 0; i < kSecretBytes; ++i) {
        const char* digits = at + 1 + 2 * i;
        const auto [last, wrong] = std::from_chars(digits, digits + 2, out.bytes[i], 16);
        if (wrong != std::errc() || last != digits + 2) return {};
    }
    return out;
}

}  // namespace

std::string ticket_secret() {
    std::string text = fmt::format("{} ", secret().made_s);
    for (const uint8_t byte : secret().bytes) text += fmt::format("{:02x}", byte);
    return text;
}

void inherit_ticket_secret(std::string_view text) {
    const auto inherited = parse(text);
    const int64_t now_s = base::wall_ms() / 1'000;
    if (!inherited || inherited->made_s > now_s || inherited->made_s < now_s - kTicketSecretS) return;
    known() = inherited;
}

namespace detail {

void set_ticket_keys(ssl_ctx_st* context) {
    const X509* certificate = SSL_CTX_get0_certificate(context);
    std::array<uint8_t, kDigestBytes + 1> input{};
    unsigned size = 0;
    if (!certificate || X509_digest(certificate, EVP_sha256(), input.data(), &size) != 1) return;
    std::array<uint8_t, 3 * kDigestBytes> keys{};
    for (uint8_t i = 0; i < 3; ++i) {
        input.back() = i;
        CHECK(HMAC(EVP_sha256(), secret().bytes.data(), kSecretBytes, input.data(), input.size(),
                   keys.data() + i * kDigestBytes, &size));
    }
    // Without them the context has keys of its own.
    SSL_CTX_set_tlsext_ticket_keys(context, keys.data(), kKeyBytes);
}

}  // namespace detail
}  // namespace runtime
