#include "service/dvr/naming.h"

#include <gtest/gtest.h>

namespace service::dvr {
namespace {

std::string path_of(const std::string& pattern, const std::string& app, const std::string& stream) {
    auto path = recording_path(pattern, {"v.com", app, stream}, 1'700'000'000'042, true, 3);
    return path ? *path : "refused: " + path.error().text();
}

TEST(Naming, FillsInTheVariables) {
    EXPECT_EQ(path_of("/r/[vhost]/[app]/[stream]-[seq].[timestamp].flv", "live", "cam"),
              "/r/v.com/live/cam-3.1700000000042.flv");
    EXPECT_EQ(path_of("[2006]/[01]/[02]/[15][04][05].[999]-[stream].mp4", "live", "cam"),
              "2023/11/14/221320.042-cam.mp4");
    EXPECT_EQ(path_of("r/[app]/[stream].flv", "a/b", "[app]"), "r/a/b/[app].flv") << "a name's brackets stay";
}

TEST(Naming, WhatCannotStandInAPathIsRefused) {
    const std::string bad[] = {"../../etc/x",          "a/b",  "..",   ".",   "", std::string(300, 'x'), "a\nb",
                               std::string("a\0b", 3), "\x7f", "a\\b", "/etc"};
    for (const std::string& name : bad) {
        EXPECT_TRUE(path_of("/r/[app]/[stream].flv", "live", name).starts_with("refused: ")) << name;
        EXPECT_FALSE(check_names({"v", "live", name})) << name;
    }
    for (const char* app : {"..", "a/../b", "/a", "a/", "a//b", "a\tb"})
        EXPECT_FALSE(check_names({"v", app, "s"})) << app;
    EXPECT_TRUE(check_names({"v", "a/b", "...x"}));
    EXPECT_TRUE(check_names({"v", "live", "Kamera Süd 1"}));
}

TEST(Naming, APathThatBecomesTooLongIsRefused) {
    EXPECT_TRUE(path_of("/r/[stream][stream].flv", "live", std::string(200, 'x')).starts_with("refused: "));
    EXPECT_TRUE(check_names({"v", "live", std::string(200, 'x')}));
}

TEST(Naming, RootAndWhatLiesBelowIt) {
    EXPECT_EQ(root_of("./objs/nginx/html/[app]/[stream].flv"), "./objs/nginx/html");
    EXPECT_EQ(root_of("/rec/all-[stream].flv"), "/rec");
    EXPECT_EQ(root_of("/[stream].flv"), "/");
    EXPECT_EQ(root_of("[stream].flv"), ".");
    EXPECT_EQ(root_of("x.flv"), ".");
    EXPECT_TRUE(is_below("/rec/a/b.flv", "/rec"));
    EXPECT_FALSE(is_below("/recording/b.flv", "/rec"));
    EXPECT_FALSE(is_below("/rec/../etc/x", "/rec"));
    EXPECT_TRUE(is_below("/x.flv", "/"));
    EXPECT_TRUE(is_below("x.flv", "."));
    EXPECT_FALSE(is_below("/x.flv", "."));
}

TEST(Naming, NumbersStandBeforeTheExtension) {
    EXPECT_EQ(numbered("a.b/c.flv", 0), "a.b/c.flv");
    EXPECT_EQ(numbered("a.b/c.flv", 12), "a.b/c-12.flv");
}

TEST(Naming, FormatByExtension) {
    EXPECT_EQ(format_of("a.mp4"), Format::kMp4);
    EXPECT_EQ(format_of("a.flv"), Format::kFlv);
}

}  // namespace
}  // namespace service::dvr
