// The service with streams published by the test: plans, requests at run time, events.

#include "service/dvr/service.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "live/hub/options.h"
#include "live/hub/testing.h"
#include "protocol/flv/reader.h"
#include "runtime/loop/testing.h"
#include "service/dvr/config.h"

namespace service::dvr {
namespace {

namespace fs = std::filesystem;
using live::testing::audio;
using live::testing::header;
using live::testing::video;
using media::Kind;
using runtime::testing::ok;

struct Listener : live::EventListener {
    std::vector<live::RecordingDone> done;
    std::vector<live::OutputFailed> failed;
    void on_recording(const live::RecordingDone& event) override { done.push_back(event); }
    void on_output_failed(const live::OutputFailed& event) override { failed.push_back(event); }
};

struct Owner : live::PublicationOwner {
    bool publisher_alive() const override { return true; }
    void publication_revoked(std::string_view, base::CloseReason) override {}
};

const live::StreamKey kKey{std::string(config::kDefaultVhost), "live", "s"};

class DvrTest : public runtime::testing::RuntimeTest {
  protected:
    void SetUp() override {
        RuntimeTest::SetUp();
        std::string pattern = (fs::temp_directory_path() / "dvr-service-XXXXXX").string();
        directory_ = mkdtemp(pattern.data());
        events_.subscribe(listener_);
    }
    void TearDown() override {
        publication_.end();
        stream_.reset();
        service_.reset();
        fs::remove_all(directory_);
    }
    VhostConfig& dvr() { return snapshot_.vhosts.front().get<VhostConfig>(); }
    void start(const std::string& file = "[stream].flv") {
        snapshot_.get<ServerConfig>().dvr_journal = directory_ / "journal";
        dvr().dvr_path = directory_ / "rec" / file;
        service_ = std::make_unique<Service>(std::make_shared<config::Snapshot>(snapshot_), registry_, events_);
        ASSERT_TRUE(ok(service_->start()));
    }
    void publish(const live::StreamKey& key = kKey) {
        stream_ = registry_.find_or_create(key, {});
        auto publication = stream_->acquire(owner_, false);
        ASSERT_TRUE(ok(publication));
        publication_ = std::move(*publication);
        send(header(Kind::kVideo, "V"));
        send(header(Kind::kAudio, "A"));
    }
    void send(const media::Frame& frame) { publication_.publish(frame); }
    // Video frames 40 ms apart, every 10th a keyframe, with an audio frame after each.
    void send_frames(int from, int to) {
        for (int i = from; i < to; ++i) {
            send(video(i * 40, i % 10 == 0, "v" + std::to_string(i)));
            send(audio(i * 40 + 1, "a" + std::to_string(i)));
        }
    }
    void wait_done(size_t count) {
        for (int i = 0; i < 1000 && listener_.done.size() < count; ++i) (void)runtime::sleep_ms(10);
        ASSERT_EQ(listener_.done.size(), count);
    }
    // "v0 a0 v1": the frames' payloads, without their FLV headers.
    static std::string frames_of(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
        flv::Reader reader;
        reader.feed(bytes);
        std::string text;
        for (auto tag = reader.next(); tag && *tag; tag = reader.next()) {
            bool is_video = (*tag)->type == 9, is_audio = (*tag)->type == 8;
            if ((!is_video && !is_audio) || (*tag)->body[1] == 0) continue;
            text += (text.empty() ? "" : " ") + std::string((*tag)->body.sub(is_video ? 5 : 2).text());
        }
        return text;
    }
    static std::string names(int from, int to) {
        std::string text;
        for (int i = from; i < to; ++i) text += fmt::format("{}v{} a{}", i == from ? "" : " ", i, i);
        return text;
    }

    config::Snapshot snapshot_ = *config::default_snapshot();
    fs::path directory_;
    live::Registry registry_;
    live::Events events_;
    Listener listener_;
    Owner owner_;
    std::unique_ptr<Service> service_;
    base::Ref<live::Stream> stream_;
    live::Publication publication_;
};

TEST_F(DvrTest, ASessionIsRecordedAndTold) {
    dvr().enabled = true;
    start();
    publish();
    send_frames(0, 25);
    EXPECT_EQ(service_->counters().files_open, 1u);
    publication_.end();
    wait_done(1);
    EXPECT_EQ(listener_.done[0].path, directory_ / "rec" / "s.flv");
    EXPECT_EQ(listener_.done[0].stream, kKey);
    EXPECT_EQ(listener_.done[0].duration_ms, 1001);
    EXPECT_EQ(listener_.done[0].bytes, fs::file_size(listener_.done[0].path));
    EXPECT_FALSE(listener_.done[0].recovered);
    EXPECT_EQ(frames_of(listener_.done[0].path), names(0, 25));
    EXPECT_EQ(service_->counters().frames, 50u);
    EXPECT_EQ(service_->counters().frames_lost, 0u);
    EXPECT_TRUE(service_->idle());
}

TEST_F(DvrTest, SegmentsFollowEachOther) {
    dvr().enabled = true;
    dvr().dvr_plan = "segment";
    dvr().dvr_duration = 1;
    start("[stream]-[seq].flv");
    publish();
    send_frames(0, 65);  // keyframes each 400 ms: cuts at 1200 and 2400
    publication_.end();
    wait_done(3);
    EXPECT_EQ(frames_of(directory_ / "rec" / "s-0.flv"), names(0, 30));
    EXPECT_EQ(frames_of(directory_ / "rec" / "s-1.flv"), names(30, 60));
    EXPECT_EQ(frames_of(directory_ / "rec" / "s-2.flv"), names(60, 65));
}

TEST_F(DvrTest, OfARunningStreamWithPreRollAndWithout) {
    start();
    publish();
    send_frames(0, 15);
    EXPECT_EQ(service_->recordings(), 0u);
    ASSERT_TRUE(ok(service_->start_recording(kKey)));
    send_frames(15, 18);
    ASSERT_TRUE(ok(service_->stop_recording(kKey)));
    send_frames(18, 20);
    wait_done(1);
    EXPECT_EQ(frames_of(listener_.done[0].path), names(10, 18)) << "from the GOP's keyframe on";

    RecordingRequest request{.path = (directory_ / "rec" / "asked" / "[stream].flv").string(), .pre_roll = false};
    ASSERT_TRUE(ok(service_->start_recording(kKey, request)));
    send_frames(25, 33);
    ASSERT_TRUE(ok(service_->stop_recording(kKey)));
    wait_done(2);
    EXPECT_EQ(listener_.done[1].path, directory_ / "rec" / "asked" / "s.flv");
    EXPECT_EQ(frames_of(listener_.done[1].path), names(30, 33)) << "from the next keyframe on";
}

TEST_F(DvrTest, ARequestIsCheckedAndEndsWithThePublishing) {
    dvr().enabled = true;
    start();
    using runtime::testing::failed_with;
    EXPECT_TRUE(failed_with(service_->start_recording(kKey), base::Code::kNotFound));
    EXPECT_TRUE(failed_with(service_->stop_recording(kKey), base::Code::kNotFound));
    publish();
    EXPECT_TRUE(failed_with(service_->start_recording(kKey, {.path = "/etc/[stream].flv"}), base::Code::kRefused));
    std::string up = directory_ / "rec" / "../x.flv";
    EXPECT_TRUE(failed_with(service_->start_recording(kKey, {.path = up}), base::Code::kRefused));
    std::string odd = directory_ / "rec" / "x.avi";
    EXPECT_TRUE(failed_with(service_->start_recording(kKey, {.path = odd}), base::Code::kConfig));
    ASSERT_TRUE(ok(service_->start_recording(kKey)));
    EXPECT_TRUE(failed_with(service_->start_recording(kKey), base::Code::kBusy));
    EXPECT_EQ(service_->recordings(), 2u) << "in addition to the configured one";
    send_frames(0, 5);
    publication_.end();
    EXPECT_EQ(service_->recordings(), 0u);
    wait_done(2);
    EXPECT_NE(listener_.done[0].path, listener_.done[1].path);
    for (const auto& done : listener_.done) EXPECT_EQ(frames_of(done.path), names(0, 5)) << done.path;
}

TEST_F(DvrTest, AnUnfitNameIsRefusedAndTold) {
    dvr().enabled = true;
    start();
    publish({std::string(config::kDefaultVhost), "live", "../x"});
    send_frames(0, 5);
    EXPECT_EQ(service_->recordings(), 0u);
    EXPECT_EQ(service_->counters().refused, 1u);
    ASSERT_EQ(listener_.failed.size(), 1u);
    EXPECT_EQ(listener_.failed[0].output, "dvr");
    EXPECT_FALSE(fs::exists(directory_ / "rec"));
}

TEST_F(DvrTest, ADiskErrorIsToldOnceAndFramesAreCounted) {
    dvr().enabled = true;
    std::ofstream(directory_ / "rec") << "in the way";
    start();
    publish();
    for (int i = 0; i < 40; ++i) {
        send_frames(i, i + 1);
        (void)runtime::sleep_ms(5);
    }
    EXPECT_EQ(listener_.failed.size(), 1u);
    EXPECT_GT(service_->counters().frames_lost, 0u);
    publication_.end();
    (void)runtime::sleep_ms(50);
    EXPECT_TRUE(listener_.done.empty());
    EXPECT_EQ(service_->counters().files_open, 0u);
}

TEST_F(DvrTest, WhatAnEarlierRunLeftIsFinished) {
    dvr().enabled = true;
    start();
    publish();
    send_frames(0, 25);
    auto written = [&] {
        return fs::exists(directory_ / "rec" / "s.flv.tmp") && fs::file_size(directory_ / "rec" / "s.flv.tmp") > 36'000;
    };
    for (int i = 0; i < 500 && !written(); ++i) (void)runtime::sleep_ms(10);
    // Simulates a kill: a copy of the file on disk and of the journal.
    fs::copy(directory_ / "rec" / "s.flv.tmp", directory_ / "rec" / "killed.flv.tmp");
    publication_.end();
    wait_done(1);
    service_.reset();
    std::ofstream(directory_ / "journal")
        << journal_line_open({kKey, directory_ / "rec" / "killed.flv.tmp", directory_ / "rec" / "killed.flv"});
    start();
    wait_done(2);
    EXPECT_TRUE(listener_.done[1].recovered);
    EXPECT_EQ(listener_.done[1].stream, kKey);
    EXPECT_EQ(listener_.done[1].path, directory_ / "rec" / "killed.flv");
    EXPECT_TRUE(names(0, 25).starts_with(frames_of(listener_.done[1].path)));
    EXPECT_GT(frames_of(listener_.done[1].path).size(), 10u);
    EXPECT_EQ(service_->counters().files_recovered, 1u);
}

}  // namespace
}  // namespace service::dvr
