#pragma once
// FileViewers: the sessions of clients that play a stream by fetching its files, perhaps each over another connection.
// A context (a parameter of the files' URLs) joins the requests of a client into one session. The guards are asked
// about it once. It ends when the client has sent no request for some time, and can be banned.
//
// A viewer's id is its session's id and is never chosen by a client: it was issued here. A context sent by a client
// identifies a viewer of one stream. A context issued for that stream is the viewer's id. Any other context (of an
// earlier run, of another stream, or invented) gets a viewer with an id of its own; the playlists that it gets carry
// that id, and requests with either of the two belong to the viewer.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "net/access/gate.h"
#include "net/admission/address_quota.h"
#include "net/http/http_exchange.h"
#include "net/sessions/session.h"
#include "runtime/loop/sync.h"

namespace net {

class FileViewers {
    class Viewer;

  public:
    static constexpr size_t kMaxContextBytes = 8;  // a session's id is no longer
    static constexpr size_t kMaxBanned = 10'000;
    // Contexts issued and not used yet; the oldest are dropped. A viewer that uses a dropped one is served, under
    // another id.
    static constexpr size_t kMaxIssued = 4'096;

    // The same context identifies different viewers in different streams.
    struct Name {
        std::string stream;   // "vhost/app/stream"
        std::string context;  // empty: a client that cannot be told apart
        auto operator<=>(const Name&) const = default;
    };
    // What depends on the streams. Must not yield.
    struct Streams {
        // Makes what counts a new viewer for its stream. It is destroyed when the viewer ends, before the guards are
        // notified.
        std::function<std::shared_ptr<void>(const base::StreamKey& stream, const config::Vhost& vhost)> hold{};
        // Those of which it is a group (Visitor::streams). Empty: it is one stream.
        std::function<std::vector<base::StreamKey>(const base::StreamKey& stream, const config::Vhost& vhost)>
            members{};
    };
    // A client that the guards admitted, or that is a viewer already.
    struct Admission {
        Name name{};
        Visitor visitor{};
        bool was_asked = false;  // a guard was asked that may yield, or follows it
        AddressQuota::Share share{};
        Grant grant{};
        const std::string& id() const { return visitor.id; }
    };
    struct Stay {
        int64_t idle_ms = 0;  // how long it may be without a request
        // It becomes a viewer in any case; otherwise only if a guard was asked about it, which is asked only once.
        bool always = false;
    };

    // The references must outlive it.
    FileViewers(SessionTable& sessions, Gate& gate, Streams streams);
    ~FileViewers();
    FileViewers(const FileViewers&) = delete;

    // Whether a context has the form of an issued one: letters, digits, '-' and '_'.
    static bool is_context(std::string_view context);
    bool is_viewer(const Name& name) const { return names_.contains(name); }
    // It is a viewer, or was one and is banned, or has a context that was issued and not used yet.
    bool knows(const Name& name) const { return is_viewer(name) || banned_.contains(name) || issued_.contains(name); }
    // Whether it may fetch files other than playlists. kRefused.
    base::Result<void> check_file(const Name& name, const config::Vhost& vhost) const;

    // Asks the guards about the client, unless it is a viewer. Empty context: one is issued. One query at a time for
    // each context, because a client may send several requests at once. kRefused; kLimit; kCancelled: the client has
    // left. Yields.
    base::Result<Admission> admit(const base::StreamKey& stream, std::string_view context, const config::Vhost& vhost,
                                  const HttpRequest& request, runtime::ByteStream* client);
    // It stays from now on. After a restart, clients continue with the context that they have. kRefused: it is banned.
    base::Result<void> add(Admission admission, const Stay& stay, const config::Vhost& vhost);
    // Both. Returns its id. A request of HEAD without a context makes no viewer: it only checks whether the stream
    // exists.
    base::Result<std::string> let_in(const base::StreamKey& stream, std::string_view context, const Stay& stay,
                                     const config::Vhost& vhost, const HttpRequest& request,
                                     runtime::ByteStream* client);

    // The bytes of the request and of its response are the viewer's; without one those of the response are its
    // stream's.
    void count(const Name& name, const std::shared_ptr<const base::StreamKey>& stream, const HttpRequest& request,
               HttpResponse& response);

    // Ends viewers that have been idle too long. Yields now and then; false: the caller was cancelled meanwhile.
    bool tick();
    void end_all();
    size_t size() const { return viewers_.size(); }
    AddressQuota& quota() { return quota_; }
    const AddressQuota& quota() const { return quota_; }

  private:
    std::string issue(std::string_view stream);
    std::string id_for(const Name& name) const;
    std::string new_id() const;
    base::Result<AddressQuota::Share> reserve(const Visitor& visitor);
    Viewer& make(Admission admission, const config::Vhost& vhost);
    bool is_over(Viewer& viewer, int64_t now_ms);
    void end(Viewer& viewer, std::string_view why, base::CloseReason reason);
    void forget(Viewer& viewer, int64_t banned_until_ms);

    SessionTable& sessions_;
    Gate& gate_;
    const Streams streams_;
    AddressQuota quota_{"HLS viewers", "address_limits.hls_viewers", "max_hls_viewers"};
    std::map<std::string, std::shared_ptr<Viewer>> viewers_;  // by id
    std::map<Name, Viewer*> names_;                           // one or two per viewer
    std::map<Name, int64_t> banned_;                          // until when, monotonic ms
    std::set<Name> issued_;
    std::deque<Name> issue_order_;  // issued_ and contexts used since, oldest first
    std::set<Name> asking_;         // guards are being asked about these
    runtime::Event asked_{"a viewer's admission"};
};

}  // namespace net
