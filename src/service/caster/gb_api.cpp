#include "service/caster/gb_api.h"

#include <algorithm>

#include "base/json.h"
#include "base/log.h"
#include "runtime/loop/clock.h"
#include "service/api_answer.h"
#include "service/caster/config.h"
#include "service/caster/output.h"
#include "service/caster/service.h"

namespace service::caster {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr size_t kMaxAnnouncement = 4096;

int status_of_refusal(Code code) {
    switch (code) {
        case Code::kBusy:
            return 409;
        case Code::kNotFound:
            return 404;
        case Code::kLimit:
            return 503;
        default:
            return 400;
    }
}

// The id and the SSRC, without what the configuration says.
Result<GbChannel> read_announcement(std::string_view body) {
    const auto json = base::parse_json(body);
    if (!json.is_object()) return fail(Code::kProtocol, "the body is no JSON object");
    const auto id = json.find("id"), ssrc = json.find("ssrc");
    if (id == json.end() || !id->is_string()) return fail(Code::kProtocol, "id is no text");
    if (ssrc == json.end() || !(ssrc->is_string() || ssrc->is_number_unsigned()))
        return fail(Code::kProtocol, "ssrc is no text");
    GbChannel channel;
    channel.id = id->get<std::string>();
    if (channel.id.empty()) return fail(Code::kProtocol, "the id is empty");
    channel.ssrc = TRY(parse_ssrc(ssrc->is_string() ? ssrc->get<std::string>() : ssrc->dump()));
    return channel;
}

// The caster that it is for.
Result<const Caster*> announce(Service& service, std::string_view body) {
    GbChannel channel = TRY(read_announcement(body));
    const config::Snapshot& snapshot = *service.snapshot();
    const auto& casters = snapshot.get<Casters>().all;
    const auto caster = std::ranges::find(casters, Kind::kGb28181, [](const Caster& one) { return one.kind(); });
    if (caster == casters.end() || caster->listen.empty())
        return fail(Code::kNotFound, "no stream_caster gb28181 is enabled");
    auto output = parse_output(caster->output, {.stream = channel.id});
    if (!output)
        return fail(output.error().code() == Code::kLimit ? Code::kProtocol : Code::kConfig, output.error().text());
    if (!snapshot.vhost(output->key.vhost)) return fail(Code::kNotFound, fmt::format("no vhost {}", output->key.vhost));
    channel.output = caster->output;
    channel.expires_us = runtime::now_us() + caster->media_connect_timeout * int64_t{1'000'000};
    const std::string shown = fmt::format("GB28181: stream {} of SSRC {} is announced", channel.id, channel.ssrc);
    TRY(service.announce(std::move(channel)));
    base::log::trace("{}", shown);
    return &*caster;
}

}  // namespace

net::ApiEndpoint gb_publish_row(Service& service, const Identity& identity) {
    net::ApiEndpoint row;
    row.methods = {http::Method::kPost};
    row.pattern = "/gb/v1/publish/";
    row.summary = "announces a stream of GB28181 by its id and SSRC; the answer says where the camera is to send it";
    row.access = net::ApiAccess::kPrivileged;
    row.own_words = true;
    row.body_limit_bytes = kMaxAnnouncement;
    row.body_shape = "id:str ssrc:str";
    row.shape = "port:int is_tcp:bool";
    row.failures = {{400, "the id or the ssrc is wrong"},
                    {404, "no caster of GB28181, or no such vhost"},
                    {409, "the id or the ssrc is announced already"},
                    {503, "too many are announced"}};
    row.handler = [&service, &identity](net::HttpRequest& request, net::HttpResponse& response) -> Result<void> {
        const auto caster = announce(service, request.message.body);
        if (!caster)
            return send_failure(response, identity, status_of_refusal(caster.error().code()), caster.error().text());
        return send_fields(response, identity, {{"port", (*caster)->listen.front().port}, {"is_tcp", true}});
    };
    return row;
}

}  // namespace service::caster
