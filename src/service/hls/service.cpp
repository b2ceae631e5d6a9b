#include "service/hls/service.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "live/hub/leases.h"
#include "live/hub/options.h"
#include "runtime/loop/clock.h"
#include "service/hls/config.h"
#include "service/hls/playlists/stream_list_text.h"

namespace service::hls {

namespace {

constexpr int64_t kHousekeepingMs = 250;
constexpr int64_t kVerifyMs = 5'000;
constexpr int64_t kStreamListMs = 1'000;
constexpr size_t kMaxStreamListBytes = 16 * 1024 * 1024;
constexpr size_t kMaxRecoveries = 16;  // concurrently, for files of an earlier run
// How long the end of the server waits for the last segments.
constexpr int64_t kStopMs = 10'000;

// The memory limit also covers what clients send with a request: 16 kB and more each.
net::AddressQuota::Limits viewer_limits(const config::Snapshot& snapshot) {
    constexpr size_t kMb = 1024 * 1024;
    const config::AddressLimits& limits = snapshot.address_limits;
    return {static_cast<size_t>(limits.hls_viewers), static_cast<size_t>(snapshot.global.max_hls_viewers), 8 * kMb,
            128 * kMb, limits.exempt};
}

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
                 const live::Events& events, net::HttpRouter& router, net::Gate& gate, net::FileAccess& files,
                 const Offers& offers)
    : snapshot_(std::move(snapshot)),
      sessions_(sessions),
      registry_(registry),
      followed_(registry, *this),
      events_(events),
      viewers_(
          sessions, gate,
          {.hold =
               [this](const live::StreamKey& key, const config::Vhost& vhost) {
                   return std::make_shared<live::PlayerLease>(registry_.find_or_create(key, live::live_options(vhost)),
                                                              live::PlayerLease::Kind::kFetchesFiles);
               },
           .members = [](const live::StreamKey& key,
                         const config::Vhost& vhost) { return vhost.get<VhostConfig>().variant_groups.members(key); }}),
      gate_(gate),
      files_(files),
      offers_(offers),
      stream_list_(snapshot_->get<ServerConfig>().hls_roll) {
    viewers_.quota().set_limits(viewer_limits(*snapshot_));
    clips_.set_limits({.of_address = 2, .in_all = 4});
    net::HttpRoute route;
    route.methods = {http::Method::kGet};
    route.pattern = "/*";
    route.summary = "HLS: playlists, segments and keys of streams, at the paths of the vhost's hls";
    route.handler = [this](net::HttpRequest& request, net::HttpResponse& response) {
        return handle(request, response);
    };
    route.still_served = [this] { return !idle(); };
    router.add(std::move(route));
    net::HttpRoute missing;
    missing.methods = {http::Method::kGet};
    missing.pattern = "/*";
    missing.summary = "Why there is no such playlist";
    missing.is_fallback = true;
    missing.handler = [this](net::HttpRequest& request, net::HttpResponse& response) {
        return explain_missing(request, response);
    };
    router.add(std::move(missing));
}

Service::~Service() { stop(); }

base::Result<void> Service::start() {
    if (given_over_) return {};
    registry_.add_holder(*this);
    files_.add(*this);
    started_ = true;
    followed_.start(snapshot_);
    housekeeper_ = runtime::spawn("hls-housekeeper", [this] { run_housekeeping(); });
    return {};
}

void Service::stop() {
    if (started_) end_outputs();
    if (answering_) answering_.cancel_and_join();
    given_over_outputs_.clear();
    resources_.waker().stop();
}

// All of them are on disk, and none is published any more.
void Service::end_outputs() {
    started_ = false;
    followed_.stop();
    registry_.remove_holder(*this);
    files_.remove(*this);
    if (housekeeper_) housekeeper_.cancel_and_join();
    has_taken_over_ = false;
    keep_stream_list();
    settle_outputs();
    std::vector<runtime::Task> begun = std::exchange(recoveries_, {});
    for (runtime::Task& task : begun) task.cancel_and_join();
    viewers_.end_all();
    if (given_over_) leave_outputs();
    outputs_.clear();
    urls_.clear();
}

// Until their data is on disk.
void Service::settle_outputs() {
    const int64_t until = runtime::now_ms() + kStopMs;
    auto busy = [this] {
        return std::ranges::any_of(outputs_, [](const auto& entry) { return !entry.second->idle(); }) ||
               std::ranges::any_of(leaving_, [](const auto& weak) { return !weak.expired(); });
    };
    while (busy() && runtime::now_ms() < until)
        if (!runtime::sleep_ms(5)) break;
    for (auto& [location, output] : outputs_)
        if (!output->idle())
            base::log::warn("HLS of {}: not all data has been written to the disk", output->key().text());
}

void Service::stop_accepting() {
    draining_ = true;
    registry_.wake_waiting();
    for (auto& [location, output] : outputs_) output->wake_waiting();
}

bool Service::idle() const {
    if (!given_over_outputs_.empty()) return false;
    const int64_t now_ms = runtime::now_ms();
    return std::ranges::none_of(outputs_, [&](const auto& entry) {
        const Output& output = *entry.second;
        return output.lasts(now_ms) && (viewers_.size() > 0 || output.asked_until_ms() > now_ms);
    });
}

// ---- Streams

bool Service::refuse(const live::StreamKey& key, const std::string& reason, std::string_view output) {
    runtime::warn_some(refusal_log_, "{} of {} refused: {}", output == "hls" ? "HLS" : "DASH", key.text(), reason);
    events_.notify(live::OutputFailed{key, std::string(output), {}, reason});
    return false;
}

bool Service::wants(const live::Stream&, const config::Vhost& vhost) const {
    return vhost.get<VhostConfig>().enabled || vhost.get<DashConfig>().enabled;
}

bool Service::follow(live::Stream& stream, const config::Vhost& vhost) {
    auto names = SegmentPaths::make(vhost.get<VhostConfig>(), stream.key(), snapshot_->global.utc_time);
    if (!names) return refuse(stream.key(), names.error().text());
    return publish(stream, vhost, *std::move(names));
}

void Service::leave(live::Stream& stream) {
    for (auto& [location, output] : outputs_)
        if (output->publishing() && output->key() == stream.key()) {
            output->on_unpublish();
            if (is_replaced(*output)) output->end_waiting();
            return;
        }
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    viewers_.quota().set_limits(viewer_limits(*next));
    // What was given over is the other process's; start() begins with the configuration that is in force then.
    if (started_) followed_.reload(next);
}

bool Service::publish(live::Stream& stream, const config::Vhost& vhost, SegmentPaths names) {
    std::string location = location_of(stream.key(), vhost.get<VhostConfig>(), names);
    OutputOptions options = output_options(stream.key(), vhost);
    if (auto checked = check_dash(options); !checked) {
        refuse(stream.key(), checked.error().text(), "dash");
        options.dash.enabled = false;
        if (!options.hls.enabled) return false;
    }
    auto found = outputs_.find(location);
    uint64_t first_sequence = 0;
    if (found != outputs_.end()) {
        const Output& other = *found->second;
        if (other.key() != stream.key())
            return refuse(stream.key(),
                          fmt::format("its playlist would be that of {}: {}", other.key().text(), location));
        if (other.hls() == options.hls && other.options().dash == options.dash) {
            follow(found->second, stream, vhost);
            return true;
        }
        // The configuration has changed: the files made with the old one are removed.
        first_sequence = other.next_sequence();
        dispose(location);
    }
    auto old = remembered_.find(location);
    if (old != remembered_.end()) {
        first_sequence = std::max(first_sequence, old->second);
        remembered_.erase(old);
    }
    options.first_sequence = first_sequence;
    follow(add_output(location, std::move(options), std::move(names)), stream, vhost);
    return true;
}

void Service::follow(const std::shared_ptr<Output>& output, live::Stream& stream, const config::Vhost& vhost) {
    std::shared_ptr<VariantGroup> group;
    if (const auto membership = membership_of(stream, vhost)) {
        group = groups_.join(output, *membership, snapshot_->global.utc_time);
        if (!group)
            runtime::warn_some(failure_log_, "HLS of {}: it is not among the variants of {}: there are {} of them",
                               stream.key().text(), membership->group.text(), config::StreamGroups::kMaxMembers);
    } else {
        groups_.leave(*output);
    }
    output->follow(stream, std::move(group));
}

// By hls_variants. Layers of simulcast are variants where the stream itself is one, or of a group that is called as the
// stream: those that are the publisher's own, whatever other streams are called. The stream stays in that group,
// whoever publishes it next.
std::optional<config::StreamGroups::Membership> Service::membership_of(const live::Stream& stream,
                                                                       const config::Vhost& vhost) const {
    const config::StreamGroups& configured = vhost.get<VhostConfig>().variant_groups;
    if (auto membership = configured.find(stream.key())) return membership;
    const auto of = stream.publisher() ? stream.publisher()->simulcast_of() : std::nullopt;
    if (of && *of != stream.key())
        if (auto membership = configured.find(*of)) return membership;
    if (of) return config::StreamGroups::Membership{*of, 0, true};
    const auto group = groups_.of(stream.key());
    if (!group || *group->key != stream.key()) return std::nullopt;
    return config::StreamGroups::Membership{stream.key(), 0, true};
}

// That its files are those of no other stream.
base::Result<void> Service::check_dash(const OutputOptions& options) const {
    if (!options.dash.enabled) return {};
    const std::string path = TRY(Dash::manifest_path_of(options));
    for (const auto& [location, output] : outputs_) {
        const bool is_other = output->key() != options.key && output->dash() && output->on_disk() && options.on_disk();
        if (is_other && output->dash()->manifest_path() == path && output->dash()->config().path == options.dash.path)
            return base::fail(base::Code::kRefused,
                              fmt::format("its manifest would be that of {}: {}", output->key().text(), path));
    }
    return {};
}

std::shared_ptr<Output> Service::add_output(const std::string& location, OutputOptions options, SegmentPaths names,
                                            LeftStream* left) {
    auto output = std::make_shared<Output>(
        std::move(options), std::move(names), resources_, events_, failure_log_,
        [this](const live::StreamKey& which, const std::string& why) { to_disconnect_.emplace_back(which, why); });
    if (left)
        output->begin(std::move(*left));
    else
        begin(output);
    outputs_[location] = output;
    for (const std::string& path : urls_of(*output)) urls_[url_of(output->key().vhost, path)] = output;
    return output;
}

// Those by which requests find it.
std::vector<std::string> Service::urls_of(const Output& output) {
    std::vector<std::string> paths;
    if (output.hls().enabled) paths.push_back(output.paths().playlist());
    if (const Dash* dash = output.dash()) {
        paths.push_back(dash->manifest_path());
        paths.push_back(dash->directory());
    }
    return paths;
}

// Once it is known what an earlier run has left.
void Service::begin(const std::shared_ptr<Output>& output) {
    if (!output->on_disk()) return output->begin();
    std::erase_if(recoveries_, [](const runtime::Task& task) { return task.done(); });
    recoveries_.push_back(runtime::spawn(
        "hls-recover", [weak = std::weak_ptr(output), options = output->options(), paths = output->paths()] {
            auto left = options.hls.enabled ? read_left(files_options(options), paths) : LeftStream();
            const auto next = options.dash.enabled ? Dash::remove_left(options) : std::optional<uint64_t>(0);
            const auto found = weak.lock();
            if (!found || !left || !next) return;
            left->next_sequence = *next;
            found->begin(*std::move(left));
        }));
}

void Service::dispose(const std::string& location) {
    auto found = outputs_.find(location);
    std::shared_ptr<Output> output = std::move(found->second);
    outputs_.erase(found);
    for (const std::string& path : urls_of(*output)) urls_.erase(url_of(output->key().vhost, path));
    groups_.leave(*output);
    base::log::trace("HLS of {} is disposed of", output->key().text());
    if (remembered_.size() >= kMaxRemembered) remembered_.erase(remembered_.begin());
    remembered_[location] = output->next_sequence();
    output->dispose();
    for (const auto& files : output->files()) leaving_.push_back(files);
}

// ---- Memory

// Memory of ended streams only: published streams account for their own.
size_t Service::memory() const {
    size_t bytes = 0;
    for (const auto& [location, output] : outputs_)
        if (!output->publishing()) bytes += output->memory();
    return bytes;
}

void Service::release_memory() {
    for (auto& [location, output] : outputs_)
        if (!output->publishing()) output->release_memory();
}

// ---- Timers

void Service::run_housekeeping() {
    int64_t verified_ms = runtime::now_ms(), enrolled_ms = verified_ms;
    take_over_left();
    has_taken_over_ = true;
    while (runtime::sleep_to_multiple(kHousekeepingMs)) {
        int64_t now = runtime::now_ms();
        if (!viewers_.tick()) return;
        disconnect_asked();
        std::vector<std::string> over;
        for (auto& [location, output] : outputs_) {
            output->tick(now);
            if (output->must_be_disposed(now)) over.push_back(location);
        }
        for (const std::string& location : over) dispose(location);
        std::erase_if(leaving_, [](const auto& weak) { return weak.expired(); });
        if (now - enrolled_ms >= kStreamListMs) {
            enrolled_ms = now;
            keep_stream_list();
        }
        if (now - verified_ms < kVerifyMs) continue;
        verified_ms = now;
        verify_files();
    }
}

// Takes over streams of an earlier run that are not published any more: their files also expire. Until then their
// playlists are served unchanged.
void Service::take_over_left() {
    const auto left = stream_list_.open(kMaxStreamListBytes);
    if (!left && left.error().code() != base::Code::kCancelled)
        base::log::warn("hls_roll: {}; HLS files of an earlier run are not disposed of", left.error().describe());
    if (!left) return;
    for (ListedStream& stream : read_stream_list(*left)) {
        if (stream.next_sequence)
            remember(stream);
        else
            left_.insert(std::move(stream.key));
    }
    while (!left_.empty()) {
        const live::StreamKey key = left_.extract(left_.begin()).value();
        const config::Vhost* vhost = snapshot_->find_vhost(key.vhost);
        if (!vhost) continue;
        OutputOptions options = output_options(key, *vhost);
        const VhostConfig& hls = options.hls;
        options.dash.enabled &= check_dash(options).has_value();
        if (!(hls.enabled || options.dash.enabled) || !options.on_disk() || options.dispose_s() == 0) continue;
        auto names = SegmentPaths::make(hls, key, snapshot_->global.utc_time);
        if (!names) continue;
        const std::string location = location_of(key, hls, *names);
        if (outputs_.contains(location)) continue;  // it is published again
        add_output(location, std::move(options), *std::move(names))->nobody_publishes();
        while (recoveries_.size() > kMaxRecoveries) {
            if (!runtime::sleep_ms(10)) return;
            std::erase_if(recoveries_, [](const runtime::Task& task) { return task.done(); });
        }
    }
}

// Another process had its segments in memory: their numbers go on.
void Service::remember(const ListedStream& stream) {
    const config::Vhost* vhost = snapshot_->find_vhost(stream.key.vhost);
    if (!vhost || remembered_.size() >= kMaxRemembered) return;
    const OutputOptions options = output_options(stream.key, *vhost);
    const auto names = SegmentPaths::make(options.hls, stream.key, snapshot_->global.utc_time);
    if (names) remembered_[location_of(stream.key, options.hls, *names)] = *stream.next_sequence;
}

void Service::keep_stream_list() {
    std::vector<ListedStream> streams;
    for (const live::StreamKey& key : left_) streams.push_back({key});
    for (auto& [location, output] : outputs_) {
        if (streams.size() >= kMaxListedStreams) break;
        if (given_over_ && !output->on_disk()) streams.push_back({output->key(), output->next_sequence()});
        if (output->on_disk() && output->options().dispose_s() > 0) streams.push_back({output->key()});
    }
    if (const auto kept = stream_list_.keep(write_stream_list(streams)); !kept)
        base::log::error("hls_roll: {}; HLS files left by this run are not disposed of by the next",
                         kept.error().describe());
}

// Files may have been removed by another process.
void Service::verify_files() {
    std::vector<std::shared_ptr<SegmentFiles>> all;
    for (auto& [location, output] : outputs_) std::ranges::move(output->files(), std::back_inserter(all));
    for (auto& files : all) {
        if (runtime::cancelled()) return;
        files->verify();
    }
}

void Service::disconnect_asked() {
    auto asked = std::move(to_disconnect_);
    to_disconnect_.clear();
    for (auto& [key, why] : asked) {
        net::Session* publisher = nullptr;
        sessions_.for_each([&](net::Session& session) {
            if (net::publishes(session.type()) && session.stream_text() == key.text()) publisher = &session;
        });
        if (publisher) publisher->close(fmt::format("HLS failed: {}", why), base::CloseReason::kOutputFailed);
    }
}

}  // namespace service::hls
