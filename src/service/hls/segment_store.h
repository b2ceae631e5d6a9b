#pragma once
// SegmentStore: where a stream's segments are put and stay while they are needed, with the playlist that names them.
// One is of memory, one of the disk; a stream has one of them or both, each with its own window. A playlist is told
// only when all that it names is there.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"
#include "config/snapshot.h"
#include "service/hls/cipher.h"
#include "service/hls/index.h"
#include "service/hls/names.h"
#include "service/hls/window.h"

namespace service::hls {

// What is known of a segment once its bytes are all written.
struct SegmentInfo {
    int64_t clock_ms = 0;  // at its beginning
    int64_t duration_ms = 0;
    bool discontinuity = false;
    bool independent = true;
    std::shared_ptr<const SegmentKey> key{};  // null: plain
    std::string iv{};
    std::shared_ptr<const std::string> init{};  // fMP4's initialisation segment
};

class SegmentStore;

class SegmentStoreHost {
  public:
    // The playlist is another one, and everything in it can be fetched.
    virtual void shelf_changed(SegmentStore& shelf) = 0;
    // A segment is complete and named by the playlist. path: with its directory; empty: it is in memory only.
    virtual void segment_done(SegmentStore& shelf, const Entry& entry, uint64_t sequence, const std::string& path) = 0;
    virtual void shelf_failed(SegmentStore& shelf, const std::string& path, const base::Error& error) = 0;

  protected:
    ~SegmentStoreHost() = default;
};

// What both kinds are made with.
struct SegmentStoreOptions {
    std::string vhost;
    std::string root;      // hls_path
    std::string key_root;  // hls_key_file_path
    WindowOptions window;
    bool cleanup = true;
    bool recover = true;
    uint64_t first_sequence = 0;
    int64_t max_age_s = 60;
    uint64_t most_bytes = 128 * 1024 * 1024;  // in memory; then the oldest leave before their time
    std::shared_ptr<const live::StreamKey> stream{};
};

class SegmentStore {
  public:
    // The host lives until detach().
    SegmentStore(SegmentStoreHost& host, Names names, SegmentStoreOptions options, const Index& index)
        : host_(&host),
          names_(std::move(names)),
          options_(std::move(options)),
          index_(index),
          window_(options_.window) {
        window_.skip_to(options_.first_sequence);
        gap_ = options_.first_sequence > 0;
    }
    virtual ~SegmentStore() = default;
    SegmentStore(const SegmentStore&) = delete;

    // One segment: open, write as often as need be, then seal or abandon.
    virtual void open() = 0;
    virtual base::Result<void> write(std::span<const uint8_t> bytes) = 0;
    virtual void seal(SegmentInfo sealed) = 0;
    virtual void abandon() = 0;

    // The open segment cannot go on; the next one does not follow the one before.
    void lose() {
        abandon();
        lost_ = true;
    }

    void begin_publishing() { window_.begin(); }
    // The publisher does not come back: players need not ask again.
    virtual void end_list() = 0;
    // Forgets what nobody needs any more; now: monotonic.
    virtual void tick(int64_t now_ms) = 0;
    // Nothing of it is left then. Nothing comes after it.
    virtual void dispose() = 0;
    // Nothing is under way.
    virtual bool idle() const = 0;
    // Memory of segments, bytes; and letting the oldest go before their time.
    virtual size_t memory() const { return 0; }
    virtual void release_memory() {}
    void detach() { host_ = nullptr; }

    const Window& window() const { return window_; }
    const Names& names() const { return names_; }

  protected:
    struct Named {
        Entry entry;
        bool new_key = false;
        bool new_map = false;
    };
    Named name(const SegmentInfo& sealed, uint64_t bytes);
    // The next segment's key and map are written anew.
    void forget_shared() {
        last_key_.reset();
        last_init_.reset();
    }
    // The next segment that is named does not follow the one before.
    void note_gap() { gap_ = true; }
    // Of a segment that is complete: whether one before it was lost. Others that are complete may wait to be named
    // first, and they still follow one another. any_before: there are some, or a playlist.
    void mark_loss(SegmentInfo& sealed, bool any_before) {
        sealed.discontinuity |= std::exchange(lost_, false) && any_before;
    }
    void put_shared(const Named& named, const SegmentInfo& sealed, bool in_memory);
    Resource resource() const;

    SegmentStoreHost* host_;
    Names names_;
    SegmentStoreOptions options_;
    Index index_;
    Window window_;
    std::shared_ptr<const SegmentKey> last_key_;
    std::string last_key_path_;
    std::shared_ptr<const std::string> last_init_;
    std::string last_map_path_;
    bool gap_ = false;
    bool lost_ = false;  // the segment before the one that is being written
};

std::shared_ptr<SegmentStore> make_memory_shelf(SegmentStoreHost& host, Names names, SegmentStoreOptions options,
                                                const Index& index);

}  // namespace service::hls
