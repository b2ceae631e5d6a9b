#include "config/diff.h"

#include <gtest/gtest.h>

#include "config/test_util.h"

namespace config {
namespace {

TEST(Diff, LiveValuesComeAndOthersStay) {
    SnapshotPtr before = load_text("listen 1; max_connections 10; vhost a { } vhost b { }").snapshot;
    SnapshotPtr after =
        load_text("listen 2; max_connections 20; daemon off; vhost a { play { mw_latency 0; } } vhost c { }").snapshot;
    Reload reload = plan_reload(*before, *after);
    std::string text;
    for (const Change& change : reload.changes) text += change.describe() + (change.live() ? " live\n" : " restart\n");
    EXPECT_EQ(text,
              "max_connections: 10 -> 20 live\n"
              "daemon: on -> off restart\n"
              "rtmp/listen: 1 -> 2 restart\n"
              "vhost a vhost/play/mw_latency: 350 -> 0 live\n"
              "vhost c: not there -> there live\n"
              "vhost b: there -> not there live\n");
    EXPECT_EQ(reload.snapshot->global.max_connections, 20);
    EXPECT_TRUE(reload.snapshot->global.daemon);
    EXPECT_EQ(reload.snapshot->rtmp.listen[0].port, 1);
    EXPECT_EQ(reload.snapshot->vhost("a")->play.mw_latency, 0);
    EXPECT_NE(reload.snapshot->vhost("c"), nullptr);
    EXPECT_EQ(reload.snapshot->vhost("b"), nullptr);
}

TEST(Diff, WhatStaysIsStillFromWhereItWas) {
    SnapshotPtr before = load_text("listen 1; vhost a { }").snapshot;
    SnapshotPtr after = load_text("\n\ndaemon off; max_connections 5; listen 2; vhost a { }").snapshot;
    SnapshotPtr merged = plan_reload(*before, *after).snapshot;
    EXPECT_EQ(merged->where("rtmp/listen"), before->where("rtmp/listen"));
    EXPECT_NE(merged->where("rtmp/listen"), after->where("rtmp/listen"));
    EXPECT_EQ(merged->where("daemon"), "default");
    EXPECT_EQ(merged->where("max_connections"), after->where("max_connections"));
}

TEST(Diff, NothingChanged) {
    SnapshotPtr snapshot = default_snapshot();
    EXPECT_TRUE(plan_reload(*snapshot, *snapshot).changes.empty());
}

}  // namespace
}  // namespace config
