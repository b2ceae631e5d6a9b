#pragma once
// HlsTimeline: what a player of a live HLS stream makes of its playlists: which segments it fetches, when it asks for
// the playlist again (RFC 8216, 6.3.3 and 6.3.4), and whether it had to stop playing. Pure: times are handed in, in
// microseconds of any clock.

#include <cstdint>
#include <deque>
#include <string>

#include "protocol/m3u8/playlist.h"

namespace load {

class HlsTimeline {
  public:
    // A player begins with the third last segment: the last three are its buffer.
    static constexpr uint64_t kFromEnd = 3;

    struct Wanted {
        std::string uri;
        int64_t duration_us = 0;
    };

    // A playlist that was asked for at asked_us. What it has beyond the former one is wanted from now on.
    void on_playlist(const m3u8::MediaPlaylist& playlist, int64_t asked_us);
    // The next segment; null: none, the playlist is to be asked for at reload_us().
    const Wanted* next() const { return wanted_.empty() ? nullptr : &wanted_.front(); }
    int64_t reload_us() const { return reload_us_; }
    // The next one was received. Returns for how long (us) playing had stopped before, 0: it had not.
    int64_t on_segment(int64_t now_us);

    uint64_t missed() const { return missed_; }        // segments that left the playlist before they were seen
    uint64_t went_back() const { return went_back_; }  // playlists that ended before a former one
    uint64_t discontinuities() const { return discontinuities_; }

  private:
    std::deque<Wanted> wanted_;
    bool has_playlist_ = false;
    bool plays_ = false;
    uint64_t end_ = 0;  // the media sequence number after the last segment that was seen
    int64_t reload_us_ = 0;
    int64_t buffered_us_ = 0;     // before it plays
    int64_t plays_until_us_ = 0;  // then: when its buffer will be empty
    uint64_t missed_ = 0, went_back_ = 0, discontinuities_ = 0;
};

}  // namespace load
