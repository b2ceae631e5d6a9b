#include "service/api/diagnosis/output_failures.h"

#include <algorithm>

#include "runtime/loop/clock.h"

namespace service::api {

std::vector<StreamOutput> OutputFailures::of(const live::StreamKey& key, int64_t since_ms) const {
    std::vector<StreamOutput> problems;
    const auto stream = streams_.find(key);
    if (stream == streams_.end()) return problems;
    for (const auto& [output, failure] : stream->second)
        if (failure.at_ms >= since_ms) problems.push_back({output, {}, StreamOutput::State::kFails, failure.reason});
    return problems;
}

void OutputFailures::on_output_failed(const live::OutputFailed& event) {
    if (streams_.size() >= kMaxStreams && !streams_.contains(event.stream)) drop_oldest();
    streams_[event.stream][event.output] = {event.reason, runtime::now_ms()};
}

void OutputFailures::works(const live::StreamKey& key, std::string_view output) {
    const auto stream = streams_.find(key);
    if (stream == streams_.end()) return;
    if (const auto failure = stream->second.find(output); failure != stream->second.end())
        stream->second.erase(failure);
    if (stream->second.empty()) streams_.erase(stream);
}

void OutputFailures::drop_oldest() {
    const auto newest_ms = [](const auto& stream) {
        int64_t at_ms = 0;
        for (const auto& [output, failure] : stream.second) at_ms = std::max(at_ms, failure.at_ms);
        return at_ms;
    };
    streams_.erase(std::ranges::min_element(streams_, {}, newest_ms));
}

}  // namespace service::api
