#pragma once
// The keys of session tickets (RFC 5077; RFC 8446, 4.6.1), by which clients resume TLS sessions. They are made of one
// secret of the process and of the certificate, so that a process that replaces this one can have them, too, and no
// ticket is valid under another certificate. After a day a context that is made, by a start, a reload or an
// upgrade, has another secret; one that is there keeps its keys. The secret is for no eyes: neither log nor API shows
// it.
//
// For the loop's thread, and before the loop.

#include <string>
#include <string_view>

struct ssl_ctx_st;

namespace runtime {

inline constexpr int64_t kTicketSecretS = 24 * 3600;

// For the process that replaces this one: the secret, and when it was made (wall clock, s).
std::string ticket_secret();
// That of the process that this one replaces, before the first context is made. Without an effect where it is
// malformed, or older than kTicketSecretS.
void inherit_ticket_secret(std::string_view text);

namespace detail {

// The context has its certificate. Without an effect where it has none.
void set_ticket_keys(ssl_ctx_st* context);

}  // namespace detail
}  // namespace runtime
