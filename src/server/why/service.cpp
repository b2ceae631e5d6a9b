#include "server/why/service.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/ip.h"
#include "base/json.h"
#include "base/text.h"
#include "runtime/loop/deadline.h"
#include "runtime/threads/workers.h"
#include "server/why/read.h"
#include "service/api_answer.h"

namespace server::why {
namespace {

constexpr int64_t kReadMs = 5'000;
constexpr size_t kMaxPage = 2'048;  // bytes

net::ApiParameter text_parameter(std::string name, std::string doc) {
    return {.name = std::move(name), .doc = std::move(doc)};
}

net::ApiEndpoint row() {
    net::ApiEndpoint row;
    row.pattern = "/api/v1/why";
    row.summary = "why a URL cannot be played or published, and the line of configuration that mends it";
    row.access = net::ApiAccess::kPrivileged;
    row.own_words = true;
    row.shape = std::string(kShape);
    net::ApiParameter url = text_parameter("url", "of any protocol: rtmp://, http://, webrtc://, rtsp://, srt:// ...");
    url.required = true;
    net::ApiParameter publish = text_parameter("publish", "1: it is to be published, where the URL does not say so");
    publish.type = net::ApiParameter::Type::kBoolean;
    net::ApiParameter play = text_parameter("play", "0: it is not played");
    play.type = net::ApiParameter::Type::kBoolean;
    row.parameters = {std::move(url), std::move(publish),
                      text_parameter("ip", "the client's address; without it 127.0.0.1"),
                      text_parameter("page", "the web page that the player is in"), std::move(play)};
    row.failures = {{400, "there is no url, ip is no address, or a flag is neither true nor false"}};
    return row;
}

bool is_true(std::string_view text) { return text == "1" || text == "true" || text == "on"; }
bool is_false(std::string_view text) { return text == "0" || text == "false" || text == "off"; }
bool is_flag(std::string_view text) { return text.empty() || is_true(text) || is_false(text); }

Facts facts_of(const config::Snapshot& snapshot, Target target, const std::string& ip, const std::string& page) {
    Facts facts{.snapshot = snapshot, .target = std::move(target), .page = page, .now_s = base::wall_ms() / 1000};
    if (!ip.empty()) facts.ip = ip;
    facts.local = runtime::local_addresses();
    return facts;
}

Diagnosis unresolved(const base::Error& error, std::string source) {
    return {.error = error.text(), .is_left_out = error.code() == base::Code::kNotFound, .source = std::move(source)};
}

Diagnosis diagnosis_of(const Facts& facts, std::string source) {
    Diagnosis diagnosis{.target = facts.target, .source = std::move(source), .findings = evaluate(facts)};
    if (const config::Vhost* vhost = facts.snapshot.vhost(facts.target.vhost)) diagnosis.vhost = vhost->name;
    return diagnosis;
}

}  // namespace

Service::Service(config::SnapshotPtr snapshot, const service::SharedParts& parts)
    : snapshot_(std::move(snapshot)), parts_(parts) {
    net::ApiEndpoint why = row();
    why.handler = [this](net::HttpRequest& request, net::HttpResponse& response) { return handle(request, response); };
    parts.api_rows.add(std::move(why));
}

base::Result<void> Service::handle(net::HttpRequest& request, net::HttpResponse& response) {
    const std::string_view ip = request.message.parameter("ip");
    if (request.message.parameter("url").empty())
        return service::send_failure(response, parts_.identity, 400, "url is missing");
    if (!ip.empty() && !base::IpAddress::parse(ip))
        return service::send_failure(response, parts_.identity, 400, "ip is no IP address");
    if (request.message.parameter("page").size() > kMaxPage)
        return service::send_failure(response, parts_.identity, 400, "page is too long");
    for (const char* name : {"publish", "play"})
        if (!is_flag(request.message.parameter(name)))
            return service::send_failure(response, parts_.identity, 400, fmt::format("{} is true or false", name));
    const Diagnosis diagnosis = TRY(diagnose(request));
    return service::send_fields(response, parts_.identity, to_json(diagnosis));
}

base::Result<Diagnosis> Service::diagnose(const net::HttpRequest& request) {
    const config::SnapshotPtr snapshot = snapshot_;
    const http::Request& message = request.message;
    const std::string source = "the running server";
    auto target = resolve(message.parameter("url"), is_true(message.parameter("publish")), *snapshot);
    if (!target) return unresolved(target.error(), source);

    struct Read {
        config::SnapshotPtr snapshot;
        Target target;
        std::optional<service::url::CertificateFacts> certificate{};
        std::optional<bool> listens{};
    };
    const auto read = std::make_shared<Read>(snapshot, *target);
    TRY(runtime::offload(
        [read] {
            read->certificate = read_certificate(read->target, *read->snapshot);
            read->listens = read_listens(read->target, *read->snapshot);
        },
        runtime::Deadline::in_ms(kReadMs)));
    Facts facts = facts_of(*snapshot, *std::move(target), std::string(message.parameter("ip")),
                           std::string(message.parameter("page")));
    facts.certificate = read->certificate;
    facts.live = read_live(parts_, facts.target, *snapshot);
    facts.live->listens = read->listens;
    Diagnosis diagnosis = diagnosis_of(facts, source);
    diagnosis.played = play_alone(facts, diagnosis.findings, request);
    return diagnosis;
}

Played Service::play_alone(const Facts& facts, const Findings& findings, const net::HttpRequest& request) {
    if (is_false(request.message.parameter("play"))) return {.not_tried = "it was not to be"};
    std::string why_not = why_not_played(facts, findings);
    if (why_not.empty() && is_playing_) why_not = "another call plays";
    if (!why_not.empty()) return {.not_tried = std::move(why_not)};
    struct Playing {
        explicit Playing(bool& flag) : is_playing(flag) { is_playing = true; }
        ~Playing() { is_playing = false; }
        bool& is_playing;
    } playing(is_playing_);
    return play(facts);
}

Diagnosis diagnose_configuration(const config::Snapshot& snapshot, const std::string& url, bool publishes,
                                 const std::string& ip, const std::string& page) {
    const std::string source = "the configuration alone, because no server answers";
    auto target = resolve(url, publishes, snapshot);
    if (!target) return unresolved(target.error(), source);
    Facts facts = facts_of(snapshot, *std::move(target), ip, page);
    facts.certificate = read_certificate(facts.target, snapshot);
    return diagnosis_of(facts, source);
}

}  // namespace server::why
