// Packets of hundreds of streams with two sinks each: who is called, when, and what else runs meanwhile.

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "live/hub/registry.h"
#include "live/rtp/rtp_lane.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace live {
namespace {

constexpr size_t kRooms = 200;
constexpr int64_t kLaneTickMs = runtime::TickWheel::kTickMs;

struct Sink final : RtpSink {
    Sink(base::Ref<Stream> of, size_t takes) : stream(std::move(of)), takes_at_once(takes) {
        next = stream->rtp_lane().ring().end();
        stream->rtp_lane().join(*this, RtpLane::Wants::kPlay);
    }
    ~Sink() { leave(); }
    void leave() {
        if (!stream) return;
        stream->rtp_lane().leave(*this, RtpLane::Wants::kPlay);
        stream.reset();
    }
    bool on_packets(int64_t) override {
        const RtpRing& ring = stream->rtp_lane().ring();
        const bool has_news = next < ring.end();
        if (has_news) {
            called_at_ms.push_back(runtime::now_ms());
            with_prefetch += prefetched;
        }
        prefetched = false;
        for (size_t left = takes_at_once; next < ring.end() && left > 0; ++next, --left)
            seen += std::string(ring.at(next).payload.text());
        const bool more = next < ring.end();
        if (has_news && on_call) on_call();
        return more;
    }
    void prefetch_needs() const override { prefetched = true; }

    base::Ref<Stream> stream;
    size_t takes_at_once;
    uint64_t next = 0;
    std::string seen;
    std::vector<int64_t> called_at_ms;
    mutable bool prefetched = false;
    size_t with_prefetch = 0;
    std::function<void()> on_call;
};

class LaneRoundsTest : public runtime::testing::RuntimeTest {
  protected:
    struct Room {
        base::Ref<Stream> stream;
        std::vector<std::unique_ptr<Sink>> sinks;
        uint16_t sequence = 0;
    };

    void add_rooms(size_t count, size_t sinks, size_t takes_at_once = SIZE_MAX) {
        for (size_t i = 0; i < count; ++i) {
            Room& room = rooms_.emplace_back();
            room.stream = registry_.find_or_create({"v", "live", std::to_string(rooms_.size())}, {});
            room.stream->rtp_lane().set_tracks({{.kind = media::Kind::kVideo, .codec = media::Codec::kH264}});
            add_sinks(room, sinks, takes_at_once);
        }
        time_.pass_ms(100);
    }
    void add_sinks(Room& room, size_t count, size_t takes_at_once = SIZE_MAX) {
        while (count-- > 0) room.sinks.push_back(std::make_unique<Sink>(room.stream, takes_at_once));
    }
    static void put(Room& room, std::string_view text) {
        room.stream->rtp_lane().append(0, {room.sequence++, 100, false, false},
                                       {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, runtime::now_us());
    }
    void put_all(std::string_view text) {
        for (Room& room : rooms_) put(room, text);
    }
    static size_t coroutines(std::string_view name) {
        return static_cast<size_t>(std::ranges::count(runtime::list_coroutines(), name, &runtime::CoroutineInfo::name));
    }
    void TearDown() override {
        rooms_.clear();
        time_.pass_ms(100);
        EXPECT_EQ(coroutines("send-scheduler"), 0u) << "it ends with the last sink";
        RuntimeTest::TearDown();
    }

    runtime::testing::SimulatedTime time_;
    Registry registry_;
    std::vector<Room> rooms_;
};

TEST_F(LaneRoundsTest, OneCoroutineServesAllRooms) {
    add_rooms(kRooms, 2);
    EXPECT_EQ(coroutines("send-scheduler"), 1u);
    for (int i = 0; i < 3; ++i) {
        put_all("a");
        put_all("b");
        time_.settle();
    }
    size_t with_prefetch = 0;
    for (const Room& room : rooms_) {
        for (const auto& sink : room.sinks) {
            EXPECT_EQ(sink->seen, "ababab");
            EXPECT_EQ(sink->called_at_ms.size(), 3u) << "once for what has come together";
            with_prefetch += sink->with_prefetch;
        }
    }
    EXPECT_GE(with_prefetch, 3 * 2 * kRooms * 9 / 10) << "but for the first room of those that begin at once";
}

TEST_F(LaneRoundsTest, ASinkThatIsBehindIsCalledAgainInTheNextTick) {
    add_rooms(1, 1, 2);
    Sink& sink = *rooms_[0].sinks[0];
    time_.pass_ms(kLaneTickMs - runtime::now_ms() % kLaneTickMs);
    for (const char* text : {"a", "b", "c", "d", "e"}) put(rooms_[0], text);
    const int64_t began_ms = runtime::now_ms();
    time_.settle();
    EXPECT_EQ(sink.seen, "ab");
    time_.pass_ms(kLaneTickMs - 1);
    EXPECT_EQ(sink.seen, "ab");
    time_.pass_ms(1);
    EXPECT_EQ(sink.seen, "abcd");
    put(rooms_[0], "f");
    time_.settle();
    EXPECT_EQ(sink.seen, "abcdef") << "new packets do not wait";
    time_.pass_ms(100);
    EXPECT_EQ(sink.called_at_ms, (std::vector<int64_t>{began_ms, began_ms + kLaneTickMs, began_ms + kLaneTickMs}));
}

TEST_F(LaneRoundsTest, WithoutACoroutineItIsTriedAgain) {
    runtime::limit_coroutines(0);
    add_rooms(1, 1);
    put(rooms_[0], "a");
    time_.pass_ms(100);
    EXPECT_EQ(rooms_[0].sinks[0]->seen, "");
    runtime::limit_coroutines(SIZE_MAX);
    put(rooms_[0], "b");
    time_.pass_ms(200);
    EXPECT_EQ(rooms_[0].sinks[0]->seen, "ab");
}

TEST_F(LaneRoundsTest, RoomsMayEndWithinACall) {
    add_rooms(10, 2, 1);
    // The rounds of the others have begun already: one ends before its call, one after it, and one that is behind.
    Sink& first = *rooms_[4].sinks[0];
    first.on_call = [this] {
        for (size_t i : {size_t{1}, size_t{4}, size_t{5}, size_t{7}}) rooms_[i].sinks[1]->leave();
        for (size_t i : {size_t{1}, size_t{5}, size_t{7}}) rooms_[i].sinks[0]->leave();
        rooms_[7].stream.reset();
    };
    put_all("a");
    put_all("b");
    time_.settle();
    first.on_call = nullptr;
    time_.pass_ms(kLaneTickMs);
    EXPECT_EQ(rooms_[0].sinks[1]->seen, "ab");
    EXPECT_EQ(rooms_[1].sinks[1]->seen, "a") << "it left while it waited to be called again";
    EXPECT_EQ(rooms_[4].sinks[0]->seen, "ab");
    EXPECT_EQ(rooms_[5].sinks[0]->seen, "") << "it left before its call";
    EXPECT_EQ(rooms_[9].sinks[1]->seen, "ab");
}

TEST_F(LaneRoundsTest, OthersRunBetweenTheRooms) {
    add_rooms(kRooms, 1);
    size_t called = 0, most_at_once = 0;
    for (Room& room : rooms_) {
        room.sinks[0]->on_call = [&called] {
            ++called;  // and takes a third of a slice
            runtime::detail::loop_clock.stopped_at_us += runtime::kSliceUs / 3;
        };
    }
    put_all("a");
    size_t seen_before = 0;
    while (called < kRooms) {
        ASSERT_TRUE(runtime::testing::ok(runtime::yield()));
        most_at_once = std::max(most_at_once, called - seen_before);
        seen_before = called;
    }
    EXPECT_LE(most_at_once, 5u) << "it should yield after each slice of " << runtime::kSliceUs << " us";
    for (Room& room : rooms_) room.sinks[0]->on_call = nullptr;
}

// Each round costs a message to each sink: for many sinks more packets share one.
TEST_F(LaneRoundsTest, RoundsOfManySinksAreApart) {
    struct Row {
        size_t sinks;
        int64_t apart_ms;
    };
    for (const Row row : {Row{3, 0}, Row{50, 5}, Row{400, 20}}) {
        SCOPED_TRACE(fmt::format("{} sinks", row.sinks));
        rooms_.clear();
        add_rooms(1, row.sinks);
        for (int ms = 0; ms < 100; ++ms) {
            put(rooms_[0], "a");
            time_.pass_ms(1);
        }
        time_.pass_ms(20);
        const Sink& last = *rooms_[0].sinks.back();
        EXPECT_EQ(last.seen, std::string(100, 'a'));
        for (size_t i = 1; i < last.called_at_ms.size(); ++i) {
            const int64_t apart_ms = last.called_at_ms[i] - last.called_at_ms[i - 1];
            EXPECT_GE(apart_ms, row.apart_ms);
            EXPECT_LE(apart_ms, std::max<int64_t>(row.apart_ms, 1) + kLaneTickMs);
        }
    }
}

}  // namespace
}  // namespace live
