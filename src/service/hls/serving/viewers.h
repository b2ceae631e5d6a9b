#pragma once
// Viewers: the sessions of HLS viewers. A player fetches files, perhaps each over another connection. The context
// (hls_ctx) from its master playlist joins its requests into one session, which ends when the player has sent no
// request for some time.
//
// A viewer's id is its session's id and is never chosen by a client: it was made by issue(), or is a new one. A context
// sent by a client identifies a viewer of one stream. A context issued for that stream is the viewer's id. Any other
// context (of an earlier run, of another stream, or invented) gets a viewer with its own id; its playlists carry that
// id, and requests with either of the two belong to the viewer.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "live/hub/leases.h"
#include "net/access/gate.h"
#include "net/admission/address_quota.h"
#include "net/sessions/session.h"

namespace service::hls {

// Identifies a client. The same context identifies different viewers in different streams.
struct ViewerName {
    std::string stream;  // "vhost/app/stream"
    std::string context;
    auto operator<=>(const ViewerName&) const = default;
};

class Viewers {
    class Viewer;

  public:
    // A viewer that was found by its name. It may end meanwhile.
    using Found = std::weak_ptr<Viewer>;

    static constexpr size_t kMaxContextBytes = 8;  // a session's id is no longer
    static constexpr size_t kMaxBanned = 10'000;
    // Contexts issued and not used yet; the oldest are dropped. A viewer that uses a dropped one is served, under
    // another id.
    static constexpr size_t kMaxIssued = 4'096;

    explicit Viewers(net::SessionTable& sessions);
    ~Viewers();
    Viewers(const Viewers&) = delete;

    // Whether a context has the form of an issued one: letters, digits, '-' and '_'.
    static bool is_context(std::string_view context);

    // Issues a new context for a stream ("vhost/app/stream"). It cannot be guessed, and no session has it as its id.
    std::string issue(std::string_view stream);
    // The id of the viewer with this name, or the one it would get if created now.
    std::string id_for(const ViewerName& name);

    // A playlist was requested. An unknown viewer is created: after a restart, players continue with the context they
    // have. visitor: the client; its id becomes the session's. idle_ms: how long the viewer may be idle from now on.
    // share (of reserve()), stay (the gate's grant), lease (of the stream): used if the viewer is created. kRefused: it
    // was kicked.
    base::Result<void> asked(const ViewerName& name, const net::Visitor& visitor, int64_t idle_ms, int64_t now_ms,
                             net::AddressQuota::Share share, net::Grant stay = {}, live::PlayerLease lease = {});
    // Reserves a viewer's share of the limits per address and in total. kLimit.
    base::Result<net::AddressQuota::Share> reserve(const net::Visitor& visitor);
    net::AddressQuota& quota() { return quota_; }
    const net::AddressQuota& quota() const { return quota_; }
    bool known(const ViewerName& name) const { return names_.contains(name); }
    // It has the context, and did not use it yet.
    bool is_issued(const ViewerName& name) const { return issued_.contains(name); }
    // One of its requests arrived. Empty: the viewer is not known.
    Found received(const ViewerName& name, uint64_t bytes);
    // Data is sent to it. False: it was not known, or has ended.
    static bool sent(const Found& viewer, uint64_t bytes, int64_t now_ms);
    bool banned(const ViewerName& name) const { return banned_.contains(name); }

    // Ends viewers that have been idle too long. Yields now and then; false: the caller was cancelled meanwhile.
    bool tick(int64_t now_ms);
    void end_all();
    size_t size() const { return viewers_.size(); }

  private:
    bool is_over(Viewer& viewer, int64_t now_ms);
    void end(Viewer& viewer, std::string_view why, base::CloseReason reason);
    void forget(Viewer& viewer, int64_t banned_until_ms);
    std::string new_id() const;

    net::SessionTable& sessions_;
    net::AddressQuota quota_{"HLS viewers", "address_limits.hls_viewers", "max_hls_viewers"};
    std::map<std::string, std::shared_ptr<Viewer>> viewers_;  // by id
    std::map<ViewerName, Viewer*> names_;                     // one or two per viewer
    std::map<ViewerName, int64_t> banned_;                    // until when
    std::set<ViewerName> issued_;
    std::deque<ViewerName> issue_order_;  // issued_ and contexts used since, oldest first
};

}  // namespace service::hls
