#include "service/rtmp/player.h"

#include "service/rtmp/connection.h"

namespace service::rtmp {

Player::Player(Connection& connection, base::Ref<live::Stream> stream, uint32_t chunk_size, bool all_tracks,
               uint32_t duration_ms, net::Grant grant)
    : connection_(connection),
      grant_(std::move(grant)),
      parameters_{.chunk_size = chunk_size, .all_tracks = all_tracks},
      viewer_(*this, std::move(stream)) {
    viewer_.stop_after(duration_ms);
}

void Player::join(std::unique_ptr<runtime::ByteStream> socket, base::Slice first) {
    viewer_.join(parameters_.key(), std::move(socket), std::move(first));
    if (paused_) viewer_.set_paused(true);
}

void Player::set_paused(bool paused) {
    paused_ = paused;
    viewer_.set_paused(paused);
}

void Player::receive(media::Kind kind, bool wanted) {
    (kind == media::Kind::kAudio ? parameters_.audio : parameters_.video) = wanted;
    viewer_.switch_log(parameters_.key());
}

bool Player::unserved() const {
    const bool wants_nothing = !parameters_.audio && !parameters_.video;
    return over() || wants_nothing || paused_ || !viewer_.stream().published();
}

void Player::close() {
    closed_ = true;
    set_paused(true);
}

void Player::on_viewer_input(live::Viewer&, std::span<const uint8_t> bytes) { connection_.on_input(bytes); }

void Player::on_stream_end(live::Viewer&) {
    stream_over_ = true;
    if (!closed_) connection_.on_play_over();
}

void Player::on_viewer_end(live::Viewer&, std::string_view why) { connection_.on_player_end(why); }

}  // namespace service::rtmp
