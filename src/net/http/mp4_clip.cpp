#include "net/http/mp4_clip.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "protocol/mp4/box_reader.h"
#include "protocol/mp4/finisher.h"
#include "protocol/mp4/movie.h"
#include "runtime/disk/paged_bytes.h"
#include "runtime/loop/cpu_slice.h"

namespace net {

namespace {

using base::Code;
using base::fail;
using base::Result;

constexpr int64_t kReadTimeoutMs = 10'000;  // of a worker

// The tracks of all, each with its place among those of its kind.
Result<std::vector<mp4::Track>> tracks_of(const std::vector<std::string>& inits) {
    std::vector<mp4::Track> tracks;
    for (const std::string& init : inits) {
        mp4::BoxReader boxes({reinterpret_cast<const uint8_t*>(init.data()), init.size()});
        while (const auto box = boxes.next()) {
            if (box->type != media::fourcc("moov")) continue;
            for (mp4::MovieTrack& read : TRY(mp4::parse_moov(box->payload)).tracks) {
                const auto index = std::ranges::count(tracks, read.track.kind, &mp4::Track::kind);
                const bool is_known = std::ranges::count(tracks, read.track.id, &mp4::Track::id) > 0;
                if (is_known || index >= media::kMaxTracks) return fail(Code::kProtocol, "tracks with the same id");
                read.track.index = static_cast<uint8_t>(index);
                read.track.frame_ticks = read.defaults.duration;
                tracks.push_back(std::move(read.track));
            }
        }
    }
    if (tracks.empty()) return fail(Code::kProtocol, "no track");
    return tracks;
}

// A file of a head and parts, of which ranges are read.
class JoinedFile {
  public:
    JoinedFile(std::vector<uint8_t> head, const FileParts& parts) : head_(std::move(head)), parts_(parts) {
        uint64_t end = head_.size();
        for (const FilePart& part : parts) ends_.push_back(end += part.length);
    }
    uint64_t size() const { return ends_.empty() ? head_.size() : ends_.back(); }
    const std::vector<uint8_t>& head() const { return head_; }

    // Yields where it must. Less at the end of the file.
    Result<void> read(uint64_t offset, size_t bytes, std::vector<uint8_t>& out) const {
        out.clear();
        if (offset < head_.size())
            out.assign(head_.begin() + static_cast<ptrdiff_t>(offset),
                       head_.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(head_.size(), offset + bytes)));
        while (out.size() < bytes && offset + out.size() < size()) TRY(read_part(offset + out.size(), bytes, out));
        return {};
    }

  private:
    Result<void> read_part(uint64_t at, size_t bytes, std::vector<uint8_t>& out) const {
        const auto index = static_cast<size_t>(std::ranges::upper_bound(ends_, at) - ends_.begin());
        const FilePart& part = parts_[index];
        const uint64_t left = ends_[index] - at, offset = part.offset + part.length - left;
        const size_t wanted = std::min<uint64_t>(left, bytes - out.size()), before = out.size();
        out.resize(before + wanted);
        const size_t now = part.source->read_now(std::span(out).subspan(before), offset);
        out.resize(before + now);
        if (now > 0) return {};
        const auto read = TRY(part.source->read(offset, wanted, runtime::Deadline::in_ms(kReadTimeoutMs)));
        if (read.empty()) return fail(Code::kProtocol, "a file is shorter than it was");
        out.insert(out.end(), read.begin(), read.end());
        return {};
    }

    const std::vector<uint8_t> head_;
    const FileParts& parts_;
    std::vector<uint64_t> ends_;  // of each part
};

Result<void> scan(const JoinedFile& file, mp4::Finisher& finisher) {
    std::vector<uint8_t> bytes;
    runtime::CpuSlice slice;
    while (const auto want = finisher.want()) {
        TRY(file.read(want->offset, want->size, bytes));
        TRY(finisher.feed(bytes));
        if (finisher.samples() > kMaxClipSamples) return fail(Code::kLimit, "it has too many frames");
        TRY(slice.step());
    }
    if (finisher.media_end() != file.size()) return fail(Code::kProtocol, "a fragment is damaged");
    return {};
}

}  // namespace

Result<Mp4Clip> make_mp4_clip(const std::vector<std::string>& inits, FileParts fragments) {
    const JoinedFile file(mp4::init_segment(TRY(tracks_of(inits))), fragments);
    mp4::Finisher finisher(file.size());
    TRY(scan(file, finisher));
    const mp4::Finisher::CopyPlan plan = finisher.plan_copy();
    auto head = std::make_shared<runtime::disk::PagedBytes>();
    for (const auto piece : plan.pieces) TRY(head->append(piece));
    // What is copied begins in the head.
    TRY(head->append(std::span(file.head()).subspan(plan.copy_from)));
    Mp4Clip clip{.bytes = head->size() + file.size() - file.head().size(), .duration_ms = finisher.duration_ms()};
    for (auto& part : head->parts(0, head->size()))
        clip.parts.push_back({std::move(part.source), part.offset, part.length});
    std::ranges::move(fragments, std::back_inserter(clip.parts));
    return clip;
}

}  // namespace net
