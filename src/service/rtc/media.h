#pragma once
// The interface between a session (connection/session.h: ICE, DTLS, SRTP, addresses) and the media it carries (a Media:
// play/player.h, publish/publisher.h: RTP and RTCP in the clear). A Media never sees keys or addresses. A session does
// not interpret packets.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/prefetch.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/log_limit.h"

namespace sdp {
struct LocalOptions;
struct Negotiated;
}  // namespace sdp

namespace service::rtc {

// The media of a session, implemented by the player and the publisher. None of its functions may yield. Every call
// except on_closed() is made while the session is alive; any of them may call session.end().
class Media {
  public:
    virtual ~Media() = default;
    // Called once, when the SRTP keys are known. The Media may send from now on.
    virtual void on_connected(int64_t now_ms) = 0;
    // A decrypted packet whose version and length are valid and that is not a replay. The bytes are valid during the
    // call and may be modified. now_us: monotonic, the time at which its batch was received.
    virtual void on_rtp(std::span<uint8_t> packet, int64_t now_us) = 0;
    virtual void on_rtcp(std::span<uint8_t> compound, int64_t now_us) = 0;
    // Called every tick_ms() or up to a fifth later, from the connection on. See MediaSession::tick_sooner().
    virtual void on_tick(int64_t now_ms) = 0;
    virtual int64_t tick_ms() const { return 100; }
    // These three are as in net::InputHolder.
    virtual size_t unfinished_input() const { return 0; }
    virtual void list_unfinished(std::vector<uint64_t>&) const {}
    virtual void drop_unfinished() {}
    // The session ends, for whatever reason. Packets sent from within this call (RTCP BYE) still go out if the session
    // was connected. Called once; then the Media is destroyed.
    virtual void on_closed() = 0;
    // For the log, once connected: "video H264, audio Opus".
    virtual std::string describe() const = 0;
    virtual net::RtcQuality quality() const = 0;
    virtual net::SessionFigures figures() const { return {}; }
};

struct SessionCounters {
    uint64_t packets_received = 0;
    uint64_t packets_sent = 0;
    uint64_t bytes_received = 0;  // on the wire, without IP and UDP headers
    uint64_t bytes_sent = 0;
    uint32_t refused = 0;  // datagrams that were not valid STUN, DTLS or SRTP of this session: replayed, wrong tag, too
                           // early
};

// The part of a session that its Media uses.
class MediaSession {
  public:
    virtual bool connected() const = 0;
    // Encrypts straight into the transport's send buffer and returns, or leaves both to a sender thread: `second` must
    // be memory that is released by Senders::retire(), as that of an RtpRing. Packets sent within one iteration of the
    // loop go to the kernel together; packets of one size for one peer are joined (GSO). header: the RTP header with
    // extensions, as this peer must see it. The payload is `first` followed by `second` (RTX: the original sequence
    // number, then the payload). index: the unwrapped sequence number, rollovers << 16 | sequence; an index must never
    // be reused with other bytes for the same SSRC (protocol/srtp/sender.h). Header and payload together are at most
    // kMaxPacketBytes. Before the connection, and while the socket's buffer is full, the packet is dropped and counted.
    virtual void send_rtp(std::span<const uint8_t> header, std::span<const uint8_t> first,
                          std::span<const uint8_t> second, uint64_t index) = 0;
    virtual void send_rtcp(std::span<const uint8_t> compound) = 0;
    // base::prefetch() of the memory that send_rtp() needs: it lies in the object's first kSendBytes.
    void prefetch_send() const { base::prefetch(this, kSendBytes); }
    // kFull: the send path has been full for longer than one iteration of the loop (a TCP connection): delay what can
    // wait. kSoon: a sender thread has much to do, and not after the next tick of 5 ms.
    enum class Room : uint8_t { kNow, kSoon, kFull };
    virtual Room room() const = 0;
    // tick_ms() is less now than when on_tick() was called last: the next call is due that much after now_ms.
    virtual void tick_sooner(int64_t now_ms) = 0;
    // Ends the session soon, not within the call: on_closed() is called from the loop. Only the first call counts.
    virtual void end(std::string_view why, base::CloseReason reason) = 0;
    virtual const SessionCounters& counters() const = 0;
    virtual net::Session& as_session() = 0;

    static constexpr size_t kSendBytes = 192;
    static constexpr size_t kMaxPacketBytes = 1400;  // before the SRTP tag is added

  protected:
    ~MediaSession() = default;
};

// The largest layer of simulcast that a player wants.
struct LayerWish {
    std::string rid{};   // empty: any
    int max_height = 0;  // of its video; 0: any
    bool empty() const { return rid.empty() && max_height == 0; }
};

// What a Media is constructed from. The vhost belongs to the snapshot. The client's net::Grant belongs to the session
// and is released after the Media is destroyed.
struct MediaParts {
    MediaSession& session;
    live::Registry& registry;
    // Must outlive the Media. For codecs that a player wants and the stream has not, and for names of layers.
    runtime::LogLimit& codec_log;
    live::StreamKey key;
    config::SnapshotPtr snapshot;
    const config::Vhost& vhost;
    std::string vcodec;          // codec requested by the client: "h264", "hevc", "av1", "vp8", "vp9"; empty: none
    std::string acodec;          // likewise: "opus", "pcmu", "pcma"
    live::PublisherFacts facts;  // publisher only
    // Our SSRCs in the answer: video, its retransmission or repair stream, audio. Set by add_player_options().
    std::array<uint32_t, 3> ssrcs{};
    LayerWish layer{};  // player only
};

// Adds the media's share to the options of an answer: the codecs that could be sent or received, the preferred one
// first, header extensions, feedback, and a player's SSRCs.
void add_player_options(MediaParts& parts, sdp::LocalOptions& options);
void add_publisher_options(const MediaParts& parts, sdp::LocalOptions& options);
// Called after the negotiation. kBusy: a publisher's stream name is in use; a publisher takes the name only when it is
// connected. kProtocol: no audio or video was negotiated that it could use.
base::Result<std::unique_ptr<Media>> make_player(MediaParts parts, const sdp::Negotiated& negotiated);
base::Result<std::unique_ptr<Media>> make_publisher(MediaParts parts, const sdp::Negotiated& negotiated);

}  // namespace service::rtc
