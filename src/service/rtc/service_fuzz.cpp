// The WebRTC service from its HTTP requests to its datagrams, in simulated time, with a server and a client on
// loopback. The input is a sequence of steps: whole requests of WHIP, WHEP and the JSON API (offers with bytes changed,
// PATCH and DELETE of sessions that exist and of others, arbitrary bytes), each cut anywhere and pipelined with the
// next; STUN requests that are valid, RTP, RTCP and arbitrary datagrams; time, kicks and reloads. Media is not
// encrypted, so that a session is connected when ICE is. After each step all sessions are counted, in every place that
// counts them; after the input, when their time is over, none may be left.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "net/http/http_server.h"
#include "protocol/stun/writer.h"
#include "runtime/loop/fuzz_testing.h"
#include "service/rtc/config.h"
#include "service/rtc/service.h"

namespace {

using namespace service::rtc;

constexpr size_t kMaxSteps = 100;
constexpr size_t kMaxKnown = 8;

// Both audio and video, with all that is negotiated. {} are the direction, once for each.
std::string offer(std::string_view direction) {
    constexpr std::string_view kIce =
        "a=setup:actpass\r\na=ice-ufrag:peer\r\na=ice-pwd:0123456789012345678901\r\na=rtcp-mux\r\na=fingerprint:sha-"
        "256 "
        "72:4A:87:FB:1C:8C:84:3F:9B:F6:C4:9B:CF:E4:89:6E:AE:C0:1F:36:5B:DC:F7:E8:2C:BF:D0:C2:FC:71:CB:45\r\n";
    return fmt::format(
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n"
        "m=video 9 UDP/TLS/RTP/SAVPF 102 103 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n{0}a=rtpmap:102 H264/90000\r\n"
        "a=fmtp:102 packetization-mode=1;profile-level-id=42e01f\r\na=rtcp-fb:102 nack\r\na=rtcp-fb:102 nack pli\r\n"
        "a=rtcp-fb:102 transport-cc\r\na=rtpmap:103 rtx/90000\r\na=fmtp:103 apt=102\r\na=rtpmap:96 VP8/90000\r\n"
        "a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid\r\na=ssrc-group:FID 4369 8738\r\na=ssrc:4369 cname:c\r\n"
        "a=ssrc:8738 cname:c\r\na={1}\r\na=candidate:1 1 udp 2130706431 127.0.0.1 5000 typ host\r\n"
        "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\n{0}a=rtpmap:111 opus/48000/2\r\n"
        "a=ssrc:13107 cname:c\r\na={1}\r\n",
        kIce, direction);
}

std::shared_ptr<config::Snapshot> make_snapshot(bool enabled) {
    auto snapshot = std::make_shared<config::Snapshot>(*config::default_snapshot());
    auto& server = snapshot->get<ServerConfig>();
    server.enabled = enabled;
    server.listen = {{"127.0.0.1", 0}};
    server.candidate = {"127.0.0.1"};
    server.resolve_api_domain = false;
    server.encrypt = false;
    server.max_offers = 6;
    auto& vhost = snapshot->vhosts.front().get<VhostConfig>();
    vhost.enabled = true;
    vhost.rtc_to_rtmp = true;
    return snapshot;
}

// Kept from input to input: whatever one of them left would be seen in the next.
struct World {
    runtime::testing::SimulatedTime& time = runtime::testing::fuzz_time();
    config::SnapshotPtr snapshot = make_snapshot(true), disabled = make_snapshot(false);
    net::SessionTable table;
    live::Registry registry;
    net::Gate gate;
    net::HttpRouter router;
    net::ApiTable api;
    service::Offers offers;
    const service::Identity identity;
    Service rtc{snapshot, table, registry, gate, router, api, offers, identity};
    net::HttpServer http{table, router, net::HttpServerOptions{}};

    World() {
        CHECK(rtc.start());
        CHECK(http.listen({"127.0.0.1", 0}));
        registry.start();
    }
};

World& world() {
    (void)runtime::testing::fuzz_time();  // starts the loop
    static runtime::detail::Immortal<World> made;
    return made.value;
}

// A socket of the client: reset when it is closed, so that the system keeps nothing of it.
class ClientSocket {
  public:
    ClientSocket(int type, uint16_t port) : fd_(::socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        CHECK(fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
        const linger reset{.l_onoff = 1, .l_linger = 0};
        if (type == SOCK_STREAM) (void)::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    }
    ~ClientSocket() { ::close(fd_); }
    ClientSocket(const ClientSocket&) = delete;

    void send(std::span<const uint8_t> bytes) {
        (void)::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    // What has come; false: the server closed it.
    bool receive(std::string& into) {
        char bytes[16 * 1024];
        while (true) {
            const ssize_t n = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
            if (n <= 0) return n < 0;
            into.append(bytes, static_cast<size_t>(n));
        }
    }

  private:
    int fd_;
};

// A session that the server has told us about.
struct Known {
    std::string location, etag, ufrag, password;
    std::string id() const { return location.substr(location.rfind('=') + 1); }
};

std::string value_of(std::string_view text, std::string_view name, size_t from = 0) {
    const size_t at = text.find(name, from);
    if (at == text.npos) return {};
    const size_t begin = at + name.size();
    return std::string(text.substr(begin, text.find("\r\n", begin) - begin));
}

class Client {
  public:
    explicit Client(std::span<const uint8_t> input) : world_(world()), in_(input) {}
    ~Client() {
        http_.reset();
        datagrams_.clear();
        // Half of the inputs wait for the ends of what they have begun.
        if (steps_ % 2 == 0)
            while (world_.rtc.sessions() > 0 && kick(0)) world_.time.pass_ms(100);
        constexpr int64_t kMaxMs = 120'000;
        world_.rtc.reload(world_.snapshot);
        for (int64_t ms = 0; ms < kMaxMs && !is_empty(); ms += 1000) world_.time.pass_ms(1000);
        CHECK(is_empty());
        CHECK(world_.rtc.half_open() == 0 && world_.rtc.addresses() == 0);
        CHECK(world_.rtc.offer_quota().count() == 0 && world_.rtc.offer_quota().bytes() == 0);
    }

    void run() {
        for (; steps_ < kMaxSteps && in_.left() > 0; ++steps_) {
            step(in_.u8());
            world_.time.settle();
            read_answers();
            check();
        }
    }

  private:
    void step(uint8_t what) {
        const uint8_t more = what >> 4;
        switch (what & 15) {
            case 0:
                return request("POST", whip(more, "publish"), "Content-Type: application/sdp\r\n",
                               changed(offer("sendonly")));
            case 1:
                return request("POST", whip(more, "play"), "Content-Type: application/sdp\r\n",
                               changed(offer("recvonly")));
            case 2:
                return json(more);
            case 3:
                return patch(more);
            case 4:
                return request("DELETE", changed(location(more)), "", "");
            case 5:
                return raw();
            case 6:
                return world_.time.pass_ms(in_.u8() * 50);
            case 7:
            case 8:
                return bind(more);
            case 9:
                return rtp(more);
            case 10:
            case 11: {
                const auto bytes = some();
                return datagram(more, std::vector<uint8_t>(bytes.begin(), bytes.end()));
            }
            case 12:
                return (void)kick(more);
            case 13:
                return world_.rtc.reload(more & 1 ? world_.disabled : world_.snapshot);
            case 14:
                return http_.reset();
            default:
                return request(more & 1 ? "OPTIONS" : "GET", changed("/rtc/v1/whip/?app=live&stream=s"), "", "");
        }
    }

    static std::string whip(uint8_t more, std::string_view action) {
        const std::string_view path = action == "publish" ? "whip" : more & 8 ? "whip-play" : "whep";
        return fmt::format("/rtc/v1/{}/?app=live&stream=s{}{}", path, more & 3,
                           more & 4 ? "&vcodec=h264&eip=127.0.0.1" : "");
    }
    std::string location(uint8_t which) const {
        if (known_.empty()) return "/rtc/v1/whip/?action=delete&token=none&session=none";
        return known_[which % known_.size()].location;
    }
    std::span<const uint8_t> some() { return in_.bytes(std::min<size_t>(in_.u8(), in_.left())); }
    // The text with some bytes changed and some inserted.
    std::string changed(std::string text) {
        for (int left = in_.u8() & 7; left > 0 && !text.empty(); --left) {
            const size_t at = in_.u16() % text.size();
            text[at] = static_cast<char>(in_.u8());
            if (in_.u8() & 1) {
                const auto bytes = some();
                text.insert(at, reinterpret_cast<const char*>(bytes.data()), bytes.size());
            }
        }
        return text;
    }

    void request(std::string_view method, std::string_view target, std::string_view fields, std::string_view body) {
        send(fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n{}\r\n{}", method, target,
                         body.size(), fields, body));
    }
    // In up to three parts: how long the first two are is of the input.
    void send(std::string_view text) {
        if (!http_) http_ = std::make_unique<ClientSocket>(SOCK_STREAM, world_.http.port());
        const uint8_t cuts = in_.u8();
        for (int i = 0; i < (cuts & 3) && !text.empty(); ++i) {
            const size_t size = std::min<size_t>(in_.u16() % 4096, text.size());
            http_->send({reinterpret_cast<const uint8_t*>(text.data()), size});
            text.remove_prefix(size);
            if (cuts & 4) world_.time.settle();
            if (cuts & 8) world_.time.pass_ms(100);
            if (cuts & 16) return;  // and the rest never
        }
        http_->send({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    }
    void raw() {
        const auto bytes = some();
        send({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
    void json(uint8_t more) {
        std::string sdp;
        for (const char c : offer(more & 1 ? "sendonly" : "recvonly"))
            sdp += c == '\r' ? "\\r" : c == '\n' ? "\\n" : std::string(1, c);
        const std::string body =
            fmt::format(R"({{"api":"x","streamurl":"webrtc://127.0.0.1/live/s{}","sdp":"{}"}})", more >> 2, sdp);
        request("POST", more & 1 ? "/rtc/v1/publish/" : "/rtc/v1/play/", "Content-Type: application/json\r\n",
                changed(body));
    }
    void patch(uint8_t which) {
        const uint8_t what = in_.u8();
        const std::string etag = known_.empty() ? "none" : known_[which % known_.size()].etag;
        const std::string_view match = what & 1 ? "*" : what & 2 ? "\"other\"" : std::string_view(etag);
        const std::string fragment = fmt::format(
            "a=ice-ufrag:{}\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\na=candidate:1 1 "
            "udp 1 "
            "127.0.0.1 {} typ host\r\n",
            what & 4 ? "peer" : "next", what);
        request("PATCH", location(which),
                fmt::format("Content-Type: application/trickle-ice-sdpfrag\r\nIf-Match: {}\r\n", match),
                changed(fragment));
    }

    ClientSocket& datagram_socket(uint8_t which) {
        while (datagrams_.size() <= (which & 1u))
            datagrams_.push_back(std::make_unique<ClientSocket>(SOCK_DGRAM, world_.rtc.udp_ports().front()));
        return *datagrams_[which & 1u];
    }
    void datagram(uint8_t which, const std::vector<uint8_t>& bytes) { datagram_socket(which).send(bytes); }
    // A STUN request that is valid for that session, but for what the input changes.
    void bind(uint8_t which) {
        if (known_.empty()) return;
        const uint8_t what = in_.u8();
        const Known& known = known_[which % known_.size()];
        uint8_t out[300];
        stun::TransactionId transaction{};
        transaction[0] = what;
        stun::Writer writer(out, stun::Class::kRequest, transaction);
        writer.username(known.ufrag + (what & 1 ? ":next" : ":peer"));
        writer.priority(1);
        writer.controlling(7);
        if ((what & 2) == 0) writer.use_candidate();
        const size_t size = writer.finish(what & 4 ? "wrong" : known.password);
        std::vector<uint8_t> bytes(out, out + size);
        if ((what & 8) && size > 0) bytes[in_.u8() % size] ^= 0x10;
        datagram(what >> 7, bytes);
    }
    // RTP as the offer's publisher sends it, or RTCP of a player.
    void rtp(uint8_t more) {
        static constexpr uint8_t kTypes[] = {102, 111, 103, 96};
        static constexpr uint8_t kSsrcs[][2] = {{0x11, 0x11}, {0x33, 0x33}, {0x22, 0x22}, {0x77, 0x77}};
        const uint8_t sequence = in_.u8();
        const auto payload = some();
        std::vector<uint8_t> bytes = {
            0x80, kTypes[more & 3], 0, sequence, 0, 0, sequence, 0, 0, 0, kSsrcs[more & 3][0], kSsrcs[more & 3][1]};
        if (more & 4) bytes = {0x81, 206, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1};
        bytes.insert(bytes.end(), payload.begin(), payload.end());
        datagram(more >> 3, bytes);
    }
    bool kick(uint8_t which) {
        if (world_.table.size() == 0) return false;
        world_.table.at(which % world_.table.size()).kick("the input says so");
        return true;
    }

    void read_answers() {
        std::string ignored;
        for (const auto& socket : datagrams_) (void)socket->receive(ignored);
        if (!http_) return;
        if (!http_->receive(answers_)) http_.reset();
        // Whatever else an answer is, one to an offer has all of these.
        for (size_t at = 0; (at = answers_.find("HTTP/1.1 201 ", at)) != answers_.npos; ++at) {
            Known known{value_of(answers_, "Location: ", at), value_of(answers_, "ETag: ", at),
                        value_of(answers_, "a=ice-ufrag:", at), value_of(answers_, "a=ice-pwd:", at)};
            if (known.location.empty()) continue;
            CHECK(!known.etag.empty());
            if (known_.size() == kMaxKnown) known_.erase(known_.begin());
            known_.push_back(std::move(known));
        }
        answers_.clear();
    }

    void check() const {
        const Service& rtc = world_.rtc;
        CHECK(rtc.half_open() <= rtc.sessions());
        CHECK(rtc.half_open() <= static_cast<size_t>(make_limit()) + Service::kMaxLeaving);
        CHECK(rtc.offer_quota().count() <= rtc.half_open());
        CHECK(world_.table.size() == rtc.sessions() + world_.http.connections());
        CHECK(rtc.addresses() <= rtc.sessions() * 2);
        CHECK(world_.registry.size() <= rtc.sessions() + known_streams_);
    }
    int make_limit() const { return world_.snapshot->get<ServerConfig>().max_offers; }
    bool is_empty() const {
        return world_.table.size() == 0 && world_.rtc.sessions() == 0 && world_.http.connections() == 0 &&
               world_.registry.size() == 0;
    }

    World& world_;
    base::ByteReader in_;
    size_t steps_ = 0;
    std::unique_ptr<ClientSocket> http_;
    std::vector<std::unique_ptr<ClientSocket>> datagrams_;
    std::string answers_;
    std::vector<Known> known_;
    // Streams whose publishers left, which wait for the next one.
    static constexpr size_t known_streams_ = 300;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Client({data, size}).run();
    return 0;
}
