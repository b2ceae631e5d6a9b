#include "config/path_match.h"

#include <gtest/gtest.h>

#include "config/path_variables.h"

namespace config {
namespace {

struct Case {
    const char *pattern, *path;
    std::optional<PathNames> names;
};

TEST(PathMatch, Cases) {
    const PathNames unknown{};
    const Case cases[] = {
        {"[app]/[stream]-[seq].ts", "live/one-12.ts", PathNames{"live", "one"}},
        {"[app]/[stream]-[seq].ts", "live/sub/one-12.ts", PathNames{"live/sub", "one"}},
        {"[app]/[stream]-[seq].ts", "live/one-1-12.ts", PathNames{"live", "one-1"}},
        {"[app]/[stream]-[seq].ts", "live/one-x.ts", std::nullopt},
        {"[app]/[stream]-[seq].ts", "one-1.ts", std::nullopt},
        {"[app]/[stream]-[seq].ts", "live/one-1.mp4", std::nullopt},
        {"[app]/[stream]-[seq].ts", "live/one-1.ts/", std::nullopt},
        {"./[app]/[stream]-[seq].ts", "live/one-1.ts", PathNames{"live", "one"}},
        // A number added because the name was taken.
        {"[app]/[stream]/init.mp4", "live/one/init-7.mp4", PathNames{"live", "one"}},
        {"[app]/[stream].[timestamp].flv", "live/a.b.1700000000123-2.flv", PathNames{"live", "a.b"}},
        {"[app]/[stream]/[2006]/[01]/[02]/[15].[04].[05].[999].mp4", "live/x/2026/11/23/11.43.18.007.mp4",
         PathNames{"live", "x"}},
        {"[2006]/[01]/x.mp4", "20x6/11/x.mp4", std::nullopt},
        // Case is ignored.
        {"HTML/[app]/[stream].M3U8", "html/Live/One.m3u8", PathNames{"Live", "One"}},
        // Only the vhost's own name.
        {"[vhost]/[app]/[stream].flv", "a.com/live/one.flv", PathNames{"live", "one"}},
        {"[vhost]/[app]/[stream].flv", "b.com/live/one.flv", std::nullopt},
        // Text that is not a variable is literal.
        {"[what]/[app]/[stream].flv", "[what]/live/one.flv", PathNames{"live", "one"}},
        {"[app/[stream].flv", "[app/one.flv", unknown},
        // Some names, or the reverse mapping, are ambiguous.
        {"all/[stream].flv", "all/one.flv", unknown},
        {"[app]-[stream].flv", "live-a-b.flv", unknown},
        {"[app]-[stream].flv", "live-a.flv", PathNames{"live", "a"}},
        {"", "x", std::nullopt},
        {"", "", unknown},
    };
    for (const Case& c : cases)
        EXPECT_EQ(match_path(c.pattern, c.path, "a.com"), c.names) << c.pattern << " " << c.path;
}

TEST(PathMatch, FindsWhatExpandMade) {
    for (const char* pattern : {"[app]/[stream]-[seq].ts", "[vhost]/[app]/[stream].[timestamp].flv",
                                "x/[2006]-[01]-[02]/[app]/[stream].[15].[04].[05].[999].mp4"}) {
        for (const PathNames& names : {PathNames{"live", "s"}, PathNames{"a/b", "s-1.2"}, PathNames{"1/2", "3"}}) {
            PathVariables variables;
            variables.set("vhost", "v.com").set("app", names.app).set("stream", names.stream).set("seq", "17");
            variables.set_time(1'700'000'000'123, true);
            EXPECT_EQ(match_path(pattern, variables.expand(pattern), "V.com"), names) << pattern;
        }
    }
}

// Names chosen by clients: many ways to split them, each position is tried once.
TEST(PathMatch, LongNamesTakeNoTime) {
    const std::string path = std::string(2'000, '-') + "/" + std::string(240, '1') + ".flv";
    EXPECT_FALSE(match_path("[app]-[app]-[stream]-[seq]-[stream].ts", path, "v"));
}

}  // namespace
}  // namespace config
