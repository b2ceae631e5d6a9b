#include "runtime/loop/read_pacer.h"

#include <sys/socket.h>
#include <unistd.h>

#include "runtime/loop/reactor.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/sync.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/byte_stream.h"
#include "runtime/socket/tcp_stream.h"

namespace runtime {
namespace {

using base::Code;
using testing::failed_with;
using testing::ok;

constexpr int64_t kIntervalMs = 40;
constexpr int64_t kLongMs = 10'000;  // an interval that no test waits for

class ReadPacerTest : public testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        int ends[2];
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        peer_ = ends[1];
        auto made = detail::TcpStream::make(ends[0], {});
        ASSERT_TRUE(ok(made));
        stream_ = *std::move(made);
    }
    void TearDown() override {
        if (peer_ >= 0) ::close(peer_);
    }
    void send(std::string_view text) {
        ASSERT_EQ(::send(peer_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
    void end() { ::close(std::exchange(peer_, -1)); }
    std::string read(Deadline deadline = Deadline::in_ms(5000)) {
        auto got = read_shared(*stream_, deadline);
        EXPECT_TRUE(ok(got));
        return got ? std::string(got->begin(), got->end()) : "";
    }
    // Empties the socket, so that the next read has to wait.
    void drain() {
        std::array<uint8_t, 16> buffer;
        EXPECT_TRUE(ok(stream_->try_read(buffer)));
    }

    int peer_ = -1;
    std::unique_ptr<ByteStream> stream_;
};

TEST_F(ReadPacerTest, OneReadTakesWhatCameInAnInterval) {
    drain();
    stream_->pace_reads(kIntervalMs);
    send("a");
    EXPECT_EQ(read(), "a");
    // A poll has just been made: these arrive within the next interval.
    auto writer = spawn("writer", [this] {
        send("b");
        ASSERT_TRUE(ok(yield()));
        send("c");
    });
    EXPECT_EQ(read(), "bc");
    ASSERT_TRUE(ok(writer.join(Deadline::in_ms(5000))));
}

TEST_F(ReadPacerTest, ArrivalsMakeNoEvents) {
    testing::SimulatedTime time;
    drain();
    stream_->pace_reads(kLongMs);
    time.settle();
    const uint64_t before = detail::reactor_counters().events;
    for (int i = 0; i < 20; ++i) {
        send("x");
        time.pass_ms(1);
    }
    EXPECT_EQ(detail::reactor_counters().events - before, 0u);
}

TEST_F(ReadPacerTest, TheEndIsToldAtOnce) {
    drain();
    stream_->pace_reads(kLongMs);
    auto ender = spawn("ender", [this] {
        send("last words");
        end();
    });
    EXPECT_EQ(read(), "last words");
    EXPECT_EQ(read(), "");
    ASSERT_TRUE(ok(ender.join(Deadline::in_ms(5000))));
}

TEST_F(ReadPacerTest, WithoutPaceEventsTellAgainAlsoOfWhatIsThere) {
    drain();
    stream_->pace_reads(kLongMs);
    send("waiting");
    stream_->pace_reads(0);
    EXPECT_EQ(read(), "waiting");
    auto writer = spawn("writer", [this] { send("next"); });
    EXPECT_EQ(read(), "next");
    ASSERT_TRUE(ok(writer.join(Deadline::in_ms(5000))));
}

TEST_F(ReadPacerTest, PaceMayBeChangedAgainAndAgain) {
    for (int64_t interval : {40, 0, 5, 0, 40, 20, 0, 10}) stream_->pace_reads(interval);
    for (const char* word : {"one", "two", "three"}) {
        send(word);
        EXPECT_EQ(read(), word);
    }
}

TEST_F(ReadPacerTest, DeadlineAndCancelHold) {
    drain();
    stream_->pace_reads(kIntervalMs);
    EXPECT_TRUE(failed_with(read_shared(*stream_, Deadline::in_ms(20)), Code::kTimeout));
    auto reader = spawn(
        "reader", [this] { EXPECT_TRUE(failed_with(read_shared(*stream_, Deadline::never()), Code::kCancelled)); });
    ASSERT_TRUE(ok(yield()));
    reader.cancel_and_join();
}

TEST_F(ReadPacerTest, MuchToReadBringsTheNextPollSoon) {
    constexpr int64_t kSlowMs = 400;
    constexpr int kReads = 12;
    testing::SimulatedTime time;
    drain();
    stream_->pace_reads(kSlowMs);
    const std::string much(64 * 1024, 'm');
    auto reader = spawn("reader", [&] {
        for (int i = 0; i < kReads; ++i) {
            send(much);
            EXPECT_EQ(read(), much);
        }
    });
    // The first poll comes at the interval, the others at the ticks.
    time.pass_ms(kSlowMs + kReads * TickWheel::kTickMs);
    EXPECT_TRUE(reader.done());
    reader.cancel_and_join();
}

TEST_F(ReadPacerTest, AReaderMayBePolledBeforeTheInterval) {
    testing::SimulatedTime time;
    drain();
    stream_->pace_reads(kLongMs);
    EXPECT_FALSE(stream_->poll_now()) << "no reader waits";
    std::string got;
    auto reader = spawn("reader", [&] {
        for (int i = 0; i < 2; ++i) got += read(Deadline::never());
    });
    time.settle();
    send("first ");
    EXPECT_TRUE(stream_->poll_now());
    time.settle();
    EXPECT_EQ(got, "first ");
    send("second");
    EXPECT_TRUE(stream_->poll_now());
    time.settle();
    EXPECT_EQ(got, "first second");
    EXPECT_TRUE(reader.done());
}

TEST_F(ReadPacerTest, APollThatCameEarlyReplacesTheNextOne) {
    constexpr int64_t kSlowMs = 300;
    testing::SimulatedTime time;
    drain();
    stream_->pace_reads(kSlowMs);
    std::string got;
    auto reader = spawn("reader", [&] {
        for (int i = 0; i < 2; ++i) got += read(Deadline::never());
    });
    time.settle();
    send("early ");
    EXPECT_TRUE(stream_->poll_now());
    time.settle();
    EXPECT_EQ(got, "early ");
    send("late");
    time.pass_ms(kSlowMs + TickWheel::kTickMs);
    EXPECT_EQ(got, "early ") << "the poll that was due after up to an interval is left out";
    time.pass_ms(kSlowMs);
    EXPECT_EQ(got, "early late");
    EXPECT_TRUE(reader.done());
}

// A stream that is paced, and the times at which reads of it returned.
struct Paced {
    explicit Paced(int64_t interval_ms) {
        int ends[2] = {-1, -1};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
        peer = ends[1];
        stream = std::move(*detail::TcpStream::make(ends[0], {}));
        stream->pace_reads(interval_ms);
        EXPECT_EQ(::send(peer, "0", 1, 0), 1);
        reader = spawn("reader", [this] {
            std::array<uint8_t, 16> buffer;
            while (stream->read(buffer, Deadline::never())) {
                read_ms.push_back(now_ms());
                EXPECT_EQ(::send(peer, "1", 1, 0), 1);
            }
        });
    }
    ~Paced() {
        reader.cancel_and_join();
        ::close(peer);
    }
    int peer = -1;
    std::unique_ptr<ByteStream> stream;
    std::vector<int64_t> read_ms;
    Task reader;
};

TEST_F(ReadPacerTest, LongIntervalsShareTicks) {
    struct Row {
        int64_t interval_ms, apart_ms;
    };
    for (const Row row : {Row{150, 50}, Row{350, 50}, Row{40, 10}, Row{20, 5}}) {
        SCOPED_TRACE(fmt::format("an interval of {} ms", row.interval_ms));
        testing::SimulatedTime time;
        std::vector<std::unique_ptr<Paced>> streams;
        // At some times there are more than are polled at once: time does not pass between the parts.
        for (int i = 0; i < 200; ++i) streams.push_back(std::make_unique<Paced>(row.interval_ms));
        time.pass_ms(4 * row.interval_ms);
        for (const auto& one : streams) {
            ASSERT_GE(one->read_ms.size(), 4u);
            // The first read does not wait for a poll.
            for (size_t i = 1; i < one->read_ms.size(); ++i) {
                EXPECT_EQ(one->read_ms[i] % row.apart_ms, 0) << "read at " << one->read_ms[i];
            }
            for (size_t i = 2; i < one->read_ms.size(); ++i)
                EXPECT_NEAR(one->read_ms[i] - one->read_ms[i - 1], row.interval_ms, row.apart_ms) << "of read " << i;
        }
    }
}

TEST_F(ReadPacerTest, ParkingEndsIt) {
    struct Handler final : ParkedHandler {
        void on_readable() override { readable.set(); }
        void on_writable() override {}
        void on_hangup() override {}
        Event readable;
    } handler;
    drain();
    stream_->pace_reads(kLongMs);
    stream_->park(handler);
    send("x");
    EXPECT_TRUE(ok(handler.readable.wait(Deadline::in_ms(5000))));
    stream_->unpark();
}

TEST_F(ReadPacerTest, OneThatIsGoneIsPolledNoMore) {
    testing::SimulatedTime time;
    drain();
    stream_->pace_reads(5);
    stream_.reset();
    end();
    SetUp();  // likely to get the same descriptor
    send("another");
    time.pass_ms(20);
    EXPECT_EQ(read(), "another");
}

}  // namespace
}  // namespace runtime
