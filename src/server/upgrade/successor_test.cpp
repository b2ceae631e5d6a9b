#include "server/upgrade/successor.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/loop/testing.h"

namespace server {
namespace {

using runtime::testing::ok;
using upgrade::Kind;

// The other process is a thread: what a successor does before its loop blocks.
class SuccessorTest : public ::testing::Test {
  protected:
    void SetUp() override {
        auto pair = runtime::process_channel_pair();
        ASSERT_TRUE(ok(pair));
        channel_ = *pair->first.release_one();
        other_ = std::move(pair->second);
    }
    base::Result<void> send(Kind kind) const {
        return runtime::send_message_blocking(other_.all().front(), {upgrade::write_message({.kind = kind})}, 5'000);
    }
    int channel_ = -1;
    runtime::OwnedDescriptors other_;
};

TEST_F(SuccessorTest, BeginsWhenItIsToldTo) {
    Successor successor(channel_);
    std::thread other([this] {
        for (const Kind kind : {Kind::kSockets, Kind::kUnknown, Kind::kPidFile, Kind::kStart})
            EXPECT_TRUE(ok(send(kind)));
    });
    const auto problems = successor.introduce();
    other.join();
    ASSERT_TRUE(ok(problems));
    EXPECT_TRUE(problems->empty());
    EXPECT_EQ(successor.take_pid_file(), -1) << "a message without its descriptor";
}

TEST_F(SuccessorTest, DoesNotListenForEver) {
    auto successor = std::make_unique<Successor>(channel_);
    std::thread other([this] {
        for (int i = 0; i < 100'000 && send(Kind::kSockets); ++i) continue;
    });
    EXPECT_FALSE(successor->introduce());
    successor.reset();
    other.join();
}

}  // namespace
}  // namespace server
