// Whole RTSP connections against a Service, in simulated time: four clients that send requests in any order, pipelined
// and cut anywhere, over TCP, UDP and the HTTP tunnel, and media between them; they are kicked, stop reading, end or
// reset; a guard takes its time and refuses; publishers wait as standbys; the configuration is reloaded. A client never
// gets an answer that its state does not allow. Behind each input nothing is left: no session, stream, port, grant or
// coroutine.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "config/snapshot.h"
#include "net/access/gate.h"
#include "protocol/rtsp/auth.h"
#include "protocol/rtsp/reader.h"
#include "service/connections_fuzz_testing.h"
#include "service/rtsp/config.h"
#include "service/rtsp/service.h"
#include "service/rtsp/stats.h"

namespace {

using namespace service::rtsp;
using rtsp::Method;
using runtime::testing::FuzzInput;
using service::testing::ConnectionsFuzz;
using service::testing::FuzzClient;
using service::testing::kFuzzClients;

constexpr std::string_view kUrls[] = {
    "rtsp://h/live/a",
    "rtsp://h/live/b",
    "rtsp://h/live/a/trackID=0",
    "rtsp://h/live/a/trackID=1",
    "rtsp://h/live/a/streamid=0",
    "rtsp://h/live/a/streamid=1",
    "rtsp://h/live/b/trackID=0",
    "rtsp://h/live/b/streamid=0",
    "rtsp://h/live/refused",
    "rtsp://h/live/none",
    "rtsp://h/live/a?vhost=x&priority=3",
    "rtsp://h/live/a/trackID=0?priority=3",
    "RTSP://h/live/a/",
    "rtsp://h/live/a/trackID=7",
    "*",
    "rtsp://h",
};
constexpr Method kMethods[] = {Method::kOptions, Method::kDescribe,     Method::kAnnounce,     Method::kSetup,
                               Method::kPlay,    Method::kPause,        Method::kRecord,       Method::kTeardown,
                               Method::kSetup,   Method::kGetParameter, Method::kSetParameter, Method::kOther};
// Two numbers of ports stand for P.
constexpr std::string_view kTransports[] = {
    "RTP/AVP/TCP;unicast;interleaved=0-1",
    "RTP/AVP/TCP;unicast;interleaved=2-3",
    "RTP/AVP;unicast;client_port=P",
    "RTP/AVP;unicast;client_port=P;mode=record",
    "RTP/AVP/TCP;unicast;interleaved=9-10;mode=record",
    "RTP/AVP;multicast",
    "RTP/AVP;multicast,RTP/AVP;unicast;client_port=P,RTP/AVP/TCP",
    "RTP/AVP/TCP",
};
constexpr std::string_view kVideo =
    "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1; "
    "sprop-parameter-sets=Z0LAHtiQKAv+XARAAAADAEAAAAyDxYuJgA==,aMiIyyA=\r\na=control:streamid=0\r\n";
constexpr std::string_view kAudio =
    "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 MPEG4-GENERIC/44100/2\r\n"
    "a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1210\r\na=control:streamid=1\r\n";
constexpr std::string_view kPayloads[] = {
    {"\x65\x01\x02\x03", 4},
    {"\x41\x01\x02\x03", 4},
    {"\x7c\x85\x01\x02", 4},
    {"\x7c\x45\x03\x04", 4},
    {"\x00\x10\x00\x20\x21\x10\x04\x60", 8},
    {"\x00\x00\x00\x01\x65\x01", 6},
    {"\x09\x10", 2},
    {"", 0},
};
constexpr std::string_view kUser = "viewer", kPassword = "secret";
constexpr size_t kTracks = 2;

// The sockets of the clients' media: a pair for each track of each client.
struct MediaSockets {
    std::array<int, 2 * kFuzzClients * kTracks> fds{};
    std::array<uint16_t, 2 * kFuzzClients * kTracks> ports{};
    MediaSockets() {
        for (size_t i = 0; i < fds.size(); ++i) {
            fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
            sockaddr_in address{};
            address.sin_family = AF_INET;
            address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            socklen_t size = sizeof address;
            CHECK(bind(fds[i], reinterpret_cast<sockaddr*>(&address), size) == 0);
            CHECK(getsockname(fds[i], reinterpret_cast<sockaddr*>(&address), &size) == 0);
            ports[i] = ntohs(address.sin_port);
        }
    }
    std::string text(size_t pair) const {
        return std::to_string(ports[2 * pair]) + "-" + std::to_string(ports[2 * pair + 1]);
    }
    void send(size_t index, uint16_t port, std::string_view bytes) const {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(port);
        (void)sendto(fds[index], bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
    }
};

const MediaSockets& media_sockets() {
    static const MediaSockets sockets;
    return sockets;
}

// Takes its time, as a hook does, and counts what it admitted and what left.
class SlowGuard final : public net::Guard {
  public:
    int64_t slow_ms = 0;
    size_t inside = 0;
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost&) override {
        if (slow_ms > 0) TRY(runtime::sleep_ms(slow_ms));
        if (visitor.stream == "refused") return base::fail(base::Code::kRefused, "refused");
        ++inside;
        return {};
    }
    bool may_yield(net::Action, const config::Vhost&) const override { return slow_ms > 0; }
    bool follows(net::Action, const config::Vhost&) const override { return true; }
    void left(const net::Visitor&, const net::Traffic&) override {
        CHECK(inside > 0);
        --inside;
    }
};

std::string base64(std::string_view text) {
    static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (size_t i = 0; i < text.size(); i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (i + k < text.size() ? static_cast<uint8_t>(text[i + k]) : 0);
        for (size_t k = 0; k < 4; ++k) out += i + k > text.size() ? '=' : kDigits[bits >> (18 - 6 * k) & 63];
    }
    return out;
}

// An end of a connection and what it knows of its session.
class Client final : public FuzzClient {
  public:
    // The answers to a tunnel's requests come on another client's connection: each client has numbers of its own.
    explicit Client(size_t number)
        : number_(number), cseq_(static_cast<uint32_t>(3'000'000'000 + number * 1'000'000)) {}

    void connect(Service& service) {
        service.accept(new_stream(), nullptr);
        asked_.clear();
        answers_.emplace(kLimits);
        unread_.clear();
        plays_ = publishes_ = in_base64_ = has_answer_ = false;
    }
    void sends_base64() { in_base64_ = true; }

    void request(Method method, std::string_view url, std::string_view fields = {}, std::string_view body = {}) {
        const std::string_view name = method == Method::kOther ? "DANCE" : rtsp::method_name(method);
        asked_[++cseq_] = method;
        pending_ += std::string(name) + " " + std::string(url) + " RTSP/1.0\r\nCSeq: " + std::to_string(cseq_) + "\r\n";
        pending_ += fields;
        if (!body.empty()) pending_ += "Content-Length: " + std::to_string(body.size()) + "\r\n";
        pending_ += "\r\n" + std::string(body);
    }
    void flush(size_t cut) {
        const std::string bytes = std::exchange(pending_, {});
        send_in_two(in_base64_ ? base64(bytes) : bytes, cut);
    }
    std::string rtp(size_t track, std::string_view payload, uint8_t options) {
        uint8_t head[12] = {0x80, static_cast<uint8_t>((options & 1 ? 0x80 : 0) | (96 + track))};
        sequence_[track] = static_cast<uint16_t>(sequence_[track] + (options & 2 ? 2 : options & 4 ? 5'000 : 1));
        if (options & 1) time_[track] += options & 8 ? 900'000 : 3'600;
        base::put_u16(head + 2, sequence_[track]);
        base::put_u32(head + 4, time_[track]);
        base::put_u32(head + 8, static_cast<uint32_t>(number_ * 10 + track));
        return std::string(reinterpret_cast<const char*>(head), sizeof head) + std::string(payload);
    }
    void frame(uint8_t channel, std::string_view bytes) {
        const char head[] = {'$', static_cast<char>(channel), static_cast<char>(bytes.size() >> 8),
                             static_cast<char>(bytes.size())};
        pending_.append(head, sizeof head);
        pending_ += bytes;
    }
    void check_answers() {
        unread_ += peer_->take();
        if (unread_.empty()) return;
        // A tunnel's answer is the first of its connection.
        constexpr std::string_view kHttp = "HTTP/";
        const bool is_http = !has_answer_ && kHttp.starts_with(std::string_view(unread_).substr(0, kHttp.size()));
        const size_t end = unread_.find("\r\n\r\n");
        if (is_http && end == unread_.npos) return;
        if (is_http) unread_.erase(0, end + 4);
        has_answer_ = true;
        const std::string bytes = std::exchange(unread_, {});
        for (std::span<const uint8_t> rest(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());;) {
            size_t used = 0;
            const auto step = answers_->feed(rest, used);
            rest = rest.subspan(used);
            CHECK(step != rtsp::Reader::Step::kError);
            if (step == rtsp::Reader::Step::kNeedMore) return;
            if (step == rtsp::Reader::Step::kMessage) check_answer(answers_->take_message());
        }
    }

  private:
    static constexpr rtsp::Limits kLimits{};

    void check_answer(const rtsp::Message& answer) {
        CHECK(!answer.is_request);
        const auto asked = asked_.find(answer.cseq().value_or(0));
        if (asked == asked_.end() || answer.status != 200) return;
        const Method method = asked->second;
        const bool sets_up = method == Method::kDescribe || method == Method::kSetup || method == Method::kAnnounce;
        CHECK(!(sets_up && (plays_ || publishes_)));
        CHECK(!(method == Method::kPlay && publishes_) && !(method == Method::kRecord && plays_));
        plays_ |= method == Method::kPlay;
        publishes_ |= method == Method::kRecord;
    }

    size_t number_;
    std::string unread_;
    std::map<uint32_t, Method> asked_;
    std::optional<rtsp::Reader> answers_;
    uint32_t cseq_;
    std::array<uint16_t, kTracks> sequence_{};
    std::array<uint32_t, kTracks> time_{};
    bool plays_ = false, publishes_ = false, in_base64_ = false, has_answer_ = false;
};

class World final : public ConnectionsFuzz<World> {
  public:
    explicit World(FuzzInput& input) : ConnectionsFuzz(input) {
        options_ = input_.byte();
        snapshot_ = make_snapshot(options_);
        guard_.slow_ms = options_ & 1 ? 50 : 0;
        gate_.add(guard_);
        // A pair of free ports may be taken meanwhile.
        while (!service_) {
            service_ = std::make_unique<Service>(snapshot_, sessions_, registry_, gate_, offers_, "fuzz");
            if (!service_->start()) service_.reset();
        }
        for (size_t i = 0; i < kFuzzClients; ++i) clients_[i].emplace(i).connect(*service_);
    }
    ~World() { finish(); }

  private:
    friend ConnectionsFuzz;
    static constexpr int64_t kPauses[] = {1, 20, 100, 500, 1'000, 3'000, 6'000, 11'000, 31'000, 61'000};

    static std::shared_ptr<config::Snapshot> make_snapshot(uint8_t options) {
        auto snapshot = std::make_shared<config::Snapshot>(*config::default_snapshot());
        auto& server = snapshot->get<ServerConfig>();
        server.enabled = true;
        server.listen.clear();
        server.udp = {true, {{"127.0.0.1", 0}}};
        if (options & 2) server.auth = {true, std::string(kUser), std::string(kPassword), "all"};
        config::Vhost& vhost = snapshot->vhosts.front();
        vhost.get<VhostConfig>().enabled = true;
        vhost.get<VhostConfig>().publish = !(options & 4);
        vhost.publish.takeover = options & 8;
        vhost.publish.standby = options & 16 ? config::StandbyMode::kPreempt : config::StandbyMode::kOff;
        vhost.play.mw_latency = options & 32 ? 350 : 0;
        return snapshot;
    }

    std::string fields(uint8_t bits) const {
        std::string text;
        if (options_ & 2 && !(bits & 1))
            text += "Authorization: Basic " + base64(std::string(kUser) + ":" + std::string(kPassword)) + "\r\n";
        if (bits & 2) text += "Range: npt=0.000-\r\n";
        if ((bits & 12) == 12) text += "Session: wrong\r\n";
        return text;
    }
    std::string transport(size_t kind, size_t pair) const {
        std::string text(kTransports[kind % std::size(kTransports)]);
        if (const size_t at = text.find('P', text.find("client_port=")); at != text.npos)
            text.replace(at, 1, media_sockets().text(pair % (kFuzzClients * kTracks)));
        return "Transport: " + text + "\r\n";
    }

    Client& client(size_t number) { return *clients_[number]; }
    void connect(size_t number) { clients_[number]->connect(*service_); }
    void add_request(Client& client) {
        const Method method = kMethods[input_.choice(std::size(kMethods))];
        const std::string_view url = kUrls[input_.choice(std::size(kUrls))];
        const uint8_t bits = input_.byte();
        std::string all = fields(bits);
        std::string body;
        const size_t kind = input_.byte(), pair = input_.byte();
        if (method == Method::kSetup) all += transport(kind, pair);
        if (method == Method::kAnnounce) body = "v=0\r\n" + std::string(kVideo) + std::string(bits & 16 ? "" : kAudio);
        if (method == Method::kSetParameter && bits & 16) body = "volume: 1\r\n";
        client.request(method, url, all, body);
    }
    // All requests of a session at once.
    void add_session(size_t number, bool publishes) {
        Client& client = *clients_[number];
        const uint8_t bits = input_.byte();
        const std::string url = std::string("rtsp://h/live/") + (bits & 1 ? "b" : "a");
        const std::string common = fields(bits & 2);
        if (publishes) {
            client.request(Method::kAnnounce, url, common, "v=0\r\n" + std::string(kVideo) + std::string(kAudio));
        } else {
            client.request(Method::kDescribe, url, common);
        }
        for (size_t track = 0; track < kTracks; ++track)
            client.request(Method::kSetup, url + (publishes ? "/streamid=" : "/trackID=") + std::to_string(track),
                           common + transport(bits & 4 ? 2 : track, number * kTracks + track));
        client.request(publishes ? Method::kRecord : Method::kPlay, url, common);
    }
    void add_media(size_t number) {
        Client& client = *clients_[number];
        const uint8_t kind = input_.byte(), options = input_.byte();
        const size_t track = kind & 1;
        std::string bytes = client.rtp(track, kPayloads[(kind >> 1) & 7], options);
        const bool rtcp = options & 16;
        if (rtcp)
            bytes = std::string(options & 32 ? "\x81\xc9\0\7" : "\x80\xc8\0\6", 4) +
                    std::string(24 + (options & 32 ? 4 : 0), '\1');
        if (options & 64) return client.frame(static_cast<uint8_t>(2 * track + rtcp), bytes);
        if (!service_->udp_ports()) return;
        const auto ports = service_->udp_ports()->ports();
        media_sockets().send(2 * (number * kTracks + track) + rtcp, rtcp ? ports.rtcp : ports.rtp, bytes);
    }
    // A tunnel.
    void add_other(size_t number) {
        Client& client = *clients_[number];
        const bool is_post = input_.byte() & 1;
        client.raw(std::string(is_post ? "POST" : "GET") + " /live/a HTTP/1.0\r\nx-sessioncookie: c" +
                   std::to_string(number / 2) + "\r\n\r\n");
        if (!is_post) return;
        client.flush(255);
        client.sends_base64();
    }
    void reload() {
        options_ = static_cast<uint8_t>((options_ & 1) | (input_.byte() & ~1u));
        auto adopt = service_->prepare(make_snapshot(options_));
        CHECK(adopt);
        (*adopt)();
    }
    void check() {
        for (auto& client : clients_) client->check_answers();
    }

    void finish() {
        // Writing to a client that reads nothing takes the longest.
        end_clients(*service_, {0, 100, 1'000, 12'000, 10'000});
        CHECK(service_->udp_ports()->claims() == 0);
        for (const auto& carriers : rtsp_stats().sessions)
            for (const uint64_t count : carriers) CHECK(count == 0);
        CHECK(guard_.inside == 0);
        service_->stop();
        service_.reset();
        registry_.stop();
        gate_.remove(guard_);
    }

    uint8_t options_ = 0;
    std::shared_ptr<config::Snapshot> snapshot_;
    SlowGuard guard_;
    service::Offers offers_;
    std::unique_ptr<Service> service_;
    std::array<std::optional<Client>, kFuzzClients> clients_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    return service::testing::run_fuzz_input<World>(data, size);
}
