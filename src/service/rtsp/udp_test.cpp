// UdpPorts, DatagramStream and TunnelStream, over sockets of this machine.

#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "runtime/loop/testing.h"
#include "runtime/senders/senders.h"
#include "runtime/socket/tcp.h"
#include "service/rtsp/datagram_stream.h"
#include "service/rtsp/tunnel.h"

namespace service::rtsp {
namespace {

using runtime::Deadline;
using runtime::testing::ok;

const base::IpAddress kHere = *base::IpAddress::parse("127.0.0.1");

std::span<const uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

struct Heard final : UdpReceiver {
    std::string text;
    void on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t) override {
        text += std::to_string(track) + (rtcp ? "c" : "m") + std::string(bytes.begin(), bytes.end()) + " ";
    }
};

struct Handler final : runtime::ParkedHandler {
    int writable = 0;
    void on_readable() override {}
    void on_writable() override { ++writable; }
    void on_hangup() override {}
};

class RtspUdp : public runtime::testing::RuntimeTest {
  protected:
    // A pair of free ports may be taken meanwhile: a few are tried.
    void SetUp() override {
        RuntimeTest::SetUp();
        for (int i = 0; i < 20 && !ports_; ++i)
            if (auto opened = UdpPorts::open({"127.0.0.1", 0}, refused_)) ports_ = *std::move(opened);
        ASSERT_TRUE(ports_);
        listener_ = *runtime::listen_tcp({"127.0.0.1", 0});
    }
    void TearDown() override { ports_.reset(); }

    // Both ends of a TCP connection.
    std::pair<std::unique_ptr<runtime::ByteStream>, std::unique_ptr<runtime::ByteStream>> connection() {
        auto client = runtime::connect_tcp("127.0.0.1", listener_->port(), Deadline::in_ms(5000));
        auto server = listener_->accept(Deadline::in_ms(5000));
        EXPECT_TRUE(ok(client) && ok(server));
        return {*std::move(client), *std::move(server)};
    }
    static std::string receive(runtime::UdpSocket& socket, size_t datagrams) {
        std::string text;
        for (size_t count = 0; count < datagrams;) {
            auto got = socket.receive_batch(Deadline::in_ms(5000));
            if (!got) return text + "(none)";
            for (const auto& packet : *got) text += std::string(packet.bytes.begin(), packet.bytes.end()) + "|";
            count += got->size();
        }
        return text;
    }
    static std::string read(runtime::ByteStream& stream, size_t count) {
        std::string text;
        while (text.size() < count) {
            uint8_t buffer[64];
            auto got = stream.read(buffer, Deadline::in_ms(5000));
            if (!got || *got == 0) return text + "(end)";
            text.append(buffer, buffer + *got);
        }
        return text;
    }
    uint64_t refused_ = 0;
    std::unique_ptr<UdpPorts> ports_;
    std::unique_ptr<runtime::TcpListener> listener_;
};

TEST_F(RtspUdp, DatagramsOfClaimedAddressesAloneAreHeard) {
    auto client = *runtime::bind_udp({"127.0.0.1", 0});
    Heard heard, other;
    const ::rtsp::Ports mine{client->port(), static_cast<uint16_t>(client->port() + 1)};
    const base::Endpoint rtp{kHere, ports_->ports().rtp}, rtcp{kHere, ports_->ports().rtcp};
    const auto send = [&](std::string_view text, const base::Endpoint& to) {
        runtime::UdpBatch batch(*client);
        std::copy(text.begin(), text.end(), batch.reserve(text.size()));
        batch.commit(text.size(), to);
        batch.flush();
        ASSERT_TRUE(runtime::sleep_ms(50));
    };
    send("early", rtp);
    ports_->claim(heard, 3, kHere, mine);
    EXPECT_FALSE(ports_->is_free_for(other, 3, kHere, mine)) << "another session must not take the address";
    EXPECT_FALSE(ports_->is_free_for(heard, 0, kHere, mine)) << "nor another track";
    EXPECT_TRUE(ports_->is_free_for(heard, 3, kHere, mine)) << "the track itself may, when it is set up again";
    send("media", rtp);
    send("report", rtcp);  // from RTP's port: nobody has claimed that for RTCP
    ports_->release(kHere, mine);
    send("late", rtp);
    EXPECT_EQ(heard.text, "3mmedia ");
    EXPECT_EQ(other.text, "");
    EXPECT_EQ(refused_, 3u);
}

TEST_F(RtspUdp, AHostIsHeardFromAllItsPorts) {
    auto one = *runtime::bind_udp({"127.0.0.1", 0}), two = *runtime::bind_udp({"127.0.0.1", 0}),
         stranger = *runtime::bind_udp({"127.0.0.2", 0});
    uint64_t refused = 0;
    Heard heard;
    auto opened = UdpPorts::open_any(refused);
    ASSERT_TRUE(ok(opened));
    UdpPorts& ports = **opened;
    EXPECT_EQ(ports.ports().rtp % 2, 0);
    EXPECT_EQ(ports.ports().rtcp, ports.ports().rtp + 1);
    ports.claim_host(heard, 1, kHere);
    EXPECT_EQ(ports.rtcp_port_of(kHere), 0);
    const auto send = [&](runtime::UdpSocket& from, std::string_view text, uint16_t port) {
        ASSERT_TRUE(ok(from.send_to(bytes_of(text), {kHere, port}, Deadline::in_ms(1000))));
        ASSERT_TRUE(runtime::sleep_ms(20));
    };
    send(*one, "media", ports.ports().rtp);
    send(*two, "more", ports.ports().rtp);
    send(*two, "report", ports.ports().rtcp);
    send(*stranger, "media", ports.ports().rtp);
    EXPECT_EQ(heard.text, "1mmedia 1mmore 1creport ");
    EXPECT_EQ(refused, 1u);
    EXPECT_EQ(ports.rtcp_port_of(kHere), two->port());
    ports.send(true, {kHere, ports.rtcp_port_of(kHere)}, bytes_of("answer"));
    EXPECT_EQ(receive(*two, 1), "answer|");
}

TEST_F(RtspUdp, FramesBecomeDatagramsAndAnswersGoToTheConnection) {
    auto [client, server] = connection();
    auto media = *runtime::bind_udp({"127.0.0.1", 0}), reports = *runtime::bind_udp({"127.0.0.1", 0});
    DatagramStream::Targets targets;
    targets[1] = {{kHere, media->port()}, {kHere, reports->port()}};
    DatagramStream stream(std::move(server), *ports_, targets);
    using namespace std::string_literals;
    std::string frames = "$\x02\x00\x03one$\x02\x00\x03two$\x03\x00\x02sr"s, answer = "RTSP/1.0 200 OK\r\n\r\n$";
    const iovec parts[] = {{frames.data(), frames.size()}, {answer.data(), answer.size()}};
    auto sent = stream.try_writev(parts);
    ASSERT_TRUE(ok(sent));
    EXPECT_EQ(*sent, frames.size() + answer.size());
    EXPECT_EQ(receive(*media, 2), "one|two|");
    EXPECT_EQ(receive(*reports, 1), "sr|");
    EXPECT_EQ(read(*client, answer.size()), answer);
}

// Video and audio by turns, as a log has them: a message of the kernel has datagrams of one address.
TEST_F(RtspUdp, DatagramsOfATrackAreSentTogetherAndInOrder) {
    auto [client, server] = connection();
    auto video = *runtime::bind_udp({"127.0.0.1", 0}), audio = *runtime::bind_udp({"127.0.0.1", 0});
    DatagramStream::Targets targets;
    targets[0] = {{kHere, video->port()}, {kHere, video->port()}};
    targets[1] = {{kHere, audio->port()}, {kHere, audio->port()}};
    DatagramStream stream(std::move(server), *ports_, targets);
    using namespace std::string_literals;
    std::string frames;
    for (char i = '1'; i <= '4'; ++i) frames += "$\0\0\2v"s + i + "$\2\0\2a"s + i + "$\x0e\0\2x"s + i;
    auto sent = stream.try_write(bytes_of(frames));
    ASSERT_TRUE(ok(sent));
    EXPECT_EQ(*sent, frames.size()) << "frames of channels without a track are accepted, too";
    EXPECT_EQ(receive(*video, 4), "v1|v2|v3|v4|");
    EXPECT_EQ(receive(*audio, 4), "a1|a2|a3|a4|");
    EXPECT_EQ(ports_->messages(), ports_->can_segment() ? 2u : 8u);
}

TEST_F(RtspUdp, BurstIsCutAndGoesOnSoon) {
    auto [client, server] = connection();
    auto media = *runtime::bind_udp({"127.0.0.1", 0});
    DatagramStream::Targets targets;
    targets[0] = {{kHere, media->port()}, {kHere, media->port()}};
    DatagramStream stream(std::move(server), *ports_, targets);
    Handler handler;
    stream.park(handler);
    std::string burst;
    for (int i = 0; i < 100; ++i) burst += std::string("$\x00\x03\xe8", 4) + std::string(1000, 'x');
    auto sent = stream.try_write(bytes_of(burst));
    ASSERT_TRUE(ok(sent));
    EXPECT_LT(*sent, DatagramStream::kBurstBytes + 1004);
    EXPECT_EQ(*sent % 1004, 0u) << "whole frames are accepted";
    EXPECT_EQ(handler.writable, 0);
    ASSERT_TRUE(runtime::sleep_ms(10 * runtime::TickWheel::kTickMs));
    EXPECT_EQ(handler.writable, 1);
    auto rest = stream.try_write(bytes_of(burst).subspan(*sent));
    ASSERT_TRUE(ok(rest));
    EXPECT_EQ(*sent + *rest, burst.size());
    stream.unpark();
}

// Writes are made by a thread of the test's, when it says so.
class RtspUdpLent : public RtspUdp, private runtime::SendJobUser {
  protected:
    void SetUp() override {
        RtspUdp::SetUp();
        runtime::install_senders(std::move(*runtime::Senders::start(1, runtime::Senders::Mode::kManual)));
        std::tie(client_, server_) = connection();
        video_ = *runtime::bind_udp({"127.0.0.1", 0});
        audio_ = *runtime::bind_udp({"127.0.0.1", 0});
        DatagramStream::Targets targets;
        targets[0] = {{kHere, video_->port()}, {kHere, video_->port()}};
        targets[1] = {{kHere, audio_->port()}, {kHere, audio_->port()}};
        stream_.emplace(std::move(server_), *ports_, targets);
        stream_->park(handler_);
    }
    void TearDown() override {
        stream_->unpark();
        stream_.reset();
        ports_.reset();
        runtime::stop_senders();
    }
    // Null: the stream cannot be lent.
    runtime::SendJob* lend(std::vector<std::string>& parts) {
        const runtime::ByteStream::LentWrite write = stream_->lend_write();
        if (!write.call) return nullptr;
        runtime::SendJob& job = threads().take_job();
        job.write = write;
        job.user = this;
        for (std::string& part : parts) job.parts[job.part_count++] = {part.data(), part.size()};
        EXPECT_TRUE(threads().lend(0, job));
        return &job;
    }
    size_t collect(runtime::SendJob& job) {
        EXPECT_EQ(threads().run(0), 1u);
        EXPECT_TRUE(runtime::Senders::collect(job));
        const size_t sent = stream_->end_lent_write(job.result).value_or(0);
        job.part_count = 0;
        threads().release(job);
        return sent;
    }
    static runtime::Senders& threads() { return *runtime::senders(); }

    std::unique_ptr<runtime::ByteStream> client_, server_;
    std::unique_ptr<runtime::UdpSocket> video_, audio_;
    std::optional<DatagramStream> stream_;
    Handler handler_;

  private:
    void on_send_done(runtime::SendJob&) override {}
};

using namespace std::string_literals;

TEST_F(RtspUdpLent, AThreadSendsTheDatagramsInOrder) {
    std::string before = "$\0\0\2v0"s, after = "$\0\0\2v6"s;
    ASSERT_TRUE(ok(stream_->try_write(bytes_of(before))));
    std::vector<std::string> parts = {"$\0\0\2v1$\2\0\2a1$\1\0\2sr"s, "$\0\0\2v2$\x0e\0\2xx"s};
    runtime::SendJob* job = lend(parts);
    ASSERT_TRUE(job);
    EXPECT_EQ(receive(*video_, 1), "v0|") << "what the loop sent goes before";
    EXPECT_EQ(collect(*job), parts[0].size() + parts[1].size());
    ASSERT_TRUE(ok(stream_->try_write(bytes_of(after))));
    // The report is from another port.
    std::string arrived = receive(*video_, 4);
    const size_t report = arrived.find("sr|");
    ASSERT_NE(report, std::string::npos) << arrived;
    EXPECT_EQ(arrived.erase(report, 3), "v1|v2|v6|");
    EXPECT_EQ(receive(*audio_, 1), "a1|");
    EXPECT_EQ(threads().stats().threads[0].sent, 4u);
    EXPECT_EQ(threads().stats().threads[0].lost, 0u);
}

TEST_F(RtspUdpLent, AnswersAreLeftToTheLoop) {
    std::vector<std::string> parts = {"$\0\0\2v1"s, "RTSP/1.0 200 OK\r\n\r\n"s, "$\0\0\2v2"s};
    runtime::SendJob* job = lend(parts);
    ASSERT_TRUE(job);
    EXPECT_EQ(collect(*job), parts[0].size());
    EXPECT_EQ(receive(*video_, 1), "v1|");
}

TEST_F(RtspUdpLent, ABurstIsCutAsTheLoopsIs) {
    std::vector<std::string> parts(1);
    for (int i = 0; i < 100; ++i) parts[0] += "$\0\x03\xe8"s + std::string(1000, 'x');
    runtime::SendJob* job = lend(parts);
    ASSERT_TRUE(job);
    const size_t sent = collect(*job);
    EXPECT_GE(sent, DatagramStream::kBurstBytes);
    EXPECT_LT(sent, DatagramStream::kBurstBytes + 1004);
    EXPECT_EQ(sent % 1004, 0u) << "whole frames are accepted";
    if (runtime::SendJob* next = lend(parts)) {
        EXPECT_GT(collect(*next), 0u) << "in another tick";
    } else {
        ASSERT_TRUE(runtime::sleep_ms(10 * runtime::TickWheel::kTickMs));
        EXPECT_EQ(handler_.writable, 1);
    }
}

TEST_F(RtspUdp, TunnelReadsBase64AndWritesToTheOther) {
    auto [get, out] = connection();
    auto [post, in] = connection();
    const std::string_view early = "T1BUSU9O";
    TunnelStream stream(std::move(out), std::move(in), {early.begin(), early.end()}, {});
    ASSERT_TRUE(ok(post->write(bytes_of("Uw==UExBWQ"), Deadline::in_ms(1000))));
    EXPECT_EQ(read(stream, 10), "OPTIONSPLA") << "the last group is not complete";
    ASSERT_TRUE(ok(stream.write(bytes_of("200"), Deadline::in_ms(1000))));
    EXPECT_EQ(read(*get, 3), "200");
    ASSERT_TRUE(ok(post->write(bytes_of("==!"), Deadline::in_ms(1000))));
    EXPECT_EQ(read(stream, 1), "(end)") << "what is not base64 ends it";
}

TEST_F(RtspUdp, TunnelsJoinByAddressAndCookie) {
    Tunnels tunnels;
    Tunnels::Half half;
    EXPECT_FALSE(tunnels.join("192.0.2.1", "a", half)) << "no GET waits";
    bool joined = false;
    auto get = runtime::spawn("get", [&] { joined = tunnels.wait("192.0.2.1", "a").has_value(); });
    ASSERT_TRUE(runtime::yield());
    EXPECT_FALSE(tunnels.wait("192.0.2.1", "a")) << "the cookie is in use";
    EXPECT_FALSE(tunnels.join("192.0.2.2", "a", half)) << "of another address";
    EXPECT_FALSE(tunnels.join("192.0.2.1", "b", half)) << "another cookie";
    EXPECT_TRUE(tunnels.join("192.0.2.1", "a", half));
    EXPECT_FALSE(tunnels.join("192.0.2.1", "a", half)) << "one POST only";
    ASSERT_TRUE(ok(get.join(Deadline::in_ms(5000))));
    EXPECT_TRUE(joined);
}

}  // namespace
}  // namespace service::rtsp
