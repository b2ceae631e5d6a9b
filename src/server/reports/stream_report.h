#pragma once
// Logs what is published: what a stream is, once its tracks are known and when they change, and a line with its figures
// every pithy_print_ms. The lines have the id of the publisher's session.

#include <map>
#include <optional>
#include <string>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "server/module.h"
#include "service/stream_view.h"

namespace server {

// "H.264 High 1280x720 25 fps, AAC 44.1 kHz stereo, GOP 2 s"; without what is not known.
std::string describe_tracks(const service::StreamView& stream);
// The part of it that changes with the encoder's settings alone: "H.264 High 1280x720, AAC 44.1 kHz stereo".
std::string describe_codecs(const service::StreamView& stream);
// "in 2512 kbit/s, 3 players, out 7536 kbit/s, 2 drops"; drops: the times that a player was too slow and skipped, since
// the line before.
std::string describe_figures(const service::StreamView& stream, uint64_t drops);

class StreamReport final : public WithoutClients, private live::StreamWatcher {
  public:
    // The keyframes of a usual GOP arrive within this time; a stream is described then without what is not known.
    static constexpr int64_t kDescribeMs = 10'000;

    // Registry and sessions must outlive it.
    StreamReport(config::SnapshotPtr snapshot, live::Registry& registry, const net::SessionTable& sessions)
        : snapshot_(std::move(snapshot)), registry_(registry), sessions_(sessions) {}

    base::Result<void> start();
    void stop();
    void reload(const config::SnapshotPtr& next) { snapshot_ = next; }

  private:
    struct Published {
        int64_t since_ms = 0;
        int64_t printed_ms = 0;
        uint64_t drops = 0;                   // at the last line
        std::optional<std::string> codecs{};  // as logged; nothing: not yet
        base::Ref<media::TrackSet> tracks{};  // that were looked at last
    };
    void stream_published(live::Stream& stream) override;
    void stream_unpublished(live::Stream& stream) override { published_.erase(&stream); }
    void run();
    void report(live::Stream& stream, Published& published, int64_t now_ms) const;
    void report_tracks(const service::StreamView& view, live::Stream& stream, Published& published,
                       int64_t now_ms) const;

    config::SnapshotPtr snapshot_;
    live::Registry& registry_;
    const net::SessionTable& sessions_;
    std::map<live::Stream*, Published> published_;  // a publisher keeps its stream
    runtime::Task task_;
};

}  // namespace server
