#include "service/hls/handover/stream_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <utility>

#include "base/bytes.h"

namespace service::hls {

using base::Code;
using base::fail;
using base::Result;

namespace {

constexpr size_t kMaxText = 8 * 1024, kMaxInit = 1024 * 1024, kMaxRanges = 10'000,
                 kMaxDescriptions = StreamState::kMaxSegments;
constexpr uint64_t kMaxNumber = uint64_t{1} << 62;
constexpr int64_t kMaxWallMs = int64_t{1} << 46;
constexpr media::Time kMaxTime = std::chrono::hours(24 * 365 * 20), kMaxDuration = std::chrono::hours(24 * 7);
constexpr int64_t kMaxTargetS = 7 * 24 * 3600;
constexpr uint8_t kMaxTrackNumber = media::kMaxTracks;

// One description of each type serves for both: a Put writes the values that it is called with, a Get sets them.
class Put {
  public:
    explicit Put(std::vector<uint8_t>& out) : out_(out) {}
    bool ok() const { return true; }
    void number(uint64_t value, uint64_t) { out_.u64(value); }
    void flag(bool value) { out_.u8(value ? 1 : 0); }
    void real(double value) { out_.f64(value); }
    void text(const std::string& value, size_t) {
        out_.u32(static_cast<uint32_t>(value.size()));
        out_.text(value);
    }
    template <class List, class Each>
    void list(List& values, size_t, Each each) {
        out_.u32(static_cast<uint32_t>(values.size()));
        for (auto& value : values) each(value);
    }

  private:
    base::ByteWriter out_;
};

class Get {
  public:
    explicit Get(std::span<const uint8_t> bytes) : in_(bytes) {}
    bool ok() const { return is_good_ && in_.ok(); }
    bool at_end() const { return in_.left() == 0; }
    template <std::integral T>
    void number(T& value, uint64_t max) {
        const uint64_t read = in_.u64();
        is_good_ &= read <= max && std::in_range<T>(read);
        value = is_good_ ? static_cast<T>(read) : T();
    }
    void flag(bool& value) { value = in_.u8() != 0; }
    void real(double& value) {
        value = in_.f64();
        is_good_ &= value >= 0 && value < 1e6;  // no NaN either
        if (!is_good_) value = 0;
    }
    void text(std::string& value, size_t max) {
        const uint32_t size = in_.u32();
        is_good_ &= size <= max;
        if (is_good_) value = in_.text(size);
    }
    template <class List, class Each>
    void list(List& values, size_t max, Each each) {
        const uint32_t count = in_.u32();
        // Each has a byte at least.
        is_good_ &= count <= max && count <= in_.left();
        for (uint32_t i = 0; i < count && ok(); ++i) each(values.emplace_back());
    }

  private:
    base::ByteReader in_;
    bool is_good_ = true;
};

// Times of a stream may be below 0: they are written with kMaxTime added.
void transfer(Put& put, media::Time& value) { put.number(static_cast<uint64_t>((value + kMaxTime).count()), 0); }
void transfer(Get& get, media::Time& value) {
    uint64_t ticks = 0;
    get.number(ticks, static_cast<uint64_t>(2 * kMaxTime.count()));
    value = media::Time(static_cast<int64_t>(ticks)) - kMaxTime;
}

template <class Archive>
void duration(Archive& archive, media::Time& value) {
    int64_t ticks = value.count();
    archive.number(ticks, static_cast<uint64_t>(kMaxDuration.count()));
    value = media::Time(ticks);
}

template <class Archive>
void wall(Archive& archive, int64_t& ms) {
    archive.number(ms, kMaxWallMs);
}

template <class Archive>
void transfer(Archive& archive, convert::ClockPair& clock) {
    transfer(archive, clock.start);
    wall(archive, clock.wall_ms);
}

template <class Archive>
void transfer(Archive& archive, Segment& segment) {
    transfer(archive, segment.start);
    duration(archive, segment.duration);
    wall(archive, segment.wall_ms);
    wall(archive, segment.date_ms);
    transfer(archive, segment.clock);
    archive.flag(segment.discontinuity);
    archive.flag(segment.gap);
    archive.number(segment.first_part, kMaxNumber);
    archive.list(segment.parts, StreamState::kMaxParts, [&](Part& part) {
        transfer(archive, part.start);
        duration(archive, part.duration);
        archive.flag(part.independent);
        archive.flag(part.gap);
    });
}

template <class Archive>
void transfer(Archive& archive, convert::Continuation& continuation) {
    transfer(archive, continuation.start);
    archive.flag(continuation.at_keyframe);
    transfer(archive, continuation.clock);
    archive.number(continuation.first_part, kMaxNumber);
    archive.number(continuation.parts_end, kMaxNumber);
    archive.flag(continuation.breaks);
}

template <class Archive, class T>
void optional(Archive& archive, std::optional<T>& value) {
    bool is_there = value.has_value();
    archive.flag(is_there);
    if (is_there && !value) value.emplace();
    if (is_there) transfer(archive, *value);
}

template <class Archive>
void transfer(Archive& archive, LeftTimeline& timeline) {
    archive.number(timeline.media_sequence, kMaxNumber);
    archive.number(timeline.discontinuity_sequence, kMaxNumber);
    archive.number(timeline.target_s, kMaxTargetS);
    archive.flag(timeline.independent);
    archive.list(timeline.segments, StreamState::kMaxSegments, [&](Segment& segment) { transfer(archive, segment); });
    duration(archive, timeline.part_target);
    optional(archive, timeline.continuation);
    archive.number(timeline.left, StreamState::kMaxSegments);
    archive.number(timeline.parts_kept, kMaxNumber);
}

template <class Archive>
void transfer(Archive& archive, LeftBytes& bytes) {
    archive.number(bytes.blob, StreamState::kMaxBlobs);
    archive.list(bytes.ranges, kMaxRanges, [&](net::PageRange& range) {
        archive.number(range.offset, StreamState::kMaxBlobBytes);
        archive.number(range.length, StreamState::kMaxBlobBytes);
    });
}

// A key is written as text of its bytes.
void transfer(Put& put, std::shared_ptr<const m3u8::SegmentKey>& key) {
    const std::string bytes = key ? std::string(key->bytes.begin(), key->bytes.end()) : std::string();
    put.text(bytes, 0);
}
void transfer(Get& get, std::shared_ptr<const m3u8::SegmentKey>& key) {
    std::string bytes;
    get.text(bytes, 16);
    if (bytes.size() != 16) return;
    m3u8::SegmentKey read;
    std::ranges::copy(bytes, read.bytes.begin());
    key = std::make_shared<const m3u8::SegmentKey>(read);
}

void transfer(Put& put, std::shared_ptr<const std::string>& init) { put.text(init ? *init : std::string(), 0); }
void transfer(Get& get, std::shared_ptr<const std::string>& init) {
    std::string bytes;
    get.text(bytes, kMaxInit);
    if (!bytes.empty()) init = std::make_shared<const std::string>(std::move(bytes));
}

template <class Archive>
void transfer(Archive& archive, Entry& entry) {
    for (std::string* path : {&entry.path, &entry.key_path, &entry.map_path})
        archive.text(*path, SegmentPaths::kMaxPathBytes);
    archive.text(entry.key.uri, kMaxText);
    archive.text(entry.key.iv, 32);
    archive.number(entry.content.bytes, StreamState::kMaxBlobBytes);
    transfer(archive, entry.content.key);
    archive.text(entry.content.iv, 32);
    archive.list(entry.parts, StreamState::kMaxParts,
                 [&](uint64_t& size) { archive.number(size, StreamState::kMaxBlobBytes); });
    archive.flag(entry.in_memory);
    archive.number(entry.memory_bytes, StreamState::kMaxBlobBytes);
    auto disk = static_cast<uint8_t>(entry.disk);
    archive.number(disk, static_cast<uint8_t>(Entry::Disk::kLost));
    entry.disk = static_cast<Entry::Disk>(disk);
}

// The initialisation segment of an entry is mostly that of the one before.
template <class Archive>
void entries(Archive& archive, std::deque<Entry>& all) {
    const Entry* before = nullptr;
    archive.list(all, StreamState::kMaxSegments, [&](Entry& entry) {
        transfer(archive, entry);
        bool is_same = before && before->content.init == entry.content.init;
        archive.flag(is_same);
        if (is_same && before) entry.content.init = before->content.init;
        if (!is_same) transfer(archive, entry.content.init);
        before = &entry;
    });
}

template <class Archive>
void transfer(Archive& archive, LeftRendition& rendition) {
    archive.number(rendition.id, kRenditions - 1);
    archive.number(rendition.media_sequence, kMaxNumber);
    entries(archive, rendition.entries);
    archive.list(rendition.in_memory, StreamState::kMaxSegments, [&](std::pair<uint32_t, LeftBytes>& one) {
        archive.number(one.first, StreamState::kMaxSegments);
        transfer(archive, one.second);
    });
    archive.list(rendition.parts, StreamState::kMaxSegments, [&](LeftPart& part) {
        archive.number(part.number, kMaxNumber);
        transfer(archive, part.bytes);
    });
    archive.number(rendition.listed_from, kMaxNumber);
    archive.flag(rendition.ended);
}

template <class Archive>
void transfer(Archive& archive, mpd::Representation& representation) {
    archive.text(representation.id, kMaxText);
    archive.text(representation.codecs, kMaxText);
    archive.number(representation.bandwidth, kMaxNumber);
    archive.number(representation.width, INT32_MAX);
    archive.number(representation.height, INT32_MAX);
    archive.real(representation.frame_rate);
    archive.number(representation.sample_rate, INT32_MAX);
    archive.number(representation.channels, INT32_MAX);
}

template <class Archive>
void transfer(Archive& archive, mpd::Track& track) {
    archive.flag(track.video);
    archive.flag(track.main);
    archive.text(track.language, kMaxText);
    archive.text(track.label, kMaxText);
    if (track.representations.empty()) track.representations.emplace_back();
    transfer(archive, track.representations.front());
}

template <class Archive>
void ticks(Archive& archive, int64_t& value) {
    constexpr int64_t kHalf = int64_t{1} << 60;
    value += kHalf;
    archive.number(value, 2 * kHalf);
    value -= kHalf;
}

template <class Archive>
void transfer(Archive& archive, LeftTrack& track) {
    archive.number(track.number, kMaxTrackNumber);
    archive.flag(track.is_active);
    transfer(archive, track.rendition);
    archive.list(track.descriptions, kMaxDescriptions, [&](mpd::Track& one) { transfer(archive, one); });
    archive.list(track.rows, StreamState::kMaxSegments, [&](LeftTrack::Row& row) {
        archive.number(row.sequence, kMaxNumber);
        archive.number(row.times.timescale, UINT32_MAX);
        ticks(archive, row.times.begin);
        ticks(archive, row.times.presented);
        ticks(archive, row.times.end);
        archive.number(row.description, kMaxDescriptions);
    });
}

template <class Archive>
void transfer(Archive& archive, LeftDash& dash) {
    archive.number(dash.begin, kMaxNumber);
    archive.list(dash.tracks, kMaxTrackNumber + 1, [&](LeftTrack& track) { transfer(archive, track); });
}

template <class Archive>
void transfer(Archive& archive, StreamState& state) {
    for (std::string* part : {&state.key.vhost, &state.key.app, &state.key.name}) archive.text(*part, kMaxText);
    archive.text(state.made_with, kMaxText);
    archive.number(state.next_sequence, kMaxNumber);
    archive.flag(state.left.any);
    archive.flag(state.left.master);
    transfer(archive, state.left.timeline);
    archive.list(state.left.renditions, kRenditions, [&](LeftRendition& one) { transfer(archive, one); });
    optional(archive, state.left.dash);
    archive.list(state.blob_sizes, StreamState::kMaxBlobs,
                 [&](uint64_t& size) { archive.number(size, StreamState::kMaxBlobBytes); });
}

// ---- What is read

bool has_controls(std::string_view text) {
    return std::ranges::any_of(text, [](char c) { return static_cast<uint8_t>(c) < ' ' || c == 127; });
}

// Playlists and manifests have it as it is.
bool is_plain(std::string_view text) { return !has_controls(text) && text.find('"') == text.npos; }

// They have it percent-encoded.
bool is_path(std::string_view path) {
    if (has_controls(path) || path.starts_with('/')) return false;
    for (size_t begin = 0; begin <= path.size();) {
        const size_t end = std::min(path.find('/', begin), path.size());
        if (path.substr(begin, end - begin) == "..") return false;
        begin = end + 1;
    }
    return true;
}

// A rendition's segments are among those of the timeline, and its bytes within the blobs.
class Check {
  public:
    explicit Check(const StreamState& state)
        : state_(state),
          begin_(state.left.timeline.media_sequence),
          end_(begin_ + state.left.timeline.segments.size()) {}

    // Null: nothing is wrong.
    const char* problem() const {
        const LeftStream& left = state_.left;
        if (left.timeline.left > left.timeline.segments.size()) return "more segments have left than there are";
        std::vector<bool> has(kRenditions);
        for (const LeftRendition& one : left.renditions) {
            if (has[one.id]) return "a rendition is there twice";
            has[one.id] = true;
            if (!is_good(one)) return "a rendition is not within its stream";
        }
        if (!left.dash) return nullptr;
        if (left.dash->begin > 0 && (left.dash->begin < begin_ || left.dash->begin > end_))
            return "its manifest does not begin within the stream";
        std::vector<bool> has_track(kMaxTrackNumber + 1);
        for (const LeftTrack& one : left.dash->tracks) {
            if (has_track[one.number]) return "a track is there twice";
            has_track[one.number] = true;
            if (!is_good(one.rendition) || !is_good(one)) return "a track is not within its stream";
        }
        return nullptr;
    }

  private:
    bool is_good(const LeftBytes& bytes) const {
        if (bytes.blob >= state_.blob_sizes.size()) return false;
        const uint64_t size = state_.blob_sizes[bytes.blob];
        return std::ranges::all_of(bytes.ranges, [size](const net::PageRange& range) {
            return range.offset <= size && range.length <= size - range.offset;
        });
    }

    bool is_good(const Entry& entry, size_t index) const {
        return is_path(entry.path) && is_path(entry.key_path) && is_path(entry.map_path) && is_plain(entry.key.uri) &&
               is_plain(entry.key.iv) && is_plain(entry.content.iv) &&
               entry.parts.size() <= state_.left.timeline.segments[index].parts.size();
    }

    bool is_good(const LeftRendition& one) const {
        if (one.media_sequence < begin_ || one.media_sequence > end_ ||
            one.entries.size() > end_ - one.media_sequence || one.listed_from > end_)
            return false;
        for (size_t i = 0; i < one.entries.size(); ++i)
            if (!is_good(one.entries[i], i + one.media_sequence - begin_)) return false;
        const auto is_entry = [&](const auto& bytes) { return bytes.first < one.entries.size(); };
        return std::ranges::all_of(one.in_memory, is_entry) &&
               std::ranges::all_of(one.in_memory, [&](const auto& bytes) { return is_good(bytes.second); }) &&
               std::ranges::all_of(one.parts, [&](const LeftPart& part) { return is_good(part.bytes); }) &&
               std::ranges::adjacent_find(one.parts, std::ranges::greater_equal(), &LeftPart::number) ==
                   one.parts.end();
    }

    bool is_good(const LeftTrack& track) const {
        const auto is_row = [&](const LeftTrack::Row& row) {
            return row.sequence >= begin_ && row.sequence < end_ && row.description < track.descriptions.size() &&
                   row.times.timescale > 0 && row.times.end >= row.times.begin;
        };
        return std::ranges::all_of(track.rows, is_row) &&
               std::ranges::adjacent_find(track.rows, std::ranges::greater_equal(), &LeftTrack::Row::sequence) ==
                   track.rows.end();
    }

    const StreamState& state_;
    const uint64_t begin_, end_;
};

}  // namespace

void write_state(StreamState& state, std::vector<uint8_t>& out) {
    base::ByteWriter(out).u32(StreamState::kFormat);
    Put put(out);
    transfer(put, state);
}

Result<StreamState> read_state(std::span<const uint8_t> bytes) {
    if (bytes.size() > StreamState::kMaxBytes) return fail(Code::kProtocol, "the state of a stream is too long");
    base::ByteReader head(bytes);
    const uint32_t format = head.u32();
    if (!head.ok() || format != StreamState::kFormat)
        return fail(Code::kProtocol,
                    fmt::format("the state of a stream is of format {}, not {}", format, StreamState::kFormat));
    Get get(head.rest());
    StreamState state;
    transfer(get, state);
    if (!get.ok() || !get.at_end()) return fail(Code::kProtocol, "no state of a stream");
    if (const char* problem = Check(state).problem()) return fail(Code::kProtocol, problem);
    return state;
}

}  // namespace service::hls
