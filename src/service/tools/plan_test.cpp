#include "service/tools/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "config/diff.h"
#include "net/access/signed_urls.h"
#include "service/tools/testing.h"

namespace service::tools {
namespace {

config::Loaded load(const std::string& vhost) {
    return config::load_text("listen 1936;\nff_log_dir /logs;\nvhost v {\n" + vhost + "\n}\n");
}
std::string problems(const std::string& vhost) { return config::described(load(vhost).problems); }

Plan plan_of(const std::string& text, const std::string& app = "live", const std::string& stream = "s") {
    const auto loaded = load(text);
    EXPECT_TRUE(loaded.snapshot) << config::described(loaded.problems);
    if (!loaded.snapshot) return {};
    StreamNames names;
    set_server(names, *loaded.snapshot);
    names.key = {"v", app, stream};
    const config::Vhost& vhost = loaded.snapshot->vhosts.front();
    Plan plan = plan_stream(*loaded.snapshot, vhost, names, {{"10.0.0.7"}});
    Plan ingests = plan_ingests(*loaded.snapshot, vhost, names, {{"10.0.0.7"}});
    plan.jobs.insert(plan.jobs.end(), ingests.jobs.begin(), ingests.jobs.end());
    plan.problems.insert(plan.problems.end(), ingests.problems.begin(), ingests.problems.end());
    return plan;
}

std::string commands(const Plan& plan) {
    std::string text;
    for (const Job& job : plan.jobs) text += fmt::format("{}\n", fmt::join(job.arguments, " "));
    for (const std::string& problem : plan.problems) text += "problem: " + problem + "\n";
    return text;
}

const std::string kOutput = "output rtmp://127.0.0.1:[port]/[app]/[stream]_[engine]?vhost=[vhost];";

std::string engine(const std::string& name, const std::string& more = "vcodec libx264; acodec copy;") {
    return "engine " + name + " { enabled on; " + more + kOutput + " }";
}

TEST(Plan, Transcode) {
    const Plan plan = plan_of("transcode { enabled on; ffmpeg /f; " + engine("ff") + " }");
    ASSERT_EQ(commands(plan),
              "/f -f flv -i rtmp://127.0.0.1:1936/live/s?vhost=v -vcodec libx264 -threads 1 -acodec copy -f flv "
              "-y rtmp://127.0.0.1:1936/live/s_ff?vhost=v\n");
    EXPECT_EQ(plan.jobs[0].output_file, "/logs/ffmpeg-transcode-v-live-s.log");
    ASSERT_EQ(plan.jobs[0].makes.size(), 1u);
    EXPECT_EQ(plan.jobs[0].makes[0].text(), "v/live/s_ff");
}

TEST(Plan, TheThreeScopesAllApply) {
    const std::string text = "transcode { enabled on; " + engine("a") + " } transcode live { enabled on; " +
                             engine("b") + " } transcode live/s { enabled on; " + engine("c") +
                             " } transcode live/t { enabled on; " + engine("d") + " } transcode x { " + engine("e") +
                             " }";
    const auto names = [](const Plan& plan) {
        std::string all;
        for (const Job& job : plan.jobs) all += fmt::format("{}:{} ", job.name, fmt::join(job.engines, "+"));
        return all;
    };
    EXPECT_EQ(names(plan_of(text)), "*:a live:b live/s:c ");
    EXPECT_EQ(names(plan_of(text, "live", "t")), "*:a live:b live/t:d ");
    EXPECT_EQ(names(plan_of(text, "x", "s")), "*:a ");
}

TEST(Plan, ALadderIsOneProcess) {
    const std::string engines = engine("a") + engine("b", "vcodec libx265; acodec an;");
    const Plan plan = plan_of("transcode { enabled on; " + engines + " }");
    ASSERT_EQ(plan.jobs.size(), 1u);
    EXPECT_EQ(fmt::format("{}", fmt::join(plan.jobs[0].engines, "+")), "a+b");
    EXPECT_EQ(plan.jobs[0].makes.size(), 2u);
    EXPECT_NE(commands(plan).find("expr:gte(t,n_forced*2)"), std::string::npos);
    EXPECT_EQ(plan_of("transcode { enabled on; ladder off; " + engines + " }").jobs.size(), 2u);
    EXPECT_EQ(
        plan_of("transcode { enabled on; " + engines + engine("c", "perfile { re; } vcodec copy;") + " }").jobs.size(),
        2u);
    EXPECT_NE(commands(plan_of("transcode { enabled on; keyframe_interval 0.5; " + engines + " }"))
                  .find("expr:gte(t,n_forced*0.5)"),
              std::string::npos);
}

TEST(Plan, AnOutputThatIsTheInputIsALoop) {
    for (const char* url :
         {"rtmp://127.0.0.1:1936/live/s?vhost=v", "rtmp://localhost:[port]/[app]/[stream]?vhost=[vhost]",
          "rtmp://10.0.0.7:1936/live/s?vhost=v", "rtmp://v:1936/live/s", "rtmp://[::1]:1936/live?vhost=v/s"}) {
        const Plan plan = plan_of("transcode { enabled on; engine ff { enabled on; vcodec copy; output " +
                                  std::string(url) + "; } }");
        EXPECT_EQ(commands(plan), "problem: v/live/s is not transcoded: engine ff publishes to its own input: a loop\n")
            << url;
    }
    for (const char* url : {"rtmp://10.0.0.8:1936/live/s?vhost=v", "rtmp://127.0.0.1:1937/live/s?vhost=v"}) {
        const Plan plan = plan_of("transcode { enabled on; engine ff { enabled on; vcodec copy; output " +
                                  std::string(url) + "; } }");
        EXPECT_EQ(plan.jobs.size(), 1u) << url << " is another server's";
        EXPECT_TRUE(plan.problems.empty()) << url;
    }
}

TEST(Plan, HostileNames) {
    const std::string transcode = "transcode { enabled on; " + engine("ff") + " }";
    EXPECT_EQ(commands(plan_of(transcode, "live", "a b")),
              "problem: v/live/a b is not transcoded: [stream] has spaces or control bytes: 'a b'\n");
    EXPECT_TRUE(commands(plan_of(transcode, "live", "-i")).find("-i rtmp://127.0.0.1:1936/live/-i?vhost=v ") !=
                std::string::npos);
    const std::string exec = "exec { enabled on; publish /tool [stream] > /x/[stream].log; }";
    EXPECT_EQ(commands(plan_of(exec, "live", "-i")),
              "problem: exec of v/live/-i: '[stream]' would become an option: '-i'\n");
    EXPECT_EQ(commands(plan_of(exec, "live", ">f")), "/tool >f\n") << "no redirection of the client's";
    const Plan plan = plan_of(exec, "live", "../../e");
    ASSERT_EQ(commands(plan), "/tool .._.._e\n");
    EXPECT_EQ(plan.jobs[0].output_file, "/x/.._.._e.log");
}

TEST(Plan, Exec) {
    const Plan plan = plan_of(
        "exec { enabled on; publish /a/tool -i [url] -y rtmp://localhost:1936/x/[stream]?vhost=v; publish b 2>&1; "
        "publish c > /o; publish d > /o 2>/e; }");
    ASSERT_EQ(commands(plan),
              "/a/tool -i rtmp://127.0.0.1:1936/live/s?vhost=v -y rtmp://localhost:1936/x/s?vhost=v\nb\nc\nd\n");
    EXPECT_EQ(plan.jobs[0].name, "tool");
    EXPECT_EQ(plan.jobs[0].output_file, "/logs/exec-tool-v-live-s.log");
    ASSERT_EQ(plan.jobs[0].makes.size(), 1u) << "what it publishes must not be its own input again";
    EXPECT_EQ(plan.jobs[0].makes[0].text(), "v/x/s");
    EXPECT_EQ(plan.jobs[2].output_file + " " + plan.jobs[2].error_file, "/o /logs/exec-c-v-live-s.log");
    EXPECT_EQ(plan.jobs[3].output_file + " " + plan.jobs[3].error_file, "/o /e");
}

TEST(Plan, Ingest) {
    const Plan plan = plan_of(
        "ingest a { enabled on; input { type file; url ./a.flv; } ffmpeg /f; engine { output "
        "rtmp://127.0.0.1:[port]/live/ls?vhost=[vhost]; } }"
        "ingest b { enabled on; input { type stream; url http://h/b.ts; } engine { enabled on; vcodec libx264; acodec "
        "aac; output rtmp://127.0.0.1:[port]/live/b; } }"
        "ingest c { enabled on; stream cams/c; input { url c.mp4; } } ingest d { input { url d.mp4; } }");
    EXPECT_EQ(commands(plan),
              "/f -re -stream_loop -1 -i ./a.flv -vcodec copy -acodec copy -f flv -y "
              "rtmp://127.0.0.1:1936/live/ls?vhost=v\n"
              "ffmpeg -re -i http://h/b.ts -vcodec libx264 -threads 1 -acodec aac -f flv -y "
              "rtmp://127.0.0.1:1936/live/b\n"
              "ffmpeg -re -stream_loop -1 -i c.mp4 -vcodec copy -acodec copy -f flv -y "
              "rtmp://127.0.0.1:1936/cams/c?vhost=v\n");
    ASSERT_EQ(plan.jobs.size(), 3u);
    EXPECT_EQ(plan.jobs[0].stream.text(), "v/live/ls");
    EXPECT_EQ(plan.jobs[2].stream.text(), "v/cams/c");
    EXPECT_TRUE(plan.jobs[0].makes.empty()) << "its stream may be transcoded";
}

TEST(Plan, WhatTheServiceOfRtspWouldPullIsPulledByATool) {
    EXPECT_EQ(commands(plan_of("ingest a { enabled on; input { type rtsp; url rtsp://h/a; } }")),
              "ffmpeg -re -i rtsp://h/a -vcodec copy -acodec copy -f flv -y rtmp://127.0.0.1:1936/live/a?vhost=v\n")
        << "it is not in this program";
}

TEST(Plan, AnIngestWithoutBothCodecsCopies) {
    const auto codecs = [](const std::string& engine) {
        const std::string text =
            commands(plan_of("ingest a { enabled on; input { url a; } engine { " + engine + " } }"));
        return text.substr(text.find("-i a") + 5, text.find(" -f flv") - text.find("-i a") - 5);
    };
    EXPECT_EQ(codecs("enabled on; vcodec libx264;"), "-vcodec copy -acodec copy");
    EXPECT_EQ(codecs("enabled off; vcodec libx264; acodec aac;"), "-vcodec copy -acodec copy");
    EXPECT_EQ(codecs("enabled on; vcodec vn; acodec aac;"), "-vn -acodec aac");
}

TEST(Plan, SignedUrls) {
    const std::string secret = "signed_urls { enabled on; secret 0123456789abcdef0123456789abcdef; ";
    const std::string rest = "} transcode { enabled on; " + engine("ff") + " } exec { enabled on; publish t [url]; }";
    const std::string plain = commands(plan_of(secret + "publish off; play off; " + rest));
    EXPECT_EQ(plain.find("sign="), std::string::npos) << plain;
    const Plan plan = plan_of(secret + "publish on; play on; " + rest);
    ASSERT_EQ(plan.jobs.size(), 2u);
    const auto check = [&](net::Action action, const std::string& stream, const std::string& url, const char* ip) {
        const config::VhostSignedUrls options{true, {"0123456789abcdef0123456789abcdef"}, true, true};
        net::Visitor visitor;
        visitor.action = action;
        visitor.ip = ip;
        visitor.vhost = "v";
        visitor.app = "live";
        visitor.stream = stream;
        visitor.param = url.substr(url.find('?'));
        const auto verified = net::verify_signed_url(options, visitor, 1'800'000'000);
        return verified ? "" : verified.error().text();
    };
    const std::string url = plan.jobs[0].arguments[1];
    EXPECT_EQ(check(net::Action::kPlay, "s", url, "127.0.0.1"), "") << url;
    EXPECT_NE(check(net::Action::kPlay, "s", url, "192.0.2.1"), "") << "for this machine alone";
    EXPECT_EQ(check(net::Action::kPlay, "s", plan.jobs[1].arguments[4], "127.0.0.1"), "") << commands(plan);
    EXPECT_EQ(check(net::Action::kPublish, "s_ff", plan.jobs[1].arguments.back(), "127.0.0.1"), "") << commands(plan);
    EXPECT_NE(check(net::Action::kPublish, "s", plan.jobs[1].arguments.back(), "127.0.0.1"), "") << "another stream";
}

TEST(Plan, ConfigurationProblems) {
    EXPECT_NE(problems("exec { enabled on; publish a >; }").find("error: publish: '>' needs a file"),
              std::string::npos);
    EXPECT_NE(problems("exec { enabled on; }").find("exec is enabled without a publish"), std::string::npos);
    EXPECT_NE(problems("transcode { enabled on; engine ff { enabled on; } }")
                  .find("warning: transcode: the engine 'ff' has no output"),
              std::string::npos);
    EXPECT_NE(problems("transcode { enabled on; }").find("has no enabled engine"), std::string::npos);
    EXPECT_NE(problems("ingest a { enabled on; }").find("warning: ingest a: its input has no url"), std::string::npos);
    EXPECT_NE(problems("transcode { engine ff { vparams { a { } } } }").find("is an option, not a block"),
              std::string::npos);
    EXPECT_EQ(problems("transcode { enabled on; " + engine("x", "vcodec h264_nvenc; vparams { anything at all; }") +
                       " } ingest a { enabled on; input { url a; } engine { aparams { b c; } } }"),
              "");
}

TEST(Plan, ReloadDifference) {
    const auto text_of = [](const std::string& before, const std::string& after) {
        const auto reload = config::plan_reload(*load(before).snapshot, *load(after).snapshot);
        std::string text;
        for (const config::Change& change : reload.changes) text += change.describe() + "\n";
        return text;
    };
    const std::string a =
        "transcode { enabled on; engine ff { enabled on; vparams { bf 3; } output "
        "rtmp://u:secret@h/l/s; } }";
    EXPECT_EQ(text_of(a, a), "");
    EXPECT_EQ(text_of("", a),
              "vhost v vhost/transcode/enabled: nothing -> * (enabled on, engine ff: enabled on, output rtmp://h/l/s, "
              "option bf 3)\n");
    EXPECT_EQ(text_of("exec { publish a b; }", "exec { publish a b; publish c; }"),
              "vhost v vhost/exec/publish: a b -> a b ; c\n");
}

TEST(Plan, TextsTellJobsApart) {
    const std::string one = "transcode { enabled on; " + engine("a") + " }";
    EXPECT_EQ(plan_of(one).jobs[0].text, plan_of(one).jobs[0].text);
    EXPECT_NE(plan_of(one).jobs[0].text, plan_of(one, "live", "t").jobs[0].text);
    EXPECT_NE(plan_of("exec { enabled on; publish a 'b c'; }").jobs[0].text,
              plan_of("exec { enabled on; publish a b c; }").jobs[0].text);
}

}  // namespace
}  // namespace service::tools
