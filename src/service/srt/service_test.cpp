// The SRT service over sockets of this machine: handshakes, refusals, names, players, and what strangers send.

#include "service/srt/service.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/hub/options.h"
#include "live/hub/owner_testing.h"
#include "live/hub/testing.h"
#include "protocol/srt/caller.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/random.h"
#include "runtime/loop/testing.h"
#include "runtime/senders/senders.h"
#include "runtime/socket/udp.h"
#include "service/srt/config.h"

namespace service::srt {
namespace {

using runtime::testing::ok;
using ::srt::Caller;
using ::srt::Refusal;
using Datagram = std::vector<uint8_t>;

constexpr std::string_view kSecret = "a-long-secret";

// The even key is the KEK.
::srt::KeyBasis key_basis(std::string_view passphrase) {
    ::srt::KeyBasis basis;
    basis.salt.fill(7);
    basis.kek = ::srt::derive_kek(passphrase, basis.salt, 16);
    return basis;
}

std::vector<uint8_t> key_message(std::string_view passphrase) {
    const ::srt::KeyBasis basis = key_basis(passphrase);
    std::vector<uint8_t> message(::srt::kMaxKeyMessage);
    message.resize(::srt::write_key_message(message, {.even = basis.kek, .odd = {}}, basis.salt, basis.kek));
    return message;
}

// A caller with a socket of its own.
class Client {
  public:
    explicit Client(uint16_t port)
        : socket_(*runtime::bind_udp({"127.0.0.1", 0})), server_{*base::IpAddress::parse("127.0.0.1"), port} {}

    void send(std::span<const uint8_t> bytes) {
        EXPECT_TRUE(ok(socket_->send_to(bytes, server_, runtime::Deadline::in_ms(1'000))));
    }
    // What comes within that time; with a count, not more than needed.
    std::vector<Datagram> receive(int64_t ms, size_t count = SIZE_MAX) {
        std::vector<Datagram> came;
        const runtime::Deadline deadline = runtime::Deadline::in_ms(ms);
        while (came.size() < count) {
            const auto got = socket_->receive_batch(deadline);
            if (!got) break;
            for (const auto& packet : *got) came.emplace_back(packet.bytes.begin(), packet.bytes.end());
        }
        return came;
    }
    // The handshake, to its end.
    Caller connect(std::string stream_id, std::vector<uint8_t> keys = {}, uint32_t id = runtime::secret_u32() >> 3) {
        Caller caller({.own_id = id, .stream_id = std::move(stream_id), .key_message = std::move(keys)},
                      runtime::now_us());
        while (caller.state() == Caller::State::kInduction || caller.state() == Caller::State::kConclusion) {
            for (auto bytes = caller.poll(runtime::now_us()); !bytes.empty(); bytes = caller.poll(runtime::now_us())) {
                last_.assign(bytes.begin(), bytes.end());
                send(bytes);
            }
            for (const Datagram& datagram : receive(20, 1)) {
                caller.on_datagram(runtime::now_us(), datagram);
                answer_ = datagram;
            }
        }
        return caller;
    }
    const Datagram& conclusion() const { return last_; }
    const Datagram& answer() const { return answer_; }

  private:
    std::unique_ptr<runtime::UdpSocket> socket_;
    base::Endpoint server_;
    Datagram last_, answer_;
};

// Says which passphrase a client must have.
class Hook final : public net::Guard {
  public:
    base::Result<void> admit(const net::Visitor& visitor, const config::Vhost&) override {
        ++asked;
        TRY(runtime::sleep_ms(5));
        if (visitor.passphrase && !answer.empty()) *visitor.passphrase = answer;
        return {};
    }
    bool may_yield(net::Action, const config::Vhost&) const override { return true; }
    base::Result<void> check(const net::Visitor&, const config::Vhost&) override { return {}; }
    bool follows(net::Action, const config::Vhost&) const override { return true; }
    void left(const net::Visitor& visitor, const net::Traffic&) override {
        ++gone;
        EXPECT_EQ(visitor.passphrase, nullptr);
    }
    std::string answer;
    int asked = 0, gone = 0;
};

// Decides when it is told.
class Slow final : public net::Guard {
  public:
    base::Result<void> admit(const net::Visitor&, const config::Vhost&) override {
        ++asked;
        TRY(decided.wait(runtime::Deadline::in_ms(5'000)));
        return {};
    }
    bool may_yield(net::Action, const config::Vhost&) const override { return true; }
    base::Result<void> check(const net::Visitor&, const config::Vhost&) override { return {}; }
    int asked = 0;
    runtime::Event decided{"a decision"};
};

class SrtServiceTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        server().enabled = true;
        server().listen = {{"127.0.0.1", 0}};
        vhost().get<VhostConfig>().enabled = true;
        vhost().play.mw_latency = 0;
        vhost().play.rejoin_timeout = 300;
        registry_.start();
    }
    void TearDown() override {
        service_.reset();
        publication_.end();
        EXPECT_EQ(table_.size(), 0u);
        registry_.stop();
    }
    ServerConfig& server() { return snapshot_->get<ServerConfig>(); }
    config::Vhost& vhost() { return snapshot_->vhosts.front(); }
    void begin() {
        service_ = std::make_unique<Service>(snapshot_, table_, registry_, gate_);
        ASSERT_TRUE(ok(service_->start()));
    }
    Client client() { return Client(service_->port()); }
    std::optional<Refusal> refusal_of(std::string stream_id, std::vector<uint8_t> keys = {}) {
        return client().connect(std::move(stream_id), std::move(keys)).refusal();
    }
    bool is_published(std::string name) {
        const auto stream = registry_.find({"__defaultVhost__", "live", std::move(name)});
        return stream && stream->published();
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable table_;
    live::Registry registry_;
    net::Gate gate_;
    live::testing::Owner owner_;
    live::Publication publication_;
    std::unique_ptr<Service> service_;
};

TEST_F(SrtServiceTest, APublisherHasItsName) {
    begin();
    Client one = client();
    const Caller caller = one.connect("#!::r=live/a,m=publish");
    ASSERT_EQ(caller.state(), Caller::State::kConnected);
    EXPECT_TRUE(is_published("a"));
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish"), Refusal::kConflict);
    EXPECT_EQ(refusal_of("publish:live/a"), Refusal::kConflict);
    EXPECT_EQ(service_->sessions(), 1u);
}

TEST_F(SrtServiceTest, AnEncoderThatStartsAgainTakesItsNameOver) {
    begin();
    Client one = client();
    const uint32_t before = one.connect("#!::r=live/a,m=publish").agreement().peer_id;
    const Caller again = one.connect("#!::r=live/a,m=publish");
    ASSERT_EQ(again.state(), Caller::State::kConnected) << "the same port, another socket id";
    EXPECT_NE(again.agreement().peer_id, before);
    EXPECT_TRUE(is_published("a"));
    ASSERT_TRUE(ok(runtime::sleep_ms(20)));
    EXPECT_EQ(service_->sessions(), 1u) << "the old session has gone";
}

TEST_F(SrtServiceTest, ARepeatedConclusionGetsTheSameAnswer) {
    begin();
    Client one = client();
    const Caller caller = one.connect("#!::r=live/a,m=publish");
    for (int i = 0; i < 3; ++i) {
        one.send(one.conclusion());
        const auto came = one.receive(1'000, 1);
        ASSERT_EQ(came.size(), 1u);
        EXPECT_EQ(came[0], one.answer());
    }
    EXPECT_EQ(service_->sessions(), 1u);
    EXPECT_EQ(service_->stats().admitted, 1u);
    // What comes for our id shows that the caller has the answer.
    std::array<uint8_t, 64> keepalive;
    const size_t bytes = ::srt::write_keepalive(keepalive, {caller.agreement().peer_id, 0});
    one.send(std::span(keepalive).first(bytes));
    one.send(one.conclusion());
    EXPECT_TRUE(one.receive(100, 1).empty());
    EXPECT_EQ(service_->sessions(), 1u);
}

TEST_F(SrtServiceTest, RefusalsHaveTheirCodes) {
    begin();
    EXPECT_EQ(refusal_of("#!::r=live/a,m=both"), Refusal::kBadMode);
    EXPECT_EQ(refusal_of("#!::r=live/../a,m=publish"), Refusal::kBadRequest);
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish", key_message(kSecret)), Refusal::kUnsecure);
    vhost().get<VhostConfig>().enabled = false;
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish"), Refusal::kNotFound);
    EXPECT_EQ(service_->sessions(), 0u);
    EXPECT_EQ(service_->stats().refused, 4u);
}

TEST_F(SrtServiceTest, ThePassphraseIsChecked) {
    server().passphrase = kSecret;
    begin();
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish"), Refusal::kUnsecure);
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish", key_message("another-secret")), Refusal::kBadSecret);
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish", key_message(kSecret)), std::nullopt);
    EXPECT_TRUE(is_published("a"));
    vhost().get<VhostConfig>().passphrase = "of-the-vhost";
    EXPECT_EQ(refusal_of("#!::r=live/b,m=publish", key_message(kSecret)), Refusal::kBadSecret);
    EXPECT_EQ(refusal_of("#!::r=live/b,m=publish", key_message("of-the-vhost")), std::nullopt);
}

TEST_F(SrtServiceTest, AHookSaysThePassphrase) {
    vhost().get<VhostConfig>().passphrase = "of-the-vhost";
    vhost().get<VhostConfig>().passphrase_by_hook = true;
    Hook hook;
    gate_.add(hook);
    begin();
    hook.answer = "of-the-hook";
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish", key_message("of-the-vhost")), Refusal::kBadSecret);
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish"), Refusal::kUnsecure);
    EXPECT_EQ(hook.gone, 2) << "the hook is told of the end of those who were refused after it";
    EXPECT_EQ(refusal_of("#!::r=live/a,m=publish", key_message("of-the-hook")), std::nullopt);
    EXPECT_EQ(refusal_of("#!::r=live/a,m=request", key_message("of-the-hook")), std::nullopt);
    hook.answer.clear();
    EXPECT_EQ(refusal_of("#!::r=live/b,m=publish", key_message("of-the-hook")), Refusal::kBadSecret);
    EXPECT_EQ(refusal_of("#!::r=live/b,m=publish", key_message("of-the-vhost")), std::nullopt);
    EXPECT_EQ(hook.asked, 6);
    vhost().get<VhostConfig>().passphrase_by_hook = false;
    hook.answer = "of-the-hook";
    EXPECT_EQ(refusal_of("#!::r=live/c,m=publish", key_message("of-the-hook")), Refusal::kBadSecret);
    EXPECT_EQ(hook.asked, 6) << "it is asked after the passphrase";
    service_.reset();
    gate_.remove(hook);
}

TEST_F(SrtServiceTest, CallersThatAreBeingAdmittedAreBounded) {
    server().max_handshakes = 4;
    Slow slow;
    gate_.add(slow);
    begin();
    std::vector<Client> clients;
    std::vector<runtime::Task> tasks;
    std::vector<std::optional<Caller>> callers(6);
    for (size_t i = 0; i < callers.size(); ++i) clients.push_back(client());
    for (size_t i = 0; i < callers.size(); ++i)
        tasks.push_back(runtime::spawn(
            "caller", [&, i] { callers[i] = clients[i].connect("#!::r=live/" + std::to_string(i) + ",m=publish"); }));
    ASSERT_TRUE(ok(runtime::sleep_ms(700)));  // with repeated conclusions
    EXPECT_EQ(service_->pending(), 4u);
    EXPECT_EQ(slow.asked, 4) << "a repeated conclusion asks nobody again";
    slow.decided.set();
    for (auto& task : tasks) ASSERT_TRUE(ok(task.join(runtime::Deadline::in_ms(5'000))));
    size_t connected = 0, refused = 0;
    for (const auto& caller : callers) {
        connected += caller->state() == Caller::State::kConnected;
        refused += caller->refusal() == Refusal::kOverload;
    }
    EXPECT_EQ(connected, 4u);
    EXPECT_EQ(refused, 2u);
    service_.reset();
    gate_.remove(slow);
}

TEST_F(SrtServiceTest, StrangersDoNothingToASession) {
    begin();
    Client one = client(), stranger = client();
    const Caller caller = one.connect("#!::r=live/a,m=publish");
    std::array<uint8_t, 64> shutdown;
    const size_t bytes = ::srt::write_shutdown(shutdown, {caller.agreement().peer_id, 0});
    stranger.send(std::span(shutdown).first(bytes));
    stranger.send(one.conclusion());
    stranger.send(std::span(shutdown).first(3));
    Datagram junk(1'400);
    for (int i = 0; i < 200; ++i) {
        runtime::fill_secret(junk);
        if (i % 2) std::fill_n(junk.begin() + 12, 4, uint8_t{0});  // for no session
        stranger.send(junk);
    }
    EXPECT_TRUE(stranger.receive(100, 1).empty()) << "nobody gets an answer without a handshake";
    EXPECT_EQ(service_->sessions(), 1u);
    EXPECT_TRUE(is_published("a"));
    EXPECT_GE(service_->stats().unknown, 200u);
    one.send(std::span(shutdown).first(bytes));
    ASSERT_TRUE(ok(runtime::sleep_ms(50)));
    EXPECT_EQ(service_->sessions(), 0u) << "the caller itself ends it";
    EXPECT_FALSE(is_published("a"));
}

TEST_F(SrtServiceTest, APlayerGetsTheStreamAndItsEnd) {
    begin();
    const auto stream = registry_.find_or_create({"__defaultVhost__", "live", "a"}, live::live_options(vhost()));
    publication_ = *stream->acquire(owner_, false);
    publication_.publish(live::testing::header(media::Kind::kAudio, "\x12\x10"));
    publication_.publish(live::testing::audio(0, "before"));
    Client one = client();
    const Caller caller = one.connect("#!::r=live/a,m=request");
    ASSERT_EQ(caller.state(), Caller::State::kConnected);
    EXPECT_EQ(stream->demand(), 1u);
    for (int ms = 20; ms < 120; ms += 20) publication_.publish(live::testing::audio(ms, "sound"));
    size_t data = 0;
    for (const Datagram& datagram : one.receive(300)) {
        if (::srt::is_control(datagram)) continue;
        const auto header = ::srt::parse_data(datagram);
        ASSERT_TRUE(header);
        EXPECT_EQ(header->sequence, caller.agreement().initial_sequence + data) << "numbers begin where it was agreed";
        EXPECT_EQ(datagram.size() % 188, ::srt::kHeaderSize);
        EXPECT_EQ(datagram[::srt::kHeaderSize], 0x47);
        ++data;
    }
    EXPECT_GE(data, 1u);
    publication_.end();
    bool ended = false;
    for (const Datagram& datagram : one.receive(1'500))
        if (const auto control = ::srt::parse_control(datagram))
            ended |= control->type == ::srt::ControlType::kShutdown;
    EXPECT_TRUE(ended) << "after rejoin_timeout";
    EXPECT_EQ(service_->sessions(), 0u);
}

TEST_F(SrtServiceTest, APlayerThatHasWaitedForItsStreamIsNotIdle) {
    server().peer_idle_timeout = 500;
    begin();
    Client one = client();
    const Caller caller = one.connect("#!::r=live/a,m=request");
    std::array<uint8_t, 64> keepalive;
    const size_t bytes = ::srt::write_keepalive(keepalive, {caller.agreement().peer_id, 0});
    for (int i = 0; i < 7; ++i) {
        ASSERT_TRUE(ok(runtime::sleep_ms(100)));
        one.send(std::span(keepalive).first(bytes));
    }
    const auto stream = registry_.find_or_create({"__defaultVhost__", "live", "a"}, live::live_options(vhost()));
    publication_ = *stream->acquire(owner_, false);
    publication_.publish(live::testing::header(media::Kind::kAudio, "\x12\x10"));
    publication_.publish(live::testing::audio(0, "sound"));
    ASSERT_TRUE(ok(runtime::sleep_ms(150)));
    EXPECT_EQ(service_->sessions(), 1u);
}

TEST_F(SrtServiceTest, ACallerThatSaysNothingMoreEnds) {
    server().peer_idle_timeout = 300;
    begin();
    Client publisher = client(), player = client();
    ASSERT_EQ(publisher.connect("#!::r=live/a,m=publish").state(), Caller::State::kConnected);
    ASSERT_EQ(player.connect("#!::r=live/b,m=request").state(), Caller::State::kConnected);
    EXPECT_EQ(service_->sessions(), 2u);
    ASSERT_TRUE(ok(runtime::sleep_ms(700)));
    EXPECT_EQ(service_->sessions(), 0u) << "after peer_idle_timeout";
    EXPECT_FALSE(is_published("a"));
}

// Every message is lent to a sender thread.
class LentSrtServiceTest : public SrtServiceTest {
  protected:
    void SetUp() override {
        SrtServiceTest::SetUp();
        runtime::install_senders(std::move(*runtime::Senders::start(1)));
        runtime::senders()->set_min_sends(0);
    }
    void TearDown() override {
        SrtServiceTest::TearDown();
        runtime::stop_senders();
    }
    // What a player gets, from its handshake to the end of its stream: numbers of messages, and "end".
    std::string played(std::string_view passphrase) {
        begin();
        const auto stream = registry_.find_or_create({"__defaultVhost__", "live", "a"}, live::live_options(vhost()));
        publication_ = *stream->acquire(owner_, false);
        publication_.publish(live::testing::header(media::Kind::kAudio, "\x12\x10"));
        publication_.publish(live::testing::audio(0, "before"));
        Client one = client();
        const Caller caller =
            one.connect("#!::r=live/a,m=request", passphrase.empty() ? Datagram() : key_message(passphrase));
        if (caller.state() != Caller::State::kConnected) return caller.error().text();
        for (int ms = 20; ms < 200; ms += 20) {
            publication_.publish(live::testing::audio(ms, "sound"));
            (void)runtime::sleep_ms(20);
        }
        publication_.end();
        std::string text;
        for (Datagram& datagram : one.receive(900)) text += text_of(datagram, passphrase, caller.agreement());
        return text;
    }

  private:
    static std::string text_of(Datagram& datagram, std::string_view passphrase, const ::srt::Agreement& agreement) {
        if (const auto control = ::srt::parse_control(datagram))
            return control->type == ::srt::ControlType::kShutdown ? "end" : "";
        const auto header = ::srt::parse_data(datagram);
        const auto payload = std::span(datagram).subspan(::srt::kHeaderSize);
        const ::srt::KeyBasis basis = key_basis(passphrase);
        ::srt::ReceiverKeys keys({.even = basis.kek, .odd = {}}, basis);
        if (!header || (!passphrase.empty() && !keys.decrypt(*header, payload)) || payload[0] != 0x47) return "? ";
        // Nobody acknowledges: what is lost in such a silence is sent again.
        return header->retransmitted ? "" : std::to_string(header->sequence - agreement.initial_sequence) + " ";
    }
};

TEST_F(LentSrtServiceTest, AThreadSendsInOrderAndTheEndLast) {
    const std::string text = played("");
    EXPECT_TRUE(text.starts_with("0 1 2 3 ") && text.ends_with(" end")) << text;
    EXPECT_GT(runtime::senders()->stats().records, 3u);
}

TEST_F(LentSrtServiceTest, AThreadEncrypts) {
    vhost().get<VhostConfig>().passphrase = kSecret;
    const std::string text = played(kSecret);
    EXPECT_TRUE(text.starts_with("0 1 2 3 ") && text.ends_with(" end")) << text;
    EXPECT_GT(runtime::senders()->stats().records, 3u);
}

}  // namespace
}  // namespace service::srt
