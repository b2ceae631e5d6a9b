#pragma once
// Viewers: who watches HLS. A player fetches files, each perhaps by another connection; the id that its master playlist
// gave it (hls_ctx) makes one session of them, which ends when it has not asked for a while.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/gate.h"
#include "net/session.h"

namespace service::hls {

class Viewers {
  public:
    static constexpr size_t kMostContextBytes = 8;  // a session's id has no more
    static constexpr size_t kMostBanned = 10'000;

    explicit Viewers(net::SessionTable& sessions);
    ~Viewers();
    Viewers(const Viewers&) = delete;

    // Whether an id may be one of ours: of letters, digits, '-' and '_'.
    static bool is_context(std::string_view context);

    // A playlist was asked for; the viewer is made when it is not known: after a restart players go on with the id they
    // have. visitor: who it is. idle_ms: how long it may be silent from now on. stay: that it was let in, where it is
    // made. kRefused: it was kicked, or watches another stream; kLimit: max_connections.
    base::Result<void> asked(std::string_view context, const net::Visitor& visitor, int64_t idle_ms,
                             size_t max_connections, int64_t now_ms, net::Stay stay = {});
    bool known(std::string_view context) const { return viewers_.contains(context); }
    bool watches(std::string_view context, std::string_view stream_url) const;
    // A request of its own came; something is being sent to it. False: it is not known.
    bool received(std::string_view context, uint64_t bytes);
    bool sent(std::string_view context, uint64_t bytes, int64_t now_ms);
    bool banned(std::string_view context) const { return banned_.contains(context); }

    void tick(int64_t now_ms);
    void end_all();
    size_t size() const { return viewers_.size(); }

  private:
    class Viewer;
    void end(Viewer& viewer, std::string_view why, base::CloseReason reason);

    net::SessionTable& sessions_;
    std::map<std::string, std::unique_ptr<Viewer>, std::less<>> viewers_;
    std::map<std::string, int64_t, std::less<>> banned_;  // until when
};

}  // namespace service::hls
