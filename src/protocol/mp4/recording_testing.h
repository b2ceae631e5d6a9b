#pragma once
// For tests: a recording in memory, built of frames, and finished in the way finish_mp4 finishes a file, completely or
// up to a given step.

#include <optional>
#include <vector>

#include "protocol/mp4/finisher.h"
#include "protocol/mp4/fragment.h"

namespace mp4 {

struct Recording {
    std::vector<uint8_t> bytes;
    std::vector<size_t> ends;    // ends of the fragments, including their seals
    std::vector<size_t> counts;  // number of samples up to that end
};

class Recorder {
  public:
    explicit Recorder(size_t moov_at = 4096, int64_t origin_ms = 0)
        : builder(media::from_ms(origin_ms)), moov_at_(moov_at) {}
    void begin() { append(builder.recording_head(moov_at_)); }
    void cut(std::optional<media::Time> next_video_dts = std::nullopt) {
        samples_ += builder.samples();
        auto fragment = builder.cut({.next_video_dts = next_video_dts, .seal = true});
        for (auto piece : fragment.pieces) append(piece);
        if (!fragment.size) return;
        out.ends.push_back(out.bytes.size());
        out.counts.push_back(samples_);
    }
    void append(std::span<const uint8_t> piece) { out.bytes.insert(out.bytes.end(), piece.begin(), piece.end()); }

    FragmentBuilder builder;
    Recording out;

  private:
    size_t moov_at_;
    size_t samples_ = 0;
};

inline base::Result<void> scan(Finisher& finisher, std::span<const uint8_t> file) {
    while (auto want = finisher.want()) {
        size_t from = std::min<size_t>(want->offset, file.size());
        TRY(finisher.feed(file.subspan(from, std::min(want->size, file.size() - from))));
    }
    return {};
}

// block 0: by a copy. steps: the number of writes done before the process dies; large pieces are written in several
// steps of 64 bytes.
inline base::Result<void> finish_in_memory(std::vector<uint8_t>& file, uint64_t block, size_t steps = SIZE_MAX) {
    Finisher finisher(file.size());
    TRY(scan(finisher, file));
    if (finisher.finished_already()) return {};
    auto plan = finisher.plan(block);
    if (!plan) {
        std::vector<uint8_t> copy;
        auto how = finisher.plan_copy();
        for (auto piece : how.pieces) copy.insert(copy.end(), piece.begin(), piece.end());
        auto from = file.begin() + static_cast<ptrdiff_t>(how.copy_from);
        copy.insert(copy.end(), from, from + static_cast<ptrdiff_t>(how.copy_size));
        file = std::move(copy);
        return {};
    }
    auto write = [&](uint64_t at, std::span<const uint8_t> bytes) {
        if (steps == 0) return;
        --steps;
        CHECK(at + bytes.size() <= file.size());
        std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<ptrdiff_t>(at));
    };
    file.resize(plan->file_size);
    if (plan->insert_size && steps) {
        --steps;
        file.insert(file.begin() + static_cast<ptrdiff_t>(plan->insert_at), plan->insert_size, 0);
    }
    if (plan->grow) write(plan->grow->offset, plan->grow->bytes);
    uint64_t at = plan->write_at;
    for (auto piece : plan->pieces) {
        for (size_t done = 0; done < piece.size(); done += 64)
            write(at + done, piece.subspan(done, std::min<size_t>(64, piece.size() - done)));
        at += piece.size();
    }
    write(plan->expose.offset, plan->expose.bytes);
    return {};
}

// The recording as a plain file.
inline std::vector<uint8_t> finished(std::vector<uint8_t> file, uint64_t block) {
    auto done = finish_in_memory(file, block);
    CHECK(done.has_value());
    return file;
}

// The payload of the first moov; empty: none.
inline std::span<const uint8_t> moov_of(std::span<const uint8_t> file) {
    BoxReader boxes(file);
    while (auto box = boxes.next())
        if (box->type == media::fourcc("moov")) return box->payload;
    return {};
}

}  // namespace mp4
