#include "service/edge/token_guard.h"

#include <fmt/format.h>

#include "base/ip.h"
#include "base/log.h"
#include "config/path_variables.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/limited_log.h"
#include "service/edge/config.h"
#include "service/edge/origin.h"
#include "service/relay/dial.h"

namespace service::edge {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using net::SessionType;
using runtime::Deadline;

namespace {

class NoHandler final : public ::rtmp::ClientHandler {
  public:
    void on_ready() override {}
    Result<void> on_media(::rtmp::Message&) override { return {}; }
    void on_status(std::string_view, std::string_view) override {}
};

// Clients of RTMP are asked about when they connect, and before they publish or play where they are not connected to.
bool comes_by_rtmp(SessionType type) {
    return type == SessionType::kRtmp || type == SessionType::kRtmpPlay || type == SessionType::kFmlePublish ||
           type == SessionType::kFlashPublish || type == SessionType::kHaivisionPublish;
}

// The app with its parameters, as a client sends it: the path of its tcUrl.
std::string app_of(const std::string& tc_url, const std::string& app) {
    const size_t scheme = tc_url.find("://");
    const size_t slash = scheme == tc_url.npos ? tc_url.npos : tc_url.find('/', scheme + 3);
    return slash == tc_url.npos || slash + 1 == tc_url.size() ? app : tc_url.substr(slash + 1);
}

// Whether an origin takes the tcUrl for this vhost and app. A host that is no address may be another vhost there.
bool stands_for(std::string_view tc_url, std::string_view vhost, std::string_view app) {
    const auto named = ::rtmp::resolve_stream(tc_url, {}, "-", std::string(config::kDefaultVhost));
    if (!named || named->app != app) return false;
    return named->vhost == vhost || (vhost == config::kDefaultVhost && base::IpAddress::parse(named->vhost));
}

}  // namespace

Result<std::string> shown_tc_url(const net::Visitor& visitor, std::string_view origin_vhost) {
    std::string tc_url = visitor.tc_url;
    if (!comes_by_rtmp(visitor.type) && tc_url.find('?') == std::string::npos) tc_url += visitor.param;
    if (stands_for(tc_url, origin_vhost, visitor.app)) return tc_url;
    tc_url = ::rtmp::tc_url_of(origin_vhost, visitor.app, visitor.param);
    if (stands_for(tc_url, origin_vhost, visitor.app)) return tc_url;
    return fail(CloseReason::kRefusedAuth, "no origin can be asked about this name (token_traverse)");
}

bool TokenGuard::may_yield(net::Action, const config::Vhost& vhost) const {
    const auto& cluster = vhost.get<VhostConfig>();
    return cluster.is_edge() && cluster.token_traverse;
}

bool TokenGuard::guards_parts(const config::Vhost& vhost) const { return may_yield(net::Action::kPlay, vhost); }

Result<void> TokenGuard::admit(const net::Visitor& visitor, const config::Vhost& vhost) {
    if (!may_yield(visitor.action, vhost)) return {};
    if (visitor.action != net::Action::kConnect && comes_by_rtmp(visitor.type)) return {};
    const VhostConfig& cluster = vhost.get<VhostConfig>();
    const std::string origin_vhost = config::PathVariables().set("vhost", vhost.name).expand(cluster.vhost);
    const std::string tc_url = TRY(shown_tc_url(visitor, origin_vhost));
    const std::vector<std::string> all = cluster.origin;
    std::string problem = "no origin takes RTMP";
    for (const std::string& origin : health_.order(vhost.name + " tokens", all, runtime::now_ms())) {
        const auto parsed = parse_origin(origin);
        if (!parsed || !parsed->takes_rtmp()) continue;
        bool was_reached = false;
        auto asked = ask(origin, visitor, tc_url, was_reached);
        if (asked) {
            ++accepted_;
            return {};
        }
        if (asked.error().code() == Code::kCancelled) return asked;
        problem = asked.error().text();
        if (asked.error().code() == Code::kRefused) {
            ++refused_;
            return fail(CloseReason::kRefusedAuth, "the origin: " + problem);
        }
        if (!was_reached) health_.record_failure(origin, problem, runtime::now_ms());
        runtime::warn_limited("token_traverse: {} cannot be asked: {}", origin, problem);
    }
    ++refused_;
    return fail(CloseReason::kRefusedAuth, "no origin can be asked (token_traverse)");
}

Result<void> TokenGuard::ask(const std::string& origin, const net::Visitor& visitor, const std::string& tc_url,
                             bool& was_reached) {
    const auto limit = Deadline::in_ms(kConnectMs);
    const Origin where = TRY(parse_origin(origin));
    const std::string scheme(relay::scheme_name(where.scheme.value_or(relay::Scheme::kRtmp)));
    ::rtmp::Url url = TRY(::rtmp::parse_url(fmt::format("{}://{}/a/s", scheme, where.authority)));
    ::rtmp::ClientOptions options;
    options.connect_only = true;
    options.tc_url = tc_url;
    options.page_url = visitor.page_url;
    options.swf_url = visitor.swf_url;
    url.app = app_of(options.tc_url, visitor.app);
    auto socket = TRY(relay::dial_rtmp(url, tls_, limit, limit));
    was_reached = true;
    NoHandler handler;
    ::rtmp::ClientSession session(handler, url, options, relay::kRtmpHandshakeBytes);
    return relay::await_ready(session, *socket, "asking about a client", limit);
}

}  // namespace service::edge
