#pragma once
// Peer: one WebRTC client of the load: its HTTP exchange, one UDP socket, ICE, DTLS, SRTP. open() is a coroutine's;
// from then on a coroutine of its own receives. For udp://HOST:PORT/ROOM (the floors) there is none of these: a
// datagram says that it is there, what comes is counted, and a publisher encrypts with a key that nobody has.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "load/ledger.h"
#include "load/rtc/signalling.h"
#include "net/http/http_client.h"
#include "protocol/dtls/context.h"
#include "protocol/dtls/endpoint.h"
#include "protocol/ice/testing/client.h"
#include "protocol/srtp/receiver.h"
#include "protocol/srtp/sender.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/udp.h"

namespace load::rtc {

// What all peers of a run share.
struct Shared {
    load::Ledger& ledger;
    net::HttpClient& http;
    std::shared_ptr<const dtls::Context> dtls;
};

class Peer {
  public:
    Peer(std::string url, bool publish, bool nack, Shared shared);
    virtual ~Peer();
    Peer(const Peer&) = delete;

    // Until SRTP has its keys. Yields. The ledger is told of success and failure.
    base::Result<void> open(runtime::Deadline deadline);
    bool is_open() const { return open_; }
    int64_t begun_us() const { return begun_us_; }
    // DELETE of the session; yields.
    void leave();
    // The ends of pages and networks: DTLS's farewell without a DELETE, or nothing at all. Both yield.
    void say_farewell();
    void fall_silent();

  protected:
    virtual void on_packet(std::span<const uint8_t> datagram,
                           int64_t now_us) = 0;  // of RTP, before SRTP: its size counts
    virtual void on_rtp([[maybe_unused]] std::span<uint8_t> packet, [[maybe_unused]] int64_t now_us) {}
    virtual void on_rtcp([[maybe_unused]] std::span<const uint8_t> compound, [[maybe_unused]] int64_t now_us) {}
    // Each kTickMs or so.
    virtual void on_tick([[maybe_unused]] int64_t now_us) {}
    // False: it is not sent.
    bool send_rtp(std::span<const uint8_t> header, std::span<const uint8_t> payload, uint64_t index);
    void send_rtcp(std::span<const uint8_t> compound);

    static constexpr int64_t kTickMs = 50;
    static constexpr int64_t kReportUs = 1'000'000;  // between two reports of RTCP
    const AnswerFacts& answer() const { return answer_; }
    uint32_t audio_ssrc() const { return offer_.audio_ssrc; }
    uint32_t video_ssrc() const { return offer_.video_ssrc; }
    load::Ledger& ledger() { return shared_.ledger; }
    // What is sent without SRTP to a floor.
    bool is_bare() const { return bare_; }

  private:
    struct Keys {
        srtp::Sender sender;
        srtp::Receiver receiver;
        explicit Keys(const srtp::KeyPair& pair)
            : sender(pair.profile, pair.local), receiver(pair.profile, pair.remote) {}
    };
    base::Result<void> connect(runtime::Deadline deadline);
    base::Result<void> connect_bare(runtime::Deadline deadline);
    base::Result<void> signal(runtime::Deadline deadline);
    base::Result<void> step(runtime::Deadline deadline);
    base::Result<void> pump(int64_t now_ms);
    base::Result<void> begin_dtls(int64_t now_ms);
    base::Result<void> take(runtime::UdpPacket packet, int64_t now_us);
    base::Result<void> take_dtls(std::span<const uint8_t> datagram, int64_t now_ms);
    void take_rtp(std::span<uint8_t> datagram, int64_t now_us);
    void take_rtcp(std::span<uint8_t> datagram, int64_t now_us);
    bool send(std::span<const uint8_t> bytes, const base::Endpoint& to);
    void run();
    void lose(const base::Error& error);

    std::string url_, resource_;
    bool nack_;
    bool bare_;
    Shared shared_;
    OfferFacts offer_;
    AnswerFacts answer_;
    std::unique_ptr<runtime::UdpSocket> socket_;
    std::optional<ice::Client> ice_;
    std::unique_ptr<dtls::Endpoint> dtls_;
    std::unique_ptr<Keys> keys_;
    base::Endpoint peer_;
    runtime::Task receiving_;
    int64_t begun_us_ = 0;
    int64_t next_tick_us_ = 0;
    bool open_ = false;
};

}  // namespace load::rtc
