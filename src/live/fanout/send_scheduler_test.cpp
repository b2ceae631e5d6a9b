// Rounds of hundreds of streams with one viewer each: when they are, and what else runs meanwhile.

#include "live/fanout/send_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "live/fanout/read_owner_testing.h"
#include "live/fanout/viewer_testing.h"
#include "runtime/loop/clock.h"

namespace live {
namespace {

using testing::Client;
using testing::ReadOwner;

constexpr int kRooms = 450;
constexpr int64_t kIntervalMs = 350, kGridMs = 50;

class SendSchedulerTest : public runtime::testing::RuntimeTest {
  protected:
    struct Room final : ReadOwner {
        explicit Room(SendSchedulerTest& of_test) : test(of_test) {}
        bool read_now() override {
            test.reads_at_[runtime::now_ms()].push_back(this);
            test.read_.pulse();
            return ReadOwner::read_now();
        }
        void close() {
            if (!stream) return;
            end();
            stream->abort_viewers("the test closes the room");
            client.reset();
            stream.reset();
        }
        SendSchedulerTest& test;
        base::Ref<Stream> stream;
        std::unique_ptr<Client> client;
    };

    void SetUp() override {
        RuntimeTest::SetUp();
        LiveOptions options;
        options.merge_ms = kIntervalMs;
        for (int i = 0; i < kRooms; ++i) {
            Room& room = *rooms_.emplace_back(std::make_unique<Room>(*this));
            room.stream = registry_.find_or_create({"v", "live", std::to_string(i)}, options);
            room.begin(*room.stream);
            room.publication.publish(testing::header(media::Kind::kVideo, "VH"));
            room.client = std::make_unique<Client>(room.stream);
            time_.settle();  // its reader waits
            room.client->join();
            if (i % 2 == 1) time_.pass_ms(3);  // they come one after the other
        }
        time_.pass_ms(2 * kIntervalMs);
        reads_at_.clear();
    }
    void TearDown() override {
        for (auto& room : rooms_) room->close();
        time_.pass_ms(2 * kIntervalMs);
        EXPECT_EQ(registry_.size(), 0u);
        RuntimeTest::TearDown();
    }
    // Calls do_it() in another coroutine, once for each time at which rounds begin: as soon as one has begun.
    void while_rounds_begin(std::move_only_function<void()> do_it) {
        other_ = runtime::spawn("other", [this, act = std::move(do_it)]() mutable {
            while (read_.wait_next(runtime::Deadline::never())) {
                if (runtime::now_ms() == acted_ms_) continue;
                acted_ms_ = runtime::now_ms();
                act();
            }
        });
    }
    void end_other() { other_.cancel_and_join(); }
    size_t sent(const Room& room) const { return room.client->wire->accepted.size(); }

    runtime::testing::SimulatedTime time_;
    Registry registry_;
    std::vector<std::unique_ptr<Room>> rooms_;
    std::map<int64_t, std::vector<Room*>> reads_at_;
    runtime::Event read_{"a read"};
    runtime::Task other_;
    int64_t acted_ms_ = 0;
};

TEST_F(SendSchedulerTest, RoundsOfAllStreamsShareFewTimes) {
    time_.pass_ms(3 * kIntervalMs);
    EXPECT_LE(reads_at_.size(), 3 * kIntervalMs / kGridMs + 1);
    std::map<Room*, std::vector<int64_t>> times;
    for (const auto& [at_ms, rooms] : reads_at_) {
        EXPECT_EQ(at_ms % kGridMs, 0);
        EXPECT_LT(rooms.size(), kRooms / 3) << "at " << at_ms << ": they are spread over the interval";
        for (Room* room : rooms) times[room].push_back(at_ms);
    }
    ASSERT_EQ(times.size(), kRooms);
    for (const auto& [room, at] : times) {
        EXPECT_EQ(at.size(), 3u);
        for (size_t i = 1; i < at.size(); ++i) EXPECT_EQ(at[i] - at[i - 1], kIntervalMs);
    }
}

TEST_F(SendSchedulerTest, OthersRunBetweenTheRoundsOfATime) {
    size_t most = 0, times = 0;
    while_rounds_begin([&] {
        most = std::max(most, reads_at_[runtime::now_ms()].size());
        ++times;
    });
    time_.pass_ms(kIntervalMs);
    end_other();
    EXPECT_EQ(times, kIntervalMs / kGridMs);
    EXPECT_LE(most, 16u) << "rounds began before another coroutine could run";
    const auto fullest = std::ranges::max_element(reads_at_, {}, [](const auto& at) { return at.second.size(); });
    EXPECT_GT(fullest->second.size(), 16u) << "the test needs more at one time";
}

TEST_F(SendSchedulerTest, StreamsThatEndBetweenTheRoundsOfATime) {
    std::vector<const Room*> ended;
    while_rounds_begin([&] {
        const auto& begun = reads_at_[runtime::now_ms()];
        // Every third of all streams whose round has not begun; some of these are due now.
        for (size_t i = 0; i < rooms_.size(); i += 3) {
            if (!rooms_[i]->stream || std::ranges::find(begun, rooms_[i].get()) != begun.end()) continue;
            ended.push_back(rooms_[i].get());
            rooms_[i]->close();
        }
    });
    time_.pass_ms(kIntervalMs);
    end_other();
    EXPECT_GT(ended.size(), kRooms / 4);
    for (auto& room : rooms_)
        if (room->stream) room->client->take();
    time_.pass_ms(kIntervalMs);
    for (auto& room : rooms_) {
        if (!room->stream) continue;
        EXPECT_GT(sent(*room), 0u) << room->stream->key().text() << " has no rounds any more";
    }
}

}  // namespace
}  // namespace live
