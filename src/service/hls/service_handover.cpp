// The service in an upgrade: what it leaves to another process of the server, and takes over from one.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/handover_state.h"
#include "service/hls/handover/state_file.h"
#include "service/hls/service.h"

namespace service::hls {

namespace {

constexpr std::string_view kService = "hls";
constexpr int64_t kTakeOverMs = 10'000, kAnswerCheckMs = 20;

// With another configuration of these its segments are not those that this process would make.
std::string made_with(const OutputOptions& options, const SegmentPaths& names) {
    const VhostConfig& hls = options.hls;
    const DashConfig& dash = options.dash;
    const PathValues first{1, 0, 0};
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", hls.enabled, hls.use_fmp4, hls.storage, hls.keys,
                       hls.has_parts(), hls.path, names.playlist(), names.segment(first), names.init(first, false),
                       names.segment_uri("") + names.key_uri(""), hls.key_file_path, dash.enabled, dash.path,
                       dash.mpd_file);
}

}  // namespace

void Service::give_over(bool on) {
    given_over_ = on;
    if (on == !started_) return;
    if (on) {
        for (auto& [location, output] : outputs_) output->give_over();
        end_outputs();
        stream_list_.close();
        return;
    }
    if (answering_) answering_.cancel_and_join();
    for (const auto& output : given_over_outputs_) output->release_gop();
    given_over_outputs_.clear();
    resources_.clear();
    take_over_outputs();
    static_cast<void>(start());
    // Their playlists may be asked for from now on.
    for (const auto limit = runtime::Deadline::in_ms(kTakeOverMs); !has_taken_over_ && !limit.passed();)
        if (!runtime::sleep_ms(1)) return;
    // Others begin meanwhile, which nobody waits for.
    std::vector<runtime::Task> begun = recoveries_;
    for (runtime::Task& task : begun) static_cast<void>(task.join(runtime::Deadline::in_ms(kTakeOverMs)));
}

// New streams are not waited for.
void Service::seek_handover(bool on) {
    seeks_handover_ = on;
    for (auto& [location, output] : outputs_) output->seek_keyframe(on);
}

bool Service::is_at_handover() const {
    return std::ranges::all_of(outputs_, [this](const auto& entry) {
        return seeks_handover_ ? entry.second->is_at_keyframe() : !entry.second->is_behind();
    });
}

// ---- To another process

// Yields.
void Service::leave_outputs() {
    std::vector<StreamState> states;
    // What one does not need is for the others.
    uint64_t room = LeftBlobs::kMaxBytes;
    size_t outputs = outputs_.size();
    for (auto& [location, output] : outputs_) {
        StreamState state{.key = output->key(),
                          .made_with = made_with(output->options(), output->paths()),
                          .next_sequence = output->next_sequence(),
                          .left = output->leave(room / outputs--)};
        for (const auto& blob : state.left.blobs) room -= blob->size();
        if (state.left.any) states.push_back(std::move(state));
        if (output->publishing()) given_over_outputs_.push_back(output);
    }
    answering_ = runtime::spawn("hls-answers", [this] { answer_waiting(); });
    if (states.empty()) return;
    auto file = write_state_file(std::move(states));
    for (const auto& output : given_over_outputs_) output->hold_gop();
    if (file) return runtime::leave_state({std::string(kService), *std::move(file)});
    runtime::warn_some(failure_log_, "HLS: the next process begins anew: {}", file.error().text());
}

// Their next parts and segments come here, too, and to nobody else than those who wait for them already.
void Service::answer_waiting() {
    const int64_t since_ms = runtime::now_ms();
    while (!given_over_outputs_.empty()) {
        std::erase_if(given_over_outputs_, [&](const std::shared_ptr<Output>& output) {
            const int64_t limit_ms = wait_ms(output->target_s());
            if (output->is_awaited() && runtime::now_ms() - since_ms < limit_ms) return false;
            output->end_waiting();
            return true;
        });
        if (!runtime::sleep_ms(kAnswerCheckMs)) return;
    }
    // The bytes are the other process's; who is sent some holds them.
    resources_.clear();
}

// ---- From another one

// Before the start, which reads what is on disk of other streams. Yields.
void Service::take_over_outputs() {
    const runtime::OwnedDescriptors file = runtime::take_left_state(kService);
    if (file.size() == 0) return;
    std::vector<std::string> problems;
    auto states = read_state_file(file.all().front(), problems);
    if (!states) problems.push_back(states.error().text());
    for (const std::string& problem : problems)
        runtime::warn_some(failure_log_, "HLS: not all streams go on from the process before: {}", problem);
    if (!states) return;
    for (StreamState& state : *states) add_left_output(std::move(state));
    base::log::trace("HLS: {} streams go on from the process before", states->size());
}

void Service::add_left_output(StreamState state) {
    const config::Vhost* vhost = snapshot_->find_vhost(state.key.vhost);
    if (!vhost) return;
    OutputOptions options = output_options(state.key, *vhost);
    options.dash.enabled &= check_dash(options).has_value();
    if (!options.hls.enabled && !options.dash.enabled) return;
    auto names = SegmentPaths::make(options.hls, state.key, snapshot_->global.utc_time);
    if (!names) return;
    const std::string location = location_of(state.key, options.hls, *names);
    if (outputs_.contains(location)) return;
    if (made_with(options, *names) != state.made_with) {
        if (remembered_.size() < kMaxRemembered) remembered_[location] = state.next_sequence;
        return;
    }
    add_output(location, std::move(options), *std::move(names), &state.left)->nobody_publishes();
}

}  // namespace service::hls
