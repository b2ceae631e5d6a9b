#pragma once
// Peer: one SRT client of the load: a UDP socket, the caller's handshake, and a connection (protocol/srt). open() is a
// coroutine's; from then on a coroutine of its own moves datagrams. For udp://HOST:PORT (a floor) there is no
// handshake: a datagram says that it is there, and which socket id it has.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/ledger.h"
#include "protocol/srt/agreement.h"
#include "protocol/srt/connection.h"
#include "protocol/srt/session_keys.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/udp.h"

namespace load::srt {

struct PeerOptions {
    std::string url;  // srt://HOST:PORT/STREAM_ID, the id as it is; or udp://HOST:PORT
    int latency_ms = 120;
    bool publish = false;
    std::string passphrase;  // empty: no encryption
};

class Peer {
  public:
    Peer(PeerOptions options, Ledger& ledger) : options_(std::move(options)), ledger_(ledger) {}
    virtual ~Peer() { stop(); }
    Peer(const Peer&) = delete;

    // Until the listener has accepted. Yields. The ledger is told of success and failure.
    base::Result<void> open(runtime::Deadline deadline);
    bool is_open() const { return open_; }
    int64_t begun_us() const { return begun_us_; }
    // SHUTDOWN; yields.
    void leave();

  protected:
    virtual ::srt::Connection connect(const ::srt::Agreement& agreement) = 0;
    // A data packet from the server, before it is decrypted. False: it is lost.
    virtual bool on_packet([[maybe_unused]] size_t bytes, [[maybe_unused]] int64_t now_us) { return true; }
    // Sends what is due by send().
    virtual void send_data([[maybe_unused]] int64_t now_us) {}
    // When send_data() has something to do.
    virtual int64_t data_deadline() const { return connection_->deadline(); }

    void send(const ::srt::DataHeader& header, std::span<const uint8_t> payload);
    // The coroutine has to be ended by the destructor of the derived class, whose functions it calls.
    void stop();
    Ledger& ledger() { return ledger_; }
    ::srt::PayloadDecryptor* decryptor() { return keys_.get(); }
    const std::optional<::srt::Connection>& connection() const { return connection_; }
    ::srt::Connection& live() { return *connection_; }

  private:
    base::Result<::srt::Agreement> handshake(runtime::Deadline deadline);
    base::Result<::srt::Agreement> introduce(runtime::Deadline deadline);
    base::Result<std::vector<uint8_t>> make_key_message();
    bool flush(std::span<const uint8_t> datagram);
    void pump(int64_t now_us);
    void take(std::span<uint8_t> datagram, int64_t now_us);
    void run();
    void lose(const base::Error& error);

    PeerOptions options_;
    Ledger& ledger_;
    std::unique_ptr<runtime::UdpSocket> socket_;
    base::Endpoint server_;
    std::unique_ptr<::srt::ReceiverKeys> keys_;
    std::optional<::srt::Connection> connection_;
    runtime::Task task_;
    int64_t begun_us_ = 0;
    bool open_ = false;
};

}  // namespace load::srt
