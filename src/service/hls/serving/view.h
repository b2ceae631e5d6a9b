#pragma once
// View: a version of a media playlist as HTTP serves it: all that it lists can be fetched, but for its gaps. Its texts
// are made when a client first asks for them, and shared by all that they are sent to. Of a version that nobody asks
// for none is made. Pure.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "protocol/http/gzip.h"
#include "protocol/m3u8/directives.h"
#include "protocol/m3u8/playlist.h"

namespace service::hls {

// The complete segments, which versions with other parts of the open segment share.
class ListedSegments {
  public:
    struct Bandwidth {
        uint64_t highest = 1;  // bit/s, of the segment with the highest bitrate, of those that have left too
        uint64_t average = 0;
    };
    ListedSegments(m3u8::MediaPlaylist playlist, const Bandwidth& bandwidth)
        : playlist_(std::move(playlist)), bandwidth_(bandwidth) {}

    const m3u8::MediaPlaylist& playlist() const { return playlist_; }
    const Bandwidth& bandwidth() const { return bandwidth_; }
    // Until the next call with others left out. Of the whole playlist and of a delta update each the last one is kept.
    const m3u8::WrittenPlaylist& written(const m3u8::LeftOut& left_out) const;

  private:
    struct Written {
        m3u8::LeftOut left_out;
        m3u8::WrittenPlaylist text;
    };
    const m3u8::MediaPlaylist playlist_;
    const Bandwidth bandwidth_;
    mutable std::array<std::optional<Written>, 2> written_;  // whole, delta
};

// How a client gets a playlist.
struct PlaylistForm {
    bool delta = false;  // a delta update, if it skips anything
    bool gzip = false;
    // "?hls_ctx=abc", of one viewer, behind the URIs of reports, or behind all of them; empty: the text is that of all
    // viewers.
    std::string query{};
    bool all_uris = false;
    bool is_private = false;  // only caches of one viewer may keep it
};

class View {
  public:
    using Text = std::shared_ptr<const std::string>;
    struct Body {
        Text text{};
        bool gzipped = false;
        bool personal = false;  // of one viewer
    };

    // tail: empty unless the playlist has parts, and goes on.
    explicit View(std::shared_ptr<const ListedSegments> segments, m3u8::PlaylistTail tail = {})
        : segments_(std::move(segments)), tail_(std::move(tail)) {}

    const std::shared_ptr<const ListedSegments>& segments() const { return segments_; }
    const m3u8::MediaPlaylist& playlist() const { return segments_->playlist(); }
    const ListedSegments::Bandwidth& bandwidth() const { return segments_->bandwidth(); }
    bool can_block() const { return playlist().can_block; }
    // Its URLs have directives, so that its text is for all viewers, as far as they may share it.
    bool takes_directives() const { return playlist().can_block || playlist().can_skip; }
    bool has_parts() const { return playlist().part_target_us > 0; }
    m3u8::PlaylistEnd end() const;
    // Whether such a text is that of one viewer.
    bool is_personal(const PlaylistForm& form) const;
    Body body(const PlaylistForm& form) const;

  private:
    struct Shared {
        Text plain{}, gzipped{};
        std::string before_reports{};  // plain, while there are reports
        std::optional<http::GzipPrefix> gzipped_before_reports{};
    };
    const m3u8::WrittenPlaylist& written(bool delta) const;
    Shared& shared(bool delta) const;
    const Text& plain(bool delta) const;
    const Text& gzipped(bool delta) const;
    Body with_reports_of_viewer(const PlaylistForm& form) const;
    std::string with_all_uris_of_viewer(const PlaylistForm& form) const;

    const std::shared_ptr<const ListedSegments> segments_;
    const m3u8::PlaylistTail tail_;
    mutable std::array<Shared, 2> shared_;  // whole, delta
};

}  // namespace service::hls
