#include "service/api/diagnosis/verdicts.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/json.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "service/api/lists/stream_keys.h"
#include "service/recorder.h"

namespace service::api {

using State = StreamOutput::State;

std::vector<StreamOutput> Verdicts::events_of(const live::Stream& stream) const {
    return failures_.of(stream.key(), stream.health().started_ms());
}

std::vector<Check> Verdicts::checks_of(const live::Stream& stream, std::vector<StreamOutput> failing) const {
    const config::SnapshotPtr snapshot = context_.snapshot;
    const config::Vhost* vhost = snapshot->find_vhost(stream.key().vhost);
    const live::PublicationOwner* publisher = stream.publisher();
    return diagnose({.health = stream.health(),
                     .tracks = *stream.tracks(),
                     .counters = stream.counters(),
                     .hls_fragment = vhost ? context_.offers.fragment(*vhost, "hls") : std::nullopt,
                     .published = stream.published(),
                     .gop_too_long = stream.gop_too_long(),
                     .now_ms = runtime::now_ms(),
                     .unpublished_since_ms = stream.unpublished_since_ms(),
                     .jumped_at_ms = stream.jumped_at_ms(),
                     .viewers = stream.demand(),
                     .faults = publisher ? publisher->input_faults() : nullptr,
                     .outputs = std::move(failing)});
}

std::vector<Check> Verdicts::checks_of(const live::Stream& stream) const {
    std::vector<StreamOutput> failing = events_of(stream);
    for (const OutputOffer& offer : context_.offers.outputs)
        offer(&stream.key(), [&](const live::StreamKey&, StreamOutput output) {
            if (output.state == State::kFails) failing.push_back(std::move(output));
        });
    return checks_of(stream, std::move(failing));
}

StreamVerdict Verdicts::of(const live::StreamKey& key) const {
    const base::Ref<live::Stream> stream = context_.registry.find(key);
    if (stream) return verdict_of(checks_of(*stream));
    return {.level = VerdictLevel::kSick,
            .code = "publisher",
            .text = "clients are there, and it is not published",
            .advice = "start the encoder again"};
}

std::vector<StreamOutput> Verdicts::outputs_of(const live::Stream& stream) const {
    std::vector<StreamOutput> failed = events_of(stream), all;
    const config::SnapshotPtr snapshot = context_.snapshot;
    const config::Vhost* vhost = snapshot->find_vhost(stream.key().vhost);
    const auto add = [&](std::string_view name, bool is_wanted) {
        const auto failure = std::ranges::find(failed, name, &StreamOutput::output);
        if (failure != failed.end()) {
            all.push_back(std::move(*failure));
            failed.erase(failure);
        } else if (is_wanted) {
            all.push_back({std::string(name)});
        }
    };
    for (const SegmentOffer& segments : context_.offers.segments)
        add(segments.name, stream.published() && vhost && segments.fragment(*vhost));
    const Recorder* recorder = context_.offers.recorder;
    add("dvr", recorder && (recorder->is_recording_by_configuration(stream.key()) ||
                            recorder->is_recording_by_request(stream.key())));
    std::ranges::move(failed, std::back_inserter(all));
    for (const OutputOffer& offer : context_.offers.outputs)
        offer(&stream.key(), [&](const live::StreamKey&, StreamOutput output) { all.push_back(std::move(output)); });
    return all;
}

Verdicts::Failing Verdicts::failing_outputs() const {
    Failing all;
    for (const OutputOffer& offer : context_.offers.outputs)
        offer(nullptr, [&](const live::StreamKey& key, StreamOutput output) { all[key].push_back(std::move(output)); });
    return all;
}

base::Result<Verdicts::All> Verdicts::make() const {
    All all;
    Failing failing = failing_outputs();
    runtime::CpuSlice slice;
    for (const live::StreamKey& key : keys_of_streams(context_)) {
        StreamVerdict verdict;
        if (const base::Ref<live::Stream> stream = context_.registry.find(key)) {
            std::vector<StreamOutput> outputs = events_of(*stream);
            if (const auto found = failing.find(key); found != failing.end())
                std::ranges::move(found->second, std::back_inserter(outputs));
            verdict = verdict_of(checks_of(*stream, std::move(outputs)));
        } else {
            verdict = of(key);
        }
        ++all.counts[static_cast<size_t>(verdict.level)];
        if (verdict.level != VerdictLevel::kFine) all.attention.emplace(key, std::move(verdict));
        TRY(slice.step());
    }
    return all;
}

base::Result<std::shared_ptr<const Verdicts::All>> Verdicts::all() {
    const auto patience = runtime::Deadline::in_ms(kPatienceMs);
    while (making_) TRY(made_.wait_next(patience));
    if (all_ && runtime::now_ms() - made_ms_ < fresh_ms_) return all_;
    making_ = true;
    const int64_t began_us = runtime::now_us();
    base::Result<All> made = make();
    making_ = false;
    made_.pulse();
    all_ = std::make_shared<const All>(TRY(std::move(made)));
    made_ms_ = runtime::now_ms();
    // What others took between its slices counts, too: a busy loop has fewer passes.
    fresh_ms_ = std::clamp((runtime::now_us() - began_us) * kShare / 1000, kFreshMs, kMaxFreshMs);
    ++passes_;
    return all_;
}

void Verdicts::drop_old() {
    if (!making_ && runtime::now_ms() - made_ms_ > std::max(kKeepMs, fresh_ms_)) all_.reset();
}

Json figure_json(const std::optional<double>& figure) {
    return figure ? Json(std::round(*figure * 1000) / 1000) : Json(nullptr);
}

Json verdict_json(const StreamVerdict& verdict) {
    return {{"level", kVerdictLevels[static_cast<size_t>(verdict.level)]},
            {"code", verdict.code},
            {"text", verdict.text},
            {"advice", verdict.advice},
            {"figure", figure_json(verdict.figure)},
            {"unit", verdict.unit}};
}

Json output_json(const StreamOutput& output) {
    constexpr std::string_view kStates[] = {"works", "starts", "fails"};
    return {{"output", output.output},
            {"to", output.to},
            {"state", kStates[static_cast<size_t>(output.state)]},
            {"problem", output.problem}};
}

}  // namespace service::api
