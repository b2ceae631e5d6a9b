#include "service/relay/srt_output.h"

#include <algorithm>
#include <cstring>

#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/random.h"
#include "service/relay/ts_messages.h"

namespace service::relay {

using base::CloseReason;

namespace {

constexpr std::string_view kStreamEnded = "the stream has ended";
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

}  // namespace

SrtOutput::SrtOutput(SrtChannelOwner& owner, const SrtPeer& peer, const ::srt::Agreement& agreement,
                     const std::optional<SrtKeys>& keys, live::Stream& stream, const SrtOutputOptions& options)
    : SrtChannel(owner, peer, keys ? keys->basis.kek.size : 0), options_(options), lane_(ts_messages(stream)) {
    connect(agreement, static_cast<int64_t>(lane_.ring().end()) + 1);
    if (keys)
        keys_ = std::make_unique<::srt::SenderKeys>(keys->keys, keys->basis,
                                                    ::srt::RefreshSettings{.random = runtime::fill_secret});
    if (runtime::Senders* threads = runtime::senders()) thread_ = threads->assign_thread();
    lane_.join(*this, agreement.send_latency_us);
    schedule(runtime::now_us());
}

SrtOutput::~SrtOutput() { leave(); }

// index: of the history, of what is sent first.
void SrtOutput::connect(const ::srt::Agreement& agreement, int64_t index) {
    connection_.emplace(::srt::Connection::sending(
        agreement, {.idle_timeout_us = 1'000 * options_.idle_timeout_ms, .send_delay_us = 1'000 * lane_.interval_ms()},
        index));
}

::srt::SendPolicy SrtOutput::policy() const {
    ::srt::SendPolicy policy{.stream_rate = lane_.ring().rate()};
    if (options_.max_rate > 0) policy.max_rate = options_.max_rate;
    if (options_.max_rate == 0) policy.max_rate = policy.stream_rate * kOfInputPercent / 100;
    return policy;
}

bool SrtOutput::on_packets(int64_t now_us) {
    if (ended()) return false;
    const runtime::ContextScope context(id());
    pump(now_us);
    return false;  // what is sent later is the timer's
}

void SrtOutput::on_stream_end() { end(kStreamEnded, CloseReason::kStreamEnded); }

void SrtOutput::finish() {
    if (ended()) return;
    const runtime::ContextScope context(id());
    is_finishing_ = true;
    pump(runtime::now_us());
}

// Nothing was sent before, so that its sequence numbers begin here.
bool SrtOutput::begin(int64_t now_us) {
    const auto start = lane_.start();
    if (!start) return false;
    ::srt::Agreement agreement = connection_->agreement();
    agreement.conclusion_us = now_us;  // the peer was there until now
    connect(agreement, static_cast<int64_t>(*start) + 1);
    first_ms_ = (now_us - made_us_) / 1000;
    return begun_ = true;
}

void SrtOutput::send_data(int64_t now_us) {
    if (!begun_ && !begin(now_us)) {
        if (is_finishing_) end(kStreamEnded, CloseReason::kStreamEnded);
        return;
    }
    const RingHistory history(lane_.ring());
    const ::srt::SendPolicy by = policy();
    // A datagram that has no room is lost, and repaired later.
    while (has_room()) {
        const auto next = connection_->next_data(now_us, history, by);
        if (!next) break;
        send_message(*next, history.entry(next->index).bytes);
    }
    if (keys_ && keys_->deadline_us() <= now_us) announce_key(now_us);
    if (is_finishing_ && sender().cursor() >= history.end() && sender().in_flight() <= 0)
        end(kStreamEnded, CloseReason::kStreamEnded);
}

bool SrtOutput::has_room() {
    const runtime::Senders* threads = thread_ ? runtime::senders() : nullptr;
    return !port().is_full() && !(threads && threads->is_crowded(*thread_));
}

void SrtOutput::send_message(const ::srt::Outgoing& outgoing, std::span<const uint8_t> payload) {
    ::srt::DataHeader header = outgoing.header;
    if (keys_) {
        header.key = header.retransmitted ? keys_->parity_of(header.sequence) : keys_->next_parity(header.sequence);
        if (header.key == ::srt::KeyParity::kNone) return;  // its key is gone
    }
    if (runtime::Senders* threads = thread_ ? runtime::senders() : nullptr; threads && threads->takes(*thread_))
        return lend(*threads, header, payload);
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

void SrtOutput::lend(runtime::Senders& threads, const ::srt::DataHeader& header, std::span<const uint8_t> payload) {
    if (!route_ || (keys_ && route_announcements_ != keys_->announcements())) {
        route_.reset(new SrtRoute(datagram_target(), keys_.get()));
        if (keys_) route_announcements_ = keys_->announcements();
    }
    void* room = threads.reserve(*thread_, sizeof(SrtRecord));
    if (!room) return;
    new (room) SrtRecord{header, static_cast<uint32_t>(payload.size()), payload.data()};
    port().flush();  // what the loop committed goes before
    threads.commit(*thread_, sizeof(SrtRecord), *route_, ::srt::kHeaderSize + payload.size(), 0);
    count_sent(::srt::kHeaderSize + payload.size());
}

void SrtOutput::announce_key(int64_t now_us) {
    uint8_t* out = reserve(::srt::kMaxDatagram);
    if (!out) return;
    if (const size_t bytes =
            keys_->poll(now_us, connection_->round_trip().us(), target(now_us), {out, ::srt::kMaxDatagram}))
        commit(bytes);
}

int64_t SrtOutput::deadline() const {
    const int64_t due_us =
        begun_ ? connection_->deadline(RingHistory(lane_.ring()), policy()) : connection_->deadline();
    return keys_ ? std::min(due_us, keys_->deadline_us()) : due_us;
}

void SrtOutput::on_key_message(uint16_t subtype, std::span<const uint8_t> contents) {
    if (keys_ && subtype == ::srt::kKeyResponse) (void)keys_->on_key_response(contents);
}

}  // namespace service::relay
