#pragma once
// What the RTSP service counts, for metrics. Of the loop's thread.

#include <array>
#include <cstddef>
#include <cstdint>

namespace service::rtsp {

enum class SessionKind : uint8_t { kPlay, kPublish, kPull, kForward };
enum class Carrier : uint8_t { kTcp, kUdp, kTunnel };
inline constexpr size_t kSessionKinds = 4, kCarriers = 3;

struct RtspStats {
    std::array<std::array<uint64_t, kCarriers>, kSessionKinds> sessions{};  // now
    uint64_t player_lost = 0;                                               // packets that players by UDP reported
    uint64_t refused_unknown = 0;  // datagrams from addresses that no session claims
    uint64_t refused_pull = 0;     // datagrams to the ports of a pull from another address than the camera's
};
RtspStats& rtsp_stats();

// A session that counts while it lives.
class CountedSession {
  public:
    CountedSession() = default;
    ~CountedSession() { end(); }
    CountedSession(const CountedSession&) = delete;

    void begin(SessionKind kind, Carrier carrier);
    void end();

  private:
    uint8_t counted_ = 0;  // 1 + kind * kCarriers + carrier
};

}  // namespace service::rtsp
