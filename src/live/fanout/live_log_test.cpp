#include "live/fanout/live_log.h"

#include <gtest/gtest.h>

#include <string>

#include "live/fanout/viewer_testing.h"

namespace live {
namespace {

using testing::Client;
using testing::video;

// What the encoder below was told: "i200" an interval, "f" a frame.
std::string told;

struct ToldEncoder final : WireEncoder {
    void encode_prefix(const media::TrackSet&, media::Time, bool, base::SliceBuilder&) override {}
    void set_interval(int64_t ms) override {
        if (ms != interval) told += "i" + std::to_string(ms) + " ";
        interval = ms;
    }
    size_t encoded_size(const media::Frame& frame) override {
        if (!frame.sequence_header) told += "f ";
        return frame.sequence_header ? 0 : 1;
    }
    void encode(const media::Frame&, uint8_t* out) override { *out = 'x'; }
    bool carries(media::Kind) const override { return true; }
    int64_t interval = -1;
};

std::unique_ptr<WireEncoder> make_told(const LogKey&) { return std::make_unique<ToldEncoder>(); }
const WireFormat kTold{"told", make_told};

class LiveLogTest : public testing::ViewerTest {};

TEST_F(LiveLogTest, EncoderIsToldTheIntervalOfTheStream) {
    publish_with(options);
    told.clear();
    Client client(stream);
    client.join({&kTold, {}});
    publication.publish(video(0, true));
    EXPECT_EQ(told, "i0 f ");
    LiveOptions changed = options;
    changed.merge_ms = 200;
    stream->set_options(changed);
    publication.publish(video(40));
    publication.publish(video(80, true));
    publication.publish(video(120));
    EXPECT_EQ(told, "i0 f f f i200 f ") << "after a reload from the next start on";
}

}  // namespace
}  // namespace live
