#include "service/rtmp/shared_socket.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "live/fanout/socket_testing.h"
#include "protocol/rtmp/chunk_writer.h"

namespace service::rtmp {
namespace {

using live::testing::FakeSocket;
using live::testing::Wire;

// Writes like a live::Viewer: in parts that each end with a message, and again when the socket is writable. A message
// is "(name number ...)".
class Talker final : public runtime::ParkedHandler {
  public:
    Talker(SharedSocket& shared, char name) : name_(name), share_(shared.make_share()) { share_->park(*this); }

    void say(int messages, size_t filling = 3) {
        for (int i = 0; i < messages; ++i)
            parts_.push_back(fmt::format("({}{}{})", name_, ++messages_, std::string(filling, '.')));
        if (!blocked_) flush();
    }
    void hang_up() { share_.reset(); }
    bool done() const { return parts_.empty(); }
    std::string error;

  private:
    void on_readable() override {}
    void on_hangup() override {}
    void on_writable() override {
        blocked_ = false;
        flush();
    }
    void flush() {
        while (!parts_.empty() && !blocked_ && error.empty()) {
            std::vector<iovec> parts;
            size_t total = 0;
            for (const std::string& part : parts_) {
                parts.push_back({const_cast<char*>(part.data()), part.size()});
                total += part.size();
            }
            auto sent = share_->try_writev(parts);
            if (!sent) {
                error = sent.error().text();
                return;
            }
            blocked_ = *sent < total;
            for (size_t left = *sent; left > 0;) {
                size_t of_first = std::min(left, parts_.front().size());
                parts_.front().erase(0, of_first);
                if (parts_.front().empty()) parts_.pop_front();
                left -= of_first;
            }
        }
    }
    char name_;
    int messages_ = 0;
    bool blocked_ = false;
    std::deque<std::string> parts_;
    std::unique_ptr<runtime::ByteStream> share_;
};

class SharedSocketTest : public ::testing::Test, protected SharedSocketHandler {
  protected:
    SharedSocketTest() { wire->room = SIZE_MAX; }
    void take(std::vector<base::Slice> messages = {}) {
        shared.take(std::make_unique<FakeSocket>(wire), std::move(messages));
    }
    void on_shared_input(std::span<const uint8_t> bytes) override { input.append(bytes.begin(), bytes.end()); }
    void on_shared_end(std::string_view why) override { ends.push_back(std::string(why)); }
    static base::Slice message(std::string_view text) { return base::Slice::copy(text); }

    std::shared_ptr<Wire> wire = std::make_shared<Wire>();
    SharedSocket shared{static_cast<SharedSocketHandler&>(*this)};
    std::string input;
    std::vector<std::string> ends;
};

TEST_F(SharedSocketTest, AMessageIsNeverBroken) {
    take();
    Talker a(shared, 'a'), b(shared, 'b');
    wire->room = 5;
    a.say(1);  // 7 bytes
    b.say(1);
    shared.send(message("(!)"));
    EXPECT_EQ(wire->accepted, "(a1..");
    wire->make_room(2);
    EXPECT_EQ(wire->accepted, "(a1...)");
    wire->make_room(SIZE_MAX);
    EXPECT_EQ(wire->accepted, "(a1...)(!)(b1...)");
}

// A share with its own message stream id: whatever the socket accepts at a time, and interleaved with other shares'
// messages.
TEST_F(SharedSocketTest, AShareWritesItsOwnMessageStreamId) {
    take();
    auto message = [](uint32_t id, size_t size) {
        std::vector<uint8_t> out;
        ::rtmp::append_message(out, ::rtmp::kVideoChunkStream, ::rtmp::kVideo, id, 40, std::vector<uint8_t>(size, 7),
                               128);
        return std::string(out.begin(), out.end());
    };
    auto share = shared.make_share(0x01020304, 128);
    struct : runtime::ParkedHandler {
        void on_readable() override {}
        void on_writable() override { writable = true; }
        void on_hangup() override {}
        bool writable = false;
    } handler;
    share->park(handler);
    std::string left = message(1, 300) + message(1, 1) + message(1, 100'000), wanted;
    wanted = message(0x01020304, 300) + message(0x01020304, 1) + message(0x01020304, 100'000);
    for (size_t room = 1; !left.empty(); room = room % 5000 + 37) {
        wire->make_room(room);
        size_t half = std::min<size_t>(left.size(), 6);
        iovec parts[] = {{left.data(), half}, {left.data() + half, left.size() - half}};
        auto sent = share->try_writev(parts);
        ASSERT_TRUE(sent);
        left.erase(0, *sent);
    }
    EXPECT_TRUE(wire->accepted == wanted);
    wire->make_room(SIZE_MAX);
    Talker other(shared, 'a');
    other.say(1);
    EXPECT_TRUE(wire->accepted == wanted + "(a1...)");
}

TEST_F(SharedSocketTest, WhatWasOwedBeforeGoesFirst) {
    wire->room = 2;
    take({message("rest)"), message("(head)")});
    Talker a(shared, 'a');
    a.say(1);
    shared.send(message("(!)"));
    EXPECT_EQ(wire->accepted, "re");
    wire->make_room(SIZE_MAX);
    EXPECT_EQ(wire->accepted, "rest)(head)(!)(a1...)");
    EXPECT_EQ(shared.sent_control_bytes(), 14u);
}

TEST_F(SharedSocketTest, EachHasItsTurn) {
    take();
    Talker a(shared, 'a'), b(shared, 'b'), c(shared, 'c');
    wire->room = 0;
    a.say(4);
    b.say(2);
    c.say(3);
    wire->make_room(SIZE_MAX);
    EXPECT_EQ(wire->accepted, "(a1...)(b1...)(c1...)(a2...)(b2...)(c2...)(a3...)(c3...)(a4...)");
}

// Whatever the socket accepts and whichever shares write: every message is complete, in its share's order, and none is
// lost.
TEST_F(SharedSocketTest, AnyMixtureIsWhole) {
    take();
    std::mt19937 random(7);
    std::deque<Talker> talkers;
    for (char name : {'a', 'b', 'c', 'd'}) talkers.emplace_back(shared, name);
    int sent_messages = 0;
    for (int step = 0; step < 3000; ++step) {
        wire->make_room(random() % 40);
        talkers[random() % 4].say(static_cast<int>(random() % 3), random() % 30);
        if (random() % 20 == 0 && sent_messages < 1000) {
            shared.send(message(fmt::format("(!{})", ++sent_messages)));
            wire->make_room(60);
        }
    }
    wire->make_room(SIZE_MAX);
    for (const Talker& talker : talkers) EXPECT_TRUE(talker.done());
    std::map<char, int> last;
    size_t at = 0, messages = 0;
    for (; at < wire->accepted.size(); ++messages) {
        ASSERT_EQ(wire->accepted[at], '(') << "at " << at;
        size_t end = wire->accepted.find(')', at);
        std::string message = wire->accepted.substr(at + 1, end - at - 1);
        ASSERT_EQ(message.find('('), std::string::npos) << message;
        ASSERT_EQ(atoi(message.c_str() + 1), ++last[message[0]]) << message;
        at = end + 1;
    }
    EXPECT_EQ(last['!'], sent_messages);
    EXPECT_GT(messages, 2000u);
}

TEST_F(SharedSocketTest, OneMayEndAndTheOthersGoOn) {
    take();
    Talker a(shared, 'a'), b(shared, 'b');
    wire->room = 0;
    a.say(2);
    b.say(2);
    a.hang_up();
    wire->make_room(SIZE_MAX);
    EXPECT_EQ(wire->accepted, "(b1...)(b2...)");
    EXPECT_FALSE(shared.failed());
}

TEST_F(SharedSocketTest, AnEndInAMessageIsTheEndOfAll) {
    take();
    Talker a(shared, 'a'), b(shared, 'b');
    wire->room = 3;
    a.say(1);
    a.hang_up();
    b.say(1);
    EXPECT_TRUE(shared.failed());
    EXPECT_NE(b.error, "");
    EXPECT_EQ(wire->accepted, "(a1");
}

TEST_F(SharedSocketTest, InputAndItsEnd) {
    take();
    wire->input = "hello";
    wire->handler->on_readable();
    EXPECT_EQ(input, "hello");
    EXPECT_EQ(shared.received_bytes(), 5u);
    EXPECT_TRUE(ends.empty());
    wire->end = true;
    wire->handler->on_readable();
    wire->handler->on_hangup();
    EXPECT_EQ(ends, std::vector<std::string>{"closed by the peer"});
    Talker late(shared, 'l');
    late.say(1);
    EXPECT_EQ(late.error, "closed by the peer");
}

TEST_F(SharedSocketTest, NoticesTheEndThatCameWithTheLastInput) {
    take();
    wire->input = "bye";
    wire->end = true;
    wire->handler->on_readable();
    EXPECT_EQ(input, "bye");
    EXPECT_EQ(ends, std::vector<std::string>{"closed by the peer"});
}

TEST_F(SharedSocketTest, WordsAreBounded) {
    take();
    wire->room = 0;
    for (size_t i = 0; i <= SharedSocket::kMaxControlMessages; ++i) {
        EXPECT_TRUE(ends.empty()) << i;
        shared.send(message("(word)"));
    }
    EXPECT_EQ(ends, std::vector<std::string>{"too many control messages wait to be sent"});
}

TEST_F(SharedSocketTest, GivesTheSocketBack) {
    take();
    wire->room = 2;
    shared.send(message("(bye)"));
    std::vector<base::Slice> unsent;
    auto socket = shared.release(unsent);
    ASSERT_EQ(unsent.size(), 1u);
    EXPECT_EQ(unsent[0].text(), "ye)");
    EXPECT_EQ(wire->handler, nullptr);
}

}  // namespace
}  // namespace service::rtmp
