#pragma once
// Session: one SRT client after its handshake: a connection (protocol/srt) on a port that all share, and its timer. It
// has no coroutine. What it does with media is in publish_session.h and play_session.h.
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
#include "protocol/srt/connection.h"
#include "protocol/srt/session_keys.h"
#include "runtime/loop/timers.h"
#include "runtime/socket/datagram_port.h"

namespace service::srt {

class Session;

// What of a caller, beside its address, tells it from others: it chooses its socket id.
struct CallerKey {
    base::Endpoint from{};
    uint32_t id = 0;
    friend auto operator<=>(const CallerKey&, const CallerKey&) = default;
};

// The keys that the caller has sent.
struct Keys {
    ::srt::SessionKeys keys;
    ::srt::KeyBasis basis;
};

// What the handshake and the gate decided about a caller.
struct AdmittedCaller {
    std::string id;  // of the session
    CallerKey caller{};
    runtime::DatagramPort* port = nullptr;
    uint16_t source = 0;  // DatagramPort::source_for()
    ::srt::Agreement agreement{};
    std::vector<uint8_t> answer{};  // to its conclusion
    std::optional<Keys> keys{};     // nothing: it does not encrypt
    std::string tc_url{}, params{};
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

class Session : public net::Session, private runtime::Timer {
  public:
    const CallerKey& caller() const { return caller_; }
    uint32_t own_id() const { return connection_->agreement().own_id; }
    const live::StreamKey& key() const { return stream_->key(); }
    const ::srt::Connection& connection() const { return *connection_; }
    bool is_encrypted() const { return is_encrypted_; }

    // From the caller's address, for this session's id. The bytes may be written to.
    void on_datagram(std::span<uint8_t> datagram, int64_t now_us);
    // The caller has repeated its conclusion: it gets the same answer, until it has sent something.
    void repeat_answer();
    // Ends the session: the first reason counts.
    void end(std::string_view why, base::CloseReason reason);
    // The same, and what it has of its stream is free at once.
    void replace(std::string_view why) {
        end(why, base::CloseReason::kPublisherReplaced);
        on_close();
    }
    bool ended() const { return ended_; }
    // For the log: "latency 120 and 120 ms, encrypted, peer 1.5.3".
    std::string describe() const;
    // The peer's shutdown, the log line. Destroy it afterwards.
    void close();

    std::string stream_text() const override { return stream_->key().text(); }
    net::ClientDetails details() const override;
    net::Traffic traffic() const override { return traffic_; }
    void kick(std::string_view why) override { end(why, base::CloseReason::kKicked); }

    uint32_t index = 0;  // in the service's list

  protected:
    // Moves out of `caller` what it keeps; the derived class makes the connection by the agreement.
    Session(SessionHost& host, net::SessionTable& table, net::SessionType type, bool publishes, AdmittedCaller& caller);

    live::Stream& stream() { return *stream_; }
    const live::Stream& stream() const { return *stream_; }
    const base::Ref<live::Stream>& stream_ref() const { return stream_; }
    const config::SnapshotPtr& snapshot() const { return snapshot_; }
    const config::Vhost& vhost() const { return vhost_; }
    const std::string& params() const { return params_; }
    const std::string& tc_url() const { return tc_url_; }
    runtime::DatagramPort& port() { return port_; }
    // Room for a datagram, and its end. Null: there is none, and the datagram is lost.
    uint8_t* reserve(size_t bytes) { return port_.reserve(bytes); }
    void commit(size_t bytes);

    // Sends what is due: control packets, then what the derived class has.
    void pump(int64_t now_us);
    // Data packets. Must not yield.
    virtual void send_data(int64_t now_us) = 0;
    // When send_data() or the connection has something to do, us.
    virtual int64_t deadline() const = 0;
    // The contents of an EXT/KMREQ or EXT/KMRSP of the peer.
    virtual void on_key_message(uint16_t subtype, std::span<const uint8_t> contents) = 0;
    // About once a second.
    virtual void on_second(int64_t) {}
    // What it has of the stream ends. May be called twice.
    virtual void on_close() = 0;

    std::optional<::srt::Connection> connection_;  // set by the derived class

  private:
    void on_due() override;
    void send_control(int64_t now_us);
    void check_end();

    static constexpr int64_t kSecondUs = 1'000'000;

    SessionHost& host_;
    const CallerKey caller_;
    runtime::DatagramPort& port_;
    const uint16_t source_;
    bool ended_ = false;
    bool is_encrypted_ = false;
    int64_t second_us_ = 0;
    net::Traffic traffic_;
    std::vector<uint8_t> answer_;  // until the caller has it
    const config::SnapshotPtr snapshot_;
    const config::Vhost& vhost_;
    const base::Ref<live::Stream> stream_;
    net::Grant grant_;
    std::string tc_url_, params_, end_text_;
};

}  // namespace service::srt
