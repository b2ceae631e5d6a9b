#pragma once
// SegmentStore: stores the segments of a rendition while they are needed, and their playlist. One kind stores in
// memory, one on disk; a rendition has one of them or both, each with its own window. A new playlist is reported only
// when everything that it names is available.
//
// The store of another rendition follows that of the main rendition: its segments have the numbers and the
// discontinuities of the main one's, and a segment that the main store has lost is no segment of the other one. A
// segment that the following store alone has lost leaves a hole, which a playlist cannot have: the segments before it
// leave.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"
#include "service/hls/playlists/segment_paths.h"
#include "service/hls/segments/cipher.h"
#include "service/hls/segments/window.h"
#include "service/hls/serving/index.h"

namespace service::hls {

// Properties of a segment, known once all its bytes are written.
struct SegmentInfo {
    uint64_t number = 0;   // of the stream's segments, complete or not: the same in all its renditions
    int64_t clock_ms = 0;  // wall clock, at the segment's beginning
    int64_t duration_ms = 0;
    bool discontinuity = false;
    bool independent = true;
    std::shared_ptr<const SegmentKey> key{};  // null: not encrypted
    std::string iv{};
    std::shared_ptr<const std::string> init{};  // fMP4's initialisation segment
};

// The position of a segment in a playlist.
struct Position {
    uint64_t sequence = 0;         // media sequence number
    uint64_t discontinuities = 0;  // discontinuity sequence number, its own discontinuity included
    bool discontinuity = false;
    int64_t longest_ms = 0;  // of the playlist's segments
};

class SegmentStore;

class SegmentStoreHost {
  public:
    // The playlist has changed, and everything in it can be fetched.
    virtual void store_changed(SegmentStore& store) = 0;
    // A segment is complete and named by the playlist. path: with its directory; empty: it is in memory only.
    virtual void segment_done(SegmentStore& store, const Entry& entry, uint64_t sequence, const std::string& path) = 0;
    virtual void store_failed(SegmentStore& store, const std::string& path, const base::Error& error) = 0;
    // An earlier run left playlists of these renditions beside the store's main one, and a multivariant one or none.
    virtual void found_renditions(const std::vector<RenditionId>& /*renditions*/, bool /*master*/) {}

  protected:
    ~SegmentStoreHost() = default;
};

// Options of both kinds.
struct SegmentStoreOptions {
    std::string vhost;
    std::string root;      // hls_path
    std::string key_root;  // hls_key_file_path
    WindowOptions window;
    bool cleanup = true;
    bool recover = true;
    uint64_t first_sequence = 0;
    int64_t max_age_s = 60;
    uint64_t max_bytes = 128 * 1024 * 1024;  // in memory; beyond it the oldest are dropped early
    std::shared_ptr<const live::StreamKey> stream{};
};

class SegmentStore {
  public:
    // The host must live until detach().
    SegmentStore(SegmentStoreHost& host, SegmentPaths names, SegmentStoreOptions options, const Index& index)
        : host_(&host),
          paths_(std::move(names)),
          options_(std::move(options)),
          index_(index),
          window_(options_.window) {
        window_.skip_to(options_.first_sequence);
        gap_ = options_.first_sequence > 0;
    }
    virtual ~SegmentStore() = default;
    SegmentStore(const SegmentStore&) = delete;

    // For each segment: open, any number of writes, then finish or abandon.
    virtual void open() = 0;
    virtual base::Result<void> write(std::span<const uint8_t> bytes) = 0;
    virtual void finish(SegmentInfo info) = 0;
    virtual void abandon() = 0;

    // The open segment cannot be completed; the next one is not continuous with the one before.
    void lose() {
        abandon();
        lost_ = true;
    }

    // From its next segment on the other one follows this one. Its bytes count for this one's limit.
    void add_follower(const std::shared_ptr<SegmentStore>& follower);

    void begin_publishing() { window_.begin(); }
    // The segments before that number leave the playlist; now_ms: monotonic.
    void leave_before(uint64_t sequence, int64_t now_ms) {
        if (window_.leave_before(sequence, now_ms)) window_changed();
    }
    // The publisher will not return: players need not poll again.
    virtual void end_list() = 0;
    // Drops segments that are no longer needed; now_ms: monotonic.
    virtual void tick(int64_t now_ms) = 0;
    // Removes everything it has stored. The last call.
    virtual void dispose() = 0;
    // No operation is in progress.
    virtual bool idle() const = 0;
    // memory(): bytes of segments in memory. release_memory(): drops the oldest ones early.
    virtual size_t memory() const { return 0; }
    virtual void release_memory() {}
    void detach() { host_ = nullptr; }

    const Window& window() const { return window_; }
    const SegmentPaths& paths() const { return paths_; }

  protected:
    struct Named {
        Entry entry;
        bool new_key = false;
        bool new_map = false;
    };
    Named name(const SegmentInfo& info, uint64_t bytes);

    // What has become of a segment of the store that this one follows.
    struct Outcome {
        uint64_t number;
        std::optional<Position> position;  // nothing: it is lost
    };
    // Tells the followers.
    void segment_added(const SegmentInfo& info);
    void segment_lost(const SegmentInfo& info) { notify_followers({info.number, std::nullopt}); }
    bool follows() const { return follows_; }
    // What became of the segment of that number; null: it is not known yet.
    const Outcome* outcome_of(uint64_t number);
    // The next segment to be named is to have that position. True: segments have left the window for it.
    bool follow(const Position& position, SegmentInfo& info);
    std::vector<std::shared_ptr<SegmentStore>> followers() const;
    virtual void outcome_arrived() {}
    // Segments have left the window without a new one.
    virtual void window_changed() = 0;

    // The key and initialisation segment are written again for the next segment.
    void forget_shared() {
        last_key_.reset();
        last_init_.reset();
    }
    // The next segment that is named is not continuous with the one before.
    void record_gap() { gap_ = true; }
    // For a complete segment: marks a discontinuity if the segment before it was lost. Complete segments that still
    // wait to be named are continuous with each other. any_before: there are earlier segments, or a playlist.
    void mark_loss(SegmentInfo& info, bool any_before) {
        info.discontinuity |= std::exchange(lost_, false) && any_before;
    }
    void put_shared(const Named& named, const SegmentInfo& info, bool in_memory);
    Resource resource() const;

    SegmentStoreHost* host_;
    SegmentPaths paths_;
    SegmentStoreOptions options_;
    Index index_;
    Window window_;
    std::shared_ptr<const SegmentKey> last_key_;
    std::string last_key_path_;
    std::shared_ptr<const std::string> last_init_;
    std::string last_map_path_;
    bool gap_ = false;
    bool lost_ = false;  // the segment before the one being written was lost

  private:
    static constexpr size_t kMaxOutcomes = 128;
    void notify_followers(const Outcome& outcome);

    std::vector<std::weak_ptr<SegmentStore>> followers_;
    bool follows_ = false;
    std::deque<Outcome> outcomes_;  // by number
};

std::shared_ptr<SegmentStore> make_memory_segment_store(SegmentStoreHost& host, SegmentPaths names,
                                                        SegmentStoreOptions options, const Index& index);

}  // namespace service::hls
