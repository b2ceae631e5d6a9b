#include "net/access/file_owners.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

namespace net {
namespace {

namespace fs = std::filesystem;

class FileOwnersTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/file_owners_test.XXXXXX";
        ASSERT_TRUE(mkdtemp(name) != nullptr);
        base_ = fs::canonical(name);
        snapshot_ = *config::default_snapshot();
        snapshot_.http_server.dir = dir("html");
        snapshot_.vhosts.clear();
        for (const char* vhost : {"a.com", "b.com"}) add(vhost);
    }
    void TearDown() override { fs::remove_all(base_); }
    std::string dir(const std::string& name) const { return base_ / name; }

    // What two services write for a vhost.
    struct Outputs {
        bool segments = false;
        std::string segments_root, segment = "[app]/[stream]-[seq].ts";
        std::string recordings_root, recording;  // empty: nothing is recorded
    };
    config::Vhost& add(const std::string& name) {
        config::Vhost vhost = config::default_snapshot()->vhosts.front();
        vhost.name = name;
        outputs(name).segments_root = dir("html");
        return snapshot_.vhosts.emplace_back(std::move(vhost));
    }
    Outputs& outputs(const std::string& vhost) { return outputs_[vhost]; }
    FileOwnership find(const std::string& path, std::string_view mark = "") const {
        auto segments = [this](const config::Vhost& vhost) -> FileClaims {
            const Outputs& out = outputs_.at(vhost.name);
            if (!out.segments) return {{}, out.segments_root};
            return {{{out.segments_root, "[app]/[stream].m3u8"}, {out.segments_root, out.segment}},
                    out.segments_root,
                    [](std::string_view path) {
                        const size_t track = path.find("~track");
                        return track == path.npos ? std::string(path) : std::string(path).erase(track, 6);
                    }};
        };
        auto recordings = [this](const config::Vhost& vhost) -> FileClaims {
            const Outputs& out = outputs_.at(vhost.name);
            if (out.recording.empty()) return {};
            return {{{out.recordings_root, out.recording}}, ""};
        };
        return FileOwners(snapshot_, {segments, recordings}).find(dir(path), mark);
    }
    // The owners' names: "a.com b.com".
    std::string owners(const std::string& path, std::string_view mark = "") const {
        std::string names;
        for (const FileOwner& owner : find(path, mark).owners) names += (names.empty() ? "" : " ") + owner.vhost;
        return names;
    }

    fs::path base_;
    config::Snapshot snapshot_;
    std::map<std::string, Outputs> outputs_;
};

TEST_F(FileOwnersTest, WhatAFileSaysOfItself) {
    outputs("b.com").segments = true;
    auto found = find("html/live/x.ts", "a.com/live/sub/s");
    ASSERT_EQ(found.owners.size(), 1u);
    EXPECT_EQ(found.owners[0], (FileOwner{"a.com", "live/sub", "s", "live/x.ts"}));
    EXPECT_EQ(find("elsewhere/x", "a.com/live/s").owners.at(0).live_path, "") << "not below its root";
    // Its vhost is gone: it belongs to another vhost that may have written it, or to none.
    EXPECT_EQ(owners("html/live/x-1.ts", "c.com/live/x"), "b.com");
    EXPECT_FALSE(find("html/live/x-1.ts", "c.com/live/x").orphaned);
    EXPECT_TRUE(find("other/x-1.ts", "c.com/live/x").orphaned);
    for (const char* odd : {"a.com", "/", "//", "a.com/live", "a.com//s", "/live/s", "a.com/live/"})
        EXPECT_EQ(owners("other/x.ts", odd), "") << odd;
}

TEST_F(FileOwnersTest, ByPatterns) {
    EXPECT_EQ(owners("html/live/x-1.ts"), "") << "no vhost writes files";
    outputs("a.com").segments = true;
    EXPECT_EQ(find("html/live/x-1.ts").owners.at(0), (FileOwner{"a.com", "live", "x", "live/x-1.ts"}));
    EXPECT_EQ(find("html/live/x.m3u8.tmp").owners.at(0), (FileOwner{"a.com", "live", "x", "live/x.m3u8"}));
    EXPECT_EQ(find("html/live/x-1~track.ts").owners.at(0), (FileOwner{"a.com", "live", "x", "live/x-1~track.ts"}));
    EXPECT_EQ(owners("HTML/live/x-1.TS"), "a.com") << "file systems that ignore case";
    EXPECT_EQ(owners("html2/live/x-1.ts"), "");
    EXPECT_EQ(owners("html"), "");
    outputs("b.com").segments = true;
    EXPECT_EQ(owners("html/live/x-1.ts"), "a.com b.com");
    outputs("b.com").segment = "[vhost]/[stream]-[seq].ts";
    EXPECT_EQ(owners("html/b.com/x-1.ts"), "a.com b.com") << "an application of a.com may be called b.com";
    outputs("a.com").segment = "[vhost]/[stream]-[seq].ts";
    EXPECT_EQ(owners("html/b.com/x-1.ts"), "b.com");
    outputs("a.com").segments = false;
    EXPECT_EQ(owners("html/live/x.m3u8"), "b.com");
}

TEST_F(FileOwnersTest, ByDirectories) {
    outputs("a.com").segments = true;
    EXPECT_EQ(owners("html/intro.mp4"), "a.com");
    EXPECT_EQ(owners("html/page.html"), "") << "not a media file";
    outputs("b.com").recordings_root = dir("html/b");
    outputs("b.com").recording = "[app].flv";
    EXPECT_EQ(owners("html/b/live/old-name.mp4"), "b.com") << "the deepest directory that a vhost writes to";
    EXPECT_EQ(owners("html/intro.mp4"), "a.com");
    outputs("b.com").recordings_root = dir("html");
    EXPECT_EQ(owners("html/intro.mp4"), "a.com b.com");
    config::Vhost& third = add("c.com");
    third.http_static = {true, "[vhost]/", dir("html")};
    EXPECT_EQ(owners("html/intro.mp4"), "a.com b.com") << "http_server's directory belongs to no vhost alone";
    third.http_static.dir = dir("html/c");
    EXPECT_EQ(owners("html/c/intro.mp4"), "c.com");
}

TEST_F(FileOwnersTest, DirectoriesAreWhereTheyReallyAre) {
    fs::create_directories(base_ / "real");
    fs::create_directory_symlink(base_ / "real", base_ / "html");
    outputs("a.com").segments = true;
    outputs("a.com").segments_root = dir("html/../html/");
    EXPECT_EQ(find("real/live/x-1.ts").owners.at(0), (FileOwner{"a.com", "live", "x", "live/x-1.ts"}));
    EXPECT_EQ(owners("html/live/x-1.ts"), "") << "that path is a symbolic link";
}

}  // namespace
}  // namespace net
