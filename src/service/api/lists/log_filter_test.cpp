#include "service/api/lists/log_filter.h"

#include <gtest/gtest.h>

#include "runtime/loop/testing.h"
#include "service/api/service_testing.h"

namespace service::api {
namespace {

TEST(LogName, IsNoPartOfALongerOne) {
    struct Case {
        const char *text, *name;
        bool found;
    };
    for (const auto& [text, name, found] : {Case{"dvr: v/live/cam: begins", "live/cam", true},
                                            {"v/live/cam", "v/live/cam", true},
                                            {"live/cam", "cam", true},
                                            {"http ended: /live/cam.m3u8 (GET 404)", "live/cam", true},
                                            {"live/cam2 live/cam", "live/cam", true},
                                            {"live/cam2", "live/cam", false},
                                            {"live/cam-2", "live/cam", false},
                                            {"live/cam\xc3\xa4", "live/cam", false},
                                            {"live/cam/2", "live/cam", false},
                                            {"alive/cam", "live/cam", false},
                                            {"from 10.0.0.1:4242", "10.0.0.1", true},
                                            {"from 10.0.0.12:4242", "10.0.0.1", false},
                                            {"from 110.0.0.1", "10.0.0.1", false},
                                            {"fe80::1", "::1", false},
                                            {"", "cam", false}})
        EXPECT_EQ(has_name(text, name), found) << name << " in " << text;
}

struct Viewer final : net::Session {
    Viewer(net::SessionTable& table, std::string_view id, std::string_view ip, std::string stream)
        : Session(table, id, ip), name(std::move(stream)) {
        set_type(net::SessionType::kFlvPlay);
        enter_stream({"v", "live", name}, false);
    }
    ~Viewer() override { log_end("closed", base::CloseReason::kPeerClosed); }
    std::string stream_text() const override { return "v/live/" + name; }
    net::Traffic traffic() const override { return {}; }
    void kick(std::string_view) override {}
    std::string name;
};

class LogFilterTest : public testing::ApiTest {
  protected:
    // The lines' texts, of those that this test has logged.
    std::string lines(std::string_view query) {
        std::string texts;
        const Json answer = json(fmt::format("/api/v1/log?after={}&{}", began_, query));
        for (const Json& line : answer["lines"]) {
            const std::string text = line["text"];
            if (text.starts_with("test: ")) texts += text.substr(6) + "; ";
        }
        return texts;
    }
    static void log(const std::string& id, std::string_view text) {
        runtime::set_context_id(id);
        base::log::trace("test: {}", text);
        runtime::set_context_id("");
    }
    void SetUp() override {
        ApiTest::SetUp();
        log("", "begin");  // 0 would be the newest lines
        began_ = base::log::ring().read({.count = 1}).next;
    }
    uint64_t began_ = 0;
};

TEST_F(LogFilterTest, OfAStreamAndOfAClient) {
    log("", "before");
    Viewer here(sessions_, "here", "192.0.2.1", "cam");
    Viewer other(sessions_, "other", "192.0.2.2", "cam2");
    auto gone = std::make_unique<Viewer>(sessions_, "gone", "192.0.2.2", "cam");
    log("here", "a");
    log("other", "b");
    log("gone", "c");
    log("", "hls: v/live/cam: d");
    log("", "hls: v/live/cam2: e");
    log("", "f refused 192.0.2.2:80");
    const std::string of_cam = "a; c; hls: v/live/cam: d; ";
    const std::string id = net::stream_id({"v", "live", "cam"});
    for (const bool has_ended : {false, true}) {
        if (has_ended) gone.reset();
        for (const std::string& name : {std::string("cam"), std::string("live/cam"), std::string("v/live/cam"), id})
            EXPECT_EQ(lines("stream=" + name), of_cam) << name << (has_ended ? ", ended" : "");
        EXPECT_EQ(lines("client=gone"), "c; ");
        EXPECT_EQ(lines("client=192.0.2.2"), "b; c; f refused 192.0.2.2:80; ");
        EXPECT_EQ(lines("client=192.0.2.2&stream=live/cam"), "c; ");
        EXPECT_EQ(lines("client=192.0.2.2&search=refused"), "f refused 192.0.2.2:80; ");
        EXPECT_EQ(lines("stream=live/none"), "");
    }
    EXPECT_EQ(lines("count=2&stream=live/cam"), "a; c; ") << "those after `after`, from the first one on";
    EXPECT_EQ(ask("/api/v1/log?stream=" + std::string(257, 'x')).status, 400);
}

TEST_F(LogFilterTest, OfAStreamThatEndedByItsId) {
    std::make_unique<Viewer>(sessions_, "gone", "192.0.2.2", "cam").reset();
    log("gone", "a");
    log("", "hls: v/live/cam: b");
    EXPECT_EQ(lines("stream=" + net::stream_id({"v", "live", "cam"})), "a; hls: v/live/cam: b; ");
}

}  // namespace
}  // namespace service::api
