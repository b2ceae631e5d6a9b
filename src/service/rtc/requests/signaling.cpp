#include "service/rtc/requests/signaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/json.h"
#include "live/hub/leases.h"
#include "live/hub/options.h"
#include "net/http/http_visitor.h"
#include "protocol/sdp/description.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/socket/dns.h"
#include "service/api_answer.h"
#include "service/await_stream.h"
#include "service/pass_on.h"
#include "service/rtc/config.h"
#include "service/rtc/requests/candidates.h"
#include "service/rtc/requests/pages.h"

namespace service::rtc {

namespace {

using base::Code;
using base::fail;
using base::Result;
using Json = base::OrderedJson;

constexpr std::string_view kSdp = "application/sdp";
constexpr std::string_view kFragment = "application/trickle-ice-sdpfrag";
constexpr size_t kMaxJson = 160 * 1024;  // an escaped description of 64 kB
// Memory of a session that is not connected yet, mostly during its handshake.
constexpr size_t kOfferBytes = 48 * 1024;
constexpr int kMaxIterations = 20;  // iterations of the loop for which an offer yields to others
constexpr int64_t kResolveMs = 2'000;
constexpr int64_t kTracksMs = 5'000;  // so long an answer waits for the tracks of a stream that is fetched
constexpr int64_t kKeepResolvedMs = 60'000;
constexpr uint32_t kMaxLost = 1000;

// The total is limited by rtc_server.max_offers, where the oldest session is replaced.
net::AddressQuota::Limits offer_limits(const config::Snapshot& snapshot) {
    const config::AddressLimits& limits = snapshot.address_limits;
    return {static_cast<size_t>(limits.rtc_offers), 0, 0, 0, limits.exempt};
}

int status_of(const base::Error& error) {
    switch (error.code()) {
        case Code::kProtocol:
            return 400;
        case Code::kRefused:
            return 403;
        case Code::kNotFound:
            return 404;
        case Code::kBusy:
            return 409;
        case Code::kLimit:
            return 503;
        default:
            return 500;
    }
}

Result<void> send_failure(net::HttpResponse& response, int status, std::string_view text) {
    if (status == 503) response.header("Retry-After", "5");
    response.header("Cache-Control", "no-store");
    return response.send_error(status, text);
}

// An entity tag without its quotes; "*" and empty are returned unchanged. A weak tag never matches (RFC 9110, 13.1.1).
std::string_view read_if_match(std::string_view field) {
    field = http::trim(field);
    if (field.size() >= 2 && field.front() == '"' && field.back() == '"') return field.substr(1, field.size() - 2);
    return field == "*" || field.empty() ? field : "weak";
}

std::string entity_tag(std::string_view etag) { return fmt::format("\"{}\"", etag); }

net::ApiParameter query(const char* name, const char* doc, bool required = false) {
    net::ApiParameter parameter;
    parameter.name = name;
    parameter.doc = doc;
    parameter.required = required;
    return parameter;
}

std::vector<net::ApiParameter> offer_parameters() {
    return {query("app", "of the stream; live without it"),
            query("stream", "its name; livestream without it"),
            query("vhost", "of the stream, instead of the host's name"),
            query("eip", "an address for the answer, ADDRESS[:PORT]"),
            query("codec", "as vcodec"),
            query("vcodec", "video wished for: h264, hevc, av1, vp8, vp9"),
            query("acodec", "audio wished for: opus, pcmu, pcma"),
            query("layer", "of players: the rid of the largest layer of simulcast that is wanted"),
            query("maxheight", "of players: the largest height of a layer, in pixels")};
}

std::vector<net::ApiParameter> session_parameters() {
    return {query("session", "of the Location", true), query("token", "of the Location", true),
            query("action", "of the Location"), query("app", "of the Location"), query("stream", "of the Location")};
}

}  // namespace

Signaling::Signaling(config::SnapshotPtr snapshot, Sessions& sessions, net::SessionTable& table,
                     live::Registry& registry, net::Gate& gate, const Offers& offers, const Identity& identity)
    : snapshot_(std::move(snapshot)),
      sessions_(sessions),
      table_(table),
      registry_(registry),
      gate_(gate),
      offers_(offers),
      identity_(identity) {
    offer_quota_.set_limits(offer_limits(*snapshot_));
}

void Signaling::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    offer_quota_.set_limits(offer_limits(*next));
}

void Signaling::stop_accepting() {
    stopping_ = true;
    registry_.wake_waiting();
}

const std::vector<Signaling::Endpoint>& Signaling::endpoints() {
    static const std::vector<Endpoint> kAll = {
        {"/rtc/v1/whip/", net::Action::kPublish, false},   {"/rtc/v1/whep/", net::Action::kPlay, false},
        {"/rtc/v1/whip-play/", net::Action::kPlay, false}, {"/rtc/v1/publish/", net::Action::kPublish, true},
        {"/rtc/v1/play/", net::Action::kPlay, true},
    };
    return kAll;
}

net::HttpHandler Signaling::bind(const Endpoint& endpoint, Handler handler) {
    return [this, &endpoint, handler](net::HttpRequest& request, net::HttpResponse& response) -> Result<void> {
        const config::HttpApiAuth& auth = snapshot_->http_api.auth;
        // A browser's question before a call has no credentials.
        if (request.message.method != http::Method::kOptions && !net::may_signal(request.message, auth)) {
            response.header("WWW-Authenticate", net::challenge(auth));
            return response.send_error(401, "WebRTC needs the token of http_api's auth");
        }
        return (this->*handler)(endpoint, request, response);
    };
}

void Signaling::add_routes(net::HttpRouter& router) {
    auto add = [&](const Endpoint& endpoint, std::vector<http::Method> methods, const char* summary, Handler handler) {
        net::HttpRoute route;
        route.methods = std::move(methods);
        route.pattern = endpoint.path;
        route.summary = summary;
        route.handler = bind(endpoint, handler);
        if (endpoint.json) route.body_limit_bytes = kMaxJson;
        router.add(std::move(route));
    };
    for (const Endpoint& endpoint : endpoints()) {
        add(endpoint, {http::Method::kPost}, "An offer of WebRTC", &Signaling::offer);
        // Otherwise the route for static files would answer.
        add(endpoint, {http::Method::kGet, http::Method::kPut}, "Nothing", &Signaling::not_allowed);
        if (endpoint.json) continue;
        add(endpoint, {http::Method::kPatch}, "Candidates, or an ICE restart", &Signaling::patch);
        add(endpoint, {http::Method::kDelete}, "Ends a session of WebRTC", &Signaling::remove);
        add(endpoint, {http::Method::kOptions}, "What is taken", &Signaling::options);
    }
    for (const Page& page : pages()) {
        net::HttpRoute route;
        route.methods = {http::Method::kGet};
        route.pattern = page.path;
        route.summary = page.summary;
        route.is_fallback = true;
        route.handler = [text = page.text](net::HttpRequest&, net::HttpResponse& response) {
            response.header("Cache-Control", "no-cache");
            return response.send(200, "text/html; charset=utf-8", text);
        };
        router.add(std::move(route));
    }
}

void Signaling::add_rows(net::ApiTable& table) {
    auto row = [&](const Endpoint& endpoint, http::Method method, std::string summary, Handler handler) {
        net::ApiEndpoint one;
        one.methods = {method};
        one.pattern = endpoint.path;
        one.summary = std::move(summary);
        one.access = net::ApiAccess::kOpen;  // the gate decides about publishing and playing
        one.handler = bind(endpoint, handler);
        if (endpoint.json) one.body_limit_bytes = kMaxJson;
        return one;
    };
    for (const Endpoint& endpoint : endpoints()) {
        const std::string what = fmt::format("{}es a stream by WebRTC", net::action_name(endpoint.action));
        net::ApiEndpoint post =
            row(endpoint, http::Method::kPost,
                endpoint.action == net::Action::kPlay ? "plays a stream by WebRTC" : what, &Signaling::offer);
        post.failures = {{400, "the offer or a parameter is wrong"},
                         {403, "it is not allowed"},
                         {404, "no such vhost, or it has no WebRTC"},
                         {409, "the stream is being published"},
                         {503, "the server is full"}};
        if (endpoint.json) {
            post.summary += "; the older way";
            post.shape = "sdp:str sessionid:str";
            post.body_shape = "sdp:str streamurl:str api?:any clientip?:any tid?:any";
            table.add(std::move(post));
            continue;
        }
        post.parameters = offer_parameters();
        post.failures.push_back({415, "the body is no SDP"});
        post.status = 201;
        post.content_type = kSdp;
        post.body_type = kSdp;
        table.add(std::move(post));
        net::ApiEndpoint patched =
            row(endpoint, http::Method::kPatch, "candidates, or an ICE restart", &Signaling::patch);
        patched.parameters = session_parameters();
        patched.content_type = kFragment;
        patched.body_type = kFragment;
        patched.other_statuses = {204};
        patched.failures = {{400, "the fragment is wrong"},   {403, "the token is wrong"},
                            {404, "no such session"},         {412, "If-Match is not the session's ETag"},
                            {415, "the body is no fragment"}, {428, "there is no If-Match"}};
        table.add(std::move(patched));
        net::ApiEndpoint removed = row(endpoint, http::Method::kDelete, "ends the session", &Signaling::remove);
        removed.parameters = session_parameters();
        removed.content_type = "";
        removed.failures = {{403, "the token is wrong"}, {404, "no such session"}};
        table.add(std::move(removed));
        net::ApiEndpoint asked = row(endpoint, http::Method::kOptions, "what is taken", &Signaling::options);
        asked.status = 204;
        asked.content_type = "";
        table.add(std::move(asked));
    }
    add_loss_row(table);
}

void Signaling::add_loss_row(net::ApiTable& table) {
    net::ApiEndpoint row;
    row.methods = {http::Method::kGet, http::Method::kPost};
    row.pattern = "/rtc/v1/nack/";
    row.summary = "loses RTP packets of a session of WebRTC, to see what is asked for again";
    row.access = net::ApiAccess::kPrivileged;
    row.debug = true;
    row.own_words = true;
    row.shape = "query{username:str drop:str help:str}";
    net::ApiParameter user = query("username", "the session's id, or its ICE user name", true);
    net::ApiParameter count = query("drop", "how many of the next packets", true);
    count.type = net::ApiParameter::Type::kInteger;
    count.least = 0;
    count.most = kMaxLost;
    row.parameters = {std::move(user), std::move(count)};
    row.failures = {{404, "no such session, or debugging is off"}};
    row.handler = [this](net::HttpRequest& request, net::HttpResponse& response) { return lose(request, response); };
    table.add(std::move(row));
}

Result<void> Signaling::lose(net::HttpRequest& request, net::HttpResponse& response) {
    const std::string_view user = request.message.parameter("username"), drop = request.message.parameter("drop");
    uint32_t count = 0;
    const auto read = std::from_chars(drop.data(), drop.data() + drop.size(), count);
    if (drop.empty() || read.ec != std::errc() || read.ptr != drop.data() + drop.size() || count > kMaxLost)
        return send_failure(response, 400, fmt::format("drop is a number up to {}", kMaxLost));
    if (auto lost = sessions_.lose(user, count); !lost) return send_failure(response, 404, lost.error().text());
    base::log::trace("rtc {}: the next {} RTP packets are lost, for {}", user, count, request.peer_ip);
    Json body = envelope(identity_);
    body["query"] = {{"username", user}, {"drop", drop}, {"help", "?username=string&drop=int"}};
    return send_json(response, body);
}

Result<void> Signaling::options(const Endpoint&, net::HttpRequest&, net::HttpResponse& response) {
    // The other headers are set for every path.
    response.header("Accept-Post", kSdp).header("Accept-Patch", kFragment);
    return {};
}

Result<void> Signaling::not_allowed(const Endpoint& endpoint, net::HttpRequest&, net::HttpResponse& response) {
    response.header("Allow", endpoint.json ? "POST, OPTIONS" : "POST, PATCH, DELETE, OPTIONS");
    return response.send_error(405);
}

Result<void> Signaling::offer(const Endpoint& endpoint, net::HttpRequest& request, net::HttpResponse& response) {
    const config::SnapshotPtr snapshot = snapshot_;
    // fetch() with a text body sends text/plain: the content decides, not the content type.
    const bool is_sdp = has_content_type(request.message, kSdp) || request.message.body.starts_with("v=0");
    if (!endpoint.json && !is_sdp) {
        response.header("Accept-Post", kSdp);
        return send_failure(response, 415, "the body must be SDP (application/sdp)");
    }
    // The API's own token is no parameter of the stream, which hooks and other servers get.
    const auto& auth = snapshot->http_api.auth;
    const bool takes_token = !(auth.enabled && auth.rtc_bearer_enabled);
    auto asked = endpoint.json ? read_json(request, takes_token) : read_whip(request, takes_token);
    auto answer =
        asked ? begin(endpoint, *asked, request, response) : Result<Answer>(std::unexpected(std::move(asked.error())));
    if (!answer) {
        if (answer.error().code() == Code::kCancelled) return std::unexpected(std::move(answer.error()));
        const int status = status_of(answer.error());
        if (!endpoint.json) return send_failure(response, status, answer.error().text());
        return service::send_failure(response, identity_, status, answer.error().text());
    }
    if (endpoint.json) {
        Json body = envelope(identity_);
        body["sdp"] = answer->sdp;
        body["sessionid"] = answer->session;
        return send_json(response, body);
    }
    response.header("Location", session_url(endpoint.path, *asked, answer->session, answer->token));
    response.header("ETag", entity_tag(answer->etag)).header("Accept-Patch", kFragment);
    const std::string links = ice_server_links(snapshot->get<ServerConfig>().ice_server);
    if (!links.empty()) response.header("Link", links);
    return response.send(201, kSdp, answer->sdp);
}

// Limits offers before the gate asks a guard: a flood of offers must not become a flood of queries.
Result<net::AddressQuota::Share> Signaling::admit_offer(const OfferRequest& offer, const std::string& ip) {
    const auto admit = [&]() -> Result<net::AddressQuota::Share> {
        auto share = TRY(offer_quota_.take(ip, kOfferBytes + offer.sdp.size()));
        TRY(table_.admission().expect(ip));
        return share;
    };
    auto share = admit();
    if (!share) table_.log_refusal("WebRTC offer", ip, share.error());
    return share;
}

// Waits for a stream that is fetched and for its tracks, whose codecs the answer names. Yields.
Result<void> Signaling::await_fetched(const live::StreamKey& key, const config::Vhost& vhost, const std::string& ip,
                                      runtime::ByteStream* client) {
    if (!offers_.is_fetched(key)) return {};
    const auto stream = registry_.find_or_create(key, live::live_options(vhost));
    const live::PlayerLease waits(stream);
    TRY(await_stream(*stream, {.sessions = table_, .offers = offers_, .ip = ip, .client = client, .may_wait = [this] {
                                   return !stopping_;
                               }}));
    // The tracks of a publisher by RTP are known from the beginning.
    if (stream->publisher() && stream->publisher()->publishes_rtp()) return {};
    const auto may_wait = [&] { return !stopping_ && stream->published(); };
    auto waited = stream->await(live::Awaited::kTracks, runtime::Deadline::in_ms(kTracksMs), {client, may_wait});
    if (!waited && waited.error().code() == Code::kCancelled) return waited;
    return {};  // the negotiation says what is missing
}

Result<Answer> Signaling::begin(const Endpoint& endpoint, OfferRequest& offer, const net::HttpRequest& request,
                                const net::HttpResponse& response) {
    const config::SnapshotPtr snapshot = snapshot_;  // keeps vhost alive
    if (stopping_) return fail(Code::kLimit, "the server stops");
    if (!snapshot->get<ServerConfig>().enabled) return fail(Code::kNotFound, "rtc_server is not enabled");
    const config::Vhost* vhost = snapshot->vhost(offer.vhost);
    if (!vhost) return fail(Code::kNotFound, fmt::format("there is no vhost {}", offer.vhost));
    if (!vhost->get<VhostConfig>().enabled)
        return fail(Code::kNotFound, fmt::format("vhost {} has no WebRTC", vhost->name));
    // An offer takes a fraction of a millisecond, and hundreds may arrive at once.
    runtime::await_short_iteration(runtime::kMaxIterationUs, kMaxIterations);
    // An invalid offer is rejected before a guard is asked. An exceeded size limit is also reported as a bad offer,
    // because it is not a temporary overload.
    if (auto parsed = sdp::SessionDescription::parse(offer.sdp); !parsed)
        return fail(Code::kProtocol, "the offer: " + parsed.error().text());
    auto offer_share = TRY(admit_offer(offer, request.peer_ip));

    const bool publishes = endpoint.action == net::Action::kPublish;
    net::Visitor visitor = net::http_visitor(request, runtime::new_context_id(), {vhost->name, offer.app, offer.stream},
                                             publishes ? net::SessionType::kRtcPublish : net::SessionType::kRtcPlay);
    visitor.action = endpoint.action;
    visitor.param = offer.param;
    visitor.tc_url = offer.tc_url;
    auto grant = gate_.admit(visitor, *vhost, response.client());
    if (!grant) {
        if (grant.error().code() != Code::kCancelled) net::record_refusal(table_, visitor, grant.error());
        return std::unexpected(std::move(grant.error()));
    }
    if (!publishes) TRY(await_fetched(visitor.key(), *vhost, request.peer_ip, response.client()));
    SessionRequest wanted;
    wanted.candidates = TRY(candidates(offer, request, *snapshot));
    // The answer would not be read.
    if (response.peer_gone()) return fail(Code::kClosed, "the client left before the answer");
    if (stopping_) return fail(Code::kLimit, "the server stops");
    wanted.visitor = std::move(visitor);
    wanted.grant = *std::move(grant);
    wanted.offer_share = std::move(offer_share);
    wanted.offer = std::move(offer.sdp);
    wanted.vcodec = offer.vcodec;
    wanted.acodec = offer.acodec;
    wanted.layer = offer.layer;
    auto answer = sessions_.create(std::move(wanted));
    if (!answer)
        runtime::warn_some(refusal_log_, "{} of {}/{}/{} by WebRTC from {} refused: {}",
                           net::action_name(endpoint.action), vhost->name, offer.app, offer.stream, request.peer_ip,
                           answer.error().text());
    return answer;
}

Result<std::vector<CandidateAddress>> Signaling::candidates(const OfferRequest& offer, const net::HttpRequest& request,
                                                            const config::Snapshot& snapshot) {
    CandidateSources sources;
    sources.local = runtime::local_addresses();
    sources.resolve = [this](const std::string& name) { return resolve(name); };
    sources.environment = [](const std::string& name) {
        const char* value = std::getenv(name.c_str());
        return std::string(value ? value : "");
    };
    return find_candidates(
        {snapshot.get<ServerConfig>(), request.message.host, offer.eip, sessions_.udp_ports(), sessions_.tcp_ports()},
        sources);
}

std::vector<std::string> Signaling::resolve(const std::string& name) {
    const int64_t now_ms = runtime::now_ms();
    if (auto found = resolved_.find(name); found != resolved_.end() && found->second.until_ms > now_ms)
        return found->second.addresses;
    auto addresses = runtime::resolve(name, runtime::Deadline::in_ms(kResolveMs));
    std::erase_if(resolved_, [&](const auto& entry) { return entry.second.until_ms <= now_ms; });
    if (resolved_.size() >= kMaxResolved) resolved_.clear();
    Resolved& kept = resolved_[name];
    kept.until_ms = now_ms + kKeepResolvedMs;
    kept.addresses = addresses ? *std::move(addresses) : std::vector<std::string>();
    return kept.addresses;
}

// By the process that this one has replaced: the session may be one of it.
Result<bool> Signaling::is_answered_elsewhere(const net::HttpRequest& request, net::HttpResponse& response) {
    std::string target = request.message.raw_path;
    if (!request.message.raw_query.empty()) target += "?" + request.message.raw_query;
    return pass_on(offers_, {OtherRequest::Router::kHttp, request.message.method, std::move(target)}, request,
                   response);
}

Result<void> Signaling::patch(const Endpoint&, net::HttpRequest& request, net::HttpResponse& response) {
    if (!has_content_type(request.message, kFragment)) {
        response.header("Accept-Patch", kFragment);
        return send_failure(response, 415, fmt::format("the body must be {}", kFragment));
    }
    const auto if_match = request.message.headers.find("If-Match");
    if (!if_match) return send_failure(response, 428, "If-Match is missing: the session's ETag, or * to restart ICE");
    auto patched = sessions_.patch(request.message.parameter("session"), request.message.parameter("token"),
                                   read_if_match(*if_match), request.message.body);
    if (!patched && patched.error().code() == Code::kNotFound && TRY(is_answered_elsewhere(request, response)))
        return {};
    if (!patched) {
        const int status = patched.error().code() == Code::kBusy    ? 412
                           : patched.error().code() == Code::kLimit ? 400
                                                                    : status_of(patched.error());
        return send_failure(response, status, patched.error().text());
    }
    if (!patched->etag.empty()) response.header("ETag", entity_tag(patched->etag));
    if (patched->fragment.empty()) return response.send(204, {}, {});
    return response.send(200, kFragment, patched->fragment);
}

Result<void> Signaling::remove(const Endpoint&, net::HttpRequest& request, net::HttpResponse& response) {
    auto removed = sessions_.remove(request.message.parameter("session"), request.message.parameter("token"));
    if (!removed && removed.error().code() == Code::kNotFound && TRY(is_answered_elsewhere(request, response)))
        return {};
    if (!removed) return send_failure(response, status_of(removed.error()), removed.error().text());
    return response.send(200, "text/plain", "");
}

}  // namespace service::rtc
