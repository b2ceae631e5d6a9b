// A Connection's answers to requests: what all have in common, authentication, and SETUP, which is for players and
// publishers. DESCRIBE and PLAY are in play.cpp, ANNOUNCE and RECORD in publish.cpp.

#include <fmt/core.h>

#include "base/log.h"
#include "base/text.h"
#include "protocol/rtsp/auth.h"
#include "protocol/rtsp/headers.h"
#include "protocol/rtsp/transport.h"
#include "runtime/loop/random.h"
#include "service/rtsp/address.h"
#include "service/rtsp/config.h"
#include "service/rtsp/connection.h"
#include "service/rtsp/service.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::Result;
using ::rtsp::Method;

namespace {

constexpr std::string_view kRealm = "rtsp";
constexpr unsigned kMaxWrongPasswords = 5;

int status_of(const base::Error& error) {
    switch (error.close_reason()) {
        case CloseReason::kNotFound:
            return 404;
        case CloseReason::kRefusedLimit:
            return 503;
        default:
            return error.code() == Code::kTimeout ? 404 : 403;
    }
}

}  // namespace

// Of every request, in every state: bytes that arrive together may hold several, and each may change the state. Only
// DESCRIBE, SETUP and ANNOUNCE yield, which a session that plays or publishes does not allow.
Connection::Message Connection::respond(const Message& request) {
    if (!agent()) set_agent(request.headers.get("User-Agent"));
    if (auto refused = refuse_early(request)) return *std::move(refused);
    if (request.method == Method::kOptions) return options(request);
    if (!session_.begun())
        if (auto refused = authenticate(request)) return *std::move(refused);
    if (const auto allowed = session_.allows(request.method); !allowed)
        return response_to(request, allowed.status, allowed.why);
    switch (request.method) {
        case Method::kDescribe:
            return describe(request);
        case Method::kSetup:
            return setup(request);
        case Method::kPlay:
            return play(request);
        case Method::kAnnounce:
            return announce(request);
        case Method::kRecord:
            return record(request);
        case Method::kPause: {
            const auto outcome = session_.pause();
            return response_to(request, outcome.status, outcome.why);
        }
        case Method::kTeardown:
            if (work_) will_end("closed by the client (TEARDOWN)", CloseReason::kPeerClosed);
            return response_to(request);
        case Method::kGetParameter:
        case Method::kSetParameter:
            return response_to(request, request.body.empty() ? 200 : 451);
        default:
            return response_to(request, 501);
    }
}

// Requests that no method needs to look at. Nothing: it is a valid one. Changes nothing.
std::optional<Connection::Message> Connection::refuse_early(const Message& request) {
    if (request.is_http) return response_to(request, 405, "not within a session");
    if (!request.cseq()) return response_to(request, 400, "no CSeq");
    for (const std::string_view name : {"Require", "Proxy-Require"}) {
        const auto required = request.headers.find(name);
        if (!required) continue;
        Message response = response_to(request, 551);
        response.headers.set("Unsupported", {required->begin(), required->end()});
        return response;
    }
    if (auto field = request.headers.find("Session"); field && !session_id_.empty())
        if (auto named = ::rtsp::parse_session(*field); !named || named->id != session_id_)
            return response_to(request, 454);
    return std::nullopt;
}

Connection::Message Connection::options(const Message& request) const {
    Message response = response_to(request);
    response.headers.add(
        "Public", "OPTIONS, DESCRIBE, ANNOUNCE, SETUP, PLAY, RECORD, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER");
    return response;
}

// Nothing: the client may continue.
std::optional<Connection::Message> Connection::authenticate(const Message& request) {
    const AuthConfig& auth = service_.snapshot()->get<ServerConfig>().auth;
    if (!auth.enabled || work_->authenticated) return std::nullopt;
    if (work_->nonce.empty()) work_->nonce = runtime::secret_hex(16);
    ::rtsp::AuthOptions options;
    options.realm = kRealm;
    options.nonce = work_->nonce;
    options.basic = auth.methods != "digest";
    options.digest = auth.methods != "basic";
    const ::rtsp::Credentials credentials{auth.username, auth.password};
    const auto result = ::rtsp::check(request.headers.get("Authorization"), ::rtsp::method_name(request.method),
                                      request.url, options, credentials);
    if (result == ::rtsp::AuthResult::kAccepted) {
        work_->authenticated = true;
        return std::nullopt;
    }
    Message response = response_to(request, 401);
    const std::string name = "WWW-Authenticate";
    for (std::string& field : ::rtsp::challenges(options)) response.headers.add(name, std::move(field));
    if (result == ::rtsp::AuthResult::kWrong && ++work_->wrong_passwords >= kMaxWrongPasswords)
        will_end(fmt::format("{} wrong passwords", kMaxWrongPasswords), CloseReason::kRefusedAuth);
    if (result == ::rtsp::AuthResult::kWrong)
        runtime::warn_some(service_.refusal_log(), "RTSP: wrong user or password from {}", ip());
    return response;
}

Connection::Message Connection::setup(const Message& request) {
    auto list = ::rtsp::parse_transports(request.headers.get("Transport"));
    if (!list) return response_to(request, 400, list.error().text());
    if (!is_publisher())
        if (auto opened = open_stream(split_track(request.url).base); !opened)
            return refusal(request, "play", opened.error());
    const auto named = track_of(request.url);
    if (!named) return response_to(request, 459, "the URL of a track is needed, as the description has it");
    const size_t track = *named;
    const bool offers_udp = service_.udp_ports() && !work_->socket->is_tls();
    auto choice = session_.choose(track, *list, {.tcp = true, .udp = offers_udp});
    if (!choice.outcome) return response_to(request, choice.outcome.status, choice.outcome.why);
    if (const std::string_view reason = reserve(track, choice.chosen); !reason.empty())
        return response_to(request, 461, reason);
    session_.set_up(track, choice.chosen);
    if (session_id_.empty()) session_id_ = runtime::secret_hex(7);
    Message response = response_to(request);
    response.headers.add("Transport", ::rtsp::write(session_.transport(track)));
    return response;
}

// What a transport needs becomes the track's. Not empty: why not, and the track has what it had.
std::string_view Connection::reserve(size_t track, ::rtsp::ServerSession::Chosen& chosen) {
    if (!chosen.tcp) return claim_ports(track, chosen);
    if (!is_publisher())
        if (const std::string_view reason = channels_refusal(track, chosen.channels); !reason.empty()) return reason;
    release_ports(track);
    return {};
}

// Claims the ports of a track by UDP, in place of those that it has. Empty: they are claimed.
std::string_view Connection::claim_ports(size_t track, ::rtsp::ServerSession::Chosen& chosen) {
    const auto address = base::IpAddress::parse(ip());
    if (!address) return "UDP to an address with a zone is not offered";
    UdpPorts& ports = *service_.udp_ports();
    if (!ports.is_free_for(*this, track, *address, chosen.client_ports)) return "another session has these ports";
    release_ports(track);
    ports.claim(*this, track, *address, chosen.client_ports);
    claimed_ |= static_cast<uint8_t>(1u << track);
    chosen.server_ports = ports.ports();
    return {};
}

void Connection::release_ports(size_t track) {
    if (!(claimed_ >> track & 1)) return;
    claimed_ &= static_cast<uint8_t>(~(1u << track));
    service_.udp_ports()->release(*base::IpAddress::parse(ip()), session_.chosen(track)->client_ports);
}

bool Connection::is_publisher() const { return stream_ && work_->vhost; }

// Nothing: the URL names the whole session, which has several tracks, or none of an announced session.
std::optional<size_t> Connection::track_of(const std::string& url) const {
    if (is_publisher()) return sdp::find_track(work_->announced, url);
    const TrackUrl split = split_track(url);
    if (!split.track && work_->tracks.size() > 1) return std::nullopt;
    return split.track.value_or(0);
}

Carrier Connection::carrier() const {
    if (claimed_) return Carrier::kUdp;
    return work_->tunnelled ? Carrier::kTunnel : Carrier::kTcp;
}

Result<Connection::ResolvedStream> Connection::resolve_url(const std::string& url,
                                                           const config::Snapshot& snapshot) const {
    auto address = resolve(url);
    if (!address) return base::fail(CloseReason::kNotFound, address.error().text());
    const config::Vhost* vhost = snapshot.vhost(address->vhost);
    if (!vhost || !vhost->get<VhostConfig>().enabled)
        return base::fail(CloseReason::kNotFound, fmt::format("vhost {} does not exist, or RTSP is not enabled in it",
                                                              base::for_log(address->vhost)));
    return ResolvedStream{vhost, {vhost->name, address->app, address->stream}, address->params};
}

// What RTMP has in tcUrl: the URL without the stream's name and its parameters.
std::string Connection::tc_url_of(const std::string& url) {
    const std::string path = url.substr(0, url.find('?'));
    return path.substr(0, path.rfind('/'));
}

net::Visitor Connection::visitor(net::Action action, const ResolvedStream& resolved, const std::string& url) const {
    net::Visitor visitor;
    visitor.action = action;
    visitor.type = action == net::Action::kPlay ? rtsp_play_type() : rtsp_publish_type();
    visitor.id = id();
    visitor.ip = ip();
    visitor.vhost = resolved.key.vhost;
    visitor.app = resolved.key.app;
    visitor.stream = resolved.key.name;
    visitor.param = resolved.params;
    visitor.tc_url = tc_url_of(url);
    return visitor;
}

// why: for people, where the reason phrase does not say it.
Connection::Message Connection::response_to(const Message& request, int status, std::string_view why) const {
    Message response;
    response.is_request = false;
    response.status = status;
    if (auto cseq = request.cseq()) response.headers.add("CSeq", std::to_string(*cseq));
    response.headers.add("Server", service_.signature());
    if (!session_id_.empty())
        response.headers.add("Session", ::rtsp::write({session_id_, static_cast<uint32_t>(session_timeout_s_)}));
    if (!why.empty()) response.headers.add("Warning", fmt::format("199 - \"{}\"", why));
    return response;
}

Connection::Message Connection::refusal(const Message& request, std::string_view what, const base::Error& why) {
    runtime::warn_some(service_.refusal_log(), "RTSP {} refused: {}", what, why.text());
    if (why.code() == Code::kCancelled) will_end(why.text(), why.close_reason());
    return response_to(request, status_of(why), why.text());
}

}  // namespace service::rtsp
