#pragma once
// Internal. A handshake under way: OpenSSL's SSL on a BIO that takes one record and gives datagrams. Some 57 kB, freed
// when it is done. Flights are sent again by us, on the caller's clock, not by OpenSSL on its own.

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

    // Before it begins: to one version, unless kAuto.
    void limit(Version version);
    // Whether a record in the clear fits what came before it.
    bool agrees(const Record& record) { return filter_.admits(record.body); }
    // One record, or none to begin as client.
    Step advance(const Record* record);
    // After kDone: what SRTP needs; nothing when no profile was agreed on.
    std::optional<srtp::KeyPair> srtp_keys() const;
    // After kDone: what is kept of it when it is gone.
    base::Result<Epilogue> epilogue();

    Flight& flight() { return flight_; }
    // The flight is to go out again.
    void resend();
    // After kDone, where there is no epilogue: a record that comes. True: the peer said farewell.
    bool after(const Record& record);
    // Writes a flight that says farewell.
    void farewell();

    // Our hello is out, so a client's hello cannot begin it anew.
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
    bool fresh_ = true;           // what OpenSSL writes next begins another flight
    uint64_t encrypted_ = 0;      // the sequence number of our last record in epoch 1, as far as resend() gave any
    std::vector<uint8_t> early_;  // an encrypted record that came before the change of cipher
    FragmentFilter filter_;
    size_t mtu_;
    bool client_;
    bool refused_ = false;  // the peer's certificate
    std::string error_;
};

}  // namespace dtls
