#include "protocol/rtsp/client_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "protocol/http/headers.h"

namespace rtsp {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr int kMaxChallengesOfARequest = 2;  // the second one for a nonce that is too old
constexpr uint32_t kLeastTimeoutS = 10, kMostTimeoutS = 600;

bool is_absolute(std::string_view url) {
    const std::string_view scheme = url.substr(0, url.find("://"));
    return scheme.size() < url.size() &&
           (http::equal_ignoring_case(scheme, "rtsp") || http::equal_ignoring_case(scheme, "rtsps"));
}

Code code_of(int status) {
    switch (status) {
        case 401:
        case 403:
            return Code::kRefused;
        case 404:
        case 454:
            return Code::kNotFound;
        default:
            return Code::kOther;
    }
}

std::string status_text(Method method, int status) {
    return fmt::format("{}: {} {}", method_name(method), status, reason_phrase(status));
}

}  // namespace

ClientSession::ClientSession(const ClientOptions& options)
    : options_(options), base_(options.url), session_url_(options.url) {
    plan(Method::kOptions);
}

std::string ClientSession::url_of(Method method) const {
    switch (method) {
        case Method::kSetup:
            return tracks_[set_up_.size()].control;
        case Method::kPlay:
        case Method::kRecord:
        case Method::kTeardown:
        case Method::kGetParameter:
            return session_url_;
        default:
            return options_.url;
    }
}

Message ClientSession::make_request(Method method) {
    Message request;
    request.method = method;
    request.url = url_of(method);
    request.headers.add("CSeq", fmt::format("{}", ++cseq_));
    request.headers.add("User-Agent", options_.user_agent);
    if (session_) request.headers.add("Session", session_->id);
    if (challenge_)
        request.headers.add("Authorization", answer(*challenge_, options_.credentials, method_name(method), request.url,
                                                    options_.cnonce, ++nonce_count_));
    if (method == Method::kDescribe) request.headers.add("Accept", "application/sdp");
    if (method == Method::kPlay || method == Method::kRecord) request.headers.add("Range", "npt=0.000-");
    if (method == Method::kAnnounce) {
        request.headers.add("Content-Type", "application/sdp");
        if (!options_.via.empty()) request.headers.add("Via", options_.via);
        request.body = options_.description;
    }
    if (method == Method::kSetup) {
        const size_t track = set_up_.size();
        Transport transport;
        transport.tcp = tcp_;
        transport.record = announces();
        if (tcp_) {
            transport.interleaved = Channels{static_cast<uint8_t>(2 * track), static_cast<uint8_t>(2 * track + 1)};
        } else {
            transport.client_port = tracks_[track].client_ports;
        }
        request.headers.add("Transport", write(transport));
    }
    return request;
}

std::optional<Message> ClientSession::take_request(int64_t now_ms) {
    if (!next_ || pending_ || state_ == State::kEnded) return std::nullopt;
    const Method method = *std::exchange(next_, std::nullopt);
    Message request = make_request(method);
    pending_ = Pending{method, cseq_, now_ms, std::exchange(challenges_, 0)};
    heard_ms_ = now_ms;
    return request;
}

Result<ClientSession::Event> ClientSession::ended(Code code, std::string text) {
    state_ = State::kEnded;
    next_.reset();
    pending_.reset();
    return fail(code, std::move(text));
}

Result<ClientSession::Event> ClientSession::on_response(const Message& response, int64_t now_ms) {
    if (!pending_ || state_ == State::kEnded) return Event::kNone;  // of a request that was given up
    // An older number: of a keep-alive that was given up. Some devices answer without the number, or with another one.
    if (const auto cseq = response.cseq(); cseq && *cseq < pending_->cseq) return Event::kNone;
    if (response.status < 200) return Event::kNone;
    heard_ms_ = now_ms;
    if (response.status == 401) return on_challenge(response);
    return response.status < 300 ? on_success(response) : on_error(response);
}

// The request is sent again with the credentials.
Result<ClientSession::Event> ClientSession::on_challenge(const Message& response) {
    const Pending asked = *std::exchange(pending_, std::nullopt);
    auto offered = parse_challenges(response.headers);
    const bool any = !offered.empty();
    std::erase_if(offered, [&](const Challenge& one) { return !(one.digest ? options_.digest : options_.basic); });
    const Challenge* best = strongest(offered);
    if (options_.credentials.user.empty() && options_.credentials.password.empty())
        return ended(Code::kRefused, status_text(asked.method, 401) + ", and there are no credentials");
    if (!best && any)
        return ended(Code::kRefused, fmt::format("{} with {} alone, which is not allowed here (methods)",
                                                 status_text(asked.method, 401), options_.basic ? "Digest" : "Basic"));
    if (!best) return ended(Code::kRefused, status_text(asked.method, 401) + " without Basic or Digest");
    const bool expired = best->stale || (challenge_ && challenge_->nonce != best->nonce);
    const bool first = asked.challenges == 0 && (!challenge_ || expired);
    if (!first && (!best->stale || asked.challenges >= kMaxChallengesOfARequest))
        return ended(Code::kRefused, status_text(asked.method, 401) + ": wrong user or password");
    challenge_ = *best;
    nonce_count_ = 0;
    challenges_ = asked.challenges + 1;
    plan(asked.method);
    return Event::kNone;
}

Result<ClientSession::Event> ClientSession::on_success(const Message& response) {
    const Method method = pending_->method;
    // Some servers have a session from ANNOUNCE on.
    if (const std::string_view text = response.headers.get("Session"); !text.empty() && method != Method::kTeardown) {
        auto session = parse_session(text);
        if (!session) return ended(Code::kProtocol, fmt::format("{}: {}", method_name(method), session.error().text()));
        session_ = *std::move(session);
    }
    pending_.reset();
    switch (method) {
        case Method::kOptions:
            after_options(response);
            return Event::kNone;
        case Method::kDescribe:
            on_description(response);
            return Event::kDescribed;
        case Method::kAnnounce:
            state_ = State::kDescribed;
            return std::exchange(tears_down_to_retry_, false) ? Event::kOtherTransport : Event::kDescribed;
        case Method::kSetup:
            return on_setup(response);
        case Method::kPlay:
        case Method::kRecord:
            rtp_info_ = parse_rtp_info(response.headers.get("RTP-Info"));
            state_ = State::kStreaming;
            return Event::kStreaming;
        case Method::kTeardown:
            return after_teardown();
        default:
            return Event::kNone;
    }
}

ClientSession::Event ClientSession::after_teardown() {
    session_.reset();
    if (tears_down_to_retry_ && announces()) {
        plan(Method::kAnnounce);  // which has ended with the session
        return Event::kNone;
    }
    const bool retries = std::exchange(tears_down_to_retry_, false);
    state_ = retries ? State::kDescribed : State::kEnded;
    return retries ? Event::kOtherTransport : Event::kEnded;
}

void ClientSession::after_options(const Message& response) {
    if (!response.headers.get("Public").empty())
        has_get_parameter_ = response.headers.has_token("Public", "GET_PARAMETER");
    if (state_ == State::kOpening) plan(announces() ? Method::kAnnounce : Method::kDescribe);
}

void ClientSession::on_description(const Message& response) {
    description_ = response.body;
    for (std::string_view name : {"Content-Base", "Content-Location"}) {
        const std::string_view url = http::trim(response.headers.get(name));
        if (!is_absolute(url)) continue;
        base_ = url;
        break;
    }
    session_url_ = base_;
    state_ = State::kDescribed;
}

void ClientSession::set_up(std::vector<ClientTrack> tracks, bool tcp, std::string session_url) {
    CHECK(state_ == State::kDescribed && !tracks.empty() && tracks.size() <= kMaxTracks);
    tracks_ = std::move(tracks);
    tcp_ = tcp;
    session_url_ = std::move(session_url);
    set_up_.clear();
    state_ = State::kSettingUp;
    plan(Method::kSetup);
}

Result<ClientSession::Event> ClientSession::on_setup(const Message& response) {
    auto list = parse_transports(response.headers.get("Transport"));
    if (!list) return ended(Code::kProtocol, "SETUP: " + list.error().text());
    Transport transport;
    transport.tcp = tcp_;
    if (!list->empty()) transport = std::move(list->front());
    // Some servers answer with the kind that they support instead of an error.
    if (transport.tcp != tcp_ || transport.multicast) return refuse_transport(true);
    const auto track = static_cast<uint8_t>(set_up_.size());
    if (tcp_ && !transport.interleaved)
        transport.interleaved = Channels{static_cast<uint8_t>(2 * track), static_cast<uint8_t>(2 * track + 1)};
    if (tcp_ && (channel(transport.interleaved->rtp) || channel(transport.interleaved->rtcp)))
        return ended(Code::kProtocol, "SETUP: two tracks have the same channel");
    if (!tcp_) transport.client_port = tracks_[track].client_ports;
    set_up_.push_back(std::move(transport));
    if (set_up_.size() < tracks_.size()) {
        plan(Method::kSetup);
    } else {
        plan(announces() ? Method::kRecord : Method::kPlay);
    }
    return Event::kNone;
}

// set_up: tracks that are set up already are given back before the other kind is tried.
ClientSession::Event ClientSession::refuse_transport(bool set_up) {
    set_up_.clear();
    if (set_up && session_) {
        tears_down_to_retry_ = true;
        plan(Method::kTeardown);
        return Event::kNone;
    }
    state_ = State::kDescribed;
    return Event::kOtherTransport;
}

Result<ClientSession::Event> ClientSession::on_error(const Message& response) {
    const Method method = pending_->method;
    const int status = response.status;
    pending_.reset();
    if (method == Method::kTeardown) return after_teardown();
    if ((method == Method::kDescribe || method == Method::kAnnounce) &&
        (status == 301 || status == 302 || status == 305)) {
        location_ = http::trim(response.headers.get("Location"));
        if (!is_absolute(location_)) return ended(Code::kProtocol, status_text(method, status) + " without a URL");
        state_ = State::kEnded;
        return Event::kRedirected;
    }
    if (method == Method::kSetup && status == 461) return refuse_transport(!set_up_.empty());
    if (method == Method::kOptions && state_ == State::kOpening) {
        after_options(response);  // a device that does not support it
        return Event::kNone;
    }
    if (state_ == State::kStreaming && status != 454) {
        has_get_parameter_ = false;  // OPTIONS from now on
        return Event::kNone;
    }
    return ended(code_of(status), status_text(method, status));
}

void ClientSession::end() {
    if (state_ == State::kEnding || state_ == State::kEnded) return;
    next_.reset();
    // The answer to a request under way is not needed any more.
    pending_.reset();
    tears_down_to_retry_ = false;
    state_ = session_ ? State::kEnding : State::kEnded;
    if (session_) plan(Method::kTeardown);
}

Message ClientSession::on_request(const Message& request) {
    Message response;
    response.is_request = false;
    response.status = 200;
    if (const auto cseq = request.cseq()) response.headers.add("CSeq", fmt::format("{}", *cseq));
    switch (request.method) {
        case Method::kOptions:
            response.headers.add("Public", "OPTIONS, GET_PARAMETER, SET_PARAMETER, TEARDOWN");
            break;
        case Method::kGetParameter:
        case Method::kSetParameter:
            break;
        case Method::kTeardown:
            session_.reset();
            next_.reset();
            pending_.reset();
            state_ = State::kEnded;
            break;
        default:
            response.status = 501;
            break;
    }
    return response;
}

int64_t ClientSession::keep_alive_ms() const {
    const uint32_t timeout_s = session_ ? session_->timeout_s : kDefaultSessionTimeoutS;
    return int64_t{std::clamp(timeout_s, kLeastTimeoutS, kMostTimeoutS)} * 1000 / 2;
}

Result<void> ClientSession::on_timer(int64_t now_ms) {
    if (pending_ && now_ms - pending_->sent_ms > options_.answer_ms) {
        const Method method = pending_->method;
        pending_.reset();
        if (state_ == State::kEnding) {
            state_ = State::kEnded;
        } else if (state_ != State::kStreaming) {
            // While media flows some devices do not answer.
            return std::unexpected(
                ended(Code::kTimeout, fmt::format("{}: no answer for {} ms", method_name(method), options_.answer_ms))
                    .error());
        }
    }
    if (state_ == State::kStreaming && !pending_ && !next_ && now_ms - heard_ms_ >= keep_alive_ms())
        plan(has_get_parameter_ ? Method::kGetParameter : Method::kOptions);
    return {};
}

std::optional<ClientSession::Channel> ClientSession::channel(uint8_t number) const {
    if (!tcp_) return std::nullopt;
    for (size_t i = 0; i < set_up_.size(); ++i) {
        if (set_up_[i].interleaved->rtp == number) return Channel{i, false};
        if (set_up_[i].interleaved->rtcp == number) return Channel{i, true};
    }
    return std::nullopt;
}

}  // namespace rtsp
