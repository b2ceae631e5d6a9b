#pragma once
// For the tests in this folder: an RTMP client over a socket, based on protocol/rtmp's ClientSession, and a service for
// it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "protocol/rtmp/client_session.h"
#include "protocol/rtmp/handshake.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/tcp.h"
#include "runtime/socket/tls.h"
#include "service/rtmp/service.h"

namespace service::rtmp::testing {

// FLV bodies: an H.264 sequence header (a real one, as it is parsed), a keyframe, an inter frame, and AAC.
inline const std::vector<uint8_t> kVideoHeader{0x17, 0x00, 0x00, 0x00, 0x00, 0x01, 0x42, 0xc0, 0x1e, 0xff, 0xe1, 0x00,
                                               0x19, 0x67, 0x42, 0xc0, 0x1e, 0xd8, 0x90, 0x28, 0x0b, 0xfe, 0x5c, 0x04,
                                               0x40, 0x00, 0x00, 0x03, 0x00, 0x40, 0x00, 0x00, 0x0c, 0x83, 0xc5, 0x8b,
                                               0x89, 0x80, 0x01, 0x00, 0x05, 0x68, 0xc8, 0x88, 0xcb, 0x20};
inline const std::vector<uint8_t> kKeyframe{0x17, 1, 0, 0, 0, 0, 0, 0, 3, 0x65, 1, 2};
inline const std::vector<uint8_t> kInterFrame{0x27, 1, 0, 0, 0, 0, 0, 0, 3, 0x41, 1, 2};
inline const std::vector<uint8_t> kAudioHeader{0xaf, 0, 0x12, 0x10};
inline const std::vector<uint8_t> kAudioFrame{0xaf, 1, 0x21, 0x10};

class TestClient final : private ::rtmp::ClientHandler {
  public:
    TestClient(uint16_t port, bool publish, const std::string& path, std::shared_ptr<runtime::TlsContext> tls = nullptr,
               bool connect_only = false)
        : session_(*this, *::rtmp::parse_url("rtmp://127.0.0.1/" + path),
                   {.publish = publish, .connect_only = connect_only}, 3073) {
        auto plain = runtime::connect_tcp("127.0.0.1", port, limit());
        if (!plain) return;
        socket_ = *std::move(plain);
        if (!tls) return;
        auto secured = runtime::tls_connect(std::move(socket_), tls, "127.0.0.1", limit());
        if (secured) socket_ = *std::move(secured);
    }

    // Runs until it may publish or play.
    base::Result<void> open(bool digest = false) {
        TRY(handshake(digest));
        session_.start();
        while (!session_.ready()) TRY(turn());
        return flush();
    }
    base::Result<void> handshake(bool digest = false) {
        ::rtmp::ClientHandshake handshake([](std::span<uint8_t> b) { std::ranges::fill(b, 0x42); }, digest);
        std::vector<uint8_t> out;
        handshake.start(1, out);
        TRY(write(out));
        while (!handshake.done()) {
            auto bytes = TRY(read());
            out.clear();
            size_t taken = TRY(handshake.feed(bytes, 2, out));
            EXPECT_EQ(taken, bytes.size());
            TRY(write(out));
        }
        return {};
    }
    // Sends pending output and reads once.
    base::Result<void> turn() {
        TRY(flush());
        return session_.feed(TRY(read()));
    }
    base::Result<void> flush() {
        std::vector<uint8_t> out = std::exchange(session_.output(), {});
        return write(out);
    }
    base::Result<void> write(std::span<const uint8_t> bytes) {
        return bytes.empty() ? base::Result<void>() : socket_->write(bytes, limit());
    }
    // Reads until the server has closed; returns the error, if any.
    std::string read_to_end() {
        while (true)
            if (auto done = turn(); !done) return done.error().text();
    }
    // Reads until n media messages have been received: "9@40 0:5;..." type, time, first byte and size.
    std::string media(size_t n) {
        while (messages_.size() < n)
            if (auto done = turn(); !done) return done.error().text();
        std::string text;
        for (const auto& m : messages_) text += text_of(m);
        messages_.clear();
        return text;
    }
    void send(uint8_t type, uint32_t timestamp, std::vector<uint8_t> body) {
        session_.send_media(type, timestamp, {}, body);
        ASSERT_TRUE(flush().has_value());
    }
    void call(std::string name, std::vector<amf::Value> arguments, double transaction = 0) {
        call_on(session_.stream_id(), std::move(name), std::move(arguments), transaction);
    }
    void call_on(uint32_t stream_id, std::string name, std::vector<amf::Value> arguments, double transaction = 0) {
        ::rtmp::append_command(session_.output(), ::rtmp::kCommandChunkStream, stream_id,
                               {std::move(name), transaction, std::move(arguments)}, 60000);
        ASSERT_TRUE(flush().has_value());
    }
    // The next n media messages of each of these message streams, in the format of media(): "1: 9@0 17:46;... 2: ...".
    std::string media_of(const std::vector<uint32_t>& streams, size_t n) {
        auto count = [&](uint32_t id) { return std::ranges::count(messages_, id, &::rtmp::Message::stream_id); };
        std::string all;
        for (uint32_t id : streams) {
            while (count(id) < static_cast<ptrdiff_t>(n))
                if (auto done = turn(); !done) return all + done.error().text();
            all += fmt::format("{}: ", id);
            size_t left = n;
            std::erase_if(messages_, [&](const ::rtmp::Message& m) {
                if (m.stream_id != id || left == 0) return false;
                --left;
                all += text_of(m);
                return true;
            });
        }
        return all;
    }
    // Reads until the server has sent this status code.
    bool hears(std::string_view code) {
        while (statuses_.find(code) == std::string::npos)
            if (!turn()) return false;
        return true;
    }
    const std::string& statuses() const { return statuses_; }
    runtime::ByteStream& socket() { return *socket_; }
    ::rtmp::ClientSession& session() { return session_; }
    void close() { socket_.reset(); }

  private:
    static std::string text_of(const ::rtmp::Message& m) {
        return fmt::format("{}@{} {:02x}:{};", m.type, m.timestamp, m.payload.empty() ? 0 : m.payload[0],
                           m.payload.size());
    }
    static runtime::Deadline limit() { return runtime::Deadline::in_ms(5000); }
    base::Result<std::span<const uint8_t>> read() {
        size_t n = TRY(socket_->read(buffer_, limit()));
        if (n == 0) return base::fail(base::Code::kClosed, "closed");
        return std::span<const uint8_t>(buffer_).first(n);
    }
    void on_ready() override {}
    base::Result<void> on_media(::rtmp::Message& message) override {
        // The data messages at the beginning of every play are not media.
        bool of_play = message.type == ::rtmp::kData && message.payload.text().find("onMetaData") == std::string::npos;
        if (!of_play) messages_.push_back(std::move(message));
        return {};
    }
    void on_status(std::string_view code, std::string_view) override { statuses_ += std::string(code) + ";"; }

    std::unique_ptr<runtime::ByteStream> socket_;
    ::rtmp::ClientSession session_;
    std::vector<uint8_t> buffer_ = std::vector<uint8_t>(65536);
    std::vector<::rtmp::Message> messages_;
    std::string statuses_;
};

// What a player receives after send_start().
inline constexpr std::string_view kStart = "9@0 17:46;8@0 af:4;9@0 17:12;8@10 af:4;";

class RtmpServiceTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        snapshot_ = std::make_shared<config::Snapshot>(*config::default_snapshot());
        snapshot_->rtmp.listen = {{"127.0.0.1", 0}};
        snapshot_->rtmp.handshake_timeout = 3000;
        vhost().play.mw_latency = 0;
        vhost().play.rejoin_timeout = 200;
        vhost().publish.firstpkt_timeout = 2000;
        vhost().publish.normal_timeout = 2000;
    }
    void TearDown() override {
        if (service_) service_->stop();
        service_.reset();
        EXPECT_EQ(sessions_.size(), 0u);
        for (int i = 0; i < 50 && registry_.size() > 0; ++i) (void)runtime::sleep_ms(10).has_value();
        EXPECT_EQ(registry_.size(), 0u);
        registry_.stop();
    }
    config::Vhost& vhost() { return snapshot_->vhosts.front(); }
    void start() {
        registry_.start();
        service_ = std::make_unique<Service>(snapshot_, sessions_, registry_, gate_);
        ASSERT_TRUE(runtime::testing::ok(service_->start()));
    }
    uint16_t port() { return service_->port(); }
    std::unique_ptr<TestClient> client(bool publish, const std::string& path) {
        return std::make_unique<TestClient>(port(), publish, path);
    }
    std::unique_ptr<TestClient> publisher(const std::string& path = "live/s") {
        auto c = client(true, path);
        EXPECT_TRUE(runtime::testing::ok(c->open()));
        return c;
    }
    std::unique_ptr<TestClient> player(const std::string& path = "live/s") {
        auto c = client(false, path);
        EXPECT_TRUE(runtime::testing::ok(c->open()));
        return c;
    }
    static void send_start(TestClient& c, uint32_t timestamp = 0) {
        c.send(::rtmp::kVideo, timestamp, kVideoHeader);
        c.send(::rtmp::kAudio, timestamp, kAudioHeader);
        c.send(::rtmp::kVideo, timestamp, kKeyframe);
        c.send(::rtmp::kAudio, timestamp + 10, kAudioFrame);
    }
    // A publisher that has sent its first frames.
    std::unique_ptr<TestClient> running(const std::string& path = "live/s") {
        auto c = publisher(path);
        send_start(*c);
        return c;
    }
    bool until_idle() {
        for (int i = 0; i < 200 && !service_->idle(); ++i) (void)runtime::sleep_ms(10).has_value();
        return service_->idle();
    }

    std::shared_ptr<config::Snapshot> snapshot_;
    net::SessionTable sessions_;
    live::Registry registry_;
    net::Gate gate_;
    std::unique_ptr<Service> service_;
};

}  // namespace service::rtmp::testing
