#include "service/relay/srt_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/random.h"
#include "runtime/socket/dns.h"
#include "service/relay/srt_kek.h"

namespace service::relay {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;
using ::srt::Refusal;
using State = ::srt::Caller::State;

namespace {

constexpr int64_t kMaxHandshakeUs = 60'000'000;
constexpr int kBufferBytes = 1024 * 1024;
// Above are libsrt's groups.
constexpr uint32_t kMaxId = (1u << 30) - 1;

Code code_of(Refusal refusal) {
    switch (refusal) {
        case Refusal::kBadSecret:
        case Refusal::kUnsecure:
        case Refusal::kUnauthorized:
        case Refusal::kForbidden:
            return Code::kRefused;
        case Refusal::kNotFound:
        case Refusal::kUnknownHost:
            return Code::kNotFound;
        case Refusal::kConflict:
        case Refusal::kLocked:
            return Code::kBusy;
        case Refusal::kResource:
        case Refusal::kBacklog:
        case Refusal::kOverload:
        case Refusal::kUnavailable:
            return Code::kLimit;
        default:
            return Code::kProtocol;
    }
}

base::Error error_of(const ::srt::Caller& caller) {
    base::Error error = caller.error();
    const auto refusal = caller.refusal();
    if (!refusal) return error;
    base::Error named(code_of(*refusal), error.text());
    if (*refusal == Refusal::kBadSecret || *refusal == Refusal::kUnsecure)
        return std::move(named).because(CloseReason::kRefusedAuth);
    return named;
}

}  // namespace

SrtCall::~SrtCall() = default;

Result<void> SrtCall::connect(const SrtTarget& target, MakeChannel make, Deadline limit) {
    make_ = std::move(make);
    const ::srt::Url& url = target.url;
    ::srt::CallerSettings settings;
    settings.own_id = runtime::secret_u32() % kMaxId + 1;
    settings.initial_sequence = runtime::secret_u32() >> 1;
    settings.receive_latency_ms = url.receive_latency_ms;
    settings.peer_latency_ms = url.peer_latency_ms;
    settings.stream_id = url.stream_id;
    settings.timeout_us = std::clamp<int64_t>(limit.left_us(), 1'000, kMaxHandshakeUs);
    TRY(make_keys(url, settings));
    TRY(open(url, limit));
    caller_.emplace(std::move(settings), runtime::now_us());
    return shake_hands(limit);
}

// The keys are new with each call.
Result<void> SrtCall::make_keys(const ::srt::Url& url, ::srt::CallerSettings& settings) {
    if (url.passphrase.empty()) return {};
    SrtKeys made;
    runtime::fill_secret(made.basis.salt);
    std::array<uint8_t, ::srt::kMaxKey> random;
    runtime::fill_secret(random);
    made.keys.even = ::srt::make_key(std::span(random).first(url.key_size));
    made.basis.kek = TRY(derive_srt_kek(url.passphrase, made.basis.salt, url.key_size));
    settings.key_message.resize(::srt::kMaxKeyMessage);
    settings.key_message.resize(
        ::srt::write_key_message(settings.key_message, made.keys, made.basis.salt, made.basis.kek));
    keys_ = made;
    return {};
}

Result<void> SrtCall::open(const ::srt::Url& url, Deadline limit) {
    const std::vector<std::string> found = TRY(runtime::resolve(url.host, limit), url.host);
    const auto ip = found.empty() ? std::nullopt : base::IpAddress::parse(found.front());
    if (!ip) return fail(Code::kNotFound, fmt::format("{} has no address", url.host));
    ip_ = ip->text();
    address_ = {*ip, url.port};
    port_ = TRY(runtime::DatagramPort::open({ip->is_v4() ? "0.0.0.0" : "::", 0},
                                            {.receive_buffer_bytes = kBufferBytes, .send_buffer_bytes = kBufferBytes},
                                            "SRT call", *this));
    return {};
}

Result<void> SrtCall::shake_hands(Deadline limit) {
    while (true) {
        const int64_t now_us = runtime::now_us();
        for (auto bytes = caller_->poll(now_us); !bytes.empty(); bytes = caller_->poll(now_us))
            port_->send(bytes, address_);
        if (caller_->state() == State::kFailed) return std::unexpected(error_of(*caller_));
        if (caller_->state() == State::kConnected) return {};
        auto waited = wake_.wait_next(earlier(limit, Deadline::at_us(caller_->deadline_us())));
        if (!waited && waited.error().code() != Code::kTimeout) return waited;
        if (limit.passed()) return fail(Code::kTimeout, "no answer");
    }
}

void SrtCall::on_datagram(const runtime::UdpPacket& packet, runtime::DatagramPort&, int64_t now_us) {
    if (packet.from != address_ || !caller_) return;
    if (channel_) return channel_->on_datagram(packet.bytes, now_us);
    if (!caller_->on_datagram(now_us, packet.bytes)) return;
    if (caller_->state() == State::kConnected)
        channel_ = &make_({{port_.get(), address_}, caller_->agreement(), keys_});
    wake_.pulse();
}

}  // namespace service::relay
