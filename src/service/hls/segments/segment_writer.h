#pragma once
// SegmentWriter: makes the bytes of a stream's open segment, and keeps them in memory once for all renditions. These
// get the bytes of their lanes (segment_muxer.h) as they are made: a rendition's segment is a list of ranges of what is
// kept. Encrypted bytes differ in each rendition, which keeps them itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convert/segments/segment_muxer.h"
#include "net/http/resource_bytes.h"
#include "net/http/resources.h"

namespace service::hls {

using convert::Lanes;
using convert::Pieces;

struct SegmentWriterOptions {
    bool use_fmp4 = false;
    bool keeps = true;               // in memory
    bool has_single_tracks = false;  // in MP4 too, of which tracks() tells
};

class SegmentWriter final : private convert::LaneSink {
  public:
    // A rendition.
    class Reader {
      public:
        // range: where they are kept; of no bytes: they are not. is_first: no other one got them before.
        virtual void put(Pieces pieces, const net::PageRange& range, bool is_first) = 0;
        // What it got in this segment is not kept, nor is the rest of it.
        virtual void lose_memory(const base::Error& why) = 0;

      protected:
        ~Reader() = default;
    };

    explicit SegmentWriter(const SegmentWriterOptions& options);
    SegmentWriter(const SegmentWriter&) = delete;

    Lanes lane_of(media::Kind kind, uint8_t track) const { return muxer_->lane_of(kind, track); }
    bool has(media::Kind kind, uint8_t track) const { return muxer_->has(kind, track); }
    // Whose lanes have one track each.
    const convert::SegmentMuxer& tracks() const { return tracks_ ? *tracks_ : *muxer_; }
    // The open segment has other initialisation segments than the one before.
    bool has_new_init() const { return new_init_; }
    // The initialisation segment of a rendition with these lanes; null: the format has none.
    std::shared_ptr<const std::string> init(Lanes lanes) const;

    // kRefused: the format supports none of the open segment's tracks among these.
    base::Result<void> check(const media::TrackSet& tracks) const;
    // Begins a segment, without readers. changed: its tracks are other ones, or there is a discontinuity before it.
    void open(const media::TrackSet& tracks, const media::Frame& first, bool changed);
    // Until the next segment, or remove(). In the order of the calls they get the bytes. keeps: not by itself.
    void add_reader(Reader& reader, Lanes lanes, bool keeps) { readers_.push_back({&reader, lanes, keeps}); }
    void remove_reader(const Reader& reader);
    // An error concerns the lane of the frame.
    base::Result<void> add(const media::Frame& frame) { return muxer_->add(frame); }
    // The same for tracks(), if add() does not do it.
    base::Result<void> add_to_tracks(const media::Frame& frame) {
        return tracks_ ? tracks_->add(frame) : base::Result<void>();
    }
    void end_part(std::optional<media::Time> next_video_dts);
    // The segment is given up: the next one begins anew.
    void lose();

    // Keeps them. kSystem: there is no memory.
    base::Result<net::PageRange> keep(Pieces pieces);
    // They have all that was kept so far of the segment; null: that is nothing. kSystem: there is no memory.
    base::Result<std::shared_ptr<runtime::disk::PagedBytes>> pages() { return bytes_.pages(); }
    // Of frames in the muxer, and of the open segment.
    size_t memory() const { return muxer_->memory() + (tracks_ ? tracks_->memory() : 0) + bytes_.memory(); }

  private:
    struct Entry {
        Reader* reader;
        Lanes lanes;
        bool keeps;
        bool begun = false;
    };
    net::PageRange keep_shared(Lanes lanes, Pieces pieces);
    void put(Lanes lanes, Pieces pieces) override;

    const SegmentWriterOptions options_;
    std::unique_ptr<convert::SegmentMuxer> muxer_;
    std::unique_ptr<convert::SegmentMuxer> tracks_;  // null: that of the renditions has tracks apart
    std::vector<Entry> readers_;
    net::ResourceBytes bytes_;
    std::span<const uint8_t> front_;  // of each rendition's segment in MP4
    net::PageRange front_range_;
    bool keeps_ = false;  // in this segment
    bool fresh_ = true;   // the muxer has not begun, or has lost its position
    bool new_init_ = true;
};

}  // namespace service::hls
