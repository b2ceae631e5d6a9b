#pragma once
// A connection after its handshake, without IO: datagrams go in, control packets and data headers come out, and a
// deadline says when to come again. What both directions share is here: ACKACK, keepalive, idle timeout, SHUTDOWN.
// A connection either receives or sends, as in live mode. Handshakes that are repeated and key messages are the
// caller's: on_datagram() says that it got one.
//
// Times are us of any steady clock. No function yields.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "protocol/srt/agreement.h"
#include "protocol/srt/decryptor.h"
#include "protocol/srt/packet.h"
#include "protocol/srt/receiver.h"
#include "protocol/srt/sender.h"

namespace srt {

struct ConnectionOptions {
    int64_t idle_timeout_us = 10'000'000;  // nothing came from the peer
    uint32_t reorder = 0;                  // Receiver::Options
    int64_t send_delay_us = 0;             // Sender::Options
};

class Connection {
  public:
    enum class Event : uint8_t { kNone, kHandshake, kKeyMessage, kIgnored };
    enum class End : uint8_t { kNone, kPeerShutdown, kIdle, kBufferFull, kClosed };
    struct Counters {
        uint64_t control_in = 0, control_out = 0;
        uint64_t acks_in = 0, acks_out = 0;
        uint64_t naks_in = 0, naks_out = 0;
        uint64_t drop_requests_in = 0, drop_requests_out = 0;
        uint64_t unexpected = 0;  // malformed, of another session, or of the direction that there is not
    };

    // sink and decryptor (null: packets with a key are unreadable) must outlive it.
    static Connection receiving(const Agreement& agreement, const ConnectionOptions& options, DataSink& sink,
                                PayloadDecryptor* decryptor);
    // Sends from `index` of the history on.
    static Connection sending(const Agreement& agreement, const ConnectionOptions& options, int64_t index);

    // A packet from the peer's address; payloads are decrypted in it.
    Event on_datagram(int64_t now_us, std::span<uint8_t> datagram);
    // Gives up what is due, and ends the connection if it is idle. Call it at deadline().
    void on_time(int64_t now_us);

    // Writes the next control packet to be sent now, and returns its size; 0: none. Call it until there is none, after
    // on_datagram(), on_time() and next_data(). After the end: what is to be told to the peer.
    size_t next_control(int64_t now_us, std::span<uint8_t> out);
    // Of a sending connection.
    std::optional<Outgoing> next_data(int64_t now_us, const History& history, const SendPolicy& policy);

    // When on_time(), next_control() or, with a history, next_data() has something to do; now or before: at once.
    int64_t deadline() const;
    int64_t deadline(const History& history, const SendPolicy& policy) const;

    // We end it: the peer is sent a SHUTDOWN. What was received is delivered.
    void close(int64_t now_us);
    End end() const { return end_; }

    // Null: it has the other direction.
    const Receiver* receiver() const { return receiver_.get(); }
    const Sender* sender() const { return sender_.get(); }
    const RoundTrip& round_trip() const { return sender_ ? sender_->round_trip() : receiver_->round_trip(); }
    const Agreement& agreement() const { return agreement_; }
    const Counters& counters() const { return counters_; }
    uint32_t timestamp(int64_t now_us) const { return wire_timestamp(now_us - agreement_.start_us); }

  private:
    Connection(const Agreement& agreement, const ConnectionOptions& options);
    Event on_data(int64_t now_us, const DataHeader& header, std::span<uint8_t> payload);
    Event on_control(int64_t now_us, const ControlHeader& header, std::span<const uint8_t> contents);
    Event unexpected();
    void finish(int64_t now_us, End end);
    size_t write_control(int64_t now_us, std::span<uint8_t> out);

    static constexpr int64_t kKeepaliveUs = 1'000'000;

    Agreement agreement_;
    ConnectionOptions options_;
    std::unique_ptr<Receiver> receiver_;
    std::unique_ptr<Sender> sender_;
    DataSink* sink_ = nullptr;
    PayloadDecryptor* decryptor_ = nullptr;
    int64_t received_us_, sent_us_;       // last
    std::array<uint32_t, 8> ack_acks_{};  // to be sent
    uint8_t ack_ack_count_ = 0;
    bool send_shutdown_ = false;
    End end_ = End::kNone;
    Counters counters_;
};

}  // namespace srt
