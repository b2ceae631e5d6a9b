#pragma once
// Signed URLs: expires=SECONDS and sign=HEX in the parameters of a publish or play URL, so that a small site needs no
// hook server (doc/hooks.md). The signature is HMAC-SHA256 with one of the vhost's secrets over
//
//   ACTION "\n" VHOST/APP/STREAM "\n" EXPIRES "\n" IP
//
// and, where the parameter sign_name is there, another line with its value: the name of whom the URL was made for, by
// which his traffic is counted (doc/operations.md). ACTION is publish or play, VHOST as configured, IP the parameter ip
// if present: then the URL is valid for that address only. A Guard; never yields.

#include <cstdint>
#include <string>
#include <string_view>

#include "net/access/gate.h"

namespace net {

std::string sign_url(std::string_view secret, const Visitor& visitor, std::string_view expires, std::string_view ip,
                     std::string_view name = {});
// The sign_name of a client that was admitted by its URL; empty: it has none. param: "?k=v".
std::string signed_name(const config::VhostSignedUrls& options, bool publishes, std::string_view param);
// kRefused, with the reason. Compares signatures in constant time.
base::Result<void> verify_signed_url(const config::VhostSignedUrls& options, const Visitor& visitor, int64_t now_s);

class SignedUrls final : public Guard {
  public:
    base::Result<void> admit(const Visitor& visitor, const config::Vhost& vhost) override;
    bool guards_parts(const config::Vhost& vhost) const override {
        return vhost.signed_urls.enabled && vhost.signed_urls.play;
    }
};

}  // namespace net
