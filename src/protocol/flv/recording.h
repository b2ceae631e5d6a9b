#pragma once
// A recorded FLV file's own story: what its tags are (RecordingIndex), and the head that tells it: file header and an
// onMetaData with duration, size and keyframe index (Adobe Flash Video File Format 10.1, E.2 and E.5; "keyframes" with
// "times" and "filepositions" is the form that players read). Room for the head is reserved when the file begins: a
// head has the same size whatever it tells, so that it can be written again at the end. More keyframes than there is
// room for: the index keeps every second one, then every fourth ... Fewer than two: there is none. Knows no files.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "media/frame.h"
#include "protocol/amf/value.h"

namespace flv {

// Where a player may jump to. Bounded; what is kept is spread evenly over the file.
class KeyframeIndex {
  public:
    struct Entry {
        int64_t time_ms;
        uint64_t position;  // of the tag
    };
    explicit KeyframeIndex(size_t capacity) : capacity_(capacity) {}

    void add(int64_t time_ms, uint64_t position);
    const std::vector<Entry>& entries() const { return entries_; }
    size_t capacity() const { return capacity_; }

  private:
    void thin();
    size_t capacity_;
    uint64_t every_ = 1;  // keeps one of so many
    uint64_t seen_ = 0;
    std::vector<Entry> entries_;
};

// What a file holds, tag by tag: of one that is being written, or of one that is read again after a crash.
class RecordingIndex {
  public:
    explicit RecordingIndex(size_t keyframes) : keyframes_(keyframes) {}

    // A frame: no sequence header. The first keyframe's place stands for its sequence header's too. time_ms: of the
    // stream, which goes on where the 32 bits of a tag wrap.
    void add(media::Kind kind, int64_t time_ms, bool keyframe, uint64_t position);

    bool has_audio() const { return tracks_[1].frames > 0; }
    bool has_video() const { return tracks_[0].frames > 0; }
    uint64_t frames() const { return tracks_[0].frames + tracks_[1].frames; }
    int64_t first_ms() const;
    int64_t last_ms() const;
    // From the first frame to the end of the last: the last one counts as long as the one before it.
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

// What onMetaData says from the beginning: the publisher's own members (numbers, switches and short texts of his
// metadata; null: he sent none), and what the headers tell. headers: sequence headers or first frames, null where there
// is no such track.
amf::Value recording_about(const media::Frame* metadata, const media::Frame* video, const media::Frame* audio,
                           std::string_view server);

// Bytes of a head with room for so many keyframes, some to spare for a longer `about`.
size_t recording_head_size(const amf::Value& about, size_t keyframes);
// How many keyframes a head of that size has room for; 0: not even for `about`.
size_t recording_head_room(const amf::Value& about, size_t head_size);
// The head, exactly that many bytes: file header, one tag. Index entries must fit; where `about` does not, it is left
// out. file_size: of the whole file, 0: not known yet, as is the duration then.
std::vector<uint8_t> recording_head(const amf::Value& about, const RecordingIndex& index, uint64_t file_size,
                                    size_t head_size);

// Reads the head of a file again: its size, and what it says without what recording_head puts in. An error: it is none
// of ours.
struct ReadHead {
    size_t size = 0;
    amf::Value about;
};
base::Result<ReadHead> read_recording_head(std::span<const uint8_t> start_of_file, std::string_view server);
// As many bytes of a file's start as its head has: of the first kHeadProbe bytes. 0: not even a head.
inline constexpr size_t kHeadProbe = 24;
size_t recording_head_length(std::span<const uint8_t> probe);

// Reads the tags of a file that may end anywhere: all after its head, in pieces as they come.
class RecordingScan {
  public:
    RecordingScan(size_t head_size, size_t keyframes) : whole_(head_size), index_(keyframes) {}

    // False: what follows is no whole tag any more (zeros, garbage); the rest need not be fed.
    bool feed(std::span<const uint8_t> bytes);

    const RecordingIndex& index() const { return index_; }
    uint64_t whole_end() const { return whole_; }  // the end of the last whole tag, from the file's start

  private:
    static constexpr size_t kPeek = 2;  // of a body, what tells a keyframe
    bool hold(std::span<const uint8_t>& bytes, size_t want);
    bool step(std::span<const uint8_t>& bytes);
    bool read_header();
    void note_tag();
    void note_frame(media::Kind kind, bool keyframe);

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
