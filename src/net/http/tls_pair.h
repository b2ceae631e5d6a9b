#pragma once
// TlsPair: the key and the certificate of a service's TLS listeners. They are read when it starts and again at each
// reload, even if their names have not changed. An unusable pair makes the reload fail, and the old one stays. Existing
// connections keep the pair they began with.

#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/socket/tls.h"

namespace net {

class TlsPair {
  public:
    using Context = std::shared_ptr<runtime::TlsContext>;

    // what: the service's name, for errors and the log: "rtmps".
    explicit TlsPair(std::string what) : what_(std::move(what)) {}

    // At the start. Blocks: reads two small files.
    base::Result<Context> load(const std::string& certificate, const std::string& key);
    // The first phase of a reload: runs on a worker, yields. Null: nothing changes, because nothing was loaded at the
    // start, or because the server, running as another user now (user), may no longer read the same files, which is a
    // warning.
    base::Result<Context> prepare(const std::string& certificate, const std::string& key);
    // The second phase, when no service refused.
    void adopt(const runtime::TlsContext& context);

  private:
    std::string what_;
    std::string certificate_, key_;  // the files it was loaded from
    std::string text_;               // description of the certificate in use; empty: none
};

}  // namespace net
