#include "service/rtsp/pull_config.h"

#include <gtest/gtest.h>

#include "config/diff.h"
#include "config/test_util.h"
#include "service/rtsp/camera_source.h"
#include "service/rtsp/config.h"

namespace service::rtsp {
namespace {

// Before anything else uses config/.
[[maybe_unused]] const bool kAdded = [] {
    config::add_section(section());
    return true;
}();

config::Loaded load(const std::string& vhost) {
    return config::load_text("listen 1935;\nvhost v {\n" + vhost + "\n}\n");
}

std::string problems(const std::string& vhost) { return config::described(load(vhost).problems); }

TEST(PullConfig, BlocksOfSeveralNamesAreKeptApart) {
    const auto loaded = load(
        "ingest a { enabled on; input { type rtsp; url rtsp://h/a; transport udp; on_demand on; } }"
        "ingest b { enabled on; stream cams/door; input { type stream; url rtsp://h/b; } ffmpeg ./ffmpeg; }"
        "ingest c { input { type rtsp; url rtsp://h/c; } }"
        "ingest d { enabled on; input { type rtsp; url rtsp://h/d; }"
        " engine { output rtmp://127.0.0.1:[port]/x/[vhost]_y?vhost=[vhost]; } }");
    ASSERT_TRUE(loaded.snapshot) << config::described(loaded.problems);
    EXPECT_EQ(config::described(loaded.problems), "");
    const std::vector<PullTask> tasks = pull_tasks(*loaded.snapshot);
    ASSERT_EQ(tasks.size(), 3u);
    EXPECT_EQ(tasks[0].stream.text(), "v/live/a");
    EXPECT_TRUE(tasks[0].on_demand);
    EXPECT_EQ(tasks[0].source.transport, PullSource::Transport::kUdpThenTcp);
    EXPECT_EQ(tasks[1].stream.text(), "v/cams/door");
    EXPECT_EQ(tasks[1].source.url, "rtsp://h/b");
    EXPECT_FALSE(tasks[1].on_demand) << "a block begins with the defaults";
    EXPECT_EQ(tasks[1].source.transport, PullSource::Transport::kTcpThenUdp);
    EXPECT_EQ(tasks[2].stream.text(), "v/x/v_y");
    EXPECT_TRUE(tasks[2].source.basic && tasks[2].source.digest);
}

TEST(PullConfig, MethodsOfAuthentication) {
    const auto source = [](const char* methods) {
        const auto loaded = load(std::string("ingest a { enabled on; input { type rtsp; url rtsp://u:p@h/a; methods ") +
                                 methods + "; } }");
        EXPECT_TRUE(loaded.snapshot) << config::described(loaded.problems);
        return loaded.snapshot ? pull_tasks(*loaded.snapshot).at(0).source : PullSource();
    };
    EXPECT_FALSE(source("digest").basic);
    EXPECT_TRUE(source("digest").digest);
    EXPECT_TRUE(source("basic").basic);
    EXPECT_FALSE(source("basic").digest);
    EXPECT_FALSE(redirected(source("digest"), "rtsp://h/b")->basic) << "a redirect keeps them";
    EXPECT_NE(problems("ingest a { enabled on; input { type rtsp; url rtsp://h/a; methods none; } }"), "");
}

TEST(PullConfig, Problems) {
    const std::string url = "input { type rtsp; url rtsp://h/s; }";
    EXPECT_NE(problems("ingest a { enabled on; input { url x.flv; } }").find("type file needs an external tool"),
              std::string::npos);
    EXPECT_EQ(problems("ingest a { input { url x.flv; } }"), "");
    EXPECT_NE(problems("ingest a { enabled on; input { type rtsp; url http://h/s; } }")
                  .find("error: ingest a: the URL does not begin with rtsp://"),
              std::string::npos);
    EXPECT_NE(problems("ingest { enabled on; " + url + " }").find("ingest needs a name"), std::string::npos);
    EXPECT_NE(problems("ingest a { enabled on; stream x; " + url + " }").find("'x' is not APP/STREAM"),
              std::string::npos);
    EXPECT_NE(
        problems("ingest a { enabled on; stream l/s; " + url + " } ingest b { enabled on; stream l/s; " + url + " }")
            .find("ingest b: another one publishes v/l/s"),
        std::string::npos);
    EXPECT_NE(problems("ingest a { enabled on; input { type rtsp; url rtsps://h/s; transport udp; } }")
                  .find("UDP would not be encrypted"),
              std::string::npos);
    EXPECT_NE(problems("ingest a { enabled on; " + url + " engine { enabled on; vcodec libx264; } }")
                  .find("unknown directive 'vhost/ingest/engine/vcodec'"),
              std::string::npos)
        << "the tools' service is not part of this program";
}

TEST(PullConfig, ReloadDifference) {
    const auto text_of = [](const std::string& before, const std::string& after) {
        const auto reload = config::plan_reload(*load(before).snapshot, *load(after).snapshot);
        std::string text;
        for (const config::Change& change : reload.changes) text += change.describe() + "\n";
        return text;
    };
    const std::string a = "ingest a { enabled on; input { type rtsp; url rtsp://u:secret@h/a; } }";
    EXPECT_EQ(text_of(a, a), "");
    EXPECT_EQ(text_of("", a), "vhost v vhost/ingest/enabled: nothing -> a (enabled on, type rtsp, url rtsp://h/a)\n");
    EXPECT_EQ(text_of(a, "ingest a { enabled off; input { type rtsp; url rtsp://h/a; } }"),
              "vhost v vhost/ingest/enabled: a (enabled on, type rtsp, url rtsp://h/a) -> nothing\n");
    // A password that changes is another task, though it is not shown.
    EXPECT_NE(
        pull_tasks(*load(a).snapshot)[0].text,
        pull_tasks(*load("ingest a { enabled on; input { type rtsp; url rtsp://u:other@h/a; } }").snapshot)[0].text);
}

TEST(PullConfig, Redirects) {
    PullSource from = *parse_source("rtsps://u:p@cam/s");
    const auto credentials_for = [&](const std::string& location) {
        auto to = redirected(from, location);
        return to ? to->credentials.user : to.error().text();
    };
    EXPECT_EQ(credentials_for("rtsps://CAM:322/t"), "u");
    EXPECT_EQ(credentials_for("rtsps://cam:8322/t"), "") << "nor for another port of its host";
    EXPECT_EQ(credentials_for("rtsps://other/t"), "") << "they are for the camera alone";
    EXPECT_EQ(credentials_for("rtsp://cam/t"), "") << "not in the clear";
    EXPECT_EQ(credentials_for("http://cam/t"), "the URL does not begin with rtsp:// or rtsps://");
}

}  // namespace
}  // namespace service::rtsp
