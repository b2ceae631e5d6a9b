#include "service/alerts/service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "net/admission/tls_pair.h"
#include "net/sessions/account.h"
#include "runtime/diagnose/watchdog.h"
#include "runtime/disk/disk.h"
#include "runtime/loop/clock.h"
#include "service/api_answer.h"

namespace service::alerts {

using base::Result;

namespace {

using Json = base::OrderedJson;

constexpr int64_t kDayS = 86'400;

}  // namespace

Service::Service(config::SnapshotPtr snapshot, live::Registry& registry, net::SessionTable& sessions,
                 const net::Operations& operations, const Offers& offers)
    : snapshot_(std::move(snapshot)),
      registry_(registry),
      sessions_(sessions),
      operations_(operations),
      offers_(offers) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    registry_.watch(*this);
    is_watching_ = true;
    task_ = runtime::spawn("alerts", [this] { run(); });
    return {};
}

void Service::stop() {
    if (task_) std::exchange(task_, {}).cancel_and_join();
    if (std::exchange(is_watching_, false)) registry_.unwatch(*this);
}

// What is pulled for players, or from another process of this server, is not gone when it ends.
void Service::stream_published(live::Stream& stream) {
    gone_.erase(stream.key());
    const live::PublicationOwner* publisher = stream.publisher();
    if (publisher && (publisher->is_relay() || publisher->is_copy())) pulled_.insert(stream.key());
}

void Service::stream_unpublished(live::Stream& stream) {
    if (pulled_.erase(stream.key())) return;
    const int64_t published_ms = runtime::now_ms() - stream.health().started_ms();
    if (published_ms >= snapshot_->get<ServerConfig>().publisher_gone * int64_t{1'000}) is_gone(stream.key());
}

void Service::other_process_changed(const live::StreamKey& key) {
    const OtherProcess* other = offers_.other_process;
    if (!other || (is_given_over_ && other->is_there()) || other->publishes(key)) return;
    const base::Ref<live::Stream> stream = registry_.find(key);
    if (!stream || !stream->published() || pulled_.contains(key)) is_gone(key);
}

void Service::is_gone(const live::StreamKey& key) {
    if (gone_.size() >= kMaxGone && !gone_.contains(key))
        ++gone_left_out_;
    else
        gone_.insert_or_assign(key, runtime::now_ms());
}

void Service::run() {
    while (runtime::sleep_ms(kLookMs)) look();
}

void Service::look() {
    const ServerConfig& limits = snapshot_->get<ServerConfig>();
    std::vector<Finding> findings;
    if (limits.enabled) {
        if (!is_given_over_) find_of_server(findings, limits);
        find_streams(findings, limits);
    }
    book_.look(findings, runtime::now_ms(), base::wall_ms(), [this](const Alert& alert) {
        // What lasts at the server is the other process's to tell: here it is not over.
        if (!is_given_over_ || !alert.stream.name.empty()) tell(alert);
    });
}

void Service::find_streams(std::vector<Finding>& findings, const ServerConfig& limits) {
    const int64_t now_ms = runtime::now_ms();
    const OtherProcess* other = offers_.other_process;
    std::erase_if(gone_, [&](const auto& one) {
        return now_ms - one.second > kForgetMs + limits.publisher_gone * int64_t{1'000} ||
               (other && other->publishes(one.first));
    });
    if (limits.publisher_gone)
        for (const auto& [key, since_ms] : gone_)
            if (const int64_t s = (now_ms - since_ms) / 1000; s >= limits.publisher_gone)
                findings.push_back({.kind = AlertKind::kPublisherGone,
                                    .stream = key,
                                    .text = "it was published, and is not any more",
                                    .figure = static_cast<double>(s)});
    if (!limits.keyframe_interval) return;
    registry_.for_each([&](const live::Stream& stream) {
        const live::Health& health = stream.health();
        if (!stream.published() || health.keyframe_at_ms() == 0) return;
        if (const live::PublicationOwner* owner = stream.publisher(); owner && owner->is_copy()) return;
        const int64_t ms = std::max(health.last_gop_ms(), now_ms - health.keyframe_at_ms());
        if (ms <= limits.keyframe_interval * int64_t{1'000}) return;
        const double s = static_cast<double>(ms / 100) / 10;
        findings.push_back(
            {.kind = AlertKind::kKeyframeInterval,
             .stream = stream.key(),
             .text = fmt::format("{} s between keyframes: players begin late, and segments are as long", s),
             .figure = s});
    });
}

void Service::find_of_server(std::vector<Finding>& findings, const ServerConfig& limits) {
    const int64_t now_ms = runtime::now_ms();
    const auto found = [&](AlertKind kind, double figure, std::string text, std::string about = {}) {
        findings.push_back({.kind = kind, .about = std::move(about), .text = std::move(text), .figure = figure});
    };
    const uint64_t refused = refused_.add(sessions_.closed().count_of(base::CloseReason::kRefusedAuth), now_ms);
    if (limits.refused_logins && refused > static_cast<uint64_t>(limits.refused_logins))
        found(AlertKind::kRefusedLogins, static_cast<double>(refused),
              fmt::format("{} sessions with a wrong signature or password in five minutes", refused));
    const uint64_t failed = failed_files_.add(runtime::disk::status().files_failed, now_ms);
    if (failed)
        found(AlertKind::kDisk, static_cast<double>(failed),
              fmt::format("{} recordings or segments could not be written in five minutes", failed));
    const auto total_ms = static_cast<uint64_t>(runtime::loop_stats().stalled_ms);
    const double share = static_cast<double>(stalled_ms_.add(total_ms, now_ms)) / Growth::kWindowMs * 100;
    if (limits.loop_stalls && share > limits.loop_stalls)
        found(AlertKind::kLoopStalls, share, fmt::format("the loop stalled for {:.1f} % of five minutes", share));
    // Whoever may read alerts need not be whom the configuration's errors are for.
    if (operations_.reloads && !operations_.last_reload.ok)
        found(AlertKind::kReloadRefused, 1,
              "the last reload was refused, the configuration in force is not that of the files: the log says why");
    if (!limits.certificate) return;
    for (const net::TlsPair::Status& one : net::TlsPair::all()) {
        const int64_t left_s = one.valid_until_s - base::wall_ms() / 1000;
        if (left_s >= limits.certificate * kDayS) continue;
        const double days = static_cast<double>(left_s) / kDayS;
        found(AlertKind::kCertificate, days,
              left_s < 0 ? fmt::format("the certificate of {} has ended", one.what)
                         : fmt::format("the certificate of {} ends in {:.1f} days", one.what, days),
              one.what);
    }
}

void Service::tell(const Alert& alert) {
    const std::string whom = alert.stream.name.empty() ? "" : " " + net::stream_url(alert.stream);
    if (!alert.cleared_ms)
        runtime::warn_some(log_, "alert {}{}: {}", alert_name(alert.kind), whom, alert.text);
    else if (log_.admits(runtime::now_ms()))
        base::log::trace("alert {}{} is over", alert_name(alert.kind), whom);
    if (offers_.report_alert) offers_.report_alert(alert);
}

net::ApiEndpoint api_row(const Service& service, const Identity& identity) {
    net::ApiEndpoint row;
    row.pattern = "/api/v1/alerts";
    row.summary = "what is wrong at the server and its streams, and what was: the newest first, those that last before";
    row.shape =
        "alerts[alert:str vhost:str app:str stream:str about:str text:str figure:num raised_ms:int cleared_ms:int] "
        "total:int lasting:int left_out:int";
    row.parameters = page_parameters();
    row.of_both = {.lists = {{.name = "alerts", .newest = "raised_ms", .lasting = "cleared_ms"}},
                   .sums = {"total", "lasting", "left_out"}};
    row.handler = [&service, &identity](net::HttpRequest& request, net::HttpResponse& response) {
        std::vector<const Alert*> all = service.book().lasting();
        const size_t lasting = all.size();
        for (const Alert& alert : service.book().ended()) all.push_back(&alert);
        const Page page = page_of(request);
        Json list = Json::array();
        for (size_t i = page.start; i < all.size() && page.has(i); ++i) {
            const Alert& alert = *all[i];
            list.push_back({{"alert", alert_name(alert.kind)},
                            {"vhost", alert.stream.vhost},
                            {"app", alert.stream.app},
                            {"stream", alert.stream.name},
                            {"about", alert.about},
                            {"text", alert.text},
                            {"figure", alert.figure},
                            {"raised_ms", alert.raised_ms},
                            {"cleared_ms", alert.cleared_ms}});
        }
        return send_fields(response, identity,
                           {{"alerts", std::move(list)},
                            {"total", all.size()},
                            {"lasting", lasting},
                            {"left_out", service.left_out()}});
    };
    return row;
}

}  // namespace service::alerts
