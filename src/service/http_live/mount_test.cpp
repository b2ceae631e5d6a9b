#include "service/http_live/mount.h"

#include <gtest/gtest.h>

namespace service::http_live {
namespace {

TEST(Mount, Matches) {
    struct {
        std::string_view mount, path;
        std::string_view app, stream;  // empty: no match
        Format format;
    } table[] = {
        {"[vhost]/[app]/[stream].flv", "/live/a.flv", "live", "a", Format::kFlv},
        {"[vhost]/[app]/[stream].flv", "/live/a.AAC", "live", "a", Format::kAac},
        {"[vhost]/[app]/[stream].flv", "/live/a.mp3", "live", "a", Format::kMp3},
        {"[vhost]/[app]/[stream].flv", "/live/a.ts", "live", "a", Format::kTs},
        {"[vhost]/[app]/[stream].flv", "/live/sub/a.b.flv", "live/sub", "a.b", Format::kFlv},
        {"[vhost]/[app]/[stream].flv", "/live/a.html", "", "", Format::kFlv},
        {"[vhost]/[app]/[stream].flv", "/live/a", "", "", Format::kFlv},
        {"[vhost]/[app]/[stream].flv", "/live/.flv", "", "", Format::kFlv},
        {"[vhost]/[app]/[stream].flv", "/a.flv", "", "", Format::kFlv},
        {"[vhost]/[app]/[stream].flv", "/", "", "", Format::kFlv},
        {"/[app]/[stream].flv", "/live/a.flv", "live", "a", Format::kFlv},
        {"/[stream].flv", "/a.flv", "", "", Format::kFlv},
        {"[vhost]/live/[stream].flv", "/live/a.flv", "live", "a", Format::kFlv},
        {"[vhost]/live/[stream].flv", "/other/a.flv", "", "", Format::kFlv},
        {"[vhost]/pre-[app]/x/[stream]-post.flv", "/pre-live/x/a-post.flv", "live", "a", Format::kFlv},
        {"[vhost]/pre-[app]/x/[stream]-post.flv", "/pre-live/x/-post.flv", "", "", Format::kFlv},
        {"[vhost]/[stream]/[app].flv", "/a/live.flv", "live", "a", Format::kFlv},
        {"[vhost]/fixed.flv", "/fixed.flv", "", "", Format::kFlv},
        {"", "/live/a.flv", "", "", Format::kFlv},
    };
    for (auto& row : table) {
        auto match = Mount(row.mount).match(row.path);
        EXPECT_EQ(match.has_value(), !row.stream.empty()) << row.mount << " " << row.path;
        if (!match) continue;
        EXPECT_EQ(match->app, row.app) << row.path;
        EXPECT_EQ(match->stream, row.stream) << row.path;
        EXPECT_EQ(match->format, row.format) << row.path;
    }
    EXPECT_EQ(Mount("[vhost]/a/[stream].flv").host(), "");
    EXPECT_EQ(Mount("a.example/live/[stream].flv").host(), "a.example");
    EXPECT_FALSE(Mount("/[app]/[stream].flv").match("/" + std::string(2000, 'a') + "/b.flv"));
}

}  // namespace
}  // namespace service::http_live
