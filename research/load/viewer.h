#pragma once
// Viewer: a connection that plays, and what is measured of it: bytes, longest silence, time to the first frame.
// Silences and bytes count within a window, so that the ramp does not colour them.

#include "load/connection.h"
#include "load/continuity.h"
#include "load/datagrams.h"

namespace load {

class Viewer;

class ViewerObserver {
  public:
    virtual void on_viewer_message(Viewer& viewer, const MediaMessage& message, int64_t arrival_us) = 0;

  protected:
    ~ViewerObserver() = default;
};

class Viewer final : public Connection, private DatagramHandler {
  public:
    Viewer(Target target, Ledger& ledger, ViewerObserver* observer = nullptr)
        : Connection(std::move(target), Role::kPlay, ledger), observer_(observer) {}

    // Before open(): media comes by UDP, to sockets of its own. The receiver must outlive the viewer.
    void receive_by(DatagramReceiver& receiver) { receiver_ = &receiver; }
    void begin_window(int64_t now_us);
    // Counts the silence that still goes on.
    void end_window(int64_t now_us) { record_gap(now_us); }
    uint64_t window_bytes() const { return window_bytes_; }
    int64_t longest_gap_us() const { return longest_gap_us_; }
    void verify(const Continuity& continuity) { continuity_ = continuity; }
    const Continuity& continuity() const { return continuity_; }
    int64_t first_frame_us() const { return first_frame_us_; }  // from begun_us(); -1: none yet

  private:
    // Of video and audio.
    static constexpr size_t kUdpTracks = 2;

    base::Result<void> prepare(DialogOptions& options, runtime::Deadline deadline) override;
    void release() override { ports_.reset(); }
    void on_rtp(size_t track, std::span<const uint8_t> packet) override { take_datagram(track, packet); }
    void on_rtp_packet(int missing) override;
    void on_bytes(size_t count) override;
    void on_media_message(const MediaMessage& message) override;
    void record_gap(int64_t now_us);

    ViewerObserver* observer_;
    DatagramReceiver* receiver_ = nullptr;
    std::unique_ptr<DatagramPorts> ports_;
    Continuity continuity_;
    uint64_t window_bytes_ = 0;
    int64_t last_arrival_us_ = 0;  // 0: no bytes yet
    int64_t longest_gap_us_ = 0;
    int64_t first_frame_us_ = -1;
};

}  // namespace load
