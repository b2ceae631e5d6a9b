#pragma once
// Turns a recording into a plain, fast-start MP4. A recording is a file of recording_head() (moov.h) and sealed
// fragments (fragment.h), complete or truncated at any byte. The finisher does no IO: it returns which bytes of the
// file to read, and in the end what to write where. The media data is not moved: the new moov is written into the room
// at the file's head, and everything after it becomes one mdat. The fragments' headers remain in there as unused bytes.
//
//   Finisher finisher(file_size);
//   while (auto want = finisher.want()) TRY(finisher.feed(bytes of the file at want->offset, at most want->size));
//   if (finisher.finished_already()) done;
//   Plan plan = finisher.plan(...)
//
// How to finish a file so that it can be played, or finished again, whenever the process dies:
//   1. truncate the file to plan.file_size (this removes an incomplete end);
//   2. when plan.insert_size is not 0, insert that many bytes at plan.insert_at (FALLOC_FL_INSERT_RANGE), or, where
//      that is not possible, call plan_copy() and write another file;
//   3. write plan.grow, which makes the room one box again (only between 2 and 3 the file cannot be played);
//   4. write plan.pieces consecutively at plan.write_at, inside the room, which players ignore;
//   5. write plan.expose: four bytes that end the room before the new moov. From then on the file is a plain one.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "protocol/mp4/box_reader.h"
#include "protocol/mp4/movie.h"
#include "protocol/mp4/table_builder.h"

namespace mp4 {

class Finisher {
  public:
    // A fragment with a larger moof ends the scan, as a truncated one does.
    static constexpr uint64_t kMaxMoof = 16 << 20;
    static constexpr uint64_t kMaxMoov = 16 << 20;
    // Limit for all tracks together: two days of 100 frames a second. It bounds the memory (4 to 20 bytes each).
    static constexpr uint64_t kMaxSamples = 20'000'000;

    explicit Finisher(uint64_t file_size) : file_size_(file_size) {}

    struct Want {
        uint64_t offset;
        size_t size;
    };
    // The next range of the file to read. Nothing when the scan is complete.
    std::optional<Want> want() const;
    // bytes: those at the wanted offset, as many as the file has. kNotFound: the recording contains no complete
    // fragment, perhaps not even a complete head; kProtocol: the file is not a recording.
    base::Result<void> feed(std::span<const uint8_t> bytes);

    // The file is a plain MP4 already: an earlier run finished it.
    bool finished_already() const { return plain_; }
    uint64_t media_end() const { return media_end_; }  // end of the last complete fragment
    uint64_t samples() const { return samples_; }
    int64_t duration_ms() const { return duration_ms_; }

    struct Patch {
        uint64_t offset = 0;
        std::array<uint8_t, 4> bytes{};
    };
    struct Plan {
        uint64_t file_size = 0;  // before the insertion
        uint64_t insert_at = 0;
        uint64_t insert_size = 0;  // a multiple of the block size; 0: the room is large enough
        std::optional<Patch> grow;
        uint64_t write_at = 0;
        std::vector<std::span<const uint8_t>> pieces;  // valid as long as the finisher, until the next plan
        Patch expose;
    };
    // block: the block size by which the file system can insert bytes; 0: it cannot. Nothing when the room is too small
    // and cannot be enlarged: use plan_copy().
    std::optional<Plan> plan(uint64_t block);

    // Another file: pieces, then the bytes [copy_from, copy_from + copy_size) of this one. The copied range begins at a
    // multiple of 4096 in both files where the recording allows it, so that a file system that can share blocks does.
    struct CopyPlan {
        std::vector<std::span<const uint8_t>> pieces;
        uint64_t copy_from = 0;
        uint64_t copy_size = 0;
    };
    CopyPlan plan_copy();

  private:
    static constexpr size_t kRoomHead = 8;
    static constexpr uint64_t kBlockUnit = 512;  // file systems' block sizes are multiples of it
    enum class State { kTop, kWhole, kDone };    // kWhole: the whole box at at_ is wanted

    // Processes the box at the front of bytes, which is at at_ in the file. False: more bytes are needed.
    base::Result<bool> take_box(std::span<const uint8_t> bytes, bool at_end);
    base::Result<void> take_moov(std::span<const uint8_t> payload);
    bool take_moof(std::span<const uint8_t> payload);
    bool take_mdat(const BoxHead& head);
    void skip_zeros(std::span<const uint8_t> bytes);
    bool torn_head_at(const BoxHead& head, bool zeros) const;
    void keep_pending();
    // Ends the media: the rest, and a fragment not yet known to be complete, are ignored.
    void end_media() {
        media_ended_ = true;
        pending_ = false;
    }
    base::Result<void> end_scan();
    // The first presentation of a track.
    media::Time first_time(size_t track) const;
    // The track that is presented first: the movie begins with it.
    size_t first_track() const;
    // The scale in which the offsets between the tracks are written.
    uint32_t movie_timescale() const;
    std::vector<Edit> edits_of(size_t track, media::Time zero, uint32_t movie_timescale) const;
    // Writes the moov with its tables; fills head_ and the writer's references.
    void write_movie(BoxWriter& w, int64_t shift, bool long_offsets);
    std::vector<std::span<const uint8_t>> pieces_of(const BoxWriter& w) const;
    bool needs_long_offsets() const;

    uint64_t file_size_;
    State state_ = State::kTop;
    uint64_t at_ = 0;        // offset of the current box
    uint64_t whole_ = 0;     // its size, when the whole box is wanted
    bool in_zeros_ = false;  // between the room and the moov: see step 3
    bool media_ended_ = false;
    uint64_t room_at_ = 0;        // the free box before the moov
    uint64_t room_box_size_ = 0;  // its size by its own header; 0: there is no room
    uint64_t first_moov_at_ = 0;
    uint64_t media_end_ = 0;
    bool plain_ = false;
    bool has_movie_ = false;
    bool torn_head_ = file_size_ == 0;  // the bytes seen may be the start of a recording
    bool pending_ = false;              // a fragment was read but is not yet known to be complete
    uint64_t pending_end_ = 0;          // end of its mdat; 0: not seen yet
    uint64_t samples_ = 0;
    int64_t duration_ms_ = 0;
    Movie movie_;
    std::vector<int64_t> next_dts_;
    MovieFragment fragment_;
    std::vector<TableBuilder> tables_;  // as movie_.tracks
    std::vector<uint8_t> head_;         // what plan() and plan_copy() write, without the tables
};

}  // namespace mp4
