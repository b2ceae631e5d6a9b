#include "protocol/sdp/session/control.h"

#include <gtest/gtest.h>

namespace sdp {
namespace {

TEST(ControlUrl, RelativeOnesAreAppended) {
    struct Row {
        const char* base;
        const char* control;
        const char* url;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"rtsp://h/live/s", "trackID=0", "rtsp://h/live/s/trackID=0"},
             {"rtsp://h/live/s/", "trackID=0", "rtsp://h/live/s/trackID=0"},
             {"rtsp://h", "trackID=0", "rtsp://h/trackID=0"},
             {"rtsp://h/live/s/", "*", "rtsp://h/live/s/"},
             {"rtsp://h/live/s", "", "rtsp://h/live/s"},
             {"rtsp://h/live/s", " streamid=1 ", "rtsp://h/live/s/streamid=1"},
             // Behind a query, as Dahua expects it.
             {"rtsp://h/cam/realmonitor?channel=1&subtype=0", "trackID=1",
              "rtsp://h/cam/realmonitor?channel=1&subtype=0/trackID=1"},
             {"rtsp://h/live/s/", "?ctype=video", "rtsp://h/live/s/?ctype=video"},
             {"rtsp://h/live/s", "?ctype=video", "rtsp://h/live/s?ctype=video"},
             {"rtsp://h/live/s/", "/trackID=1", "rtsp://h/live/s/trackID=1"},
             {"rtsp://h/live/s/", "/live/s/trackID=1", "rtsp://h/live/s/trackID=1"},
             {"rtsp://h:8554/live/s", "rtsp://10.0.0.1/live/s/track1", "rtsp://10.0.0.1/live/s/track1"},
             {"rtsp://h/live/s", "RTSP://h/live/s/1", "RTSP://h/live/s/1"},
             {"rtsp://user:p@ss@h/live/s", "1", "rtsp://h/live/s/1"},
             {"rtsp://user:pass@h/a@b", "1", "rtsp://h/a@b/1"},
             {"rtsp://h/s", "rtsp://user:pass@h/s/1", "rtsp://h/s/1"},
             {"rtsp://h/s", "a://b", "rtsp://h/s/a://b"},
             {"", "trackID=0", "/trackID=0"},
         })
        EXPECT_EQ(resolve_control(row.base, row.control), row.url) << row.base << " and " << row.control;
}

TEST(ControlUrl, ComparesWhatServersTakeForTheSame) {
    EXPECT_TRUE(same_url("rtsp://Host:554/live/s/", "RTSP://host/live/s"));
    EXPECT_TRUE(same_url("rtsps://h:322/s", "rtsps://h/s"));
    EXPECT_TRUE(same_url("rtsp://u:p@h/s", "rtsp://h/s"));
    EXPECT_FALSE(same_url("rtsp://h:8554/s", "rtsp://h/s"));
    EXPECT_FALSE(same_url("rtsp://h/s", "rtsps://h/s"));
    EXPECT_FALSE(same_url("rtsp://h/S", "rtsp://h/s"));
    EXPECT_TRUE(same_path("rtsp://h/live/s/trackID=0", "rtsp://10.0.0.1:8554/live/s/trackID=0"));
    EXPECT_FALSE(same_path("rtsp://h/live/s/trackID=0", "rtsp://h/live/s/trackID=1"));
}

}  // namespace
}  // namespace sdp
