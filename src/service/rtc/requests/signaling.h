#pragma once
// The HTTP side of WebRTC: WHIP (RFC 9725), WHEP (draft-ietf-wish-whep: the offer is the player's), and the older JSON
// API, on the API's port and on the HTTP port. It finds the vhost, asks net::Gate, finds the candidates, and passes the
// offer to Sessions; HTTP statuses and headers are set here.
//
//   POST    /rtc/v1/whip/ whep/ whip-play/   offer in, 201 and answer out; Location is where the session is
//   PATCH   that Location                    candidates (204), or an ICE restart (200 and a fragment)
//   DELETE  that Location                    ends the session
//   POST    /rtc/v1/publish/ play/           JSON in, JSON out
//   GET     /players/whip.html whep.html     pages that publish and play; the HTTP port alone

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/admission/address_quota.h"
#include "net/http/api_endpoint.h"
#include "net/http/http_router.h"
#include "net/sessions/session.h"
#include "runtime/loop/log_limit.h"
#include "service/identity.h"
#include "service/rtc/requests/offer_request.h"
#include "service/rtc/service.h"
#include "service/shared_parts.h"

namespace service::rtc {

class Signaling {
  public:
    // The references must outlive it, and it must outlive the routers' use of it.
    Signaling(config::SnapshotPtr snapshot, Sessions& sessions, net::SessionTable& table, live::Registry& registry,
              net::Gate& gate, const Offers& offers, const Identity& identity);

    void add_routes(net::HttpRouter& router);  // of the HTTP server
    void add_rows(net::ApiTable& table);       // of the API
    void reload(const config::SnapshotPtr& next);
    // No new sessions; existing sessions can still be patched and ended.
    void stop_accepting();
    // The offers that are not connected.
    const net::AddressQuota& offer_quota() const { return offer_quota_; }

  private:
    struct Endpoint {
        const char* path;
        net::Action action;
        bool json;
    };
    static const std::vector<Endpoint>& endpoints();

    using Handler = base::Result<void> (Signaling::*)(const Endpoint&, net::HttpRequest&, net::HttpResponse&);
    net::HttpHandler bind(const Endpoint& endpoint, Handler handler);
    base::Result<void> offer(const Endpoint& endpoint, net::HttpRequest& request, net::HttpResponse& response);
    base::Result<bool> is_answered_elsewhere(const net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> patch(const Endpoint& endpoint, net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> remove(const Endpoint& endpoint, net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> options(const Endpoint& endpoint, net::HttpRequest& request, net::HttpResponse& response);
    void add_loss_row(net::ApiTable& table);
    base::Result<void> lose(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> not_allowed(const Endpoint& endpoint, net::HttpRequest& request, net::HttpResponse& response);

    base::Result<net::AddressQuota::Share> admit_offer(const OfferRequest& offer, const std::string& ip);
    base::Result<Answer> begin(const Endpoint& endpoint, OfferRequest& offer, const net::HttpRequest& request,
                               const net::HttpResponse& response);
    base::Result<void> await_fetched(const live::StreamKey& key, const config::Vhost& vhost, const std::string& ip,
                                     runtime::ByteStream* client);
    base::Result<std::vector<CandidateAddress>> candidates(const OfferRequest& offer, const net::HttpRequest& request,
                                                           const config::Snapshot& snapshot);
    std::vector<std::string> resolve(const std::string& name);

    // Cache of recently resolved names; otherwise each request would cause a query.
    struct Resolved {
        int64_t until_ms = 0;
        std::vector<std::string> addresses;
    };
    static constexpr size_t kMaxResolved = 64;

    config::SnapshotPtr snapshot_;
    net::AddressQuota offer_quota_{"WebRTC offers that are not connected", "address_limits.rtc_offers",
                                   "rtc_server.max_offers"};
    Sessions& sessions_;
    net::SessionTable& table_;
    live::Registry& registry_;
    net::Gate& gate_;
    const Offers& offers_;
    const Identity& identity_;
    bool stopping_ = false;
    runtime::LogLimit refusal_log_;
    std::map<std::string, Resolved> resolved_;
};

}  // namespace service::rtc
