#include "service/srt/play_session.h"

#include <algorithm>
#include <cstring>

#include "convert/ts/to_ts.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/random.h"
#include "service/srt/config.h"

namespace service::srt {
namespace {

using base::CloseReason;

std::unique_ptr<live::WireEncoder> make_encoder(const live::LogKey&) { return std::make_unique<convert::TsEncoder>(); }
constexpr live::WireFormat kFormat{"srt", make_encoder};

// A rate is measured over at least this long.
constexpr int64_t kMinRateUs = 500'000;
// Of maxbw 0: so much of the stream's rate, for repairs.
constexpr int64_t kOfInputPercent = 125;

// The ring as the connection sees it, whose indices begin with 1.
class RingHistory final : public ::srt::History {
  public:
    explicit RingHistory(const live::MessageRing& ring) : ring_(ring) {}
    int64_t first() const override { return static_cast<int64_t>(ring_.begin()) + 1; }
    int64_t end() const override { return static_cast<int64_t>(ring_.end()) + 1; }
    Entry entry(int64_t index) const override {
        const live::Message& message = ring_.at(static_cast<uint64_t>(index - 1));
        return {message.time_us, message.bytes.bytes()};
    }

  private:
    const live::MessageRing& ring_;
};

// Bytes per second; 0: not known.
int64_t rate_of(const live::MessageRing& ring) {
    if (ring.messages() < 2) return 0;
    const int64_t span_us = ring.at(ring.end() - 1).time_us - ring.at(ring.begin()).time_us;
    return span_us < kMinRateUs ? 0 : static_cast<int64_t>(ring.bytes()) * 1'000'000 / span_us;
}

}  // namespace

net::SessionType srt_play_type() {
    static const net::SessionType kType = net::SessionType::add("srt-play", false);
    return kType;
}

PlaySession::PlaySession(SessionHost& host, net::SessionTable& table, AdmittedCaller caller, Stats& stats)
    : Session(host, table, srt_play_type(), false, caller),
      lane_(stream().message_lane({&kFormat, {}})),
      max_rate_(snapshot()->get<ServerConfig>().maxbw),
      idle_timeout_us_(int64_t{1'000} * snapshot()->get<ServerConfig>().peer_idle_timeout),
      stats_(stats) {
    connect(caller.agreement, static_cast<int64_t>(lane_.ring().end()) + 1);
    if (caller.keys)
        keys_ = std::make_unique<::srt::SenderKeys>(caller.keys->keys, caller.keys->basis,
                                                    ::srt::RefreshSettings{.random = runtime::fill_secret});
    lane_.join(*this, caller.agreement.send_latency_us);
    record_unserved();
}

PlaySession::~PlaySession() { lane_.leave(*this); }

// index: of the history, of what is sent first.
void PlaySession::connect(const ::srt::Agreement& agreement, int64_t index) {
    connection_.emplace(::srt::Connection::sending(
        agreement, {.idle_timeout_us = idle_timeout_us_, .send_delay_us = 1'000 * lane_.interval_ms()}, index));
}

::srt::SendPolicy PlaySession::policy() const {
    ::srt::SendPolicy policy{.stream_rate = rate_of(lane_.ring())};
    if (max_rate_ > 0) policy.max_rate = max_rate_;
    if (max_rate_ == 0) policy.max_rate = policy.stream_rate * kOfInputPercent / 100;
    return policy;
}

bool PlaySession::on_packets(int64_t now_us) {
    if (ended()) return false;
    const runtime::ContextScope context(id());
    pump(now_us);
    return false;  // what is sent later is the timer's
}

void PlaySession::on_stream_end() { end("the stream has ended", CloseReason::kStreamEnded); }

// Nothing was sent before, so that its sequence numbers begin here.
bool PlaySession::begin() {
    const auto start = lane_.start();
    if (!start) return false;
    const ::srt::Agreement agreement = connection_->agreement();
    connect(agreement, static_cast<int64_t>(*start) + 1);
    return begun_ = true;
}

void PlaySession::send_data(int64_t now_us) {
    if (!begun_ && !begin()) return;
    const RingHistory history(lane_.ring());
    const ::srt::SendPolicy by = policy();
    // A datagram that has no room is lost, and repaired later.
    while (!port().is_full()) {
        const auto next = connection_->next_data(now_us, history, by);
        if (!next) break;
        send(*next, history.entry(next->index).bytes);
    }
    if (keys_ && keys_->deadline_us() <= now_us) announce_key(now_us);
}

void PlaySession::send(const ::srt::Outgoing& outgoing, std::span<const uint8_t> payload) {
    ::srt::DataHeader header = outgoing.header;
    if (keys_) {
        header.key = header.retransmitted ? keys_->parity_of(header.sequence) : keys_->next_parity(header.sequence);
        if (header.key == ::srt::KeyParity::kNone) return;  // its key is gone
    }
    uint8_t* out = reserve(::srt::kHeaderSize + payload.size());
    if (!out) return;
    ::srt::write_data_header(std::span<uint8_t, ::srt::kHeaderSize>(out, ::srt::kHeaderSize), header);
    if (keys_) {
        keys_->encrypt(header.key, header.sequence, payload, out + ::srt::kHeaderSize);
    } else {
        std::memcpy(out + ::srt::kHeaderSize, payload.data(), payload.size());
    }
    commit(::srt::kHeaderSize + payload.size());
}

void PlaySession::announce_key(int64_t now_us) {
    uint8_t* out = reserve(::srt::kMaxDatagram);
    if (!out) return;
    const ::srt::Target target{connection_->agreement().peer_id, connection_->timestamp(now_us)};
    if (const size_t bytes = keys_->poll(now_us, connection_->round_trip().us(), target, {out, ::srt::kMaxDatagram}))
        commit(bytes);
}

int64_t PlaySession::deadline() const {
    const int64_t due_us =
        begun_ ? connection_->deadline(RingHistory(lane_.ring()), policy()) : connection_->deadline();
    return keys_ ? std::min(due_us, keys_->deadline_us()) : due_us;
}

void PlaySession::on_key_message(uint16_t subtype, std::span<const uint8_t> contents) {
    if (keys_ && subtype == ::srt::kKeyResponse) (void)keys_->on_key_response(contents);
}

void PlaySession::on_second(int64_t) {
    record_unserved();
    record_stats();
}

void PlaySession::on_close() {
    record_stats();
    lane_.leave(*this);
}

void PlaySession::record_stats() {
    const ::srt::Sender::Counters& now = connection_->sender()->counters();
    stats_.sent += (now.packets - now.repairs) - (recorded_.packets - recorded_.repairs);
    stats_.requested += now.lost - recorded_.lost;
    stats_.retransmitted += now.repairs - recorded_.repairs;
    stats_.dropped += now.dropped - recorded_.dropped;
    recorded_ = now;
}

}  // namespace service::srt
