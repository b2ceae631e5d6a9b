#include "service/srt/urls.h"

#include <fmt/format.h>

#include <utility>

#include "net/access/hmac.h"
#include "protocol/http/url.h"
#include "protocol/srt/url.h"
#include "protocol/ts/program.h"
#include "service/srt/config.h"
#include "service/url/names.h"

namespace service::srt {
namespace {

std::string url_name(const url::Target&) { return "SRT"; }

// A stream id says itself what the caller wants; of a name alone it is srt_server's default_mode, and publishes.
base::Result<url::Target> read_url(std::string_view text, bool publishes, const config::Snapshot& snapshot) {
    auto parsed = TRY(::srt::parse_url(text));
    const auto& server = snapshot.get<ServerConfig>();
    const bool publishes_names = publishes || server.default_mode == "publish";
    auto id =
        ::srt::parse_stream_id(parsed.stream_id.empty() ? server.default_streamid : parsed.stream_id,
                               {.app = server.default_app,
                                .mode = publishes_names ? ::srt::StreamMode::kPublish : ::srt::StreamMode::kRequest,
                                .stream_id = server.default_streamid});
    if (!id) return base::fail(base::Code::kProtocol, "the stream id: " + id.error().text);
    url::Target target{.action = url::action_of(id->mode == ::srt::StreamMode::kPublish)};
    target.host = std::move(parsed.host);
    target.port = parsed.port;
    target.vhost = id->vhost.empty() ? std::string(config::kDefaultVhost) : std::move(id->vhost);
    target.app = std::move(id->app);
    target.stream = std::move(id->stream);
    if (!id->params.empty()) target.param = "?" + id->params;
    target.password = std::move(parsed.passphrase);
    return target;
}

// The vhost is in the stream id, where the target has none of the URL's host.
std::string write_url(const url::Target& target, std::string_view) {
    const bool names_vhost = target.vhost != config::kDefaultVhost && target.vhost != target.host;
    const auto mode =
        target.action == net::Action::kPublish ? ::srt::StreamMode::kPublish : ::srt::StreamMode::kRequest;
    const auto id = ::srt::make_stream_id(mode, {names_vhost ? target.vhost : "", target.app, target.stream}, "");
    if (!id) return {};
    return fmt::format("srt://{}?streamid={}", url::authority_of(target, 0), http::percent_encode(*id, "/#!:=,"));
}

void check_passphrase(const url::Facts& facts, const config::Vhost& vhost, url::Findings& findings) {
    if (!url_part()->has(facts.target)) return;
    const auto& srt = vhost.get<VhostConfig>();
    const std::string& wanted = passphrase_of(facts.snapshot.get<ServerConfig>(), srt);
    const std::string& given = facts.target.password;
    if (srt.passphrase_by_hook) {
        findings.push_back({.check = "passphrase",
                            .verdict = url::Verdict::kUnknown,
                            .text = "a hook says which passphrase is needed"});
    } else if (wanted.empty() && given.empty()) {
        return;
    } else if (wanted.empty()) {
        findings.push_back(missing(facts, "passphrase", "the URL has a passphrase, the server has none: it refuses",
                                   vhost.name, "vhost/srt/passphrase", "THE-URLS-PASSPHRASE"));
        findings.back().advice = "or leave passphrase= out of the URL";
    } else if (net::equal_in_constant_time(wanted, given)) {
        findings.push_back({.check = "passphrase", .text = "the passphrase is the server's"});
    } else {
        findings.push_back({.check = "passphrase",
                            .verdict = url::Verdict::kBad,
                            .text = given.empty() ? "the server needs a passphrase, the URL has none"
                                                  : "the URL has another passphrase than the server",
                            .advice = "add &passphrase= with that of vhost/srt or srt_server"});
    }
}

void check_stream_of_url(const url::Facts& facts, const config::Vhost&, const url::PublishedStream& stream,
                         url::Findings& findings) {
    if (!url_part()->has(facts.target)) return;
    for (const auto* codecs : {&stream.video, &stream.audio})
        for (const media::Codec codec : *codecs)
            if (!ts::carries(codec)) findings.push_back(url::uncarried("SRT", codec));
}

}  // namespace

const url::Part* url_part() {
    static const url::Part kPart{.protocols = {{.name = url_name,
                                                .vhost_switch = "vhost/srt/enabled",
                                                .plain = {{"srt_server/enabled"}, {"srt_server/listen"}},
                                                .schemes = {"srt"},
                                                .read = read_url,
                                                .write = write_url}},
                                 .check_client = check_passphrase,
                                 .check_stream = check_stream_of_url};
    return &kPart;
}

}  // namespace service::srt
