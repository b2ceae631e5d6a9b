#pragma once
// One side of a DTLS association for SRTP (RFC 6347, RFC 5763, RFC 5764): datagrams and times in, datagrams, keys and
// an end out. No socket and no clock of ours; OpenSSL brings its own random numbers. It carries no data (no SCTP).
//
// After each call that may write (start, on_datagram, on_timeout, close) take what is to be sent with next_datagram()
// until it is empty, then ask timeout_ms(). A server endpoint keeps nothing of OpenSSL until a ClientHello comes, and
// after the handshake again nothing (epilogue.h); only an established one with a suite other than AES-GCM, which
// DTLS 1.0 has to use, does. Flights are sent again after 50 ms, then twice as long each time up to 1 s, for 22 s in
// all: people wait for a handshake, and on a bad network it loses several flights.
//
// Whoever sends to unverified addresses makes an amplifier of this: ICE has to have verified the peer's first.

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

// SDP's a=setup: the passive side is the server.
enum class Role : uint8_t { kServer, kClient };

enum class State : uint8_t { kHandshake, kEstablished, kClosed, kFailed };

class Endpoint {
  public:
    static constexpr size_t kMtu = 1200;  // of what is inside UDP
    static constexpr int64_t kFirstTimeoutMs = 50, kMaxTimeoutMs = 1000;
    static constexpr int kMaxSends = 26;
    static constexpr size_t kMaxFingerprints = 8;

    // version: of what the context allows.
    Endpoint(std::shared_ptr<const Context> context, Role role, size_t mtu = kMtu, Version version = Version::kAuto);
    Endpoint(Endpoint&&) noexcept;
    Endpoint& operator=(Endpoint&&) noexcept;
    ~Endpoint();

    // Before the handshake: the peer's certificate must match one of those that SDP told (RFC 8122, 5). Without any,
    // and without accept_any_certificate(), every handshake fails. kProtocol: no fingerprint; kLimit: too many.
    base::Result<void> expect_fingerprint(std::string_view algorithm, std::string_view hex);
    void accept_any_certificate() { any_certificate_ = true; }

    // A client's first flight. A server waits.
    void start(int64_t now_ms);
    void on_datagram(std::span<const uint8_t> datagram, int64_t now_ms);
    // At most mtu bytes, valid until the next call; empty: nothing to send.
    std::span<const uint8_t> next_datagram();
    // When on_timeout() is due, in the clock of now_ms; INT64_MAX: never.
    int64_t timeout_ms() const { return timeout_ms_; }
    void on_timeout(int64_t now_ms);
    // Says farewell (close_notify) when there is somebody to say it to; kClosed from here on.
    void close();

    State state() const { return state_; }
    bool established() const { return state_ == State::kEstablished; }
    // Both are over: the peer said farewell or close() was called, or the handshake failed.
    bool closed() const { return state_ == State::kClosed; }
    bool failed() const { return state_ == State::kFailed; }
    // Once after established: handed over and forgotten here.
    std::optional<srtp::KeyPair> take_srtp_keys();
    // What went wrong; before it has failed, what the last thing was that did.
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
