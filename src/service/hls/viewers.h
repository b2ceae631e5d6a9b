#pragma once
// Viewers: who watches HLS. A player fetches files, each perhaps by another connection; the context (hls_ctx) that its
// master playlist gave it makes one session of them, which ends when it has not asked for a while.
//
// A viewer has an id, which is its session's and is never chosen by a client: one that issue() made, or a new one. A
// context that a client brings is a name for a viewer of one stream. One that was issued for that stream is the
// viewer's id. Another (of an earlier run, of another stream, or invented) leads to a viewer with an id of its own;
// its playlists name that id, and requests by either of the two are the viewer's.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"

namespace service::hls {

// What a client goes by. The same context names different viewers in different streams.
struct ViewerName {
    std::string stream;  // "vhost/app/stream"
    std::string context;
    auto operator<=>(const ViewerName&) const = default;
};

class Viewers {
  public:
    static constexpr size_t kMaxContextBytes = 8;  // a session's id has no more
    static constexpr size_t kMaxBanned = 10'000;
    // Contexts that were issued and not used yet; the oldest are forgotten. A viewer that comes with one that was
    // forgotten is served, under another id.
    static constexpr size_t kMaxIssued = 4'096;

    explicit Viewers(net::SessionTable& sessions);
    ~Viewers();
    Viewers(const Viewers&) = delete;

    // Whether a context may be one of ours: of letters, digits, '-' and '_'.
    static bool is_context(std::string_view context);

    // A new context for a stream ("vhost/app/stream"). Nobody can guess it, and no session has it as its id.
    std::string issue(std::string_view stream);
    // The id that a viewer of this name has, or will have when it is made now.
    std::string id_for(const ViewerName& name);

    // A playlist was asked for; the viewer is made when it is not known: after a restart players go on with the context
    // they have. visitor: who it is; its id becomes the session's. idle_ms: how long it may be silent from now on.
    // share, stay: of reserve(), and that it was let in, where it is made. kRefused: it was kicked.
    base::Result<void> asked(const ViewerName& name, const net::Visitor& visitor, int64_t idle_ms, int64_t now_ms,
                             net::AddressQuota::Share share, net::Grant stay = {});
    // What a viewer takes of the limits for its address and for all. kLimit.
    base::Result<net::AddressQuota::Share> reserve(const net::Visitor& visitor);
    bool known(const ViewerName& name) const { return names_.contains(name); }
    // A request of its own came; something is being sent to it. False: it is not known.
    bool received(const ViewerName& name, uint64_t bytes);
    bool sent(const ViewerName& name, uint64_t bytes, int64_t now_ms);
    bool banned(const ViewerName& name) const { return banned_.contains(name); }

    // Ends those whose time is over. Yields now and then; false: the caller was cancelled meanwhile.
    bool tick(int64_t now_ms);
    void end_all();
    size_t size() const { return viewers_.size(); }

  private:
    class Viewer;
    bool is_over(Viewer& viewer, int64_t now_ms);
    void end(Viewer& viewer, std::string_view why, base::CloseReason reason);
    void forget(Viewer& viewer, int64_t banned_until_ms);
    std::string new_id() const;

    net::SessionTable& sessions_;
    std::map<std::string, std::unique_ptr<Viewer>> viewers_;  // by id
    std::map<ViewerName, Viewer*> names_;                     // one or two of each viewer
    std::map<ViewerName, int64_t> banned_;                    // until when
    std::set<ViewerName> issued_;
    std::deque<ViewerName> issue_order_;  // of issued_ and of what has been used since, the oldest first
};

}  // namespace service::hls
