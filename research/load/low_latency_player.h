#pragma once
// LowLatencyPlayer: a player of low-latency HLS as hls.js is one: it asks for the playlist that has the next part,
// which comes when that is there, and then for each part that is new, one request at a time.

#include <memory>
#include <string>

#include "load/histogram.h"
#include "load/http_requests.h"
#include "load/low_latency_playlist.h"

namespace load {

// Of all players, in the measured window.
struct LowLatencyTotals {
    uint64_t playlists = 0;
    uint64_t parts = 0;
    uint64_t refused = 0;   // parts that could not be fetched
    uint64_t missed = 0;    // times that a part had left the playlist before it was fetched
    Histogram playlist_us;  // from when the newest part was due until the playlist that has it had come
    Histogram part_us;      // from when a part was due until its last byte had come
    Histogram fetch_us;     // from the request for a part until then
};

class LowLatencyPlayer final : private HttpRequests::User {
  public:
    LowLatencyPlayer(Target target, std::shared_ptr<runtime::TlsContext> tls, Ledger& ledger, LowLatencyTotals& totals,
                     LowLatencyPlaylists& playlists);
    ~LowLatencyPlayer() { close(); }
    LowLatencyPlayer(const LowLatencyPlayer&) = delete;

    // Connects and asks for the playlist. Yields. The ledger is told of success and failure.
    base::Result<void> open(runtime::Deadline deadline);

  private:
    base::Result<void> on_answer(const HttpAnswer& answer) override;
    void on_lost(const base::Error& error) override;
    base::Result<void> on_playlist(const HttpAnswer& answer);
    base::Result<void> on_part(const HttpAnswer& answer);
    base::Result<void> ask_next();
    base::Result<void> ask_playlist(std::string_view directives);
    std::string path_of(std::string_view uri) const;
    void close();

    const Target target_;
    const std::shared_ptr<runtime::TlsContext> tls_;  // null: HTTP/1.1
    Ledger& ledger_;
    LowLatencyTotals& totals_;
    LowLatencyPlaylists& playlists_;
    std::unique_ptr<HttpRequests> requests_;
    std::string path_;  // of the playlist, with its query
    std::shared_ptr<const LowLatencyPlaylist> playlist_;
    size_t next_ = 0;               // the part of the playlist that is to be fetched
    uint64_t msn_ = 0, index_ = 0;  // of the newest part that is known
    bool plays_ = false;            // they are set
    bool asks_part_ = false;
    int64_t asked_us_ = 0;
};

}  // namespace load
