#pragma once
// Internal. A handshake in progress: OpenSSL's SSL object on a BIO that reads one record and writes datagrams. It takes
// about 57 kB and is freed when the handshake is done. Retransmissions follow the caller's clock, not OpenSSL's own
// timer.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/dtls/context.h"
#include "protocol/dtls/epilogue.h"
#include "protocol/dtls/flight.h"
#include "protocol/dtls/record.h"
#include "protocol/srtp/keys.h"

struct ssl_st;  // OpenSSL's SSL
struct x509_store_ctx_st;

namespace dtls {

class Handshake {
  public:
    enum class Step : uint8_t { kWaits, kDone, kFailed };

    // kSystem: OpenSSL has no memory.
    static base::Result<std::unique_ptr<Handshake>> make(const Context& context, bool client, size_t mtu,
                                                         const std::vector<Fingerprint>* expected);
    Handshake(bool client, size_t mtu, const std::vector<Fingerprint>* expected)
        : expected_(expected),
          filter_(client ? FragmentFilter::From::kServer : FragmentFilter::From::kClient),
          mtu_(mtu),
          client_(client) {}
    Handshake(const Handshake&) = delete;
    ~Handshake();

    // Call it before the handshake begins: allows this version only, unless kAuto.
    void limit(Version version);
    // Whether a plaintext record is consistent with the fragments received before it.
    bool agrees(const Record& record) { return filter_.admits(record.body); }
    // Processes one record; null: begins the handshake as client.
    Step advance(const Record* record);
    // After kDone: the SRTP keys; nothing when no profile was agreed on.
    std::optional<srtp::KeyPair> srtp_keys() const;
    // After kDone: the state to keep when this object is destroyed.
    base::Result<Epilogue> epilogue();

    Flight& flight() { return flight_; }
    // Prepares the flight for retransmission.
    void resend();
    // After kDone, where there is no epilogue: processes a received record. True: the peer sent close_notify.
    bool after(const Record& record);
    // Writes a flight with a close_notify.
    void farewell();

    // Our hello was sent, so a new ClientHello cannot restart the handshake.
    bool answered() const;
    const std::string& error() const { return error_; }

    static int verify_certificate(x509_store_ctx_st* store, void*);

  private:
    friend struct BioCalls;

    bool wanted(const Record& record);
    bool ready_for_epoch_1() const;
    Step feed(const Record* record);

    ssl_st* ssl_ = nullptr;
    const std::vector<Fingerprint>* expected_;
    std::span<const uint8_t> in_;  // the record that OpenSSL reads next
    Flight flight_;
    bool fresh_ = true;           // OpenSSL's next write begins a new flight
    uint64_t encrypted_ = 0;      // sequence number of our last record in epoch 1; 0 until resend() assigns one
    std::vector<uint8_t> early_;  // an encrypted record received before the ChangeCipherSpec
    FragmentFilter filter_;
    size_t mtu_;
    bool client_;
    bool refused_ = false;  // the peer's certificate was rejected
    std::string error_;
};

}  // namespace dtls
