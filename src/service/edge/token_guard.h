#pragma once
// TokenGuard: with token_traverse an origin decides about each client of an edge. It is shown what the client sent in
// connect of RTMP; clients of other protocols are shown as if they had connected by RTMP, with the URL of the stream
// and its parameters. What is shown names the app, and the vhost that is pulled, whatever else the client's URL says.
// The first origin that can be reached decides. Without one the client is refused.

#include "config/snapshot.h"
#include "net/access/gate.h"
#include "service/client_tls.h"
#include "service/edge/origin_health.h"

namespace service::edge {

class TokenGuard final : public net::Guard {
  public:
    static constexpr int64_t kConnectMs = 3'000;  // of one origin, to its answer

    // Both must outlive it.
    TokenGuard(OriginHealth& health, ClientTls& tls) : health_(health), tls_(tls) {}

    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost& vhost) override;
    bool may_yield(net::Action action, const config::Vhost& vhost) const override;
    bool guards_parts(const config::Vhost& vhost) const override;

    uint64_t accepted() const { return accepted_; }
    uint64_t refused() const { return refused_; }

  private:
    base::Result<void> ask(const std::string& origin, const net::Visitor& visitor, const std::string& tc_url,
                           bool& was_reached);

    OriginHealth& health_;
    ClientTls& tls_;
    uint64_t accepted_ = 0, refused_ = 0;
};

// The tcUrl that a visitor is shown with: the client's own if it names the visitor's app and that vhost of the origin.
// An error: none does.
base::Result<std::string> shown_tc_url(const net::Visitor& visitor, std::string_view origin_vhost);

}  // namespace service::edge
