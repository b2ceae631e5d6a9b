// Whole RTMP connections against a Service, in simulated time: four clients that send commands in any order on several
// message streams, pipelined and cut anywhere, with media that is good and bad between them; they are kicked, stop
// reading, end or reset; a guard takes its time and refuses; publishers wait as standbys; the configuration is
// reloaded. Nothing is published or played without a guard's word about its key, and a client gets media and starts
// only of what it asked for. Behind each input nothing is left: no session, stream, grant or coroutine.

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "config/snapshot.h"
#include "net/access/gate.h"
#include "protocol/rtmp/chunk_reader.h"
#include "protocol/rtmp/chunk_writer.h"
#include "protocol/rtmp/handshake.h"
#include "protocol/rtmp/messages.h"
#include "service/connections_fuzz_testing.h"
#include "service/rtmp/service.h"

namespace {

using namespace service::rtmp;
using runtime::testing::FuzzInput;
using service::testing::ConnectionsFuzz;
using service::testing::FuzzClient;
using service::testing::kFuzzClients;

constexpr std::string_view kNames[] = {
    "a",
    "b",
    "a?vhost=tok",
    "b?priority=3",
    "refused",
    "refused?vhost=tok",
    "sub/a",
    "a...vhost...tok",
    "a?domain=tok&vhost=__defaultVhost__",
    "",
    "a?vhost=none",
    "..",
};
constexpr std::string_view kApps[] = {"live", "live?vhost=tok", "other", "live?vhost=refused", ""};
constexpr std::string_view kCommands[] = {
    "publish",      "play",        "createStream",  "deleteStream", "closeStream", "pause", "receiveAudio",
    "receiveVideo", "FCUnpublish", "releaseStream", "FCPublish",    "FCSubscribe", "seek",  "getStreamLength",
    "_checkbw",     "unknown",     "connect",       "initStream",
};
struct Body {
    uint8_t type;
    std::string_view bytes;
};
constexpr std::string_view kAvc(
    "\x17\x00\x00\x00\x00\x01\x42\xc0\x1e\xff\xe1\x00\x19\x67\x42\xc0\x1e\xd8\x90\x28\x0b\xfe\x5c\x04\x40\x00\x00\x03"
    "\x00\x40\x00\x00\x0c\x83\xc5\x8b\x89\x80\x01\x00\x05\x68\xc8\x88\xcb\x20",
    46);
constexpr std::string_view kMetadata(
    "\x02\x00\x0aonMetaData\x03\x00\x05width\x00\x40\x74\x00\x00\x00\x00\x00\x00\x00\x00\x09", 33);
constexpr Body kBodies[] = {
    {9, kAvc},
    {9, {"\x17\1\0\0\0\0\0\0\3\x65\1\2", 12}},
    {9, {"\x27\1\0\0\0\0\0\0\3\x41\1\2", 12}},
    {8, {"\xaf\0\x12\x10", 4}},
    {8, {"\xaf\1\x21\x10", 4}},
    {18, kMetadata},
    {8, {"", 0}},
    {9, {"\x17", 1}},
    {9, {"\x1b\1\0\0\0", 5}},
    {9, {"\x90zzzz1234", 9}},
    {8, {"\x95\x21mp4a\1\0\0\2\x21\x10", 12}},
    {9,
     {"\x96\x00"
      "avc1\1\0\0",
      9}},
    {22, {"\x08\0\0\4\0\0\1\0\0\0\0\xaf\1\x21\x10\0\0\0\x0f", 19}},
    {22, {"\x09\0\0\xff\0\0\0\0\0\0\0\x17", 12}},
    {15, {"\0\x02\0\x0aonMetaData\5", 15}},
    {9, {"\x27\1\0\0\0\xff\xff\xff\xff\x41", 10}},
};
constexpr uint32_t kStreamIds = 4;

// Takes its time, as a hook does. Whoever publishes or plays a key is connected to that key's vhost and app.
class KeyGuard final : public net::Guard {
  public:
    int64_t slow_ms = 0;
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost&) override {
        if (slow_ms > 0) TRY(runtime::sleep_ms(slow_ms));
        const bool is_connect = visitor.action == net::Action::kConnect;
        if (!is_connect) CHECK(inside_.contains(connect_of(visitor)));
        if (visitor.stream == "refused" || visitor.vhost == "refused")
            return base::fail(base::Code::kRefused, "refused");
        inside_.insert(is_connect ? connect_of(visitor) : key_of(visitor));
        return {};
    }
    bool may_yield(net::Action, const config::Vhost&) const override { return slow_ms > 0; }
    bool follows(net::Action, const config::Vhost&) const override { return true; }
    void left(const net::Visitor& visitor, const net::Traffic&) override {
        const bool is_connect = visitor.action == net::Action::kConnect;
        const auto found = inside_.find(is_connect ? connect_of(visitor) : key_of(visitor));
        CHECK(found != inside_.end());
        inside_.erase(found);
    }
    bool empty() const { return inside_.empty(); }

  private:
    static std::string connect_of(const net::Visitor& visitor) {
        return visitor.id + " " + visitor.vhost + "/" + visitor.app;
    }
    static std::string key_of(const net::Visitor& visitor) {
        return connect_of(visitor) + " " + std::string(net::action_name(visitor.action)) + " " + visitor.stream;
    }
    std::multiset<std::string> inside_;
};

// An end of a connection, and what it asked for.
class Client final : public FuzzClient, private rtmp::MessageSink {
  public:
    void connect(Service& service) {
        service.accept(new_stream(), nullptr);
        pending_.assign(1 + 2 * rtmp::kHandshakeSize, '\0');
        pending_[0] = 3;
        answers_ = std::make_unique<rtmp::ChunkReader>();
        handshake_left_ = 1 + 2 * rtmp::kHandshakeSize;
        chunk_size_ = rtmp::kDefaultChunkSize;
        transaction_ = time_ms_ = 0;
        published_.clear();
        played_.clear();
        has_started_ = false;
        is_wild_ = false;
    }
    void command(std::string_view name, uint32_t stream_id, std::vector<amf::Value> arguments) {
        if (name == "publish") published_.insert(stream_id);
        if (name == "play") played_.insert(stream_id);
        std::vector<uint8_t> wire;
        rtmp::append_command(wire, rtmp::kCommandChunkStream, stream_id,
                             {std::string(name), static_cast<double>(++transaction_), std::move(arguments)},
                             chunk_size_);
        add(wire);
    }
    void connect_to(std::string_view app) {
        command("connect", 0,
                one(amf::Value::object({{"app", app}, {"tcUrl", "rtmp://127.0.0.1/" + std::string(app)}})));
    }
    void message(uint8_t type, uint32_t stream_id, std::string_view body) {
        std::vector<uint8_t> wire;
        const std::span bytes(reinterpret_cast<const uint8_t*>(body.data()), body.size());
        rtmp::append_message(wire,
                             type == 9   ? 6
                             : type == 8 ? 4
                                         : 7,
                             type, stream_id, time_ms_ += 20, bytes, chunk_size_);
        add(wire);
    }
    void set_chunk_size(uint32_t size) {
        std::vector<uint8_t> wire;
        rtmp::append_set_chunk_size(wire, size);
        add(wire);
        chunk_size_ = size;
    }
    void control(uint8_t type, std::string_view body) {
        std::vector<uint8_t> wire;
        const std::span bytes(reinterpret_cast<const uint8_t*>(body.data()), body.size());
        rtmp::append_message(wire, rtmp::kControlChunkStream, type, 0, 0, bytes, chunk_size_);
        add(wire);
    }
    void raw(std::string_view bytes) {
        is_wild_ |= !bytes.empty();
        FuzzClient::raw(bytes);
    }
    void jump(uint32_t ms) { time_ms_ += ms; }
    void check_answers() {
        const std::string bytes = peer_->take();
        std::span rest(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
        const size_t of_handshake = std::min(rest.size(), handshake_left_);
        handshake_left_ -= of_handshake;
        rest = rest.subspan(of_handshake);
        if (!rest.empty()) CHECK(answers_->feed(rest, *this));
    }
    static std::vector<amf::Value> one(amf::Value value) {
        std::vector<amf::Value> values;
        values.push_back(std::move(value));
        return values;
    }

  private:
    void add(const std::vector<uint8_t>& wire) { pending_.append(wire.begin(), wire.end()); }

    base::Result<bool> on_message(rtmp::Message& message) override {
        if (message.type == rtmp::kAudio || message.type == rtmp::kVideo) CHECK(is_wild_ || has_started_);
        if (message.type != rtmp::kCommand) return true;
        const auto command = rtmp::read_command(message);
        CHECK(command);
        const std::string_view code = command->argument(1).get("code").string_or("");
        if (command->name != "onStatus") return true;
        if (code == "NetStream.Publish.Start") CHECK(is_wild_ || published_.contains(message.stream_id));
        if (code == "NetStream.Play.Start") {
            CHECK(is_wild_ || played_.contains(message.stream_id));
            has_started_ = true;
        }
        return true;
    }

    std::unique_ptr<rtmp::ChunkReader> answers_;
    size_t handshake_left_ = 0;
    uint32_t chunk_size_ = rtmp::kDefaultChunkSize;
    uint32_t transaction_ = 0, time_ms_ = 0;
    std::set<uint32_t> published_, played_;
    bool has_started_ = false;
    bool is_wild_ = false;  // it sent bytes that are not looked at here
};

class World final : public ConnectionsFuzz<World> {
  public:
    explicit World(FuzzInput& input) : ConnectionsFuzz(input) {
        const uint8_t options = input_.byte();
        snapshot_ = make_snapshot(options);
        guard_.slow_ms = options & 1 ? 50 : 0;
        gate_.add(guard_);
        service_ = std::make_unique<Service>(snapshot_, sessions_, registry_, gate_);
        for (Client& client : clients_) client.connect(*service_);
    }
    ~World() { finish(); }

  private:
    friend ConnectionsFuzz;
    static constexpr int64_t kPauses[] = {1, 20, 100, 350, 500, 1'000, 3'000, 6'000, 11'000, 31'000};

    static std::shared_ptr<config::Snapshot> make_snapshot(uint8_t options) {
        auto snapshot = std::make_shared<config::Snapshot>(*config::default_snapshot());
        config::Vhost& vhost = snapshot->vhosts.front();
        vhost.publish.takeover = options & 2;
        vhost.publish.standby = options & 4 ? config::StandbyMode::kPreempt : config::StandbyMode::kOff;
        vhost.play.mw_latency = options & 8 ? 350 : 0;
        vhost.play.rejoin_timeout = 2'000;
        vhost.chunk_size = options & 16 ? 128 : 60'000;
        vhost.publish.kickoff_for_idle = options & 32 ? 5 : 0;
        for (const char* name : {"tok", "refused"}) {
            snapshot->vhosts.push_back(snapshot->vhosts.front());
            snapshot->vhosts.back().name = name;
        }
        // Without a default one streams name theirs.
        if (options & 64) snapshot->vhosts.front().name = "named";
        return snapshot;
    }

    Client& client(size_t number) { return clients_[number]; }
    void connect(size_t number) { clients_[number].connect(*service_); }
    void add_request(Client& client) {
        const std::string_view name = kCommands[input_.choice(std::size(kCommands))];
        const auto stream_id = static_cast<uint32_t>(input_.choice(kStreamIds));
        const uint8_t argument = input_.byte();
        std::vector<amf::Value> arguments;
        if (name == "connect") return client.connect_to(kApps[argument % std::size(kApps)]);
        arguments.emplace_back();
        if (name == "pause" || name.starts_with("receive")) {
            arguments.emplace_back((argument & 1) != 0);
        } else if (name == "deleteStream") {
            arguments.emplace_back(argument % kStreamIds);
        } else {
            arguments.emplace_back(kNames[argument % std::size(kNames)]);
            if (name == "play" && argument & 0x80) {
                arguments.emplace_back(-2'000);
                arguments.emplace_back(100);
            }
        }
        client.command(name, stream_id, std::move(arguments));
    }
    // All commands of a session at once.
    void add_session(size_t number, bool publishes) {
        Client& client = clients_[number];
        const uint8_t choice = input_.byte();
        client.connect_to(kApps[(choice >> 6) % std::size(kApps)]);
        const std::string_view name = kNames[(choice & 15) % std::size(kNames)];
        const auto named = [&] {
            std::vector<amf::Value> arguments;
            arguments.emplace_back();
            arguments.emplace_back(name);
            return arguments;
        };
        if (publishes && choice & 16) client.command("FCPublish", 0, named());
        client.command("createStream", 0, Client::one({}));
        client.command(publishes ? "publish" : "play", 1, named());
        if (!publishes) return;
        for (size_t i : {0, 3, 1, 4}) client.message(kBodies[i].type, 1, kBodies[i].bytes);
    }
    void add_media(size_t number) {
        Client& client = clients_[number];
        const uint8_t kind = input_.byte();
        const Body& body = kBodies[kind & 15];
        if (kind & 0x40) client.jump(kind & 0x80 ? 100'000 : 500);
        client.message(body.type, kind & 0x20 ? 2 : 1, body.bytes);
    }
    void add_other(size_t number) {
        Client& client = clients_[number];
        const uint8_t kind = input_.byte();
        constexpr std::string_view kFour("\0\0\0\x40", 4);
        switch (kind & 7) {
            case 0:
                return client.set_chunk_size(kind & 8 ? 4'096 : 128);
            case 1:
                return client.control(rtmp::kUserControl, {"\0\6\0\0\0\1", 6});
            case 2:
                return client.control(rtmp::kUserControl, {"\0", 1});
            case 3:
                return client.control(rtmp::kWindowAckSize, kFour);
            case 4:
                return client.control(rtmp::kAcknowledgement, kFour);
            case 5:
                return client.control(rtmp::kSetPeerBandwidth, {"\0\0\0\x40\2", 5});
            case 6:
                return client.control(rtmp::kAbort, {"\0\0\0\3", 4});
            default:
                return client.control(rtmp::kWindowAckSize, {"\0", 1});
        }
    }
    void reload() { service_->reload(make_snapshot(input_.byte())); }

    void check() {
        for (Client& client : clients_) client.check_answers();
        for (const char* vhost : {"__defaultVhost__", "tok", "named"})
            if (const auto stream = registry_.find({vhost, "live", "refused"}))
                CHECK(!stream->published() && stream->viewer_count() == 0);
        CHECK(!registry_.find({"refused", "live", "a"}) || !registry_.find({"refused", "live", "a"})->published());
    }

    void finish() {
        // Writing to a client that reads nothing takes the longest.
        end_clients(*service_, {0, 100, 1'000, 3'000, 12'000, 30'000, 120'000});
        CHECK(guard_.empty());
        service_->stop();
        service_.reset();
        registry_.stop();
        gate_.remove(guard_);
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    KeyGuard guard_;
    std::unique_ptr<Service> service_;
    std::array<Client, kFuzzClients> clients_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    return service::testing::run_fuzz_input<World>(data, size);
}
