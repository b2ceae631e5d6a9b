#pragma once
// Metadata of a recorded FLV file: what its tags contain (RecordingIndex), and the head of the file: the file header
// and an onMetaData with duration, size and keyframe index (Adobe Flash Video File Format 10.1, E.2 and E.5; players
// read the form "keyframes" with "times" and "filepositions"). Room for the head is reserved when the file is created:
// the size of a head does not depend on its content, so it can be rewritten at the end. When there are more keyframes
// than there is room for, the index keeps every second one, then every fourth and so on. With fewer than two there is
// no index. No file access here.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "media/frame.h"
#include "protocol/amf/value.h"

namespace flv {

// The positions to which a player may seek. Bounded; the entries are spread evenly over the file.
class KeyframeIndex {
  public:
    struct Entry {
        int64_t time_ms;
        uint64_t position;  // of the tag, in bytes from the file's start
    };
    explicit KeyframeIndex(size_t capacity) : capacity_(capacity) {}

    void add(int64_t time_ms, uint64_t position);
    const std::vector<Entry>& entries() const { return entries_; }
    size_t capacity() const { return capacity_; }

  private:
    void thin();
    size_t capacity_;
    uint64_t every_ = 1;  // keeps one keyframe of so many
    uint64_t seen_ = 0;
    std::vector<Entry> entries_;
};

// What a file contains, tag by tag: a file being written, or one that is read again after a crash.
class RecordingIndex {
  public:
    explicit RecordingIndex(size_t keyframes) : keyframes_(keyframes) {}

    // Adds a frame, not a sequence header. The position of the first keyframe includes its sequence header. time_ms: of
    // the stream, which does not wrap at 32 bits as a tag's timestamp does.
    void add(media::Kind kind, int64_t time_ms, bool keyframe, uint64_t position);

    bool has_audio() const { return tracks_[1].frames > 0; }
    bool has_video() const { return tracks_[0].frames > 0; }
    uint64_t frames() const { return tracks_[0].frames + tracks_[1].frames; }
    int64_t first_ms() const;
    int64_t last_ms() const;
    // From the first frame to the end of the last. The last frame is given the duration of the one before it.
    int64_t duration_ms() const;
    const KeyframeIndex& keyframes() const { return keyframes_; }

  private:
    struct Track {
        uint64_t frames = 0;
        int64_t first = 0;
        int64_t last = 0;
        int64_t step = 0;
    };
    Track tracks_[2];  // video, audio
    KeyframeIndex keyframes_;
};

// The members of onMetaData that are known from the beginning: the publisher's own members (numbers, booleans and short
// strings of its metadata; null: there was none), and those derived from the headers. video, audio: sequence headers or
// first frames, null where there is no such track.
amf::Value recording_about(const media::Frame* metadata, const media::Frame* video, const media::Frame* audio,
                           std::string_view server);

// The size in bytes of a head with room for so many keyframes, with some reserve for a longer `about`.
size_t recording_head_size(const amf::Value& about, size_t keyframes);
// How many keyframes fit into a head of that size; 0: not even `about` fits.
size_t recording_head_room(const amf::Value& about, size_t head_size);
// The head, exactly head_size bytes: file header and one tag. The index entries must fit; an `about` that does not fit
// is left out. file_size: of the whole file; 0: not known yet, and neither is the duration.
std::vector<uint8_t> recording_head(const amf::Value& about, const RecordingIndex& index, uint64_t file_size,
                                    size_t head_size);

// Reads the head of an existing file: its size, and its metadata without the members that recording_head adds. An
// error: the head was not written by this server.
struct ReadHead {
    size_t size = 0;
    amf::Value about;
};
base::Result<ReadHead> read_recording_head(std::span<const uint8_t> start_of_file, std::string_view server);
// The size in bytes of the head of a file, from the first kHeadProbe bytes of the file. 0: there is no head.
inline constexpr size_t kHeadProbe = 24;
size_t recording_head_length(std::span<const uint8_t> probe);

// Scans the tags of a file that may end anywhere. Feed it all that follows the head, in pieces of any size.
class RecordingScan {
  public:
    RecordingScan(size_t head_size, size_t keyframes) : whole_(head_size), index_(keyframes) {}

    // False: the next bytes are not a valid tag (zeros, garbage); the rest need not be fed.
    bool feed(std::span<const uint8_t> bytes);

    const RecordingIndex& index() const { return index_; }
    uint64_t whole_end() const { return whole_; }  // the end of the last complete tag, from the file's start

  private:
    static constexpr size_t kPeek = 2;  // bytes of a body needed to recognize a keyframe
    bool hold(std::span<const uint8_t>& bytes, size_t want);
    bool step(std::span<const uint8_t>& bytes);
    bool read_header();
    void add_tag();
    void add_frame(media::Kind kind, bool keyframe);

    uint64_t whole_;
    enum class State : uint8_t { kHeader, kPeek, kSkip, kEnd, kBroken } state_ = State::kHeader;
    uint8_t type_ = 0;
    uint8_t peeked_[kPeek] = {};
    uint32_t body_ = 0;
    uint32_t time_ = 0;
    std::optional<int64_t> frame_ms_;  // of the last frame, unwrapped
    uint32_t skip_ = 0;                // of the body
    size_t held_ = 0;
    uint8_t held_bytes_[11] = {};  // a tag's header at most
    RecordingIndex index_;
};

}  // namespace flv
