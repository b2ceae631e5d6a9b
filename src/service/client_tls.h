#pragma once
// ClientTls: the TLS context of a service's own connections, created when it is first needed.

#include <memory>

#include "base/result.h"
#include "runtime/socket/tls.h"

namespace service {

class ClientTls {
  public:
    // Yields the first time: the system's certificates are read from files.
    base::Result<std::shared_ptr<runtime::TlsContext>> context();

  private:
    std::shared_ptr<runtime::TlsContext> context_;
};

}  // namespace service
