#pragma once
// Signed URLs: expires=SECONDS and sign=HEX in the parameters of what is published or played, so that a small site
// needs no hook server (doc/hooks.md). The signature is HMAC-SHA256 by one of the vhost's secrets over
//
//   ACTION "\n" VHOST/APP/STREAM "\n" EXPIRES "\n" IP
//
// ACTION is publish or play, VHOST as configured, IP the parameter ip where there is one: then the URL is good for that
// address alone. A Guard; never yields.

#include <cstdint>
#include <string>
#include <string_view>

#include "net/access/gate.h"

namespace net {

std::string sign_url(std::string_view secret, const Visitor& visitor, std::string_view expires, std::string_view ip);
// kRefused, with the reason. The time it takes does not tell how much of a signature was right.
base::Result<void> verify_signed_url(const config::VhostSignedUrls& options, const Visitor& visitor, int64_t now_s);

class SignedUrls final : public Guard {
  public:
    base::Result<void> admit(const Visitor& visitor, const config::Vhost& vhost) override;
    bool guards_parts(const config::Vhost& vhost) const override {
        return vhost.signed_urls.enabled && vhost.signed_urls.play;
    }
};

}  // namespace net
