#pragma once
// One side of a DTLS association for SRTP (RFC 6347, RFC 5763, RFC 5764). Input: datagrams and times. Output:
// datagrams, SRTP keys and the state. It uses no socket and no clock; OpenSSL uses its own random numbers. It carries
// no application data (no SCTP).
//
// After each call that may write (start, on_datagram, on_timeout, close) the caller sends what next_datagram() returns
// until that is empty, then reads timeout_ms(). A server endpoint holds no OpenSSL state before the first ClientHello,
// nor after the handshake (epilogue.h); an established one holds it only with a suite other than AES-GCM, which DTLS
// 1.0 has to use. Flights are retransmitted after 50 ms, then after twice the interval each time up to 1 s, for 22 s in
// all: a viewer waits for the handshake, and on a bad network it loses several flights.
//
// To avoid traffic amplification, use it only with a peer address that ICE has verified.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/dtls/context.h"
#include "protocol/srtp/keys.h"

namespace dtls {

class Epilogue;
class Handshake;
struct Record;

// The role in SDP's a=setup: the passive side is the server.
enum class Role : uint8_t { kServer, kClient };

enum class State : uint8_t { kHandshake, kEstablished, kClosed, kFailed };

class Endpoint {
  public:
    static constexpr size_t kMtu = 1200;  // bytes of UDP payload
    static constexpr int64_t kFirstTimeoutMs = 50, kMaxTimeoutMs = 1000;
    static constexpr int kMaxSends = 26;
    static constexpr size_t kMaxFingerprints = 8;

    // version: one of those that the context allows.
    Endpoint(std::shared_ptr<const Context> context, Role role, size_t mtu = kMtu, Version version = Version::kAuto);
    Endpoint(Endpoint&&) noexcept;
    Endpoint& operator=(Endpoint&&) noexcept;
    ~Endpoint();

    // Call it before the handshake. The peer's certificate must match one of the fingerprints from SDP (RFC 8122, 5).
    // Without any fingerprint, and without accept_any_certificate(), every handshake fails. kProtocol: no valid
    // fingerprint; kLimit: more than kMaxFingerprints.
    base::Result<void> expect_fingerprint(std::string_view algorithm, std::string_view hex);
    void accept_any_certificate() { any_certificate_ = true; }

    // Writes a client's first flight. A server waits for the client.
    void start(int64_t now_ms);
    void on_datagram(std::span<const uint8_t> datagram, int64_t now_ms);
    // The next datagram to send, at most mtu bytes, valid until the next call; empty: nothing to send.
    std::span<const uint8_t> next_datagram();
    // When on_timeout() is due, in the clock of now_ms; INT64_MAX: never.
    int64_t timeout_ms() const { return timeout_ms_; }
    void on_timeout(int64_t now_ms);
    // Sends a close_notify if the association is established. The state is kClosed from then on.
    void close();

    State state() const { return state_; }
    bool established() const { return state_ == State::kEstablished; }
    // Final states. kClosed: the peer sent close_notify or close() was called. kFailed: the handshake failed.
    bool closed() const { return state_ == State::kClosed; }
    bool failed() const { return state_ == State::kFailed; }
    // The SRTP keys, returned once after established() and erased here.
    std::optional<srtp::KeyPair> take_srtp_keys();
    // The reason of the failure; before it has failed, the last problem seen.
    const std::string& error() const { return error_; }

  private:
    bool begin();
    bool wants(const Record& record);
    void on_record(const Record& record, int64_t now_ms);
    void on_epilogue(const Record& record);
    void on_established();
    void repeat_last_flight(const Record& record);
    void fail(std::string text);
    void arm(int64_t now_ms);
    void disarm();

    std::shared_ptr<const Context> context_;
    std::unique_ptr<std::vector<Fingerprint>> expected_;
    std::unique_ptr<Handshake> handshake_;
    std::unique_ptr<Epilogue> epilogue_;
    std::unique_ptr<srtp::KeyPair> keys_;
    std::string error_;
    int64_t timeout_ms_;
    uint16_t mtu_;
    uint8_t sends_ = 0;
    Role role_;
    Version version_;
    State state_ = State::kHandshake;
    bool any_certificate_ = false;
    bool send_last_flight_ = false;
    bool send_farewell_ = false;
    bool hello_failed_ = false;  // handshake_ has an alert to send and is of no other use
};

}  // namespace dtls
