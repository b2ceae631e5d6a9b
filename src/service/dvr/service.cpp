#include "service/dvr/service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/threads/workers.h"
#include "service/dvr/config.h"

namespace service::dvr {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr int64_t kFlushEveryMs = 100;
constexpr size_t kFlushParts = 2;
// How often growing files are checked for existence: the system does not report their removal.
constexpr int64_t kCheckMs = 2'000;
// The time limit for files that are being completed when the server ends.
constexpr int64_t kStopMs = 5'000;

bool applies(const std::vector<std::string>& to, const live::StreamKey& key) {
    std::string name = key.app + "/" + key.name;
    return std::ranges::any_of(to, [&](const std::string& one) { return one == "all" || one == name; });
}

}  // namespace

Service::Service(config::SnapshotPtr snapshot, live::Registry& registry, const live::Events& events)
    : snapshot_(std::move(snapshot)),
      registry_(registry),
      followed_(registry, *this),
      journal_(snapshot_->get<ServerConfig>().dvr_journal),
      archive_(journal_, events) {}

Service::~Service() { stop(); }

Result<void> Service::start() {
    started_ = true;
    followed_.start(snapshot_);
    flusher_ = runtime::spawn("dvr-flush", [this] { flush_all(); });
    watcher_ = runtime::spawn("dvr-watch", [this] { check_files(); });
    if (awaits_journal_) {
        journal_.await_lock();
        return {};
    }
    bool any = std::ranges::any_of(snapshot_->vhosts,
                                   [](const config::Vhost& vhost) { return vhost.get<VhostConfig>().enabled; });
    if (!any && !journal_.exists()) return {};
    auto left = journal_.open();
    if (!left)
        base::log::error("dvr: {}; recordings left by a crash are not finished by the next start",
                         left.error().describe());
    if (left) finish_left(*left);
    return {};
}

void Service::finish_left(const std::vector<OpenRecording>& left) {
    for (const OpenRecording& recording : left) {
        archive_.reserve(recording);
        if (below_a_root(recording.growing) && below_a_root(recording.path)) {
            base::log::trace("dvr: {}: {} was left by an earlier run", recording.stream.text(), recording.growing);
            archive_.finish_left(recording);
            continue;
        }
        base::log::warn(
            "dvr: {}: {} was left by an earlier run, but lies outside of every dvr_path: it is left unchanged",
            recording.stream.text(), recording.growing);
        archive_.forget(recording);
    }
}

bool Service::below_a_root(const std::string& path) const {
    return std::ranges::any_of(snapshot_->vhosts, [&](const config::Vhost& vhost) {
        return is_below(path, root_of(vhost.get<VhostConfig>().dvr_path));
    });
}

void Service::stop() {
    if (!std::exchange(started_, false)) return;
    followed_.stop();
    while (!recordings_.empty()) recordings_.pop_back();
    flusher_.cancel_and_join();
    watcher_.cancel_and_join();
    runtime::Deadline limit = runtime::Deadline::in_ms(kStopMs);
    while (archive_.ending() > 0 && !limit.passed()) {
        if (!runtime::sleep_ms(5)) break;
    }
    if (archive_.ending() > 0)
        base::log::warn("dvr: {} files are not complete after {} ms; the next start finishes them", archive_.ending(),
                        kStopMs);
    journal_.stop();
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    followed_.reload(next);
}

bool Service::wants(const live::Stream& stream, const config::Vhost& vhost) const {
    const auto& dvr = vhost.get<VhostConfig>();
    return dvr.enabled && applies(dvr.dvr_apply, stream.key());
}

bool Service::follow(live::Stream& stream, const config::Vhost& vhost) {
    const auto& dvr = vhost.get<VhostConfig>();
    if (!check_name(stream.key(), dvr.dvr_path)) return false;
    record(stream, options_of(dvr), false);
    return true;
}

void Service::keep(live::Stream& stream, const config::Vhost& vhost) {
    if (Recording* running = find(stream.key(), false)) running->set_options(options_of(vhost.get<VhostConfig>()));
}

void Service::leave(live::Stream& stream) {
    if (Recording* running = find(stream.key(), false)) recording_ended(*running);
}

RecordingOptions Service::options_of(const VhostConfig& dvr) const {
    RecordingOptions options;
    options.path = dvr.dvr_path;
    options.cut = {.segments = dvr.dvr_plan == "segment",
                   .duration_ms = dvr.dvr_duration * int64_t{1000},
                   .wait_keyframe = dvr.dvr_wait_keyframe};
    options.jitter = dvr.time_jitter;
    options.keyframes = static_cast<size_t>(dvr.dvr_keyframes);
    // A segment ends soon after its duration: reserve space for a keyframe every quarter of a second.
    if (options.cut.segments)
        options.keyframes = std::min(options.keyframes, static_cast<size_t>(dvr.dvr_duration) * 4 + 64);
    options.utc = snapshot_->global.utc_time;
    return options;
}

bool Service::check_name(const live::StreamKey& key, const std::string& pattern) {
    auto good = check_names(key);
    if (good) return true;
    ++archive_.counters().refused;
    runtime::error_some(refusal_log_, "dvr: {} is not recorded: {}", key.text(), good.error().text());
    archive_.report_failed(key, pattern, good.error().text());
    return false;
}

void Service::record(live::Stream& stream, RecordingOptions options, bool requested) {
    RecordingOwner& owner = *this;
    recordings_.push_back(
        std::make_unique<Recording>(archive_, owner, base::Ref<live::Stream>(&stream), std::move(options), requested));
    recordings_.back()->start();
}

Recording* Service::find(const live::StreamKey& key, bool requested) const {
    auto found = std::ranges::find_if(recordings_,
                                      [&](const auto& r) { return r->requested() == requested && r->key() == key; });
    return found == recordings_.end() ? nullptr : found->get();
}

void Service::recording_ended(Recording& recording) {
    auto entry = std::ranges::find_if(recordings_, [&](const auto& r) { return r.get() == &recording; });
    CHECK(entry != recordings_.end());
    std::unique_ptr<Recording> ended = std::move(*entry);
    recordings_.erase(entry);
}

Result<void> Service::start_recording(const live::StreamKey& key, const RecordingRequest& request) {
    auto stream = registry_.find(key);
    if (!stream || !stream->published()) return fail(Code::kNotFound, key.text() + " is not being published");
    const config::Vhost* vhost = snapshot_->find_vhost(key.vhost);
    if (!vhost) return fail(Code::kNotFound, "there is no vhost " + key.vhost);
    if (find(key, true)) return fail(Code::kBusy, key.text() + " is being recorded already");
    TRY(check_names(key));
    VhostConfig dvr = vhost->get<VhostConfig>();
    std::string root = root_of(dvr.dvr_path);
    if (request.path) dvr.dvr_path = *request.path;
    if (!dvr.dvr_path.ends_with(".flv") && !dvr.dvr_path.ends_with(".mp4"))
        return fail(Code::kConfig, fmt::format("'{}' ends neither in .flv nor in .mp4", dvr.dvr_path));
    if (!is_below(dvr.dvr_path, root))
        return fail(Code::kRefused, fmt::format("'{}' is not below {}, the root of dvr_path", dvr.dvr_path, root));
    if (request.segments) dvr.dvr_plan = *request.segments ? "segment" : "session";
    RecordingOptions options = options_of(dvr);
    if (request.duration_ms) options.cut.duration_ms = *request.duration_ms;
    options.pre_roll = request.pre_roll;
    record(*stream, std::move(options), true);
    requested_vhosts_.insert(key.vhost);
    return {};
}

std::vector<RecordingRoot> Service::recording_roots() const {
    const std::string usual = VhostConfig().dvr_path;
    std::vector<RecordingRoot> roots;
    for (const config::Vhost& vhost : snapshot_->vhosts) {
        const auto& dvr = vhost.get<VhostConfig>();
        // The usual path is in the directory of http_server, whose other files are no recordings.
        if (vhost.enabled && (dvr.enabled || dvr.dvr_path != usual || requested_vhosts_.contains(vhost.name)))
            roots.push_back({vhost.name, root_of(dvr.dvr_path)});
    }
    return roots;
}

Result<void> Service::stop_recording(const live::StreamKey& key) {
    Recording* recording = find(key, true);
    if (!recording) return fail(Code::kNotFound, key.text() + " is not being recorded by request");
    recording_ended(*recording);
    return {};
}

// Flushes a part of them at a time, so that a thousand recordings do not block the loop.
void Service::flush_all() {
    for (size_t pass = 0; runtime::sleep_to_multiple(recordings_.empty() ? kFlushEveryMs : kFlushEveryMs / kFlushParts);
         ++pass) {
        int64_t now = runtime::now_ms();
        for (size_t i = pass % kFlushParts; i < recordings_.size(); i += kFlushParts) recordings_[i]->flush(now);
    }
}

void Service::check_files() {
    while (runtime::sleep_ms(kCheckMs)) {
        auto paths = std::make_shared<std::vector<std::string>>();
        for (const auto& recording : recordings_) {
            const OpenFile* open = recording->file();
            if (open && open->file->written() > 0) paths->push_back(open->names.growing);
        }
        if (paths->empty()) continue;
        auto check = [paths] {
            std::erase_if(*paths, [](const std::string& path) {
                return ::access(path.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
            });
        };
        if (!runtime::offload(check, runtime::Deadline::never())) continue;
        for (const std::string& path : *paths)
            for (const auto& recording : recordings_) recording->file_vanished(path);
    }
}

}  // namespace service::dvr
