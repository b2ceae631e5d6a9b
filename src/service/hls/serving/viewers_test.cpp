#include "service/hls/serving/viewers.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"

namespace service::hls {
namespace {

net::Visitor visitor(const std::string& id, const std::string& stream = "s") {
    return {net::Action::kPlay,
            net::SessionType::kHlsPlay,
            id,
            "1.2.3.4",
            "v",
            "live",
            stream,
            "",
            "rtmp://v/live",
            "",
            ""};
}

ViewerName name_of(const std::string& context, const std::string& stream = "s") {
    return {"v/live/" + stream, context};
}

class ViewersTest : public ::testing::Test {
  protected:
    void SetUp() override { runtime::testing::start_loop_once(); }
    // Returns the id that the viewer gets; empty: refused.
    std::string ask(const std::string& context, int64_t now_ms, const std::string& stream = "s", size_t limit = 0) {
        const std::string id = viewers_.id_for(name_of(context, stream));
        net::AddressQuota::Share share;
        if (!viewers_.known(name_of(context, stream))) {
            viewers_.quota().set_limits({limit, 0, 0, 0, {}});
            auto reserved = viewers_.reserve(visitor(id, stream));
            code_ = reserved ? base::Code::kOther : reserved.error().code();
            if (!reserved) return "";
            share = *std::move(reserved);
        }
        auto asked = viewers_.asked(name_of(context, stream), visitor(id, stream), 10'000, now_ms, std::move(share));
        code_ = asked ? base::Code::kOther : asked.error().code();
        return asked ? id : "";
    }
    net::SessionTable table_;
    Viewers viewers_{table_};
    base::Code code_ = base::Code::kOther;
};

TEST_F(ViewersTest, AreSessionsUntilTheyAreSilent) {
    const std::string own = viewers_.issue("v/live/s");
    EXPECT_EQ(ask(own, 1'000), own) << "what was issued for the stream is the session's id";
    EXPECT_EQ(ask(own, 5'000), own);
    const Viewers::Found found = viewers_.received(name_of(own), 10),
                         unknown = viewers_.received(name_of("unknown"), 10);
    EXPECT_TRUE(Viewers::sent(found, 200, 6'000));
    EXPECT_FALSE(Viewers::sent(unknown, 200, 6'000));
    ASSERT_EQ(table_.size(), 1u);
    net::Session* session = table_.find(own);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->type(), net::SessionType::kHlsPlay);
    EXPECT_EQ(session->stream_text(), "v/live/s");
    EXPECT_EQ(session->traffic().received_bytes, 10u);
    EXPECT_EQ(session->traffic().sent_bytes, 200u);
    ASSERT_NE(session->stream_account(), nullptr);
    EXPECT_EQ(session->stream_account()->key().text(), "v/live/s");
    EXPECT_EQ(session->details().tc_url, "rtmp://v/live");
    viewers_.tick(15'999);
    EXPECT_EQ(table_.size(), 1u);
    viewers_.tick(16'000);
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_FALSE(viewers_.known(name_of(own)));
    EXPECT_FALSE(Viewers::sent(found, 200, 16'000)) << "a response that outlasts its viewer";
}

TEST_F(ViewersTest, AContextThatAClientBringsIsNoId) {
    struct Other final : net::Session {
        using Session::Session;
        std::string stream_text() const override { return "v/live/p"; }
        net::Traffic traffic() const override { return {}; }
        void kick(std::string_view) override { kicked = true; }
        bool kicked = false;
    } publisher(table_, "pub12345", "5.6.7.8");
    const std::string id = ask("pub12345", 0);
    ASSERT_FALSE(id.empty());
    EXPECT_NE(id, "pub12345");
    EXPECT_EQ(table_.find("pub12345"), &publisher);
    EXPECT_EQ(ask("pub12345", 0), id) << "it is recognized by the context that it sent";
    EXPECT_EQ(ask(id, 0), id) << "and by the id in its playlists";
    viewers_.received(name_of(id), 1);
    viewers_.received(name_of("pub12345"), 1);
    EXPECT_EQ(table_.find(id)->traffic().received_bytes, 2u);
    EXPECT_EQ(table_.size(), 2u);
    table_.find(id)->kick("by the operator");
    viewers_.tick(1);
    EXPECT_FALSE(publisher.kicked);
    EXPECT_TRUE(viewers_.banned(name_of(id)) && viewers_.banned(name_of("pub12345")));
    // An issued context that another session got by chance as its id: ids stay unique.
    const std::string issued = viewers_.issue("v/live/s");
    Other taken(table_, issued, "5.6.7.8");
    EXPECT_NE(ask(issued, 0), issued);
}

TEST_F(ViewersTest, AContextOfAnotherStreamIsNone) {
    const std::string own = viewers_.issue("v/live/s");
    const std::string elsewhere = ask(own, 0, "t");
    EXPECT_NE(elsewhere, own) << "it was issued for another stream";
    EXPECT_EQ(ask(own, 0), own);
    EXPECT_NE(table_.find(elsewhere), table_.find(own));
    viewers_.received(name_of(own, "t"), 7);
    EXPECT_EQ(table_.find(elsewhere)->traffic().received_bytes, 7u);
    EXPECT_EQ(table_.find(own)->traffic().received_bytes, 0u);
    table_.find(own)->kick("by the operator");
    viewers_.tick(1);
    EXPECT_TRUE(viewers_.known(name_of(own, "t")));
}

TEST_F(ViewersTest, WhatIsIssuedIsBounded) {
    const std::string first = viewers_.issue("v/live/s"), second = viewers_.issue("v/live/s");
    EXPECT_NE(first, second);
    for (size_t i = 1; i < Viewers::kMaxIssued; ++i) viewers_.issue("v/live/s");
    EXPECT_NE(ask(first, 0), first) << "dropped: served under another id";
    EXPECT_EQ(ask(second, 0), second);
}

TEST_F(ViewersTest, OneThatIsKickedStaysOut) {
    const std::string id = ask("abc", 1'000);
    table_.find(id)->kick("by the operator");
    viewers_.tick(1'100);
    EXPECT_EQ(table_.size(), 0u);
    EXPECT_TRUE(viewers_.banned(name_of("abc")));
    EXPECT_EQ(ask("abc", 1'200), "");
    EXPECT_EQ(code_, base::Code::kRefused);
    viewers_.tick(62'000);
    EXPECT_NE(ask("abc", 62'000), "");
}

TEST_F(ViewersTest, AreBoundedButAreNoConnections) {
    const std::string first = ask("a", 0, "s", 2);
    ASSERT_NE(ask("b", 0, "s", 2), "");
    EXPECT_EQ(ask("a", 0, "s", 2), first);
    EXPECT_EQ(ask("c", 0, "s", 2), "");
    EXPECT_EQ(code_, base::Code::kLimit);
    EXPECT_EQ(table_.admission().connections(), 0u);
    EXPECT_EQ(viewers_.quota().count(), 2u);
    table_.find(first)->kick("room");
    viewers_.tick(1);
    EXPECT_NE(ask("abcdefgh", 1, "s", 2), "");
    EXPECT_EQ(table_.size(), 2u);
    EXPECT_TRUE(Viewers::is_context("aZ09-_"));
    for (const char* bad : {"", "a/b", "a b", "../x", "012345678"}) EXPECT_FALSE(Viewers::is_context(bad)) << bad;
}

}  // namespace
}  // namespace service::hls
