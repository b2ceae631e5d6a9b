#pragma once
// AccessGuard: applies the rules of access_rules.h as a guard of the gate, for publish and play of every protocol.
// Never yields.

#include "net/access/access_rules.h"
#include "net/access/gate.h"

namespace net {

class AccessGuard final : public Guard {
  public:
    base::Result<void> admit(const Visitor& visitor, const config::Vhost& vhost) override {
        if (visitor.action == Action::kConnect) return {};
        TRY(check_address(vhost.security, visitor.action, visitor.ip));
        return check_refer(vhost.refer, visitor.action, visitor.page_url);
    }
};

}  // namespace net
