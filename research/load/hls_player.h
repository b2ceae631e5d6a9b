#pragma once
// HlsPlayer: a connection that plays a live HLS stream: it asks for the playlist once in a target duration and then for
// each new segment, one request at a time. Parked, without a coroutine. Bytes of segments are skipped in the kernel
// (MSG_TRUNC), so that one core can receive what many players are sent.

#include <memory>
#include <string>

#include "base/result.h"
#include "load/histogram.h"
#include "load/hls_timeline.h"
#include "load/ledger.h"
#include "load/target.h"
#include "protocol/http/response_parser.h"
#include "runtime/loop/deadline.h"
#include "runtime/socket/byte_stream.h"

namespace load {

// Of all players, in the measured window.
struct HlsTotals {
    uint64_t playlists = 0;
    uint64_t segments = 0;
    uint64_t late = 0;    // segments that took longer to fetch than to play
    uint64_t stalls = 0;  // times that a player's buffer was empty
    Histogram playlist_us, segment_us, stall_us;
};

// A playlist that many players get is parsed once.
class HlsPlaylistReader {
  public:
    base::Result<const m3u8::MediaPlaylist*> read(const std::string& text);  // valid until the next call

  private:
    std::string text_;
    m3u8::MediaPlaylist playlist_;
};

class HlsPlayer final : private runtime::ParkedHandler {
  public:
    HlsPlayer(Target target, Ledger& ledger, HlsTotals& totals, HlsPlaylistReader& reader);
    ~HlsPlayer() { close(); }
    HlsPlayer(const HlsPlayer&) = delete;

    // Connects and asks for the playlist. Yields. The ledger is told of success and failure.
    base::Result<void> open(runtime::Deadline deadline);
    bool is_open() const { return stream_ != nullptr; }
    // Asks for the playlist if it is time.
    void on_time(int64_t now_us);
    const HlsTimeline& timeline() const { return timeline_; }

  private:
    enum class State : uint8_t { kIdle, kHead, kBody };

    base::Result<void> ask(const std::string& path);
    base::Result<void> ask_playlist();
    base::Result<void> read_all();
    // Bytes that were read, 0: none are there.
    base::Result<size_t> receive(std::span<uint8_t> buffer, int flags);
    base::Result<void> feed(std::span<const uint8_t> bytes);
    base::Result<void> head_complete();
    base::Result<void> body(std::span<const uint8_t> bytes);
    base::Result<void> message_complete();
    base::Result<std::string> path_of(const std::string& uri) const;
    void lose(const base::Error& error);
    void close();
    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override;

    const Target target_;
    Ledger& ledger_;
    HlsTotals& totals_;
    HlsPlaylistReader& reader_;
    std::unique_ptr<runtime::ByteStream> stream_;
    HlsTimeline timeline_;
    http::ResponseParser parser_;
    State state_ = State::kIdle;
    bool is_playlist_ = false;  // what was asked for
    uint64_t left_ = 0;         // bytes of the body
    int64_t asked_us_ = 0;
    std::string text_;  // of the playlist, as far as it has come
};

}  // namespace load
