#pragma once
// Session: one SRT client after its handshake: a channel (service/relay/srt_channel.h) on a port that all share. It has
// no coroutine. What it does with media is in publish_session.h and play_session.h.
//
// Datagrams are the session's by its socket id, which is random, and by the address of its handshake alone.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/endpoint.h"
#include "config/snapshot.h"
#include "live/hub/stream.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "protocol/srt/agreement.h"
#include "service/relay/srt_channel.h"

namespace service::srt {

class Session;

// What of a caller, beside its address, tells it from others: it chooses its socket id.
struct CallerKey {
    base::Endpoint from{};
    uint32_t id = 0;
    friend auto operator<=>(const CallerKey&, const CallerKey&) = default;
};

// What the handshake and the gate decided about a caller.
struct AdmittedCaller {
    std::string id;  // of the session
    CallerKey caller{};
    relay::SrtPeer peer{};
    ::srt::Agreement agreement{};
    std::vector<uint8_t> answer{};         // to its conclusion
    std::optional<relay::SrtKeys> keys{};  // nothing: it does not encrypt
    std::string tc_url{}, params{};
    std::string path{};  // the servers that the stream has passed: "a,b"
    config::SnapshotPtr snapshot{};
    const config::Vhost* vhost = nullptr;  // of the snapshot
    net::Grant grant{};
    base::Ref<live::Stream> stream{};
};

class SessionHost {
  public:
    // The session is closed and destroyed soon. Must not yield.
    virtual void end_soon(Session& session) = 0;

  protected:
    ~SessionHost() = default;
};

class Session : public net::Session, protected relay::SrtChannelOwner {
  public:
    const CallerKey& caller() const { return caller_; }
    uint32_t own_id() const { return connection().agreement().own_id; }
    const live::StreamKey& key() const { return stream_->key(); }
    const ::srt::Connection& connection() const { return channel_->connection(); }

    // From the caller's address, for this session's id. The bytes may be written to.
    void on_datagram(std::span<uint8_t> datagram, int64_t now_us);
    // The caller has repeated its conclusion: it gets the same answer, until it has sent something.
    void repeat_answer() {
        if (!answer_.empty()) channel_->send(answer_);
    }
    // Ends the session: the first reason counts.
    void end(std::string_view why, base::CloseReason reason) { channel_->end(why, reason); }
    // The same, and what it has of its stream is free at once.
    void replace(std::string_view why) {
        end(why, base::CloseReason::kPublisherReplaced);
        on_close();
    }
    bool ended() const { return channel_->ended(); }
    // For the log: "delay 120 ms, encrypted, peer 1.5.3".
    std::string describe() const { return channel_->describe(); }
    // The peer's shutdown, the log line. Destroy it afterwards.
    void close();

    std::string stream_text() const override { return stream_->key().text(); }
    net::ClientDetails details() const override;
    net::Traffic traffic() const override { return channel_ ? channel_->traffic() : net::Traffic(); }
    std::optional<net::SrtQuality> srt_quality() const override { return channel_->quality(); }
    net::SessionFigures figures() const override;
    void kick(std::string_view why) override { end(why, base::CloseReason::kKicked); }

    uint32_t index = 0;  // in the service's list

  protected:
    // Moves out of `caller` what it keeps; the derived class makes the channel.
    Session(SessionHost& host, net::SessionTable& table, net::SessionType type, bool publishes, AdmittedCaller& caller);
    void set_channel(relay::SrtChannel& channel);

    live::Stream& stream() { return *stream_; }
    const live::Stream& stream() const { return *stream_; }
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    const config::Vhost& vhost() const { return vhost_; }
    const std::string& params() const { return params_; }
    const std::string& tc_url() const { return tc_url_; }
    const std::string& path() const { return path_; }

    // What it has of the stream ends. May be called twice.
    virtual void on_close() = 0;

  private:
    // SrtChannelOwner
    const std::string& channel_id() const override { return id(); }
    void on_channel_end(std::string_view why, base::CloseReason reason) override;

    SessionHost& host_;
    const CallerKey caller_;
    relay::SrtChannel* channel_ = nullptr;  // of the derived class; null: until that is made
    std::vector<uint8_t> answer_;           // until the caller has it
    const config::SnapshotPtr snapshot_;
    const config::Vhost& vhost_;
    const base::Ref<live::Stream> stream_;
    net::Grant grant_;
    std::string tc_url_, params_, path_, end_text_;
};

}  // namespace service::srt
