#pragma once
// TlsPair: the key and the certificate of a service's TLS listeners. They are read when it starts and again at each
// reload, even if their names have not changed. An unusable pair makes the reload fail, and the old one stays. A
// connection keeps the context that was current when it was accepted.

#include <array>
#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/socket/tls.h"

namespace net {

class TlsPair {
  public:
    using Context = std::shared_ptr<runtime::TlsContext>;

    // What operators are told of a certificate that is in use.
    struct Status {
        std::string what;
        int64_t valid_until_s = 0;  // since 1970
    };
    // Of all pairs of the process that are loaded.
    static std::vector<Status> all();
    // For a call now and then: warns of those that end soon, once for each of kWarnDays and when they have ended.
    static void warn_of_ends(int64_t now_s);
    static constexpr std::array<int, 4> kWarnDays = {1, 3, 7, 14};

    // what: the service's name, for errors and the log: "rtmps".
    explicit TlsPair(std::string what);
    ~TlsPair();
    TlsPair(const TlsPair&) = delete;

    // For ALPN, the preferred one first; of contexts that are loaded from now on. The texts must never be freed.
    void set_protocols(std::vector<std::string_view> protocols) { protocols_ = std::move(protocols); }
    // At the start. Blocks: reads two small files.
    base::Result<void> load(const std::string& certificate, const std::string& key);
    // The first phase of a reload: runs on a worker, yields. Null: nothing changes, because nothing was loaded at the
    // start, or because the server, running as another user now (user), may no longer read the same files, which is a
    // warning.
    base::Result<Context> prepare(const std::string& certificate, const std::string& key);
    // The second phase, when no service refused. next: from prepare(); null: nothing changes.
    void adopt(Context next);
    // For a connection that a listener with this pair accepts now. Null for a listener without a pair.
    static Context context_of(const TlsPair* pair) { return pair ? pair->context_ : nullptr; }

  private:
    void warn_of_end(int64_t now_s);

    std::string what_;
    std::vector<std::string_view> protocols_;
    std::string certificate_, key_;  // the files it was loaded from
    Context context_;
    // Of its certificate.
    std::string text_;
    int64_t valid_until_s_ = 0;
    int warned_days_ = INT_MAX;  // of kWarnDays; 0: it has ended
};

}  // namespace net
