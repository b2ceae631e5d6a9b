#include "runtime/socket/tls_tickets.h"

#include <array>

#include "base/clock.h"
#include "runtime/socket/tls_context.h"
#include "runtime/socket/tls_testing.h"

namespace runtime {
namespace {

using Keys = std::array<uint8_t, 80>;

Keys keys_of(const std::string& certificate, const std::string& key) {
    Keys keys{};
    const auto context = tls_server_context(certificate, key);
    EXPECT_TRUE(testing::ok(context));
    if (context)
        SSL_CTX_get_tlsext_ticket_keys(static_cast<const detail::SslContext&>(**context).get(), keys.data(),
                                       keys.size());
    return keys;
}

Keys keys() {
    const testing::CertificateFiles& files = testing::certificate_files();
    return keys_of(files.certificate, files.key);
}

std::string secret_of(int64_t age_s, char digit) {
    return std::to_string(base::wall_ms() / 1'000 - age_s) + " " + std::string(64, digit);
}

TEST(TicketSecret, GoesOverToAnotherProcess) {
    const std::string before = ticket_secret();
    const Keys own = keys();
    EXPECT_EQ(keys(), own) << "each context of the certificate has the same keys";
    inherit_ticket_secret(secret_of(60, 'a'));
    EXPECT_EQ(ticket_secret().substr(ticket_secret().find(' ')), " " + std::string(64, 'a'));
    EXPECT_NE(keys(), own);
    inherit_ticket_secret(before);
    EXPECT_EQ(keys(), own);
}

TEST(TicketSecret, IsOfOneCertificate) {
    const testing::CertificateFiles other;
    EXPECT_NE(keys_of(other.certificate, other.key), keys());
}

TEST(TicketSecret, NonsenseAndOldOnesAreNotTaken) {
    const std::string before = ticket_secret();
    for (const std::string& text :
         {std::string(), std::string("1"), secret_of(0, 'x'), secret_of(0, 'a') + "0", secret_of(0, 'a').substr(1, 60),
          secret_of(kTicketSecretS + 1, 'a'), secret_of(-3'600, 'a')}) {
        inherit_ticket_secret(text);
        EXPECT_EQ(ticket_secret(), before) << text;
    }
}

}  // namespace
}  // namespace runtime
