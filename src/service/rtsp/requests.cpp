// A Connection's answers to requests: what they have in common, and authentication. Those to DESCRIBE, SETUP and PLAY
// are in playing.cpp, those to ANNOUNCE and RECORD in recording.cpp.

#include <fmt/core.h>

#include "base/log.h"
#include "protocol/rtsp/auth.h"
#include "protocol/rtsp/headers.h"
#include "service/rtsp/config.h"
#include "service/rtsp/connection.h"
#include "service/rtsp/random.h"
#include "service/rtsp/service.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
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
    if (work_->nonce.empty()) work_->nonce = random_hex(16);
    ::rtsp::AuthOptions options;
    options.realm = kRealm;
    options.nonce = work_->nonce;
    options.basic = auth.methods != "digest";
    options.digest = auth.methods != "basic";
    const ::rtsp::Credentials credentials{auth.username, auth.password};
    const auto verdict = ::rtsp::check(request.headers.get("Authorization"), ::rtsp::method_name(request.method),
                                       request.url, options, credentials);
    if (verdict == ::rtsp::Verdict::kAccepted) {
        work_->authenticated = true;
        return std::nullopt;
    }
    Message response = response_to(request, 401);
    const std::string name = "WWW-Authenticate";
    for (std::string& field : ::rtsp::challenges(options)) response.headers.add(name, std::move(field));
    if (verdict == ::rtsp::Verdict::kWrong && ++work_->wrong_passwords >= kMaxWrongPasswords)
        will_end(fmt::format("{} wrong passwords", kMaxWrongPasswords), CloseReason::kRefusedAuth);
    if (verdict == ::rtsp::Verdict::kWrong)
        runtime::warn_some(service_.refusal_log(), "RTSP: wrong user or password from {}", ip());
    return response;
}

// Of every request, in every state: bytes that arrive together may hold several, and each may change the state. Only
// DESCRIBE, SETUP and ANNOUNCE yield, which a session that plays or publishes does not allow.
Connection::Message Connection::respond(const Message& request) {
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

Connection::Message Connection::refusal(const Message& request, std::string_view what, const base::Error& why) {
    runtime::warn_some(service_.refusal_log(), "RTSP {} refused: {}", what, why.text());
    if (why.code() == Code::kCancelled) will_end(why.text(), why.close_reason());
    return response_to(request, status_of(why), why.text());
}

}  // namespace service::rtsp
