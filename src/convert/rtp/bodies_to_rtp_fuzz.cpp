// What an RTMP publisher sends as RTP, and back as frames, in simulated time: bodies are parsed and published to a
// stream that a player of RTP has joined; its packets go, some lost, repeated or reordered, to the lane of another
// stream, which is published by RTP and read by frames. The input is what becomes of packets, then a sequence of
// bodies, each with its type, a step of its timestamp and its bytes: arbitrary, or valid ones with bytes changed.
//
// Packets fit a datagram, and their numbers are unique; frames are of announced tracks, and their times do not go back
// without saying so; at the end nothing refers to either stream.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>

#include "base/hex_testing.h"
#include "convert/flv/body_publisher.h"
#include "convert/rtp/from_rtp.h"
#include "convert/rtp/to_rtp.h"
#include "live/hub/owner_testing.h"
#include "live/hub/stream.h"
#include "runtime/loop/fuzz_testing.h"
#include "runtime/threads/compute.h"

namespace {

using runtime::testing::FuzzInput;

constexpr size_t kMaxBodies = 60;
constexpr size_t kMaxPayload = 1400;

struct RtpOwner : live::testing::Owner {
    bool publishes_rtp() const override { return true; }
};

// A player of RTP that only counts.
struct Player : live::RtpSink {
    bool on_packets(int64_t) override { return false; }
    void prefetch_needs() const override {}
};

struct Frames : live::FrameSink {
    void on_tracks(const base::Ref<media::TrackSet>& changed) override { tracks = changed; }
    void on_frame(const media::Frame& frame) override {
        if (frame.kind == media::Kind::kData) return;
        CHECK(tracks && !frame.sequence_header);
        const media::Track* track = tracks->find(frame.kind, frame.track);
        CHECK(track && track->codec == frame.codec);
        media::Time& last = frame.kind == media::Kind::kVideo ? last_video : last_audio;
        CHECK(last == media::kNoTime || frame.discontinuity || frame.dts >= last);
        last = frame.dts;
        ++frames;
    }
    base::Ref<media::TrackSet> tracks;
    media::Time last_video = media::kNoTime, last_audio = media::kNoTime;
    size_t frames = 0;
};

struct Body {
    uint8_t type;
    std::vector<uint8_t> bytes;
};

const std::vector<Body>& valid_bodies() {
    static const std::vector<Body> kAll = {
        {9, base::hex("17000000000142c01effe100196742c01ed890280bfe5c0440000003004000000c83c58b898001000568c888cb20")},
        {9, base::hex("17010000000000000a65888400112233445566")},
        {9, base::hex("27010000280000000a419a2200112233445566")},
        {9, base::hex("270100000000000005019e4100110000000406050180")},
        {8, base::hex("af001210")},
        {8, base::hex("af01210049900219002380")},
        {8, base::hex("7e555555555555555555555555555555555555555555555555555555555555555555555555")},
        {8, base::hex("904f7075734f70757348656164010238010080bb00000000 00")},
        {8, base::hex("914f707573fcfffe")},
        {9, base::hex("906176303181050c000a0b00000024c4ffdf006800")},
        {9, base::hex("93617630310a0b00000024c4ffdf006802320a1000")},
        {9, base::hex("93687663310000000a2601aabbccddeeff0011")},
    };
    return kAll;
}

class Run {
  public:
    explicit Run(const FuzzInput& input) : time_(runtime::testing::fuzz_time()), in_(input) {
        options_.keep_bframe = in_.byte() & 1;
        for (uint8_t& fate : fates_) fate = in_.byte();
        to_ = std::make_unique<convert::FramesToRtp>(*from_stream_, options_, unplayable_log_);
        from_stream_->rtp_lane().join(player_, live::RtpLane::Wants::kPlay);
        to_stream_->subscribe(frames_);
        back_ = std::make_unique<convert::RtpToFrames>(to_publication_, convert::RtpToFramesOptions{});
    }
    ~Run() {
        settle();
        to_stream_->unsubscribe(frames_);
        from_stream_->rtp_lane().leave(player_, live::RtpLane::Wants::kPlay);
        back_.reset();
        to_.reset();
        from_publication_.end();
        to_publication_.end();
        settle();
        CHECK(from_stream_->ref_count() == 1 && to_stream_->ref_count() == 1);
    }

    void run() {
        uint32_t timestamp = 0;
        for (size_t bodies = 0; bodies < kMaxBodies && !in_.empty(); ++bodies) {
            const uint8_t what = in_.byte();
            timestamp += static_cast<uint32_t>(static_cast<int8_t>(in_.byte()));
            if (what & 0x40) timestamp += static_cast<uint32_t>(in_.byte()) << 16;
            const Body body = body_of(what);
            auto parsed = publisher_.parse(body.type, base::Slice::copy(body.bytes), timestamp);
            if (parsed) convert::BodyPublisher::publish(from_publication_, *std::move(parsed));
            if ((what & 0x0f) == 15) settle();  // what a thread converts
            time_.pass_ms(what & 0x80 ? 40 : 5);
            transfer();
            back_->on_tick(runtime::now_ms());
        }
        settle();
        transfer();
        time_.pass_ms(3000);
    }

  private:
    Body body_of(uint8_t what) {
        const auto& valid = valid_bodies();
        Body body;
        if ((what & 0x0f) < valid.size()) {
            body = valid[what & 0x0f];
            for (int left = what >> 4 & 3; left > 0; --left) {
                const size_t at = in_.byte();
                body.bytes[at % body.bytes.size()] ^= in_.byte();
            }
            return body;
        }
        body.type = what & 0x10 ? 8 : what & 0x20 ? 18 : 9;
        const std::string_view text = in_.text();
        body.bytes.assign(text.begin(), text.end());
        return body;
    }

    // Audio is converted by threads, whose time is real.
    void settle() {
        time_.settle();
        for (int i = 0; runtime::computing() > 0; ++i) {
            CHECK(i < 100'000);
            ::usleep(50);
            time_.settle();
        }
    }

    // Carries packets from one lane to the other, as a network does.
    void transfer() {
        live::RtpLane &from = from_stream_->rtp_lane(), &to = to_stream_->rtp_lane();
        if (from.tracks().size() != tracks_ || revision_ != codecs_of(from)) {
            tracks_ = from.tracks().size();
            revision_ = codecs_of(from);
            to.set_tracks({from.tracks().begin(), from.tracks().end()});
        }
        next_ = std::max(next_, from.ring().begin());
        for (; next_ < from.ring().end(); ++next_) {
            const live::RtpPacket& packet = from.ring().at(next_);
            CHECK(packet.payload.size() <= kMaxPayload && packet.track < from.tracks().size());
            CHECK(seen_.emplace(from.tracks()[packet.track].kind, packet.sequence).second);
            const uint8_t fate = fates_[packets_++ % fates_.size()];
            const auto append = [&](const live::RtpPacket& one) {
                to.append(one.track, {static_cast<uint16_t>(one.sequence), one.timestamp, one.marker, one.keyframe},
                          one.payload.bytes(), runtime::now_us());
            };
            if (fate == 1) continue;
            if (fate == 2 && next_ + 1 < from.ring().end()) append(from.ring().at(next_ + 1));
            append(packet);
            if (fate == 3) append(packet);
            if (fate == 4) to.set_clock(packet.track, runtime::now_us(), packet.timestamp);
            if (fate == 5) time_.pass_ms(200);
            if (next_ < from.ring().begin()) next_ = from.ring().begin();
        }
    }
    static uint32_t codecs_of(const live::RtpLane& lane) {
        uint32_t all = 0;
        for (const live::RtpTrack& track : lane.tracks()) all = all * 31 + static_cast<uint32_t>(track.codec) + 1;
        return all;
    }

    runtime::testing::SimulatedTime& time_;
    FuzzInput in_;
    runtime::LogLimit unplayable_log_;
    convert::FramesToRtpOptions options_;
    live::testing::Owner from_owner_;
    RtpOwner to_owner_;
    base::Ref<live::Stream> from_stream_ =
        base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "a"}, live::LiveOptions{});
    base::Ref<live::Stream> to_stream_ =
        base::make_ref<live::Stream>(nullptr, live::StreamKey{"v", "live", "b"}, live::LiveOptions{});
    live::Publication from_publication_ = std::move(*from_stream_->acquire(from_owner_, false));
    live::Publication to_publication_ = std::move(*to_stream_->acquire(to_owner_, false));
    convert::BodyPublisher publisher_{"RTMP publisher"};
    Player player_;
    Frames frames_;
    std::unique_ptr<convert::FramesToRtp> to_;
    std::unique_ptr<convert::RtpToFrames> back_;
    std::array<uint8_t, 16> fates_{};  // of the packets, by turns
    size_t packets_ = 0;
    uint64_t next_ = 0;
    size_t tracks_ = 0;
    uint32_t revision_ = 0;
    std::set<std::pair<media::Kind, uint64_t>> seen_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Run({data, size}).run();
    return 0;
}
