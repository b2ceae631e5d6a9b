#include "service/tools/variables.h"

#include <gtest/gtest.h>

namespace service::tools {
namespace {

StreamNames named(std::string stream, std::string app = "live", std::string vhost = "v") {
    StreamNames names;
    names.key = {std::move(vhost), std::move(app), std::move(stream)};
    names.port = 1936;
    names.wall_ms = 1'767'942'303'042;
    names.utc = true;
    return names;
}

std::string argument(const StreamNames& names, std::string_view pattern) {
    const auto text = Variables(names, "ff").argument(pattern);
    return text ? *text : "refused: " + text.error().text();
}

std::string path(const StreamNames& names, std::string_view pattern) {
    const auto text = Variables(names, "ff").path(pattern);
    return text ? *text : "refused: " + text.error().text();
}

TEST(Variables, AreReplaced) {
    StreamNames names = named("s");
    names.params = "?k=1";
    names.tc_url = "rtmp://h/live";
    names.page_url = "http://h/p";
    EXPECT_EQ(argument(names, "rtmp://127.0.0.1:[port]/[app]/[stream]_[engine]?vhost=[vhost]"),
              "rtmp://127.0.0.1:1936/live/s_ff?vhost=v");
    EXPECT_EQ(argument(names, "[url]"), "rtmp://127.0.0.1:1936/live/s?k=1&vhost=v");
    EXPECT_EQ(argument(names, "./[app]-[stream].[2006].flv"), "./live-s.2026.flv");
    EXPECT_EQ(argument(names, "[tcUrl]|[swfUrl]|[pageUrl]|[param]|[other]"), "rtmp://h/live||http://h/p|?k=1|[other]");
    EXPECT_EQ(names.input_url(), "rtmp://127.0.0.1:1936/live/s?vhost=v");
}

TEST(Variables, ANameBecomesNoOption) {
    EXPECT_EQ(argument(named("-i"), "[stream]"), "refused: '[stream]' would become an option: '-i'");
    EXPECT_EQ(argument(named("-i"), "-[stream]"), "--i") << "the operator wrote an option";
    EXPECT_EQ(argument(named("-i"), "./[stream].flv"), "./-i.flv");
    StreamNames names = named("s");
    names.params = "-vf";
    EXPECT_EQ(argument(names, "[param]"), "refused: '[param]' would become an option: '-vf'");
}

TEST(Variables, ANameLeadsNowhereElse) {
    EXPECT_EQ(argument(named("../../etc/x"), "./[stream].flv"), "./.._.._etc_x.flv");
    EXPECT_EQ(argument(named(".."), "/srv/[stream]"), "/srv/__");
    EXPECT_EQ(argument(named("s", "a/../b"), "/srv/[app]/[stream]"), "/srv/a_.._b/s");
    EXPECT_EQ(argument(named("s", "a/b"), "rtmp://h/[app]/[stream]"), "rtmp://h/a/b/s");
    EXPECT_EQ(path(named("../x"), "http://[stream].log"), "http://.._x.log") << "a file, whatever its name looks like";
    StreamNames names = named("s");
    names.tc_url = "/etc/passwd";
    names.page_url = "file:///etc/passwd";
    EXPECT_EQ(argument(names, "[tcUrl][pageUrl]"), "");
    names.tc_url = "http://h/../x";
    EXPECT_EQ(path(names, "/srv/[tcUrl]"), "/srv/http:__h_.._x");
}

TEST(Variables, SpacesAndControlBytesAreRefused) {
    for (const char* name : {"a b", "a\nb", "a\tb", "a\x7f", "a\r-i"}) {
        EXPECT_TRUE(argument(named(name), "rtmp://h/[stream]").starts_with("refused: [stream] has spaces")) << name;
        EXPECT_TRUE(argument(named(name), "./[stream]").starts_with("refused")) << name;
        EXPECT_TRUE(path(named(name), "./[stream]").starts_with("refused")) << name;
        EXPECT_EQ(argument(named(name), "./[app]"), "./live") << "what is not used does no harm";
    }
}

TEST(Variables, ValuesAreNotExpandedAgain) {
    EXPECT_EQ(argument(named("[port]", "[vhost]"), "rtmp://h/[app]/[stream]"), "rtmp://h/[vhost]/[port]");
}

TEST(Variables, NamesOfLogs) {
    EXPECT_EQ(log_name("ffmpeg-transcode", {"v", "live", "s"}), "ffmpeg-transcode-v-live-s.log");
    EXPECT_EQ(log_name("x", {"..", "a/b", "../c"}), "x-__-a_b-.._c.log");
    const std::string longest(256, 'n');
    EXPECT_LE(log_name("ffmpeg-transcode", {longest, longest, longest}).size(), 200u);
}

}  // namespace
}  // namespace service::tools
