#pragma once
// FanOut: a live stream with a publisher and viewers whose sockets take everything and keep nothing, so that what runs
// is the server's own part of the sending: log, pump, viewers.

#include <memory>
#include <span>
#include <vector>

#include "live/fanout/viewer.h"
#include "live/hub/registry.h"
#include "live/hub/stream.h"

namespace hot {

class FanOut : private live::PublicationOwner, private live::ViewerHandler {
  public:
    // Few enough that one walk of the pump ends within its turn, under valgrind too: else the count would depend on
    // how often it gave way, that is on time. More than the walk's 16 between two looks at the clock.
    static constexpr int kViewers = 48;

    // first: published before the viewers come, so that they begin.
    FanOut(int viewers, std::span<const media::Frame> first);
    ~FanOut();

    live::Publication& publication() { return publication_; }
    // Publishes the frame, at a time behind the last one's, and lets the pump send it if it is one to be sent at once.
    void publish(media::Frame frame);
    // How many sends the viewers' sockets have taken.
    size_t sends() const { return sends_; }

  private:
    class Socket;
    bool publisher_alive() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
    void on_viewer_input(live::Viewer&, std::span<const uint8_t>) override {}
    void on_stream_end(live::Viewer&) override {}
    void on_viewer_end(live::Viewer&, std::string_view) override {}

    size_t sends_ = 0;
    media::Time base_dts_{}, last_dts_{};
    live::Registry registry_;
    base::Ref<live::Stream> stream_;
    live::Publication publication_;
    std::vector<std::unique_ptr<live::Viewer>> viewers_;
};

}  // namespace hot
