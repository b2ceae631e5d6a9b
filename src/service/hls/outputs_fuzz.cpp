// A transport stream to every output: ts::FrameReader's frames as FLV tags, which FLV's reader takes back; as a
// transport stream, which the demuxer finds no error in; as MP4 and TS segments of HLS; as RTP packets, which RTP's
// reader takes back. One rule for all: a sequence header that one reader passes on is valid for every other.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "convert/flv/to_flv.h"
#include "convert/rtp/rtp_reader.h"
#include "convert/rtp/rtp_writer.h"
#include "convert/segments/default_audio.h"
#include "convert/segments/segment_muxer.h"
#include "convert/segments/segmenter.h"
#include "convert/ts/to_ts.h"
#include "media/track.h"
#include "protocol/flv/body.h"
#include "protocol/flv/tag.h"
#include "protocol/rtp/packet.h"
#include "protocol/ts/demuxer.h"
#include "protocol/ts/frame_reader.h"

namespace {

using media::Frame;
using media::Kind;

constexpr size_t kMaxPes = 16 * 1024;

// ---- FLV

class Flv {
  public:
    void take(const Frame& frame) {
        const size_t size = encoder_.encoded_size(frame);
        if (size == 0) return;
        base::SliceBuilder tag;
        encoder_.encode(frame, tag.extend(size));
        const base::Slice whole = tag.freeze();
        const base::Slice body = whole.sub(flv::kTagHeaderSize, size - flv::kTagHeaderSize - flv::kPreviousTagSize);
        auto parsed = parser_.parse(static_cast<uint8_t>(flv::tag_type(frame.kind)), body, flv::timestamp(frame));
        CHECK(parsed);
        if (!parsed->frame) return;
        const Frame& back = *parsed->frame;
        CHECK(back.kind == frame.kind && back.codec == frame.codec && back.track == frame.track);
        CHECK(back.sequence_header == frame.sequence_header && back.payload == frame.payload);
    }

  private:
    convert::FlvEncoder encoder_{convert::FlvOptions{.all_tracks = true}};
    flv::BodyParser parser_;
};

// ---- TS

class Ts final : private ts::DemuxerSink {
  public:
    void take(const Frame& frame) {
        const size_t size = encoder_.encoded_size(frame);
        CHECK(size % ts::kPacketSize == 0);
        if (size == 0) return;
        std::vector<uint8_t> packets(size);
        encoder_.encode(frame, packets.data());
        demuxer_.feed(packets);
        const ts::DemuxerCounters& counters = demuxer_.counters();
        CHECK(counters.bad_tables == 0 && counters.skipped_bytes == 0 && counters.continuity_errors == 0);
        CHECK(counters.duplicates == 0 && counters.flagged == 0 && counters.bad_pes == 0);
    }
    void set_tracks(const media::TrackSet& tracks) { encoder_.set_tracks(tracks); }

  private:
    void on_pes(ts::PesPacket packet) override { CHECK(!packet.payload.empty()); }
    convert::TsEncoder encoder_;
    ts::Demuxer demuxer_{*this};
};

// ---- RTP

class Rtp {
  public:
    void take(const media::TrackSet& tracks, const Frame& frame) {
        const media::Track* track = tracks.find(frame.kind, frame.track);
        if (!track) return;
        auto& output = outputs_[{frame.kind, frame.track}];
        if (output.revision != track->revision) {
            output = {track->revision, {}};
            convert::RtpWriterOptions options;
            options.format.codec = track->codec;
            if (auto writer = convert::RtpWriter::make(*track, options)) output.writer = std::move(*writer);
        }
        if (!output.writer) return;
        base::SliceBuilder bytes;
        std::vector<convert::WrittenPacket> packets;
        if (!output.writer->write(frame, bytes, packets)) {
            CHECK(bytes.size() == 0 && packets.empty());
            return;
        }
        size_t at = 0;
        for (const convert::WrittenPacket& packet : packets) {
            CHECK(packet.begin == at && packet.end > packet.begin && packet.end - packet.begin <= 1'200);
            at = packet.end;
        }
        CHECK(at == bytes.size());
    }

  private:
    struct Output {
        uint32_t revision = UINT32_MAX;
        std::optional<convert::RtpWriter> writer{};
    };
    std::map<std::pair<Kind, uint8_t>, Output> outputs_;
};

// ---- HLS

class Hls final : private convert::SegmentSink, private convert::LaneSink {
  public:
    explicit Hls(bool mp4)
        : default_audio_(mp4 ? convert::mp4_carries : convert::ts_carries),
          muxer_(mp4 ? convert::make_mp4_muxer(*this) : convert::make_ts_muxer(*this)) {
        segmenter_.begin();
    }
    void set_tracks(const base::Ref<media::TrackSet>& tracks) {
        segmenter_.set_tracks(default_audio_.choose(tracks, [](const media::Track&, const base::Error&) {}));
    }
    void take(Frame frame) {
        if (!default_audio_.has(frame)) return;
        frame.track = default_audio_.index_of(frame);
        clock_ms_ += 20;
        segmenter_.feed(frame, {clock_ms_, clock_ms_});
    }
    void end() {
        segmenter_.end();
        CHECK(!open_ && segmenter_.held_bytes() == 0);
    }

  private:
    void open_segment(const convert::Opening& opening) override {
        CHECK(!open_);
        open_ = true;
        const bool fresh = fresh_ || opening.tracks_changed || opening.discontinuity;
        muxer_->open(opening.tracks, opening.first, fresh);
        fresh_ = false;
    }
    void write_frame(const Frame& frame) override {
        CHECK(open_);
        if (frame.track == 0 && !muxer_->add(frame)) lose();
    }
    void open_gap(media::Time) override { CHECK(false); }
    void end_part(const convert::PartEnd&) override { CHECK(false); }  // there are none
    void close_segment(const convert::Closing& closing) override {
        CHECK(open_ && closing.duration >= std::chrono::milliseconds(1));
        open_ = false;
        muxer_->end_part(closing.next_video_dts);
    }
    void put(convert::Lanes, convert::Pieces pieces) override {
        for (const auto bytes : pieces) CHECK(!bytes.empty());
    }
    void lose() {
        open_ = false;
        fresh_ = true;
        segmenter_.lost();
    }

    convert::DefaultAudio default_audio_;
    std::unique_ptr<convert::SegmentMuxer> muxer_;
    convert::Segmenter segmenter_{{.fragment_ms = 500}, *this};
    bool open_ = false, fresh_ = true;
    int64_t clock_ms_ = 1'000'000;
};

// ---- All

struct Outputs final : ts::DemuxerSink {
    explicit Outputs(uint8_t flags) : hls((flags & 1) != 0) {}

    void on_pes(ts::PesPacket packet) override { reader.take(packet); }
    void take(const Frame& frame) {
        if (frame.sequence_header) {
            if (frame.kind == Kind::kVideo) CHECK(media::video_info(frame));
            if (frame.kind == Kind::kAudio) CHECK(media::audio_info(frame));
        }
        if (tracks->changes_state(frame)) {
            tracks = base::make_ref<media::TrackSet>(*tracks);
            tracks->update(frame);
            ts.set_tracks(*tracks);
            hls.set_tracks(tracks);
        }
        flv.take(frame);
        if (frame.sequence_header) return;
        ts.take(frame);
        rtp.take(*tracks, frame);
        hls.take(frame);
    }

    base::Ref<media::TrackSet> tracks = base::make_ref<media::TrackSet>();
    Flv flv;
    Ts ts;
    Rtp rtp;
    Hls hls;
    ts::FrameReader reader{[this](const Frame& frame) { take(frame); }};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const std::span<const uint8_t> bytes(data + 1, size - 1);
    Outputs outputs(data[0]);
    ts::Demuxer demuxer(outputs, kMaxPes);
    demuxer.feed(bytes);
    demuxer.finish();
    outputs.hls.end();
    return 0;
}
