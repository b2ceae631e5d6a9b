#include "service/hls/segments/segment_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "media/codec.h"

namespace service::hls {

SegmentWriter::SegmentWriter(const SegmentWriterOptions& options) : options_(options) {
    convert::LaneSink& sink = *this;
    muxer_ = options.use_fmp4 ? convert::make_mp4_muxer(sink) : convert::make_ts_muxer(sink);
    if (options.has_single_tracks && !options.use_fmp4) tracks_ = convert::make_mp4_muxer(sink);
}

std::shared_ptr<const std::string> SegmentWriter::init(Lanes lanes) const {
    std::string init = (lanes & convert::kMp4Lanes ? tracks() : *muxer_).init(lanes);
    return init.empty() ? nullptr : std::make_shared<const std::string>(std::move(init));
}

void SegmentWriter::open(const media::TrackSet& tracks, const media::Frame& first, bool changed) {
    readers_.clear();
    bytes_.clear();
    front_ = {};
    keeps_ = options_.keeps;
    new_init_ = std::exchange(fresh_, false) || changed;
    muxer_->open(tracks, first, new_init_);
    if (tracks_) tracks_->open(tracks, first, new_init_);
}

void SegmentWriter::end_part(std::optional<media::Time> next_video_dts) {
    muxer_->end_part(next_video_dts);
    if (tracks_) tracks_->end_part(next_video_dts);
}

void SegmentWriter::remove_reader(const Reader& reader) {
    for (Entry& entry : readers_)
        if (entry.reader == &reader) entry.lanes = 0;
}

void SegmentWriter::lose() {
    readers_.clear();
    bytes_.clear();
    fresh_ = true;
}

base::Result<void> SegmentWriter::check(const media::TrackSet& tracks) const {
    std::string names;
    for (const media::Track& track : tracks.tracks) {
        if (has(track.kind, track.index)) return {};
        names += fmt::format("{}{}", names.empty() ? "" : " nor ", media::codec_info(track.codec).name);
    }
    return base::fail(base::Code::kRefused,
                      fmt::format("{} carries neither {}", options_.use_fmp4 ? "MP4" : "TS", names));
}

// What readers do may end the segment, or one of them.
void SegmentWriter::put(Lanes lanes, Pieces pieces) {
    const net::PageRange range = keep_shared(lanes, pieces);
    if (lanes == convert::kMp4Lanes) {
        front_ = pieces.front();
        front_range_ = range;
        return;
    }
    bool is_first = true;
    for (size_t i = 0; i < readers_.size(); ++i) {
        if (!(readers_[i].lanes & lanes)) continue;
        Reader& reader = *readers_[i].reader;
        if (!std::exchange(readers_[i].begun, true) && !front_.empty() && (lanes & convert::kMp4Lanes))
            reader.put({&front_, 1}, front_range_, is_first);
        if (i < readers_.size() && (readers_[i].lanes & lanes)) reader.put(pieces, range, is_first);
        is_first = false;
    }
}

net::PageRange SegmentWriter::keep_shared(Lanes lanes, Pieces pieces) {
    const auto shares = [&](const Entry& entry) { return entry.keeps && (entry.lanes & lanes); };
    if (std::ranges::none_of(readers_, shares)) return {};
    auto kept = keep(pieces);
    if (kept) return *kept;
    for (size_t i = 0; i < readers_.size(); ++i)
        if (readers_[i].lanes != 0) readers_[i].reader->lose_memory(kept.error());
    return {};
}

base::Result<net::PageRange> SegmentWriter::keep(Pieces pieces) {
    if (!keeps_) return net::PageRange{};
    const uint64_t offset = bytes_.size();
    for (const auto bytes : pieces) {
        if (auto kept = bytes_.append(bytes); !kept) {
            keeps_ = false;
            bytes_.clear();
            return std::unexpected(std::move(kept).error());
        }
    }
    return net::PageRange{offset, bytes_.size() - offset};
}

}  // namespace service::hls
