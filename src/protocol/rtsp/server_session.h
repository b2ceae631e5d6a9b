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

    // kReady: a track is set up; or media was paused (begun()).
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
    // Whether a request is valid in this state. It is asked first: what a request does, it does after that.
    Outcome allows(Method method) const;
    // The transport of a track. Small: there may be 10,000 players.
    struct Chosen {
        bool tcp = true;
        Channels channels{};   // with TCP
        Ports client_ports{};  // with UDP
        Ports server_ports{};
    };
    struct Choice {
        Outcome outcome;
        Chosen chosen{};
    };
    // The first transport of the list that is possible for a track. Changes nothing: a SETUP that fails leaves the
    // track as it was. list: as parsed.
    Choice choose(size_t track, std::span<const Transport> list, const Offer& offer) const;
    // The track is set up with it. Only after choose().
    void set_up(size_t track, const Chosen& chosen);
    // The track's Transport, for the answer. Only of one that is set up.
    Transport transport(size_t track) const;

    // Change the state where allows() does.
    Outcome play();
    Outcome record();
    Outcome pause();

    State state() const { return state_; }
    // It has played or recorded: nothing but that goes on or pauses, until its end.
    bool begun() const { return begun_; }
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
    Choice choose_one(size_t track, const Transport& offered, const Offer& offer) const;
    bool is_free(size_t track, uint8_t channel) const;
    std::optional<Channels> free_channels(size_t track) const;

    State state_ = State::kInit;
    bool begun_ = false;
    Direction direction_ = Direction::kPlay;
    uint8_t tracks_ = 0;
    std::array<std::optional<Chosen>, kMaxTracks> chosen_;
};

}  // namespace rtsp
