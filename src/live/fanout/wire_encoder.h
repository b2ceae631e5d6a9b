#pragma once
// WireEncoder: encodes frames into one wire format with one set of parameters. A service names it by a LogKey for each
// kind of log; it encodes each frame once, whatever the number of viewers. It must not yield.

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/slice.h"
#include "media/track_set.h"

namespace live {

class WireEncoder {
  public:
    virtual ~WireEncoder() = default;

    // The bytes before a viewer's first packet: file header (only when first), metadata, sequence headers as of
    // start_dts. first is false when a viewer that was far behind jumps over a change of tracks.
    virtual void encode_prefix(const media::TrackSet& tracks, media::Time start_dts, bool first,
                               base::SliceBuilder& out) = 0;
    // For formats whose prefix depends on more than headers and time. save_start_state() is called after
    // encoded_size() or encode() of a frame at which a viewer may begin; restore_start_state() gets the result back
    // before encode_prefix() for that frame.
    virtual uint32_t save_start_state() const { return 0; }
    virtual void restore_start_state(uint32_t) {}
    // The tracks from the next frame on: called before the first frame and at every change. For formats whose packets
    // carry values that only the headers contain (ADTS).
    virtual void set_tracks(const media::TrackSet&) {}
    // Whether the publisher has announced a track that has not arrived, and that the first prefix would name: new
    // viewers wait for it for a while. stop_awaiting(): it did not come in time.
    virtual bool awaits_tracks() const { return false; }
    virtual void stop_awaiting() {}
    // How often viewers are sent what is new, in ms; 0: each frame at once. Called before the first frame and
    // at every change of tracks and start.
    virtual void set_interval(int64_t) {}
    // The exact number of bytes that encode() will write; 0 when this frame is not part of this format.
    virtual size_t encoded_size(const media::Frame& frame) = 0;
    // Writes the packet at out, encoded_size() bytes; that is called for the same frame right before. A viewer may
    // start at any packet, so no packet may depend on the one before.
    virtual void encode(const media::Frame& frame, uint8_t* out) = 0;
    // Whether encode() writes the same bytes for a frame whenever it is called: packets that the log has released can
    // be encoded again for a new viewer.
    virtual bool is_repeatable() const { return false; }
    // Whether frames of this kind are part of the format at all: decides where a viewer can start.
    virtual bool carries(media::Kind kind) const = 0;
    // The index of the first track of this kind that is part of the format; 0 where there is none. A viewer starts with
    // that of video, or with that of audio.
    virtual uint8_t first_track(media::Kind) const { return 0; }
};

struct LogKey;

// A wire format. There is one object of each, which lives as long as the process.
struct WireFormat {
    std::string_view protocol;  // for metrics and the log: "rtmp", "flv", "ws-flv"
    std::unique_ptr<WireEncoder> (*make_encoder)(const LogKey&);
};

// The key of a log: the format and all parameters of its encoding. Equal keys share a log.
struct LogKey {
    const WireFormat* format = nullptr;
    std::array<uint32_t, 3> parameters{};  // their meaning depends on the format

    std::unique_ptr<WireEncoder> make_encoder() const { return format->make_encoder(*this); }
    auto operator<=>(const LogKey&) const = default;
};

}  // namespace live
