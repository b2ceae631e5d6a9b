#pragma once
// The seam between a session (session.h: ICE, DTLS, SRTP, addresses) and what it carries (a Media: player.h,
// publisher.h: RTP and RTCP in the clear). A Media never sees keys or addresses, a session no packet's meaning.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"

namespace sdp {
struct LocalOptions;
struct Negotiated;
}  // namespace sdp

namespace service::rtc {

// What a session carries: implemented by the player and the publisher. None of its functions may yield. Every call but
// the last comes while the session lives; any of them may call session.end().
class Media {
  public:
    virtual ~Media() = default;
    // SRTP's keys are there: it may send from now on. Once.
    virtual void on_connected(int64_t now_ms) = 0;
    // A packet as it was before SRTP: right in its length and version, not replayed. Valid during the call; may be
    // written to. now_us: monotonic, when its batch was received.
    virtual void on_rtp(std::span<uint8_t> packet, int64_t now_us) = 0;
    virtual void on_rtcp(std::span<uint8_t> compound, int64_t now_us) = 0;
    // Every tick_ms() or up to a fifth later, from the connection on.
    virtual void on_tick(int64_t now_ms) = 0;
    virtual int64_t tick_ms() const { return 100; }
    // The session ends, for whatever reason; what is sent from here (RTCP BYE) still goes out when it was connected.
    // Once; then it is destroyed.
    virtual void on_closed() = 0;
    // "video H264, audio Opus": for the log, once it is connected.
    virtual std::string describe() const = 0;
    virtual net::RtcQuality quality() const = 0;
};

struct SessionCounters {
    uint64_t packets_received = 0;
    uint64_t packets_sent = 0;
    uint64_t bytes_received = 0;  // as on the wire, without IP and UDP
    uint64_t bytes_sent = 0;
    uint32_t refused = 0;  // datagrams that were no STUN, DTLS or SRTP of this session: replayed, wrong tag, too early
};

// For Media.
class MediaSession {
  public:
    virtual bool connected() const = 0;
    // Encrypts straight into the transport's send buffer and returns; what is sent within one turn of the loop goes to
    // the kernel together, packets of one size for one peer as one (GSO). header: RTP's, with its extensions, as this
    // peer is to see it. The payload is `first` and then `second` (RTX: the original sequence number, then the
    // payload). index: the unwrapped sequence, rollovers << 16 | sequence; the same index and SSRC must never come with
    // other bytes (srtp/sender.h). Together at most kMaxPacketBytes. Before the connection, and while the socket's
    // buffer is full, it is dropped and counted.
    virtual void send_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first,
                          std::span<const uint8_t> second, uint64_t index) = 0;
    virtual void send_rtcp(std::span<const uint8_t> compound) = 0;
    // Its way out is full, for longer than a turn of the loop (a TCP connection): wait with what can wait.
    virtual bool congested() const { return false; }
    // Soon, not within the call: on_closed() comes from the loop. Only the first one counts.
    virtual void end(std::string_view why, base::CloseReason reason) = 0;
    virtual const SessionCounters& counters() const = 0;
    virtual net::Session& as_session() = 0;

    static constexpr size_t kMaxPacketBytes = 1400;  // before SRTP's tag

  protected:
    ~MediaSession() = default;
};

// What a Media is made of. The vhost is of the snapshot. That the client was let in (net::Grant) is the session's: its
// end is told after the Media is destroyed.
struct MediaParts {
    MediaSession& session;
    live::Registry& registry;
    live::StreamKey key;
    config::SnapshotPtr snapshot;
    const config::Vhost& vhost;
    std::string vcodec;          // the client's wishes: "h264", "hevc", "av1", "vp8", "vp9"; empty: none
    std::string acodec;          // "opus", "pcmu", "pcma"
    live::PublisherFacts facts;  // of a publisher
    // Ours, in the answer: of video, of what mends it, of audio. By add_player_options().
    std::array<uint32_t, 3> ssrcs{};
};

// The codecs that could be sent or taken, the preferred first, header extensions, feedback, and a player's SSRCs: the
// media's share of the options of an answer.
void add_player_options(MediaParts& parts, sdp::LocalOptions& options);
void add_publisher_options(const MediaParts& parts, sdp::LocalOptions& options);
// After the negotiation. A publisher whose stream's name is in use: kBusy; it takes the name when it is connected. None
// of the kinds fits: kProtocol.
base::Result<std::unique_ptr<Media>> make_player(MediaParts parts, const sdp::Negotiated& negotiated);
base::Result<std::unique_ptr<Media>> make_publisher(MediaParts parts, const sdp::Negotiated& negotiated);

}  // namespace service::rtc
