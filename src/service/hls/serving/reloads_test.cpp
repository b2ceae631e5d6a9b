#include "service/hls/serving/reloads.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"
#include "service/hls/serving/serve.h"

namespace service::hls {
namespace {

// Segments from number 10 on in parts of 500 ms, four each; the open one has `parts`.
std::shared_ptr<const View> view(int segments, int parts, bool ended = false) {
    m3u8::MediaPlaylist playlist{.target_duration_s = 2, .media_sequence = 10, .ended = ended};
    playlist.can_block = true;
    playlist.part_target_us = 500'000;
    for (int i = 0; i < segments; ++i) {
        playlist.segments.push_back({.uri = std::to_string(10 + i) + ".ts", .duration_us = 2'000'000});
        for (int part = 0; part < 4; ++part) playlist.segments.back().parts.push_back({"p.ts", 500'000});
    }
    m3u8::PlaylistTail tail;
    if (!ended) tail.hint_uri = "hint";
    for (int i = 0; i < parts; ++i) tail.open.parts.push_back({"o.ts", 500'000});
    return std::make_shared<const View>(
        std::make_shared<const ListedSegments>(std::move(playlist), ListedSegments::Bandwidth{}), std::move(tail));
}

class ReloadsTest : public runtime::testing::RuntimeTest {
  protected:
    // A connection whose request waits.
    struct Client final : net::DeferredTransport {
        explicit Client(std::unique_ptr<net::Deferred> waits) : request(std::move(waits)) {
            request->set_transport(*this);
        }
        void answer(net::AnswerPtr answer) override {
            came = answer ? std::move(answer) : request->late_answer();
            request.reset();
        }
        std::unique_ptr<net::Deferred> request;
        net::AnswerPtr came;
    };
    Client& asks(const m3u8::PartPosition& part, PlaylistForm form = {}) {
        clients_.push_back(std::make_unique<Client>(reloads_.await(part, std::move(form))));
        return *clients_.back();
    }
    void run() { (void)runtime::sleep_ms(5); }

    net::DeferredWaker waker_;
    Reloads reloads_{waker_};
    std::vector<std::unique_ptr<Client>> clients_;
};

TEST_F(ReloadsTest, EachIsAnsweredWhenItsPartIsThere) {
    Client &third = asks({13, 2}), &second = asks({13, 1}), &next = asks({14, 0});
    reloads_.changed(view(3, 1));
    run();
    EXPECT_FALSE(second.came || third.came || next.came);
    reloads_.changed(view(3, 2));
    run();
    ASSERT_TRUE(second.came);
    EXPECT_FALSE(third.came || next.came);
    EXPECT_EQ(second.came->status(), 200);
    EXPECT_EQ(second.came->body(), *view(3, 2)->body({}).text);
    reloads_.changed(view(4, 1));
    run();
    EXPECT_TRUE(third.came && next.came);
}

// 6.2.5.2 of the draft.
TEST_F(ReloadsTest, APartThatItsSegmentDoesNotGetIsTheNextOnesFirst) {
    Client& far = asks({13, 9});
    reloads_.changed(view(4, 0));
    run();
    EXPECT_FALSE(far.came);
    reloads_.changed(view(4, 1));
    run();
    EXPECT_TRUE(far.came);
}

TEST_F(ReloadsTest, AllGetTheSameAnswer) {
    Client &one = asks({13, 0}), &other = asks({13, 0}), &small = asks({13, 0}, {.gzip = true});
    reloads_.changed(view(3, 1));
    run();
    ASSERT_TRUE(one.came && small.came);
    EXPECT_EQ(one.came, other.came);
    EXPECT_NE(one.came, small.came);
    const net::AnswerFields shared = {{"Cache-Control", "public, max-age=12"}, {"Vary", "Accept-Encoding"}};
    EXPECT_EQ(one.came->fields(), shared);
    EXPECT_EQ(small.came->fields().back(), (std::pair<std::string, std::string>{"Content-Encoding", "gzip"}));
}

TEST_F(ReloadsTest, AClientThatLeavesIsForgotten) {
    asks({13, 0}).request.reset();
    Client& stays = asks({13, 0});
    reloads_.changed(view(3, 1));
    run();
    EXPECT_TRUE(stays.came);
}

TEST_F(ReloadsTest, TheEndOfTheStreamIsAnswered) {
    Client &near = asks({13, 0}), &far = asks({15, 3});
    reloads_.changed(view(3, 0, true));
    run();
    ASSERT_TRUE(near.came && far.came);
    EXPECT_TRUE(near.came->body().ends_with("#EXT-X-ENDLIST\n"));
}

TEST_F(ReloadsTest, WithoutAPlaylistAllAreToldSo) {
    Client& waits = asks({13, 0});
    reloads_.end();
    run();
    ASSERT_TRUE(waits.came);
    EXPECT_EQ(waits.came->status(), 404);
    EXPECT_EQ(waits.came->fields(), (net::AnswerFields{{"Cache-Control", "max-age=1"}}));
}

TEST_F(ReloadsTest, APartThatDoesNotComeIs503) {
    Client& waits = asks({13, 0});
    waits.request->answer(nullptr);
    ASSERT_TRUE(waits.came);
    EXPECT_EQ(waits.came->status(), 503);
    EXPECT_EQ(waits.came->fields(), (net::AnswerFields{{"Cache-Control", "max-age=1"}}));
}

TEST_F(ReloadsTest, TenThousandAreAnsweredByOneText) {
    for (int i = 0; i < 10'000; ++i) asks({13, 0}, {.gzip = i % 2 == 0});
    reloads_.changed(view(3, 1));
    for (int i = 0; i < 1'000 && !clients_.back()->came; ++i) run();
    for (const auto& client : clients_) ASSERT_TRUE(client->came);
    EXPECT_EQ(clients_[0]->came, clients_[9'998]->came);
}

}  // namespace
}  // namespace service::hls
