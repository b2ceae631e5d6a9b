#pragma once
// The outputs of streams that failed, or were refused, as events report it (a playlist that would be that of another
// stream, a full disk), until the output works again or the stream is published anew. Bounded.

#include <map>
#include <string>
#include <vector>

#include "live/hub/events.h"
#include "service/shared_parts.h"

namespace service::api {

class OutputFailures final : private live::EventListener {
  public:
    static constexpr size_t kMaxStreams = 1'000;

    // It must outlive this.
    explicit OutputFailures(live::Events& events) : events_(events) { events_.subscribe(*this); }
    ~OutputFailures() { events_.unsubscribe(*this); }
    OutputFailures(const OutputFailures&) = delete;

    // Those since that time (monotonic, ms).
    std::vector<StreamOutput> of(const live::StreamKey& key, int64_t since_ms) const;

  private:
    struct Failure {
        std::string reason;
        int64_t at_ms = 0;
    };
    void on_output_failed(const live::OutputFailed& event) override;
    void on_segment(const live::SegmentDone& event) override { works(event.stream, "hls"); }
    void on_recording(const live::RecordingDone& event) override {
        if (event.whole) works(event.stream, "dvr");
    }
    void on_output_recovered(const live::OutputRecovered& event) override { works(event.stream, event.output); }
    void works(const live::StreamKey& key, std::string_view output);
    void drop_oldest();

    live::Events& events_;
    std::map<live::StreamKey, std::map<std::string, Failure, std::less<>>> streams_;
};

}  // namespace service::api
