// The HTTP side of the server as a whole, in simulated time: live streams (FLV, TS, AAC, MP3, WebSocket), HLS, the API
// with the console and the metrics, over loopback. The input is what four clients send, with steps in between:
//
//     0x01 n   what came so far is sent; from here on it is client n: of http_server (0, 2), http_api (1), exporter (3)
//     0x02 n   n * n ms pass
//     0x03 n   the stream live/a: n % 4 is 0: begins; 1: ends; 2: a keyframe; 3: another frame
//     0x04 n   the client closes: at once, or (odd n) only its side
//     0x05 n   the session with that number is kicked
//     0x06 n   n * 2 kB of text: bodies are counted from 64 kB on
//     0x00 c   the byte c itself; so are all others
//
// So requests are pipelined, and cut anywhere. Afterwards, without clients, no session, no coroutine, no place in a
// limit and no counted memory may be left. Viewers of HLS and the stream leave later, which not every input waits for.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/log.h"
#include "config/test_util.h"
#include "live/hub/owner_testing.h"
#include "live/hub/testing.h"
#include "media/h264.h"
#include "protocol/prometheus/text.h"
#include "protocol/rtp/payload/payload_testing.h"
#include "runtime/disk/disk.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/threads/workers.h"
#include "server/sections_testing.h"
#include "server/services.h"

namespace {

constexpr size_t kClients = 4;
constexpr size_t kMaxSteps = 64;
constexpr size_t kMaxInput = 16 * 1024;
constexpr size_t kFillBytes = 2 * 1024, kMaxFill = 1024 * 1024;
// Inputs after which viewers of HLS are given the time to leave.
constexpr uint64_t kInputsWithViewers = 64;
constexpr int64_t kRejoinMs = 300;
constexpr int64_t kViewersLeaveMs = 300'000;
constexpr ptrdiff_t kMaxKept = 3 * 16;  // idle coroutines of three servers
constexpr std::string_view kServices[] = {"hls", "console", "http_live", "http_server", "http_api", "exporter"};

using Ports = std::array<uint16_t, 3>;

// All are bound before the first is free again: no two are the same.
Ports free_ports() {
    Ports ports{};
    std::array<int, std::tuple_size_v<Ports>> fds{};
    for (size_t i = 0; i < ports.size(); ++i) {
        fds[i] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        CHECK(::bind(fds[i], reinterpret_cast<sockaddr*>(&address), size) == 0);
        CHECK(::getsockname(fds[i], reinterpret_cast<sockaddr*>(&address), &size) == 0);
        ports[i] = ntohs(address.sin_port);
    }
    for (const int fd : fds) ::close(fd);
    return ports;
}

// The services of HTTP, started once.
struct House {
    House() {
        for (const service::Description* one : server::services())
            if (std::ranges::find(kServices, one->name) != std::end(kServices))
                modules.push_back(one->make(parts, snapshot));
        CHECK(modules.size() == std::size(kServices));
        for (const service::Module& module : modules)
            if (module.connect) module.connect();
        for (const service::Module& module : modules) CHECK(module.start());
        registry.start();
    }
    static config::SnapshotPtr load(const Ports& ports) {
        const std::string text = fmt::format(
            "listen 1; srs_log_tank console; daemon off;\n"
            "http_server {{ enabled on; listen 127.0.0.1:{}; dir /nonexistent; }}\n"
            "http_api {{ enabled on; debug on; listen 127.0.0.1:{}; raw_api {{ enabled on; allow_query on; }} }}\n"
            "exporter {{ enabled on; listen 127.0.0.1:{}; }}\n"
            "vhost __defaultVhost__ {{ http_remux {{ enabled on; }} play {{ mw_latency 0; rejoin_timeout {}; }}\n"
            "    hls {{ enabled on; hls_storage memory; hls_fragment 1; hls_window 4; }} }}\n",
            ports[0], ports[1], ports[2], kRejoinMs);
        const config::Loaded loaded = config::load_text(text);
        if (!loaded.snapshot) fmt::print(stderr, "{}", config::described(loaded.problems));
        CHECK(loaded.snapshot != nullptr);
        return loaded.snapshot;
    }

    // A gauge of the services' own metrics.
    double gauge(std::string_view name) const {
        prometheus::Text all;
        for (const auto& write : offers.metrics) write(all);
        const std::string text = all.take(), line = fmt::format("\n{} ", name);
        const size_t at = text.find(line);
        CHECK(at != text.npos);
        return std::strtod(text.c_str() + at + line.size(), nullptr);
    }
    uint16_t port(size_t client) const { return ports[client % 2 == 0 ? 0 : client == 1 ? 1 : 2]; }

    const Ports ports = free_ports();
    const config::SnapshotPtr snapshot = load(ports);
    const service::Identity identity{{"SRS/0", "0", "7.0.18", "2026-11-24 10:00:00", 0, "none"}, "s", "r", "1"};
    const std::vector<std::string_view> features{};
    net::SessionTable sessions;
    net::Gate gate;
    net::FileAccess files{gate};
    live::Registry registry;
    live::Events events;
    net::HttpRouter router, api_router;
    net::HttpClient http_client;
    net::Operations operations;
    net::ApiTable api_rows;
    service::Offers offers;
    const service::SharedParts parts{identity, features,   sessions, gate,        files,      registry, events,
                                     router,   api_router, api_rows, http_client, operations, offers};
    std::vector<service::Module> modules;
};

// All but those that a pool of HTTP keeps, and one that goes by the real time: files are closed a second after their
// last request.
size_t busy_coroutines() {
    const auto all = runtime::list_coroutines();
    const auto kept = [](const auto& one) { return one.name == "http" || one.name == "opened-files"; };
    CHECK(std::ranges::count(all, "http", &runtime::CoroutineInfo::name) <= kMaxKept);
    return all.size() - static_cast<size_t>(std::ranges::count_if(all, kept));
}

struct World {
    World() {
        base::log::active_level = base::log::Level::kOff;
        CHECK(runtime::init());
        time = std::make_unique<runtime::testing::SimulatedTime>();
        house = std::make_unique<House>();
        time->settle();
        CHECK(house->sessions.size() == 0);
        coroutines = busy_coroutines();
    }
    std::unique_ptr<runtime::testing::SimulatedTime> time;
    std::unique_ptr<House> house;
    uint64_t inputs = 0;
    size_t coroutines = 0;  // without a client
};

World& world() {
    static World* const kWorld = std::make_unique<World>().release();
    return *kWorld;
}

class Client {
  public:
    ~Client() { close(false); }
    // How much of it: none if the server does not read.
    size_t send(uint16_t port, std::string_view bytes) {
        if (fd_ < 0) connect(port);
        if (shut_) return 0;
        return static_cast<size_t>(
            std::max<ssize_t>(0, ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)));
    }
    // What it gets begins as an answer does.
    void receive() {
        char bytes[16 * 1024];
        ssize_t got = 0;
        while (fd_ >= 0 && (got = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
            for (ssize_t i = 0; i < got && answered_.size() < kBegin.size(); ++i) answered_ += bytes[i];
            CHECK(kBegin.starts_with(answered_));
        }
    }
    void close(bool only_its_side) {
        if (fd_ < 0) return;
        shut_ = true;
        if (only_its_side) return static_cast<void>(::shutdown(fd_, SHUT_WR));
        // Without TIME_WAIT: there are many.
        const linger at_once{1, 0};
        (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        ::close(std::exchange(fd_, -1));
    }

  private:
    static constexpr std::string_view kBegin = "HTTP/1.1 ";
    void connect(uint16_t port) {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
        shut_ = false;
        answered_.clear();
    }
    int fd_ = -1;
    bool shut_ = false;
    std::string answered_;
};

class Run {
  public:
    explicit Run(std::span<const uint8_t> input) : in_(input.first(std::min(input.size(), kMaxInput))) {}
    void run() {
        for (size_t steps = 0; in_.left() > 0 && steps < kMaxSteps;) {
            const uint8_t byte = in_.u8();
            if (byte == 0) {
                text_ += static_cast<char>(in_.u8());
            } else if (byte == 6) {
                fill(in_.u8() * kFillBytes);
            } else if (byte <= 5) {
                ++steps;
                step(byte, in_.u8());
            } else {
                text_ += static_cast<char>(byte);
            }
        }
        flush();
        end();
    }

  private:
    void fill(size_t bytes) {
        bytes = std::min(bytes, kMaxFill - filled_);
        filled_ += bytes;
        text_.append(bytes, '1');
    }
    void flush() {
        for (std::string_view rest = text_; !rest.empty();) {
            const size_t sent = clients_[now_].send(house_.port(now_), rest);
            settle();
            if (sent == 0) break;
            rest.remove_prefix(sent);
        }
        text_.clear();
        settle();
    }
    // What threads do with files takes real time.
    void settle() {
        time_.settle();
        while (runtime::offloaded() + runtime::disk::status().operations > 0) {
            ::usleep(50);
            time_.settle();
        }
        for (Client& client : clients_) client.receive();
    }
    void step(uint8_t what, uint8_t n) {
        flush();
        if (what == 1) now_ = n % kClients;
        if (what == 2) time_.pass_ms(n * n);
        if (what == 3) publish(n % 4);
        if (what == 4) clients_[now_].close(n % 2);
        if (what == 5 && house_.sessions.size() > 0) house_.sessions.at(n % house_.sessions.size()).kick("kicked");
        settle();
    }
    void publish(int what) {
        if (what == 1) return publication_.end();
        if (what == 0 && !publication_) {
            auto options = live::live_options(house_.snapshot->vhosts.front());
            auto stream = house_.registry.find_or_create({"__defaultVhost__", "live", "a"}, options);
            publication_ = stream->acquire(owner_, false).value();
            const auto avc = media::make_avc_config(rtp::testing::h264_sps(), rtp::testing::h264_pps());
            media::Frame header = live::testing::header(media::Kind::kVideo, {});
            header.payload = avc.value();
            publication_.publish(header);
            publication_.publish(live::testing::header(media::Kind::kAudio, "\x12\x10"));
        }
        if (what < 2 || !publication_) return;
        dts_ += 400;
        publication_.publish(live::testing::video(dts_, what == 2, std::string("\0\0\0\2\x65\1", 6)));
        publication_.publish(live::testing::audio(dts_ + 1, "0123456789"));
    }
    void end() {
        for (Client& client : clients_) client.close(false);
        publication_.end();
        settle();
        time_.pass_ms(2 * kRejoinMs);
        settle();
        check_clients();
        World& all = world();
        if (++all.inputs % kInputsWithViewers != 0) return;
        time_.pass_ms(kViewersLeaveMs);
        settle();
        check_all();
    }
    void check_clients() const {
        size_t others = 0;
        house_.sessions.for_each(
            [&](net::Session& session) { others += session.type() != net::SessionType::kHlsPlay; });
        CHECK(others == 0);
        const net::Admission& admission = house_.sessions.admission();
        CHECK(admission.connections() == 0 && admission.embryonic().size() == 0 && admission.idle().size() == 0);
        const net::InputMemory& memory = house_.sessions.input_memory();
        CHECK(memory.holders() == 0 && memory.bytes() == 0 && house_.sessions.unserved().size() == 0);
        CHECK(house_.sessions.waiting().count() == 0);
        CHECK(house_.gauge("srs_hls_viewers") == static_cast<double>(house_.sessions.size()));
        house_.registry.for_each([](live::Stream& stream) { CHECK(stream.viewer_count() == 0); });
    }
    void check_all() const {
        CHECK(house_.sessions.size() == 0 && house_.registry.size() == 0 && house_.registry.memory() == 0);
        CHECK(busy_coroutines() <= world().coroutines);
    }

    House& house_ = *world().house;
    runtime::testing::SimulatedTime& time_ = *world().time;
    base::ByteReader in_;
    std::string text_;
    size_t now_ = 0, filled_ = 0;
    std::array<Client, kClients> clients_;
    live::testing::Owner owner_;
    live::Publication publication_;
    int64_t dts_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Run({data, size}).run();
    return 0;
}
