#pragma once
// ServerSession: the states of one RTSP session on the server's side (RFC 2326, appendix A.2), and the transports of
// its tracks. It says whether a request is valid now and chooses among the transports that a client offers; it knows no
// sockets, streams or headers but Transport. All tracks of a session use the same kind of transport.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "protocol/rtsp/message.h"
#include "protocol/rtsp/transport.h"

namespace rtsp {

class ServerSession {
  public:
    static constexpr size_t kMaxTracks = 8;

    enum class State : uint8_t { kInit, kReady, kPlaying, kRecording };
    enum class Direction : uint8_t { kPlay, kRecord };

    // What a request is answered with. why: for the client and the log; static.
    struct Outcome {
        int status = 200;
        std::string_view why{};
        explicit operator bool() const { return status == 200; }
    };
    // The kinds of transport that the server offers.
    struct Offer {
        bool tcp = true;
        bool udp = true;
    };

    // The tracks of the session: those of DESCRIBE's answer, or of ANNOUNCE. Valid before the first SETUP only; again
    // with another number there. tracks: at most kMaxTracks.
    Outcome set_tracks(Direction direction, size_t tracks);
    // Chooses a transport for a track and keeps it. list: as parsed.
    Outcome setup(size_t track, std::span<const Transport> list, const Offer& offer);
    // What was chosen for a track. Small: there may be 10,000 players.
    struct Chosen {
        bool tcp = true;
        Channels channels{};   // with TCP
        Ports client_ports{};  // with UDP
        Ports server_ports{};
    };
    // The server's ports of a track that is set up, for the answer.
    void set_server_ports(size_t track, const Ports& ports) { chosen_[track]->server_ports = ports; }
    // The track's Transport, for the answer. Only of one that is set up.
    Transport transport(size_t track) const;
    // The transport was not available: the track is as before SETUP.
    void undo_setup(size_t track);

    // Whether the request is valid in this state; PLAY, RECORD and PAUSE also change it.
    Outcome play();
    Outcome record();
    Outcome pause();

    State state() const { return state_; }
    Direction direction() const { return direction_; }
    size_t tracks() const { return tracks_; }
    // Null: not set up. track < kMaxTracks.
    const Chosen* chosen(size_t track) const { return chosen_[track] ? &*chosen_[track] : nullptr; }
    size_t tracks_set_up() const;
    bool uses_tcp() const;
    // The track of an interleaved channel, and whether it is that of RTCP; nothing: no such channel.
    struct Channel {
        size_t track;
        bool rtcp;
    };
    std::optional<Channel> channel(uint8_t number) const;

  private:
    Outcome choose(size_t track, const Transport& offered, const Offer& offer);
    bool is_free(size_t track, uint8_t channel) const;
    std::optional<Channels> free_channels(size_t track) const;

    State state_ = State::kInit;
    Direction direction_ = Direction::kPlay;
    uint8_t tracks_ = 0;
    std::array<std::optional<Chosen>, kMaxTracks> chosen_;
};

}  // namespace rtsp
