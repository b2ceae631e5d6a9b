// The service with streams published by the test, and a shell as the external tool.

#include "service/tools/service.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "live/hub/options.h"
#include "runtime/loop/testing.h"
#include "service/tools/report.h"
#include "service/tools/testing.h"

namespace service::tools {
namespace {

using runtime::testing::ok;

struct Owner : live::PublicationOwner {
    bool publisher_alive() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

bool lives(pid_t pid) {
    std::ifstream stat(fmt::format("/proc/{}/stat", pid));
    std::string id, name, state;
    return stat >> id >> name >> state && state != "Z";
}

class ToolsTest : public runtime::testing::RuntimeTest {
  protected:
    void TearDown() override {
        publications_.clear();
        service_.reset();
        until([this] { return registry_.size() == 0; });
        registry_.stop();
    }
    static config::SnapshotPtr load(const std::string& vhost, const std::string& top = "") {
        auto loaded = config::load_text("listen 1936; ff_log_dir /dev/null; " + top + " vhost v { " + vhost + " }");
        EXPECT_TRUE(loaded.snapshot) << config::described(loaded.problems);
        return loaded.snapshot;
    }
    void start(const std::string& vhost, const std::string& top = "") {
        snapshot_ = load(vhost, top);
        ASSERT_TRUE(snapshot_);
        registry_.start();
        service_ = std::make_unique<Service>(snapshot_, sessions_, registry_);
        ASSERT_TRUE(ok(service_->start()));
    }
    void publish(const std::string& name) {
        auto stream = registry_.find_or_create({"v", "live", name}, live::live_options(snapshot_->vhosts.front()));
        auto publication = stream->acquire(owner_, false);
        ASSERT_TRUE(ok(publication));
        publications_[name] = std::move(*publication);
    }
    template <class Condition>
    static void until(Condition condition) {
        for (int i = 0; i < 500 && !condition(); ++i) ASSERT_TRUE(ok(runtime::sleep_ms(10)));
        EXPECT_TRUE(condition());
    }
    // "exec sh of s", of those that are not ending.
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& tool : service_->tools())
            if (!tool->ending())
                names.push_back(fmt::format("{} {}", kind_name(tool->job().kind), tool->job().stream.name));
        std::ranges::sort(names);
        return names;
    }
    using Names = std::vector<std::string>;

    config::SnapshotPtr snapshot_;
    net::SessionTable sessions_;
    live::Registry registry_;
    Owner owner_;
    std::map<std::string, live::Publication> publications_;
    std::unique_ptr<Service> service_;
};

const std::string kExec = "exec { enabled on; publish sleep 1000; }";

TEST_F(ToolsTest, AToolRunsWhileItsStreamIsPublished) {
    start(kExec);
    EXPECT_EQ(names(), Names{});
    publish("s");
    ASSERT_EQ(names(), Names{"exec s"});
    until([this] { return service_->tools()[0].pid() > 0; });
    const pid_t pid = service_->tools()[0].pid();
    EXPECT_TRUE(lives(pid));
    publications_.clear();
    EXPECT_EQ(names(), Names{});
    until([this] { return service_->tools().empty(); });
    EXPECT_FALSE(lives(pid));
}

TEST_F(ToolsTest, OneThatIsGoneBeforeItStartsIsNotStarted) {
    start(kExec);
    publish("s");
    ASSERT_EQ(service_->tools().size(), 1u);
    publications_.clear();
    const auto& tool = service_->tools()[0];
    EXPECT_EQ(tool.starts(), 0u);
    EXPECT_TRUE(tool.ending());
    until([this] { return service_->tools().empty(); });
}

// The next begins when the one before has ended: both would publish the same.
TEST_F(ToolsTest, ARepublishedStreamHasOneToolAtATime) {
    start("exec { enabled on; publish sh -c \"trap 'sleep 0.2; exit' TERM; while true; do sleep 0.05; done\"; }");
    publish("s");
    until([this] { return service_->tools()[0].pid() > 0; });
    ASSERT_TRUE(ok(runtime::sleep_ms(50)));
    publications_.clear();
    publish("s");
    EXPECT_EQ(names(), Names{});
    ASSERT_EQ(service_->tools().size(), 1u);
    until([this] { return names() == Names{"exec s"}; });
    EXPECT_EQ(service_->tools().size(), 1u);
}

TEST_F(ToolsTest, LimitsOfAStreamAndInAll) {
    std::string many = "exec { enabled on; ";
    for (int i = 0; i < 20; ++i) many += fmt::format("publish sleep {}; ", 1000 + i);
    start(many + "}", "max_tools 18;");
    publish("a");
    EXPECT_EQ(names().size(), Service::kMaxPerStream);
    publish("b");
    EXPECT_EQ(names().size(), 18u);
    EXPECT_EQ(service_->refused(), 1u);
    publications_.erase("a");
    until([this] { return names() == Names(16, "exec b"); });
}

std::string transcode_to(const std::string& output) {
    return "transcode { enabled on; ffmpeg sleep; engine e { enabled on; vcodec copy; output " + output + "; } }";
}

TEST_F(ToolsTest, WhatAToolMakesIsNotHandedToToolsAgain) {
    start(transcode_to("rtmp://127.0.0.1:1936/live/[stream]_e?vhost=v"));
    publish("s");
    publish("s_e");
    EXPECT_EQ(names(), Names{"transcode s"});
    service_->reload(load(transcode_to("rtmp://127.0.0.1:1936/live/[stream]_e?vhost=v")));
    EXPECT_EQ(names(), Names{"transcode s"});
    // The tool ends, and the server still has its stream.
    publications_.erase("s");
    until([this] { return service_->tools().empty(); });
    service_->reload(load(transcode_to("rtmp://127.0.0.1:1936/live/[stream]_e?vhost=v")));
    EXPECT_EQ(names(), Names{}) << "a reload looks at all streams again";
    publications_.erase("s_e");
    publish("s_e");
    EXPECT_EQ(names(), Names{"transcode s_e"}) << "another publisher's";
}

TEST_F(ToolsTest, ReloadLeavesAloneWhatStaysTheSame) {
    start("exec { enabled on; publish sleep 1000; publish sleep 1001; }");
    publish("s");
    until([this] { return service_->tools()[0].pid() > 0 && service_->tools()[1].pid() > 0; });
    const pid_t first = service_->tools()[0].pid();
    service_->reload(load("exec { enabled on; publish sleep 1002; publish sleep 1000; }"));
    until([this] { return service_->tools().size() == 2 && service_->tools()[1].pid() > 0; });
    EXPECT_EQ(service_->tools()[0].pid(), first);
    EXPECT_EQ(service_->tools()[1].job().arguments[1], "1002");
    service_->reload(load(""));
    until([this] { return service_->tools().empty(); });
    EXPECT_FALSE(lives(first));
}

TEST_F(ToolsTest, DrainingEndsIngests) {
    const std::string ingest = "ingest i { enabled on; input { url 1000; } ffmpeg sleep; }";
    start(ingest);
    EXPECT_EQ(names(), Names{"ingest i"});
    service_->stop_accepting();
    EXPECT_EQ(names(), Names{});
    service_->reload(load(ingest));
    EXPECT_EQ(names(), Names{});
}

TEST_F(ToolsTest, AMissingProgramIsAState) {
    start("exec { enabled on; publish /nonexistent/tool; }");
    publish("s");
    until([this] { return !service_->tools()[0].problem().empty(); });
    EXPECT_EQ(service_->tools()[0].problem(), "/nonexistent/tool does not exist or is not executable");
    EXPECT_EQ(service_->tools()[0].state(), Tool::State::kWaiting);
    prometheus::Text text;
    write_metrics(*service_, text);
    const std::string metrics = text.take();
    EXPECT_NE(metrics.find("srs_tools{kind=\"exec\"} 0\n"), std::string::npos) << metrics;
    EXPECT_NE(metrics.find("stream=\"s\"} 0\n"), std::string::npos) << metrics;
}

TEST_F(ToolsTest, StopEndsThemAll) {
    start("exec { enabled on; publish sleep 1000; publish sh -c \"trap '' TERM; while true; do sleep 0.1; done\"; }");
    publish("s");
    until([this] { return service_->tools()[0].pid() > 0 && service_->tools()[1].pid() > 0; });
    const pid_t one = service_->tools()[0].pid(), two = service_->tools()[1].pid();
    ASSERT_TRUE(ok(runtime::sleep_ms(100)));
    service_->stop();
    EXPECT_TRUE(service_->tools().empty());
    EXPECT_FALSE(lives(one));
    EXPECT_FALSE(lives(two)) << "one that ignores SIGTERM";
}

}  // namespace
}  // namespace service::tools
