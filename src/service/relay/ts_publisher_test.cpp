#include "service/relay/ts_publisher.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/hex_testing.h"
#include "live/hub/registry.h"
#include "media/h264.h"
#include "protocol/ts/cells_testing.h"
#include "protocol/ts/segment_muxer.h"
#include "runtime/loop/testing.h"

namespace service::relay {
namespace {

using media::Codec;
using Bytes = std::vector<uint8_t>;

class TsOwner final : public TsPublisherOwner {
  public:
    std::string revoked;

  private:
    void on_revoked(std::string_view why, base::CloseReason) override { revoked = why; }
    bool peer_alive() const override { return true; }
    live::PublisherFacts publisher_facts() const override { return {}; }
};

struct TimesSink final : live::FrameSink {
    std::string text;
    size_t tracks = 0;
    std::string language;
    void on_tracks(const base::Ref<media::TrackSet>& set) override {
        tracks = set->tracks.size();
        if (const media::Track* audio = set->audio()) language = audio->language;
    }
    void on_frame(const media::Frame& frame) override { text += std::to_string(media::to_ms(frame.dts)) + " "; }
};

struct CellSink final : ts::PacketSink {
    Bytes bytes;
    void write(std::span<const uint8_t> packets) override { bytes.insert(bytes.end(), packets.begin(), packets.end()); }
};

media::Track video_track() {
    media::Frame header;
    header.kind = media::Kind::kVideo;
    header.codec = Codec::kH264;
    header.sequence_header = true;
    header.payload =
        media::make_avc_config(base::hex("67 42 c0 1e d9 00 a0 47 fe c8"), base::hex("68 cb 83 cb 20")).value();
    return {header.kind, 0, header.codec, header};
}

media::Frame cell_frame(Codec codec, int64_t ms, const char* hex, bool keyframe = false) {
    media::Frame frame;
    frame.kind = media::codec_info(codec).kind;
    frame.codec = codec;
    frame.keyframe = keyframe;
    frame.dts = media::from_ms(ms);
    frame.payload = base::Slice::copy(base::hex(hex));
    return frame;
}

class TsPublisherTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        stream_ = registry_.find_or_create({"v", "a", "s"}, {});
        stream_->subscribe(sink_);
        publisher_ = std::make_unique<TsPublisher>(owner_, "TS publisher", snapshot_, snapshot_->vhosts.front(), 0);
        media::Track audio{media::Kind::kAudio, 0, Codec::kAc3, {}, "deu"};
        muxer_.set_tracks(std::vector{video_track(), audio});
    }
    void TearDown() override {
        publisher_.reset();
        stream_->unsubscribe(sink_);
    }
    Bytes cells(int64_t ms, bool keyframe) {
        EXPECT_TRUE(muxer_.write(
            cell_frame(Codec::kH264, ms, keyframe ? "00 00 00 04 65 88 84 21" : "00 00 00 04 41 9a 24 6c", keyframe),
            cells_));
        return std::exchange(cells_.bytes, {});
    }
    config::SnapshotPtr snapshot_ = config::default_snapshot();
    live::Registry registry_;
    base::Ref<live::Stream> stream_;
    TimesSink sink_;
    TsOwner owner_;
    ts::SegmentMuxer muxer_;
    CellSink cells_;
    std::unique_ptr<TsPublisher> publisher_;
};

TEST_F(TsPublisherTest, PublishesFrames) {
    ASSERT_TRUE(runtime::testing::ok(publisher_->acquire(*stream_)));
    publisher_->feed(cells(0, true), 1'000);
    EXPECT_EQ(sink_.text, "700 ") << "as it has a length it is complete without a successor";
    EXPECT_TRUE(publisher_->has_media());
    publisher_->feed(cells(40, false), 41'000);
    publisher_->finish(41'000);
    EXPECT_EQ(sink_.text, "700 740 ");
    EXPECT_EQ(sink_.tracks, 1u) << "of the audio nothing came";
}

TEST_F(TsPublisherTest, LanguagesAreDescribedToAStreamThatIsAcquiredLater) {
    EXPECT_TRUE(muxer_.write(cell_frame(Codec::kAc3, 0, "0b 77 00 00 00 40 43 e0"), cells_));
    publisher_->feed(cells(0, true), 0);
    EXPECT_EQ(sink_.text, "") << "dropped";
    ASSERT_TRUE(runtime::testing::ok(publisher_->acquire(*stream_)));
    publisher_->feed(cells(40, true), 0);
    EXPECT_EQ(sink_.text, "740 ");
    Bytes frame(128, 0);
    std::ranges::copy(base::hex("0b 77 00 00 00 40 43 e0"), frame.begin());
    auto audio = cell_frame(Codec::kAc3, 40, "00");
    audio.payload = base::Slice::copy(frame);
    EXPECT_TRUE(muxer_.write(audio, cells_));
    muxer_.flush(cells_);
    publisher_->feed(cells_.bytes, 0);
    EXPECT_EQ(sink_.tracks, 2u);
    EXPECT_EQ(sink_.language, "deu");
}

TEST_F(TsPublisherTest, ANameInUse) {
    TsPublisher other(owner_, "TS publisher", snapshot_, snapshot_->vhosts.front(), 0);
    ASSERT_TRUE(runtime::testing::ok(publisher_->acquire(*stream_)));
    const auto refused = other.acquire(*stream_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), base::Code::kBusy);
}

TEST_F(TsPublisherTest, LatmIsSaidToBeUnreadable) {
    // A map of H.264 on 0x100 and AAC as LATM on 0x101.
    const Bytes content = base::hex("e100 f000 1be100f000 11e101f000");
    const Bytes tables = ts::testing::joined({ts::testing::association(0, {{1, 0x1000}}),
                                              ts::testing::table(0x1000, 0, 2, 1, 0, content), Bytes(188, 0x47)});
    publisher_->feed(tables, 0);
    publisher_->feed(tables, 0);
    ASSERT_EQ(publisher_->input_faults()->total(), 1u) << "once for each map";
    EXPECT_NE(publisher_->input_faults()->last_text().find("LATM"), std::string::npos);
}

TEST_F(TsPublisherTest, SilenceAndFaults) {
    ASSERT_TRUE(runtime::testing::ok(publisher_->acquire(*stream_)));
    Bytes bad = cells(0, true);
    bad[20] ^= 1;  // inside the CRC of the association table
    publisher_->feed(bad, 0);
    publisher_->on_tick();
    EXPECT_EQ(publisher_->input_faults()->total(), 1u);
    EXPECT_FALSE(publisher_->has_media());
    const auto first_ms = snapshot_->vhosts.front().publish.firstpkt_timeout;
    EXPECT_FALSE(publisher_->passed_limit(first_ms * 1'000 - 1'000, nullptr));
    EXPECT_TRUE(publisher_->passed_limit(first_ms * 1'000 + 1'000, nullptr));
}

}  // namespace
}  // namespace service::relay
