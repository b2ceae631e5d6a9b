#pragma once
// TlsPair: the key and the certificate of a service's TLS listeners. They are read when it starts and again at each
// reload, also when their names have not changed. A pair that cannot be used refuses the reload, and the old one stays.
// Connections keep what they began with.

#include <memory>
#include <string>

#include "base/result.h"
#include "runtime/socket/tls.h"

namespace net {

class TlsPair {
  public:
    using Context = std::shared_ptr<runtime::TlsContext>;

    // what: whose, for errors and the log: "rtmps".
    explicit TlsPair(std::string what) : what_(std::move(what)) {}

    // At the start. Blocks for two small files.
    base::Result<Context> load(const std::string& certificate, const std::string& key);
    // The first phase of a reload: on a worker, yields. Null: nothing changes, for nothing was loaded at the start, or
    // the same files may not be read any more by who the server has become (user), which is a warning.
    base::Result<Context> prepare(const std::string& certificate, const std::string& key);
    // The second, when nobody refused.
    void adopt(const runtime::TlsContext& context);

  private:
    std::string what_;
    std::string certificate_, key_;  // the files it was loaded from
    std::string text_;               // of the certificate in use; empty: none is
};

}  // namespace net
