// The SRT service from its datagrams to its streams, in simulated time, with a server and four clients on loopback. The
// input is a sequence of steps: handshakes that are valid, repeated, cut, or changed anywhere; transport streams with
// gaps, repairs, jumps and any bytes; every control packet with any contents, for one's own session or another's; key
// messages; a publisher within the server, whose players acknowledge or do not; a guard that takes its time, refuses,
// or says what the passphrase is; time, kicks and reloads. After each step sessions are counted; after the input, when
// their time is over, nothing is left: no session, stream, grant or coroutine.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "live/hub/options.h"
#include "live/hub/owner_testing.h"
#include "live/hub/testing.h"
#include "protocol/srt/caller.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/fuzz_testing.h"
#include "service/srt/config.h"
#include "service/srt/service.h"

namespace {

using namespace service::srt;
using runtime::testing::fuzz_time;
using runtime::testing::FuzzInput;
using Datagram = std::vector<uint8_t>;

constexpr size_t kClients = 4;
constexpr size_t kMaxSteps = 200;
constexpr std::string_view kPassphrase = "a-long-secret";
constexpr std::string_view kStreamIds[] = {"#!::r=live/a,m=publish",
                                           "#!::r=live/a,m=request",
                                           "publish:live/b",
                                           "read:live/b",
                                           "",
                                           "#!::r=live/refused,m=request",
                                           "#!::r=live/a,m=publish,priority=2",
                                           "#!::r=live/../a",
                                           "#!::h=v.com,r=live/a,m=request,via=a:b"};
constexpr int64_t kPauses[] = {1, 5, 20, 120, 500, 1'000, 3'000, 11'000};

// Of all encrypting callers: its derivation costs 2 ms.
const Datagram& key_message() {
    static const Datagram message = [] {
        ::srt::Salt salt{};
        salt.fill(7);
        const ::srt::AesKey kek = ::srt::derive_kek(kPassphrase, salt, 16);
        ::srt::SessionKeys keys;
        keys.even = kek;
        Datagram made(::srt::kMaxKeyMessage);
        made.resize(::srt::write_key_message(made, keys, salt, kek));
        return made;
    }();
    return message;
}

sockaddr_in loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

// A socket, which all inputs use, and what a caller on it knows of its session.
class Client {
  public:
    Client() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
        const sockaddr_in address = loopback(0);
        CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    }
    void forget() {
        Datagram none;
        while (receive(none)) {
        }
        session = {};
        connected = encrypted = false;
        last.clear();
    }
    void send(uint16_t port, std::span<const uint8_t> bytes) const {
        const sockaddr_in to = loopback(port);
        (void)sendto(fd_, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
    bool receive(Datagram& datagram) const {
        datagram.resize(2'048);
        const ssize_t size = recv(fd_, datagram.data(), datagram.size(), 0);
        datagram.resize(size > 0 ? static_cast<size_t>(size) : 0);
        return size >= 0;
    }

    ::srt::Agreement session{};
    bool connected = false, encrypted = false;
    uint32_t sequence = 0;
    uint32_t ack = 0;  // of what it was sent: the next sequence number
    uint8_t counter = 0;
    Datagram last;  // the last datagram of its handshake

  private:
    const int fd_;
};

std::array<Client, kClients>& clients() {
    static std::array<Client, kClients> all;
    return all;
}

// As a hook: it takes its time, refuses, and may say what the passphrase is.
class Hook final : public net::Guard {
  public:
    int64_t slow_ms = 0;
    bool says_passphrase = false;
    size_t inside = 0;
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost&) override {
        if (slow_ms > 0) TRY(runtime::sleep_ms(slow_ms));
        if (visitor.stream == "refused") return base::fail(base::Code::kRefused, "refused");
        if (visitor.passphrase && says_passphrase) *visitor.passphrase = kPassphrase;
        ++inside;
        return {};
    }
    bool may_yield(net::Action, const config::Vhost&) const override { return slow_ms > 0; }
    // It is asked before the passphrase, and begins nothing.
    base::Result<void> check(const net::Visitor& visitor, const config::Vhost&) override {
        if (visitor.stream == "refused") return base::fail(base::Code::kRefused, "refused");
        return {};
    }
    bool follows(net::Action, const config::Vhost&) const override { return true; }
    void left(const net::Visitor&, const net::Traffic&) override {
        CHECK(inside > 0);
        --inside;
    }
};

class World {
  public:
    explicit World(FuzzInput& input) : input_(input), options_(input.byte()) {
        registry_.start();
        gate_.add(hook_);
        hook_.slow_ms = options_ & 1 ? 50 : 0;
        service_ = std::make_unique<Service>(make_snapshot(), table_, registry_, gate_);
        CHECK(service_->start());
        for (Client& client : clients()) client.forget();
    }
    void run() {
        for (size_t i = 0; i < kMaxSteps && !input_.empty(); ++i) {
            step();
            receive();
            check();
        }
        finish();
    }

  private:
    std::shared_ptr<config::Snapshot> make_snapshot() {
        auto snapshot = std::make_shared<config::Snapshot>(*config::default_snapshot());
        auto& server = snapshot->get<ServerConfig>();
        server.enabled = true;
        server.listen = {{"127.0.0.1", 0}};
        server.max_handshakes = 20;
        server.recvbuf = 65'536;
        server.tlpktdrop = !(options_ & 64);
        config::Vhost& vhost = snapshot->vhosts.front();
        vhost.get<VhostConfig>().enabled = true;
        vhost.get<VhostConfig>().passphrase_by_hook = options_ & 4;
        if (options_ & 2) server.passphrase = kPassphrase;
        hook_.says_passphrase = options_ & 8;
        vhost.publish.takeover = options_ & 16;
        vhost.publish.standby = options_ & 128 ? config::StandbyMode::kPreempt : config::StandbyMode::kOff;
        vhost.play.mw_latency = options_ & 32 ? 350 : 0;
        vhost.play.rejoin_timeout = 1'000;
        return snapshot;
    }

    uint16_t port() const { return service_->port(); }

    void step() {
        const uint8_t action = input_.byte();
        Client& client = clients()[action & (kClients - 1)];
        switch (action >> 2 & 15) {
            case 0:
            case 1:
                return connect(client);
            case 2:
                client.send(port(), client.last);
                return fuzz_time().settle();
            case 3:
            case 4:
            case 5:
                return send_data(client);
            case 6:
            case 7:
            case 8:
                return send_control(client);
            case 9:
                return acknowledge(client);
            case 10:
                return fuzz_time().pass_ms(kPauses[input_.choice(std::size(kPauses))]);
            case 11:
                if (table_.size() > 0) table_.at(input_.choice(std::min<size_t>(table_.size(), 256))).kick("kicked");
                return fuzz_time().settle();
            case 12:
                options_ = static_cast<uint8_t>((options_ & 1) | (input_.byte() & ~1u));
                return service_->reload(make_snapshot());
            case 13:
                return publish();
            case 14:
                return send_changed(client);
            default: {
                const std::string_view text = input_.text();
                client.send(port(), {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
                return fuzz_time().settle();
            }
        }
    }

    // The whole handshake, as far as the server answers it.
    void connect(Client& client) {
        const uint8_t bits = input_.byte();
        const std::string_view id = kStreamIds[input_.choice(std::size(kStreamIds))];
        ::srt::CallerSettings settings{.own_id = 1u + (bits & 3), .stream_id = std::string(id), .key_message = {}};
        settings.initial_sequence = bits & 4 ? ::srt::kMaxSequence - 3 : 1'000;
        settings.receive_latency_ms = settings.peer_latency_ms = bits & 8 ? 2'000 : 120;
        if (bits & 16) settings.key_message = key_message();
        ::srt::Caller caller(std::move(settings), runtime::now_us());
        Datagram datagram;
        for (int round = 0; round < 8; ++round) {
            for (auto bytes = caller.poll(runtime::now_us()); !bytes.empty(); bytes = caller.poll(runtime::now_us())) {
                client.last.assign(bytes.begin(), bytes.end());
                if (bits & 32 && caller.state() == ::srt::Caller::State::kConclusion) return send_changed(client);
                client.send(port(), bytes);
            }
            fuzz_time().pass_ms(60);
            // Another thread derives the key.
            if (bits & 16) usleep(3'000);
            fuzz_time().settle();
            while (client.receive(datagram)) (void)caller.on_datagram(runtime::now_us(), datagram);
            if (caller.state() == ::srt::Caller::State::kFailed) return;
            if (caller.state() != ::srt::Caller::State::kConnected) continue;
            client.session = caller.agreement();
            client.connected = true;
            client.encrypted = bits & 16;
            client.sequence = client.ack = client.session.initial_sequence;
            return;
        }
    }

    // The last datagram of the handshake, with bytes changed or cut.
    void send_changed(Client& client) {
        Datagram bytes = client.last;
        for (int i = 0; i < 3 && !bytes.empty(); ++i) bytes[(input_.byte() * 7u) % bytes.size()] ^= input_.byte();
        if (const uint8_t cut = input_.byte(); cut & 1) bytes.resize(std::min<size_t>(bytes.size(), cut * 2u));
        client.send(port(), bytes);
        fuzz_time().settle();
    }

    // The session whose id is written: the client's own, seldom that of another one, or none.
    uint32_t destination(const Client& client, uint8_t bits) const {
        if ((bits & 7) == 7) return clients()[bits >> 3 & (kClients - 1)].session.peer_id;
        return client.session.peer_id;
    }
    uint32_t timestamp(const Client& client, uint8_t bits) const {
        const auto now = static_cast<uint32_t>(runtime::now_us() - client.session.start_us);
        return bits & 1 ? now : now + (static_cast<uint32_t>(bits) << 24);
    }

    // Cells of a transport stream with the bytes of the input behind their headers; tables among them.
    static void add_cell(Datagram& out, Client& client, uint8_t kind, std::string_view text) {
        constexpr uint8_t kPat[] = {0x47, 0x40, 0, 0x10, 0,    0, 0xb0, 0x0d, 0,    1,   0xc1,
                                    0,    0,    0, 1,    0xf0, 0, 0x2a, 0xb1, 0x04, 0xb2};
        constexpr uint8_t kPmt[] = {0x47, 0x50, 0,    0x10, 0,    2,    0xb0, 0x17, 0,   1,    0xc1,
                                    0,    0,    0xe1, 0,    0xf0, 0,    0x1b, 0xe1, 0,   0xf0, 0,
                                    0x0f, 0xe1, 1,    0xf0, 0,    0x2f, 0x44, 0xb9, 0x9b};
        constexpr uint8_t kPes[] = {0x47, 0x41, 0, 0x10, 0, 0, 1, 0xe0, 0, 0, 0x80, 0x80, 5, 0x21, 0, 1, 0, 1};
        std::span<const uint8_t> head = kind % 4 == 0   ? std::span<const uint8_t>(kPat)
                                        : kind % 4 == 1 ? std::span<const uint8_t>(kPmt)
                                                        : std::span<const uint8_t>(kPes);
        const size_t at = out.size();
        out.resize(at + 188, 0xff);
        std::copy(head.begin(), head.end(), out.begin() + static_cast<ptrdiff_t>(at));
        uint8_t* cell = &out[at];
        cell[3] = static_cast<uint8_t>(0x10 | (client.counter++ & 15));
        if (kind % 4 == 3) cell[2] = 1;  // audio
        if (kind & 16) cell[1] = static_cast<uint8_t>(cell[1] & ~0x40u);
        const size_t room = 188 - head.size();
        std::copy_n(text.begin(), std::min(room, text.size()), out.begin() + static_cast<ptrdiff_t>(at + head.size()));
    }

    void send_data(Client& client) {
        const uint8_t bits = input_.byte(), kind = input_.byte();
        const std::string_view text = input_.text();
        ::srt::DataHeader header;
        if (bits & 128) client.sequence += 1u << (bits >> 4 & 7);  // a gap
        header.sequence = (client.sequence - (bits & 8 ? 3 : 0)) & ::srt::kMaxSequence;
        header.destination = destination(client, bits);
        header.timestamp_us = timestamp(client, static_cast<uint8_t>(kind | 1));
        header.message = 1;
        header.retransmitted = bits & 8;
        if (client.encrypted || kind & 64) header.key = kind & 128 ? ::srt::KeyParity::kOdd : ::srt::KeyParity::kEven;
        if (!(bits & 8)) ++client.sequence;
        Datagram datagram(::srt::kHeaderSize);
        ::srt::write_data_header(std::span<uint8_t, ::srt::kHeaderSize>(datagram.data(), ::srt::kHeaderSize), header);
        for (uint8_t i = 0; i <= (kind & 3); ++i) add_cell(datagram, client, static_cast<uint8_t>(kind / 4 + i), text);
        if (kind & 32) datagram.insert(datagram.end(), text.begin(), text.end());
        client.send(port(), datagram);
        fuzz_time().settle();
    }

    void send_control(Client& client) {
        const uint8_t bits = input_.byte(), type = input_.byte();
        const std::string_view text = input_.text();
        Datagram datagram(::srt::kHeaderSize);
        const uint16_t number = (type & 15) == 15 ? 0x7fff : type & 15;
        base::put_u32(&datagram[0], 0x80000000u | static_cast<uint32_t>(number) << 16 | type >> 4);
        base::put_u32(&datagram[4], bits & 64 ? client.ack : bits);
        base::put_u32(&datagram[8], timestamp(client, 1));
        base::put_u32(&datagram[12], destination(client, bits));
        if (bits & 128) {  // near its sequence numbers
            datagram.resize(::srt::kHeaderSize + 8);
            const uint32_t near = text.empty() ? 0u : static_cast<uint8_t>(text.front());
            base::put_u32(&datagram[16], client.ack - near);
            base::put_u32(&datagram[20], client.ack + near);
            if (number == 3) datagram[16] |= 0x80;  // a range of losses
        }
        datagram.insert(datagram.end(), text.begin(), text.end());
        client.send(port(), datagram);
        fuzz_time().settle();
    }

    // What a player has got.
    void acknowledge(Client& client) {
        Datagram datagram(::srt::kHeaderSize + 28);
        base::put_u32(&datagram[0], 0x80020000u);
        base::put_u32(&datagram[4], ++ack_number_);
        base::put_u32(&datagram[8], timestamp(client, 1));
        base::put_u32(&datagram[12], client.session.peer_id);
        base::put_u32(&datagram[16], client.ack);
        base::put_u32(&datagram[20], 50'000);
        base::put_u32(&datagram[24], 10'000);
        base::put_u32(&datagram[28], 8'000);
        client.send(port(), datagram);
        fuzz_time().settle();
    }

    // A publisher within the server begins, goes on, or leaves.
    void publish() {
        const uint8_t bits = input_.byte();
        if (bits & 1) {
            publication_.end();
        } else if (!publication_) {
            const auto snapshot = config::default_snapshot();
            auto stream = registry_.find_or_create({"__defaultVhost__", "live", bits & 2 ? "b" : "a"},
                                                   live::live_options(snapshot->vhosts.front()));
            auto acquired = stream->acquire(owner_, false);
            if (!acquired) return;
            publication_ = *std::move(acquired);
            publication_.publish(live::testing::header(media::Kind::kAudio, "\x12\x10"));
        }
        for (uint8_t i = 0; i < bits >> 2 && publication_; ++i, time_ms_ += 20)
            publication_.publish(live::testing::audio(time_ms_, std::string(bits & 2 ? 900 : 20, 'x')));
        fuzz_time().pass_ms(5);
    }

    void receive() {
        Datagram datagram;
        for (Client& client : clients())
            while (client.receive(datagram))
                if (const auto header = ::srt::parse_data(datagram); header && client.connected)
                    client.ack = (header->sequence + 1) & ::srt::kMaxSequence;
    }

    void check() const {
        CHECK(service_->sessions() == table_.size());
        CHECK(service_->pending() <= 2 && service_->callers()->quota().count() == service_->pending());
        CHECK(hook_.inside <= table_.size() + service_->pending());
    }

    void finish() {
        publication_.end();
        for (const int64_t ms : {100, 11'000, 3'000, 31'000}) fuzz_time().pass_ms(ms);
        CHECK(service_->sessions() == 0 && table_.size() == 0);
        service_->stop();
        CHECK(service_->pending() == 0);
        service_.reset();
        for (int i = 0; i < 50 && registry_.size() > 0; ++i) fuzz_time().pass_ms(1'000);
        CHECK(registry_.size() == 0 && hook_.inside == 0);
        registry_.stop();
        gate_.remove(hook_);
    }

    FuzzInput& input_;
    uint8_t options_;
    net::SessionTable table_;
    live::Registry registry_;
    net::Gate gate_;
    Hook hook_;
    live::testing::Owner owner_;
    live::Publication publication_;
    int64_t time_ms_ = 20;
    uint32_t ack_number_ = 0;
    std::unique_ptr<Service> service_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto& time = fuzz_time();
    const size_t coroutines = runtime::coroutine_count();
    {
        FuzzInput input(data, std::min<size_t>(size, 4'096));
        World(input).run();
    }
    time.settle();
    CHECK(runtime::coroutine_count() == coroutines);
    return 0;
}
