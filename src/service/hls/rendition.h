#pragma once
// Rendition: the segments of one playlist: their muxer, their encryption, the stores that keep them, and what HTTP
// shows of them. It does not decide where a segment ends (segmenter.h). A stream has a main rendition, of its first
// video track and the audio track that leads (default_audio.h), and others of one track each, which follow the main one
// (audio_group.h).

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protocol/m3u8/playlist.h"
#include "service/hls/config.h"
#include "service/hls/segments/cipher.h"
#include "service/hls/segments/disk_segment_store.h"
#include "service/hls/segments/segment_muxer.h"
#include "service/hls/segments/segment_store.h"

namespace service::hls {

// What HTTP serves: a playlist whose segments can all be fetched.
struct View {
    m3u8::MediaPlaylist playlist;
    m3u8::WrittenPlaylist written;
    uint64_t bandwidth = 0;  // bit/s of the segment with the highest bitrate
    uint64_t average_bandwidth = 0;
};

class Rendition;

// Calls from within a call of the rendition too. It may call the rendition's lose(), and must not destroy it.
class RenditionHost {
  public:
    // A segment is complete and named by the playlist. path: with its directory; empty: it is in memory only.
    virtual void segment_done(Rendition& rendition, const Entry& entry, uint64_t sequence, const std::string& path) = 0;
    // A store has failed; it has lost the open segment, if it had it.
    virtual void store_failed(Rendition& rendition, const std::string& path, const base::Error& error) = 0;
    // SegmentStoreHost::found_renditions.
    virtual void found_renditions(const std::vector<RenditionId>& renditions, bool master) = 0;

  protected:
    ~RenditionHost() = default;
};

class Rendition final : private ByteSink, private SegmentStoreHost {
  public:
    // Host and index must outlive it. main: the one that it follows, which must outlive it too; null: it is the main
    // one.
    Rendition(RenditionHost& host, const VhostConfig& hls, SegmentPaths names, SegmentStoreOptions options,
              Index& index, Rendition* main = nullptr);
    ~Rendition();
    Rendition(const Rendition&) = delete;

    const SegmentPaths& paths() const { return paths_; }
    // Path of the playlist, with its directory; empty: it is in memory only.
    std::string playlist_path() const;
    // Null: there is no segment yet.
    std::shared_ptr<const View> view() const { return view_; }
    // The gzipped text of the view; empty until a client has asked for it.
    std::string& gzipped() { return gzipped_; }
    // Null: segments are in memory only.
    const std::shared_ptr<DiskSegmentStore>& disk() const { return disk_; }
    uint64_t next_sequence() const;

    void begin_publishing();
    // Begins a segment. tracks: those that it has; their indices are 0. first: the first frame of the stream's segment.
    // changed: its tracks have, since the last one. kRefused: the format supports none of the tracks.
    base::Result<void> open(const media::TrackSet& tracks, const media::Frame& first, SegmentInfo info, bool changed);
    // Its track is 0. An error: of the muxer.
    base::Result<void> add(const media::Frame& frame);
    // After that of the main one. Without a frame, or where the main one's is lost, the segment is too. An error: of
    // the muxer, at the end of the segment, which is complete all the same.
    base::Result<void> close(const Closing& closing);
    // Gives up the open segment, if there is one.
    void lose();
    // Whether the newest segment has a track of that kind.
    bool has(media::Kind kind) const { return muxer_->has(kind); }
    // A store has the open segment.
    bool is_open() const;

    // Players need not poll again; once nothing is in progress.
    void end_list();
    // now_ms: monotonic. Segments that have left the main playlist leave this one.
    void tick(int64_t now_ms);
    // There is no segment, nor a file that has been one.
    bool empty() const;
    void dispose();
    bool idle() const;
    // Bytes of frames in the muxer and of segments in memory.
    size_t memory() const;
    void release_memory();

  private:
    struct StoreState {
        std::shared_ptr<SegmentStore> store;
        bool open = false;      // it has the open segment
        bool finished = false;  // it has the segment that was closed last
    };

    void put(std::span<const uint8_t> bytes) override;
    void write_to_stores(std::span<const uint8_t> bytes);
    void store_changed(SegmentStore& store) override;
    void segment_done(SegmentStore& store, const Entry& entry, uint64_t sequence, const std::string& path) override;
    void store_failed(SegmentStore& store, const std::string& path, const base::Error& error) override;
    void found_renditions(const std::vector<RenditionId>& renditions, bool master) override {
        host_.found_renditions(renditions, master);
    }

    RenditionHost& host_;
    Rendition* const main_;  // null: this is it
    const SegmentPaths paths_;
    const std::string root_;
    const int fragments_per_key_;
    std::unique_ptr<SegmentMuxer> muxer_;
    std::unique_ptr<Cipher> cipher_;  // null: not encrypted
    std::shared_ptr<DiskSegmentStore> disk_;
    std::vector<StoreState> stores_;  // the one that HTTP serves comes first
    SegmentInfo segment_info_;        // of the open segment
    bool has_frame_ = false;          // in the open segment
    bool fresh_ = true;               // the muxer has not begun, or has lost its position
    std::shared_ptr<const View> view_;
    std::string gzipped_;
};

}  // namespace service::hls
