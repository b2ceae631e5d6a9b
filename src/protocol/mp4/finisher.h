#pragma once
// Makes a plain, fast-start MP4 out of a recording: a file of recording_head() (moov.h) and sealed fragments
// (fragment.h), complete or torn at any byte. Without IO: it says which bytes of the file it wants to see, and in the
// end what to write where. The media stay where they are: the new moov goes into the room at the file's head, all
// behind it becomes one mdat. Fragments' headers remain in there as dead bytes.
//
//   Finisher finisher(file_size);
//   while (auto want = finisher.want()) TRY(finisher.feed(bytes of the file at want->offset, at most want->size));
//   if (finisher.finished_already()) done;
//   Plan plan = finisher.plan(...)
//
// How a file is finished, so that it can be played, or finished again, whenever the process dies:
//   1. cut the file to plan.file_size (the torn end goes);
//   2. when plan.insert_size is not 0, put that many bytes in at plan.insert_at (FALLOC_FL_INSERT_RANGE), or, where
//      that is not possible, ask for plan_copy() and write another file;
//   3. write plan.grow, which makes the room one box again (only between 2 and 3 a player finds nothing);
//   4. write plan.pieces one behind the other at plan.write_at, inside the room, where no player looks;
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
    // A fragment's moof larger than this ends the scan, as a torn one does.
    static constexpr uint64_t kMaxMoof = 16 << 20;
    static constexpr uint64_t kMaxMoov = 16 << 20;
    // Of all tracks: two days of 100 frames a second, and a bound for the memory (4 to 20 bytes each).
    static constexpr uint64_t kMaxSamples = 20'000'000;

    explicit Finisher(uint64_t file_size) : file_size_(file_size) {}

    struct Want {
        uint64_t offset;
        size_t size;
    };
    // Nothing when enough was seen.
    std::optional<Want> want() const;
    // bytes: of the wanted place, as many as the file has. kNotFound: there is no whole fragment in this recording,
    // perhaps not even its head; kProtocol: it is none.
    base::Result<void> feed(std::span<const uint8_t> bytes);

    // The file is a plain one: an earlier call finished it.
    bool finished_already() const { return plain_; }
    uint64_t media_end() const { return media_end_; }  // behind the last whole fragment
    uint64_t samples() const { return samples_; }
    int64_t duration_ms() const { return duration_ms_; }

    struct Patch {
        uint64_t offset = 0;
        std::array<uint8_t, 4> bytes{};
    };
    struct Plan {
        uint64_t file_size = 0;  // before anything is put in
        uint64_t insert_at = 0;
        uint64_t insert_size = 0;  // a multiple of the block; 0: there is room enough
        std::optional<Patch> grow;
        uint64_t write_at = 0;
        std::vector<std::span<const uint8_t>> pieces;  // live as long as the finisher, until the next plan
        Patch expose;
    };
    // block: by which the file system can put bytes in; 0: it cannot. Nothing when there is no room and no way to make
    // it: then plan_copy().
    std::optional<Plan> plan(uint64_t block);

    // Another file: pieces, then the bytes [copy_from, copy_from + copy_size) of this one. The copy begins at a
    // multiple of 4096 in both where the recording allows it, so that a file system that can share blocks does.
    struct CopyPlan {
        std::vector<std::span<const uint8_t>> pieces;
        uint64_t copy_from = 0;
        uint64_t copy_size = 0;
    };
    CopyPlan plan_copy();

  private:
    static constexpr size_t kRoomHead = 8;
    static constexpr uint64_t kBlockUnit = 512;  // file systems' blocks are multiples of it
    enum class State { kTop, kWhole, kDone };    // kWhole: the box at at_ is wanted as a whole
    struct Lane {
        TableBuilder tables;
    };

    // Takes the box at the front of bytes, which stands at at_. False: more bytes are needed.
    base::Result<bool> take_box(std::span<const uint8_t> bytes, bool at_end);
    base::Result<void> take_moov(std::span<const uint8_t> payload);
    bool take_moof(std::span<const uint8_t> payload);
    bool take_mdat(const BoxHead& head);
    void skip_zeros(std::span<const uint8_t> bytes);
    bool torn_head_at(const BoxHead& head, bool zeros) const;
    void keep_pending();
    // What follows, and a fragment that was not known to be whole, does not count.
    void end_media() {
        media_ended_ = true;
        pending_ = false;
    }
    base::Result<void> end_scan();
    std::vector<Edit> edits_of(size_t track, int64_t zero_ms) const;
    // The moov's size with the tables in it; fills head_ and the writer's references.
    void write_movie(BoxWriter& w, int64_t shift, bool long_offsets);
    std::vector<std::span<const uint8_t>> pieces_of(const BoxWriter& w) const;
    bool needs_long_offsets() const;

    uint64_t file_size_;
    State state_ = State::kTop;
    uint64_t at_ = 0;        // of the box that is looked at
    uint64_t whole_ = 0;     // its size, when it is wanted whole
    bool in_zeros_ = false;  // between the room and the moov: see step 3
    bool media_ended_ = false;
    uint64_t room_at_ = 0;    // the free box before the moov
    uint64_t room_said_ = 0;  // its size by its own header; 0: there is none
    uint64_t first_moov_at_ = 0;
    uint64_t media_end_ = 0;
    bool plain_ = false;
    bool has_movie_ = false;
    bool torn_head_ = file_size_ == 0;  // what was seen may be the front of a recording
    bool pending_ = false;              // a fragment was read and is not yet known to be whole
    uint64_t pending_end_ = 0;          // of its mdat; 0: not seen yet
    uint64_t samples_ = 0;
    int64_t duration_ms_ = 0;
    Movie movie_;
    std::vector<int64_t> next_dts_;
    MovieFragment fragment_;
    std::vector<Lane> lanes_;    // as movie_.tracks
    std::vector<uint8_t> head_;  // what plan() and plan_copy() write, without the tables
};

}  // namespace mp4
