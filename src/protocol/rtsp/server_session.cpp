#include "protocol/rtsp/server_session.h"

#include <algorithm>

#include "base/result.h"

namespace rtsp {

using Outcome = ServerSession::Outcome;

Outcome ServerSession::set_tracks(Direction direction, size_t tracks) {
    if (state_ != State::kInit) return {455, "the session has begun with other tracks"};
    CHECK(tracks <= kMaxTracks);
    direction_ = direction;
    tracks_ = static_cast<uint8_t>(tracks);
    return {};
}

size_t ServerSession::tracks_set_up() const {
    return static_cast<size_t>(std::ranges::count_if(chosen_, [](const auto& one) { return one.has_value(); }));
}

bool ServerSession::uses_tcp() const {
    return std::ranges::any_of(chosen_, [](const auto& one) { return one && one->tcp; });
}

bool ServerSession::is_free(size_t track, uint8_t channel) const {
    for (size_t i = 0; i < kMaxTracks; ++i) {
        if (i == track || !chosen_[i] || !chosen_[i]->tcp) continue;
        if (chosen_[i]->channels.rtp == channel || chosen_[i]->channels.rtcp == channel) return false;
    }
    return true;
}

std::optional<Channels> ServerSession::free_channels(size_t track) const {
    for (size_t i = 0; i <= kMaxTracks; ++i) {
        const size_t first = 2 * (i == 0 ? track : i - 1);  // its own, then the lowest
        const Channels channels{static_cast<uint8_t>(first), static_cast<uint8_t>(first + 1)};
        if (is_free(track, channels.rtp) && is_free(track, channels.rtcp)) return channels;
    }
    return std::nullopt;
}

ServerSession::Choice ServerSession::choose_one(size_t track, const Transport& offered, const Offer& offer) const {
    if (offered.secure) return {{461, "SRTP is not offered"}};
    if (offered.multicast) return {{461, "multicast is not offered"}};
    if (offered.record != (direction_ == Direction::kRecord))
        return {{461, offered.record ? "mode=record before ANNOUNCE" : "mode=play after ANNOUNCE"}};
    const bool others = tracks_set_up() > (chosen_[track] ? 1u : 0u);
    if (others && offered.tcp != uses_tcp()) return {{461, "all tracks of a session need the same kind of transport"}};
    Chosen chosen;
    chosen.tcp = offered.tcp;
    if (offered.tcp) {
        if (!offer.tcp) return {{461, "interleaved frames are not offered"}};
        const auto channels = offered.interleaved ? offered.interleaved : free_channels(track);
        if (!channels || !is_free(track, channels->rtp) || !is_free(track, channels->rtcp))
            return {{461, "another track has these channels"}};
        chosen.channels = *channels;
    } else {
        if (!offer.udp) return {{461, "UDP is not offered: use TCP (interleaved)"}};
        if (!offered.client_port) return {{461, "UDP without client_port"}};
        chosen.client_ports = *offered.client_port;
    }
    return {{}, chosen};
}

// A client that sends no mode publishes after ANNOUNCE, too.
ServerSession::Choice ServerSession::choose(size_t track, std::span<const Transport> list, const Offer& offer) const {
    if (const Outcome allowed = allows(Method::kSetup); !allowed) return {allowed};
    if (track >= tracks_) return {{404, "no such track"}};
    Choice first{{461, "no transport of RTP"}};
    for (size_t i = 0; i < list.size(); ++i) {
        Transport one = list[i];
        if (direction_ == Direction::kRecord) one.record = true;
        const Choice choice = choose_one(track, one, offer);
        if (choice.outcome) return choice;
        if (i == 0) first = choice;
    }
    return first;
}

void ServerSession::set_up(size_t track, const Chosen& chosen) {
    CHECK(track < tracks_ && !begun_);
    chosen_[track] = chosen;
    state_ = State::kReady;
}

Transport ServerSession::transport(size_t track) const {
    const Chosen& chosen = *chosen_[track];
    Transport transport;
    transport.tcp = chosen.tcp;
    transport.record = direction_ == Direction::kRecord;
    if (chosen.tcp) {
        transport.interleaved = chosen.channels;
    } else {
        transport.client_port = chosen.client_ports;
        transport.server_port = chosen.server_ports;
    }
    return transport;
}

Outcome ServerSession::allows(Method method) const {
    const bool records = direction_ == Direction::kRecord;
    switch (method) {
        case Method::kAnnounce:
            if (state_ != State::kInit) return {455, "the session has begun"};
            return {};
        case Method::kDescribe:
            if (begun_ || (records && state_ != State::kInit))
                return {455, "not valid while the session plays or publishes"};
            return {};
        case Method::kSetup:
            if (begun_) return {455, "a transport cannot change while the session plays or publishes"};
            return {};
        case Method::kPlay:
            if (records) return {455, "PLAY in a session that publishes"};
            if (state_ == State::kInit) return {455, "PLAY before SETUP"};
            return {};
        case Method::kRecord:
            if (!records) return {455, "RECORD without ANNOUNCE"};
            if (state_ == State::kInit) return {455, "RECORD before SETUP"};
            return {};
        case Method::kPause:
            if (state_ == State::kInit) return {455, "PAUSE before SETUP"};
            return {};
        default:
            return {};
    }
}

Outcome ServerSession::play() {
    const Outcome allowed = allows(Method::kPlay);
    if (!allowed) return allowed;
    state_ = State::kPlaying;
    begun_ = true;
    return {};
}

Outcome ServerSession::record() {
    const Outcome allowed = allows(Method::kRecord);
    if (!allowed) return allowed;
    state_ = State::kRecording;
    begun_ = true;
    return {};
}

Outcome ServerSession::pause() {
    const Outcome allowed = allows(Method::kPause);
    if (allowed) state_ = State::kReady;
    return allowed;
}

std::optional<ServerSession::Channel> ServerSession::channel(uint8_t number) const {
    for (size_t i = 0; i < kMaxTracks; ++i) {
        if (!chosen_[i] || !chosen_[i]->tcp) continue;
        if (chosen_[i]->channels.rtp == number) return Channel{i, false};
        if (chosen_[i]->channels.rtcp == number) return Channel{i, true};
    }
    return std::nullopt;
}

}  // namespace rtsp
