#include "load/srt/peer.h"

#include <array>

#include "base/clock.h"
#include "load/target.h"
#include "protocol/srt/caller.h"

namespace load::srt {
namespace {

constexpr int kReceiveBuffer = 512 * 1024;
constexpr size_t kKeySize = 16;
constexpr uint32_t kMaxIdOfFloor = 0xfffff;

uint32_t random_number() {
    uint32_t number;
    fill_random({reinterpret_cast<uint8_t*>(&number), sizeof number});
    return number;
}

}  // namespace

base::Result<void> Peer::open(runtime::Deadline deadline) {
    begun_us_ = base::monotonic_us();
    ++ledger_.opening;
    auto agreement = options_.url.starts_with("udp://") ? introduce(deadline) : handshake(deadline);
    --ledger_.opening;
    if (!agreement) {
        ++ledger_.failed;
        ledger_.count_reason("opening", agreement.error());
        return std::unexpected(std::move(agreement.error()));
    }
    connection_.emplace(connect(*agreement));
    open_ = true;
    ++ledger_.open;
    ++ledger_.opened;
    task_ = runtime::spawn("peer", [this] { run(); });
    return {};
}

base::Result<::srt::Agreement> Peer::introduce(runtime::Deadline deadline) {
    static uint32_t ids = 0;
    const Target target = TRY(parse_target(options_.url));
    const auto ip = base::IpAddress::parse(target.host);
    if (!ip) return base::fail(base::Code::kConfig, "a floor's address is needed");
    server_ = {*ip, target.port};
    socket_ = TRY(runtime::bind_udp({"127.0.0.1", 0}, {.receive_buffer_bytes = kReceiveBuffer}));
    const uint32_t id = ids++ & kMaxIdOfFloor;
    const uint8_t hello[] = {static_cast<uint8_t>(options_.publish ? 'p' : 'v'), static_cast<uint8_t>(id >> 16),
                             static_cast<uint8_t>(id >> 8), static_cast<uint8_t>(id)};
    TRY(socket_->send_to(hello, server_, deadline));
    return ::srt::Agreement{.own_id = id, .peer_id = id, .start_us = begun_us_, .conclusion_us = begun_us_};
}

base::Result<std::vector<uint8_t>> Peer::make_key_message() {
    ::srt::Salt salt;
    fill_random(salt);
    std::array<uint8_t, kKeySize> bytes;
    fill_random(bytes);
    const ::srt::SessionKeys keys{.even = ::srt::make_key(bytes), .odd = {}};
    const ::srt::AesKey kek = ::srt::derive_kek(options_.passphrase, salt, kKeySize);
    std::vector<uint8_t> message(::srt::kMaxKeyMessage);
    message.resize(::srt::write_key_message(message, keys, salt, kek));
    keys_ = std::make_unique<::srt::ReceiverKeys>(keys, ::srt::KeyBasis{salt, kek});
    return message;
}

base::Result<::srt::Agreement> Peer::handshake(runtime::Deadline deadline) {
    const Target target = TRY(parse_target(options_.url));
    const auto ip = base::IpAddress::parse(target.host);
    if (target.scheme != Scheme::kSrt || !ip) return base::fail(base::Code::kConfig, "srt://ADDRESS:PORT/ID is needed");
    server_ = {*ip, target.port};
    socket_ = TRY(runtime::bind_udp({"127.0.0.1", 0}, {.receive_buffer_bytes = kReceiveBuffer}));
    const auto latency = static_cast<uint16_t>(options_.latency_ms);
    ::srt::CallerSettings settings{.own_id = random_number() % 0x3fffffff + 1,
                                   .initial_sequence = random_number() & ::srt::kMaxSequence,
                                   .receive_latency_ms = latency,
                                   .peer_latency_ms = latency,
                                   .stream_id = target.path.substr(1),
                                   .key_message = {},
                                   .timeout_us = INT64_MAX / 4};
    if (!options_.passphrase.empty()) settings.key_message = TRY(make_key_message());
    ::srt::Caller caller(std::move(settings), begun_us_);
    while (caller.state() != ::srt::Caller::State::kConnected) {
        const int64_t now_us = base::monotonic_us();
        for (auto out = caller.poll(now_us); !out.empty(); out = caller.poll(now_us)) (void)flush(out);
        if (caller.state() == ::srt::Caller::State::kFailed) return std::unexpected(caller.error());
        if (deadline.passed()) return base::fail(base::Code::kTimeout, "no handshake in time");
        auto got = socket_->receive_batch(earlier(deadline, runtime::Deadline::at_us(caller.deadline_us())));
        if (!got && got.error().code() != base::Code::kTimeout) return std::unexpected(std::move(got.error()));
        if (!got) continue;
        for (const auto& packet : *got) (void)caller.on_datagram(base::monotonic_us(), packet.bytes);
    }
    return caller.agreement();
}

void Peer::run() {
    while (open_ && !runtime::cancelled()) {
        pump(base::monotonic_us());
        if (connection_->end() != ::srt::Connection::End::kNone)
            return lose(base::Error(base::Code::kClosed, "ended by the server, or nothing came from it"));
        auto got = socket_->receive_batch(
            runtime::Deadline::at_us(std::min(data_deadline(), base::monotonic_us() + 1'000'000)));
        if (!got && got.error().code() == base::Code::kCancelled) return;
        if (!got && got.error().code() != base::Code::kTimeout) return lose(got.error());
        if (!got) continue;
        const int64_t now_us = base::monotonic_us();
        for (const auto& packet : *got) take(packet.bytes, now_us);
    }
}

void Peer::take(std::span<uint8_t> datagram, int64_t now_us) {
    if (!::srt::is_packet(datagram)) return;
    if (!::srt::is_control(datagram) && !on_packet(datagram.size(), now_us)) return;
    (void)connection_->on_datagram(now_us, datagram);
}

void Peer::pump(int64_t now_us) {
    connection_->on_time(now_us);
    send_data(now_us);
    std::array<uint8_t, ::srt::kMaxDatagram> out;
    while (const size_t size = connection_->next_control(now_us, out)) (void)flush({out.data(), size});
}

void Peer::send(const ::srt::DataHeader& header, std::span<const uint8_t> payload) {
    std::array<uint8_t, ::srt::kMaxDatagram> out;
    if (::srt::kHeaderSize + payload.size() > out.size()) return;
    ::srt::write_data_header(std::span<uint8_t, ::srt::kHeaderSize>(out.data(), ::srt::kHeaderSize), header);
    std::ranges::copy(payload, out.begin() + ::srt::kHeaderSize);
    if (!flush({out.data(), ::srt::kHeaderSize + payload.size()})) return;
    ledger_.bytes += ::srt::kHeaderSize + payload.size();
    ++ledger_.messages;
}

// What the socket does not take now is lost, as on any network.
bool Peer::flush(std::span<const uint8_t> datagram) {
    return socket_->send_to(datagram, server_, runtime::Deadline::at_us(0)).has_value();
}

void Peer::stop() {
    open_ = false;
    if (task_) task_.cancel_and_join();
}

void Peer::leave() {
    if (!std::exchange(open_, false)) return;
    stop();
    const int64_t now_us = base::monotonic_us();
    connection_->close(now_us);
    pump(now_us);
}

void Peer::lose(const base::Error& error) {
    if (!std::exchange(open_, false)) return;
    --ledger_.open;
    ++ledger_.lost;
    ledger_.count_reason("lost", error);
}

}  // namespace load::srt
