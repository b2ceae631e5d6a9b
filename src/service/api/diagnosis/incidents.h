#pragma once
// Incidents of streams: that its publisher was gone, from when to when, and what became of its players; that an output
// failed. They are kept for a day, also of streams that ended: so many of a stream, and of so many streams, those whose
// last incident is the oldest go first.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "live/hub/events.h"
#include "live/hub/registry.h"
#include "service/shared_parts.h"

namespace service::api {

struct Incident {
    enum class Kind : uint8_t { kPublisherGone, kOutputFailed };
    static std::string_view kind_name(Kind kind);  // "publisher_gone", "output_failed"

    uint64_t number = 0;      // of those that begin at the same time the later one has the greater
    bool is_adopted = false;  // from the process that this one has replaced
    std::string stream_id{};  // in the API
    live::StreamKey stream{};
    Kind kind = Kind::kPublisherGone;
    int64_t from_ms = 0;        // wall clock, as to_ms
    int64_t to_ms = 0;          // 0: it lasts
    size_t players_before = 0;  // when it began
    size_t players_after = 0;   // when it was over; while it lasts, as players_before
    std::string output{};       // that failed: "hls"; empty: none
    std::string text{};         // why
};

class Incidents final : private live::StreamWatcher, private live::EventListener {
  public:
    static constexpr size_t kMaxStreams = 500, kMaxOfStream = 20, kMaxTextBytes = 256;
    static constexpr int64_t kKeepMs = 24 * 3'600'000;
    // A publisher that is followed by another one within this time was not gone.
    static constexpr int64_t kTakeoverMs = 1'000;
    using Ptr = std::shared_ptr<const Incident>;

    // All must outlive it.
    Incidents(live::Registry& registry, live::Events& events, const Offers& offers);
    ~Incidents();
    Incidents(const Incidents&) = delete;

    // Of the stream with that id; empty: of all. While the process that this one has replaced is there, without those
    // that were adopted from it: it lists them itself.
    std::vector<Ptr> newest(std::string_view stream_id = {}) const;

    // The other process publishes the stream from now on, or does no longer. While it is there it is the one that says
    // when its publishers are gone.
    void other_process_changed(const live::StreamKey& key);
    // One of the process that this one has replaced, which ends.
    void adopt(Incident incident);

  private:
    using List = std::deque<std::shared_ptr<Incident>>;  // of a stream, the newest last

    void stream_published(live::Stream& stream) override;
    void stream_unpublished(live::Stream& stream) override;
    void on_output_failed(const live::OutputFailed& event) override;
    void on_output_recovered(const live::OutputRecovered& event) override { works(event.stream, event.output); }
    void on_segment(const live::SegmentDone& event) override { works(event.stream, "hls"); }
    void on_recording(const live::RecordingDone& event) override {
        if (event.whole) works(event.stream, "dvr");
    }

    void begin(Incident incident);
    void is_back(const live::StreamKey& key);
    void works(const live::StreamKey& key, std::string_view output);
    List& list_of(const live::StreamKey& key);
    std::shared_ptr<Incident> lasting(const live::StreamKey& key, Incident::Kind kind, std::string_view output) const;
    void end(const std::shared_ptr<Incident>& incident);
    size_t players_of(const live::StreamKey& key) const;
    void drop_oldest();

    live::Registry& registry_;
    live::Events& events_;
    std::map<live::StreamKey, List> streams_;
    const Offers& offers_;
    uint64_t begun_ = 0;
    std::set<live::StreamKey> pulled_;  // streams that are published here while they have players
    std::set<live::StreamKey> copies_;  // of what the other process publishes
};

}  // namespace service::api
