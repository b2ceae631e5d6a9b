// A measuring stick: what sender threads (runtime/senders/senders.h) bring where encryption is the limit, and how long
// a sleeping one takes to begin. Packets of an RtpRing are protected and sent for each player as RtcSession does it: by
// the loop itself, or by records to one or two threads. Unpaced, so the rate is what the processors give.
// Usage: senders ADDRESS [SECONDS [WINDOWS [PACKETS [PLAYERS [PROFILE]]]]]
//     ADDRESS   where datagrams go: behind a device that drops them (measure.sh), or what this measures is the receiver
//     SECONDS   of each window, 0.6; WINDOWS of each number of threads, in turn: 10
//     PACKETS   of 1,150 bytes that each of the PLAYERS, 400, is sent in a round, and one of 100; 3
//     PROFILE   gcm, or cm: AES-CM with HMAC-SHA1, which takes three times as long
// Other processes take processors meanwhile: the best window counts, and what a core that it got has sent.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "live/rtp/rtp_ring.h"
#include "protocol/rtp/packet.h"
#include "protocol/srtp/sender.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/senders/senders.h"
#include "runtime/socket/datagram_port.h"
#include "service/rtc/connection/srtp_route.h"

namespace {

constexpr size_t kPayloadBytes = 1150, kLastPayloadBytes = 100;
constexpr size_t kOverheadBytes = 28;  // header and tag
constexpr int kBufferBytes = 4 * 1024 * 1024;
constexpr std::array<size_t, 3> kThreads = {0, 1, 2};

struct Options {
    base::IpAddress address{};
    double seconds = 0.6;
    int windows = 10;
    size_t packets = 3;
    size_t players = 400;
    srtp::Profile profile = srtp::Profile::kAeadAes128Gcm;
};

struct Window {
    double gbits = 0;   // a second
    double cores = 0;   // that its threads got
    double cpu_us = 0;  // for each datagram, of all threads
    double loop_us = 0;
    uint64_t lost = 0;
    double gbits_per_core() const { return cores > 0 ? gbits / cores : 0; }
};

double loop_cpu_us() {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

class Players final : private runtime::DatagramUser {
  public:
    explicit Players(const Options& options) : options_(options), payload_(kPayloadBytes, 0x5a) {
        auto port = runtime::DatagramPort::open({"0.0.0.0", 0}, {.send_buffer_bytes = kBufferBytes}, "players", *this);
        CHECK(port.has_value());
        port_ = std::move(*port);
        for (size_t i = 0; i < options.players; ++i) {
            srtp::MasterKey key;
            for (size_t j = 0; j < key.key.size(); ++j) key.key[j] = static_cast<uint8_t>(i * 31 + j);
            Player& player = players_.emplace_back(srtp::Sender(options.profile, key));
            player.to = {options.address, static_cast<uint16_t>(20'000 + i)};
            if (runtime::Senders* threads = runtime::senders()) {
                player.thread = threads->assign_thread();
                player.route.reset(new service::rtc::SrtpRoute(port_->target(player.to), player.sender.rtp_cipher()));
            }
        }
    }
    ~Players() { players_.clear(); }

    // One packet after the other to each player.
    void send_round() {
        const uint64_t first = ring_.end();
        for (size_t i = 0; i <= options_.packets; ++i) {
            const auto payload = std::span(payload_).first(i < options_.packets ? kPayloadBytes : kLastPayloadBytes);
            live::RtpPacket packet;
            packet.sequence = ++sequence_;
            packet.arrival_us = base::monotonic_us();
            ring_.append(std::move(packet), payload);
        }
        for (Player& player : players_)
            for (uint64_t position = first; position < ring_.end(); ++position) send(player, ring_.at(position));
        if (runtime::Senders* threads = runtime::senders())
            threads->publish();
        else
            port_->flush();
    }
    bool is_crowded() const {
        const runtime::Senders* threads = runtime::senders();
        if (!threads) return false;
        for (uint32_t i = 0; i < threads->threads(); ++i)
            if (threads->is_crowded(i)) return true;
        return false;
    }
    // Datagrams that the kernel took, and that were lost on the way to it.
    std::pair<uint64_t, uint64_t> datagrams() {
        if (const runtime::Senders* threads = runtime::senders()) return threads->datagrams();
        const runtime::UdpStats stats = port_->stats();
        return {stats.sent, stats.send_lost};
    }

  private:
    struct Player {
        explicit Player(srtp::Sender by) : sender(std::move(by)) {}
        srtp::Sender sender;
        base::Endpoint to{};
        uint32_t thread = 0;
        runtime::RoutePtr<service::rtc::SrtpRoute> route;
    };

    void send(Player& player, const live::RtpPacket& packet) {
        std::array<uint8_t, rtp::kFixedHeaderSize> header;
        rtp::write_header(header.data(),
                          {packet.marker, 96, static_cast<uint16_t>(packet.sequence), packet.timestamp, 7});
        const size_t size = header.size() + packet.payload.size() + player.sender.rtp_overhead();
        if (runtime::Senders* threads = runtime::senders()) {
            void* room = threads->reserve(player.thread, sizeof(srtp::DeferredRtp));
            if (!room) return;
            const auto& record = *new (room) srtp::DeferredRtp(header, {}, packet.payload, packet.sequence);
            threads->commit(player.thread, record.used(), *player.route, size, 7);
            return;
        }
        uint8_t* room = port_->reserve(size);
        if (!room) return;
        port_->commit(player.sender.protect_rtp(header, packet.payload, packet.sequence, room), player.to, 7);
    }
    void on_datagram(const runtime::UdpPacket&, runtime::DatagramPort&, int64_t) override {}

    const Options& options_;
    std::vector<uint8_t> payload_;
    std::unique_ptr<runtime::DatagramPort> port_;
    std::vector<Player> players_;
    live::RtpRing ring_;
    uint64_t sequence_ = 0;
};

double threads_cpu_us() {
    double sum = 0;
    if (runtime::Senders* threads = runtime::senders())
        for (const runtime::SenderThreadStats& thread : threads->stats().threads)
            sum += static_cast<double>(thread.busy_us);
    return sum;
}

void start_threads(size_t threads) {
    if (threads == 0) return;
    auto started = runtime::Senders::start(threads);
    CHECK(started.has_value());
    runtime::install_senders(std::move(*started));
}

Window measure(const Options& options, size_t threads) {
    start_threads(threads);
    Window window;
    {
        Players players(options);
        players.send_round();  // memory is touched
        const auto [sent_before, lost_before] = players.datagrams();
        const double loop_before = loop_cpu_us(), threads_before = threads_cpu_us();
        const int64_t began_us = base::monotonic_us();
        double passed_us = 0;
        while ((passed_us = static_cast<double>(base::monotonic_us() - began_us)) < options.seconds * 1e6) {
            if (!players.is_crowded()) players.send_round();
            // The loop's time goes on where it yields.
            CHECK((players.is_crowded() ? runtime::sleep_ms(1) : runtime::yield()).has_value());
        }
        const auto [sent, lost] = players.datagrams();
        const double loop_us = loop_cpu_us() - loop_before, all_us = loop_us + threads_cpu_us() - threads_before;
        const double bytes_per_round = static_cast<double>(options.packets * (kPayloadBytes + kOverheadBytes) +
                                                           kLastPayloadBytes + kOverheadBytes);
        const double datagrams = static_cast<double>(sent - sent_before);
        window.gbits = datagrams * bytes_per_round / static_cast<double>(options.packets + 1) * 8 / passed_us / 1000;
        window.cores = all_us / passed_us;
        window.cpu_us = all_us / datagrams;
        window.loop_us = loop_us / datagrams;
        window.lost = lost - lost_before;
    }
    runtime::stop_senders();
    return window;
}

void measure_rates(const Options& options) {
    std::array<std::vector<Window>, kThreads.size()> windows;
    for (int i = 0; i < options.windows; ++i)
        for (size_t j = 0; j < kThreads.size(); ++j) windows[j].push_back(measure(options, kThreads[j]));
    double alone = 0;
    for (size_t j = 0; j < kThreads.size(); ++j) {
        const auto by_rate = std::ranges::max_element(windows[j], {}, &Window::gbits);
        const auto by_core = std::ranges::max_element(windows[j], {}, &Window::gbits_per_core);
        uint64_t lost = 0;
        for (const Window& window : windows[j]) lost += window.lost;
        if (j == 0) alone = by_rate->gbits;
        std::printf(
            "threads %zu: best %.2f Gbit/s with %.2f cores, %.2f x the loop alone; %.2f us a datagram, of the loop "
            "%.3f; best per core %.2f Gbit/s; lost %llu\n",
            kThreads[j], by_rate->gbits, by_rate->cores, by_rate->gbits / alone, by_rate->cpu_us, by_rate->loop_us,
            by_core->gbits_per_core(), static_cast<unsigned long long>(lost));
    }
}

// ---- How long a sleeping thread takes to begin

int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

class TimedRoute final : public runtime::DatagramRoute {
  public:
    explicit TimedRoute(std::vector<int64_t>& delays_ns) : DatagramRoute({}), delays_ns_(delays_ns) {}
    size_t write(const void* record, uint8_t*) const override {
        delays_ns_.push_back(now_ns() - *static_cast<const int64_t*>(record));
        return 0;
    }

  private:
    std::vector<int64_t>& delays_ns_;  // the thread's, until drain()
};

void measure_delay(const Options& options) {
    start_threads(1);
    runtime::Senders& threads = *runtime::senders();
    const size_t count = static_cast<size_t>(options.seconds * options.windows * 200) + 10;
    std::vector<int64_t> delays_ns;
    delays_ns.reserve(count);
    {
        const TimedRoute route(delays_ns);
        for (size_t i = 0; i < count; ++i) {
            CHECK(runtime::sleep_ms(2).has_value());
            int64_t* record = static_cast<int64_t*>(threads.reserve(0, sizeof(int64_t)));
            *record = now_ns();
            threads.commit(0, sizeof(int64_t), route, 16, 0);
            threads.publish();
        }
        threads.drain();
    }
    runtime::stop_senders();
    CHECK(delays_ns.size() == count);
    std::ranges::sort(delays_ns);
    const auto us = [&](size_t percent) { return static_cast<double>(delays_ns[count * percent / 100]) / 1e3; };
    std::printf("hand-over to a sleeping thread: p50 %.0f us, p99 %.0f us, of %zu\n", us(50), us(99), count);
}

void run(const Options& options) {
    measure_rates(options);
    measure_delay(options);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    const auto address = argc > 1 ? base::IpAddress::parse(argv[1]) : std::nullopt;
    if (argc > 2) options.seconds = std::atof(argv[2]);
    if (argc > 3) options.windows = std::atoi(argv[3]);
    if (argc > 4) options.packets = static_cast<size_t>(std::atoi(argv[4]));
    if (argc > 5) options.players = static_cast<size_t>(std::atoi(argv[5]));
    if (argc > 6 && std::string_view(argv[6]) == "cm") options.profile = srtp::Profile::kAes128CmSha1_80;
    if (!address || options.seconds <= 0 || options.windows < 1 || options.packets < 1 || options.players < 1) {
        std::fprintf(stderr, "usage: senders ADDRESS [SECONDS [WINDOWS [PACKETS [PLAYERS [PROFILE]]]]]\n");
        return 2;
    }
    options.address = *address;
    if (auto started = runtime::init(); !started) {
        std::fprintf(stderr, "%s\n", started.error().describe().c_str());
        return 1;
    }
    run(options);
    runtime::shutdown();
    return 0;
}
