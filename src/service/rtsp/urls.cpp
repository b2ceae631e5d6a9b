#include "service/rtsp/urls.h"

#include "base/authority.h"
#include "net/access/hmac.h"
#include "service/rtsp/address.h"
#include "service/rtsp/config.h"
#include "service/url/names.h"

namespace service::rtsp {
namespace {

constexpr uint16_t kPort = 554, kTlsPort = 322;

std::string url_name(const url::Target& target) { return target.tls ? "RTSPS" : "RTSP"; }

base::Result<url::Target> read_url(std::string_view text, bool publishes, const config::Snapshot&) {
    url::Target target{.tls = text.starts_with("rtsps"), .action = url::action_of(publishes)};
    const auto authority = TRY(base::split_authority(url::authority_in(text)));
    target.host = authority.host;
    target.port = authority.port.value_or(target.tls ? kTlsPort : kPort);
    const size_t colon = authority.user.find(':');
    target.user = authority.user.substr(0, colon);
    if (colon != authority.user.npos) target.password = authority.user.substr(colon + 1);
    TRY(url::take_address(target, TRY(resolve(split_track(text).base))));
    return target;
}

std::string write_url(const url::Target& target, std::string_view query) {
    return target.tls ? url::plain_url("rtsps", target, kTlsPort, query) : url::plain_url("rtsp", target, kPort, query);
}

void check_publishing(const url::Facts& facts, const config::Vhost& vhost, url::Findings& findings) {
    if (facts.target.action != net::Action::kPublish || vhost.get<VhostConfig>().publish) return;
    findings.push_back(missing(facts, "protocol of the vhost", "nobody publishes by RTSP in this vhost", vhost.name,
                               "vhost/rtsp/publish", "on"));
}

void check_password(const url::Facts& facts, url::Findings& findings) {
    const auto& auth = facts.snapshot.get<ServerConfig>().auth;
    if (!auth.enabled) return;
    const url::Target& target = facts.target;
    if (net::equal_in_constant_time(target.user, auth.username) &&
        net::equal_in_constant_time(target.password, auth.password)) {
        findings.push_back({.check = "password", .text = "name and password are the server's"});
        return;
    }
    findings.push_back({.check = "password",
                        .verdict = url::Verdict::kBad,
                        .text = target.user.empty()
                                    ? "rtsp_server has auth enabled, and the URL has no name and password"
                                    : "the URL has another name or password than rtsp_server's auth",
                        .advice = "rtsp://NAME:PASSWORD@HOST/..."});
}

void check_client_of_url(const url::Facts& facts, const config::Vhost& vhost, url::Findings& findings) {
    if (!url_part()->has(facts.target)) return;
    check_publishing(facts, vhost, findings);
    check_password(facts, findings);
}

void check_stream_of_url(const url::Facts& facts, const config::Vhost& vhost, const url::PublishedStream& stream,
                         url::Findings& findings) {
    if (!url_part()->has(facts.target) || stream.by.starts_with("rtsp") || vhost.get<VhostConfig>().rtmp_to_rtsp)
        return;
    findings.push_back(missing(facts, "conversion", "streams that are not published by RTSP are not converted to it",
                               vhost.name, "vhost/rtsp/rtmp_to_rtsp", "on"));
}

}  // namespace

const url::Part* url_part() {
    static const url::Part kPart{
        .protocols = {{.name = url_name,
                       .vhost_switch = "vhost/rtsp/enabled",
                       .plain = {{"rtsp_server/enabled"}, {"rtsp_server/listen"}},
                       .tls = {{"rtsp_server/enabled", "rtsp_server/rtsps/enabled"}, {"rtsp_server/rtsps/listen"}},
                       .schemes = {"rtsp", "rtsps"},
                       .read = read_url,
                       .write = write_url}},
        .check_client = check_client_of_url,
        .check_stream = check_stream_of_url};
    return &kPart;
}

}  // namespace service::rtsp
