#include "service/srt/play_session.h"

#include "service/srt/config.h"

namespace service::srt {

net::SessionType srt_play_type() {
    static const net::SessionType kType = net::SessionType::add("srt-play", false);
    return kType;
}

PlaySession::PlaySession(SessionHost& host, net::SessionTable& table, AdmittedCaller caller, Stats& stats)
    : Session(host, table, srt_play_type(), false, caller),
      stats_(stats),
      frames_before_(stream().frames()),
      output_(static_cast<relay::SrtChannelOwner&>(*this), caller.peer, caller.agreement, caller.keys, stream(),
              {.max_rate = snapshot()->get<ServerConfig>().maxbw,
               .idle_timeout_ms = snapshot()->get<ServerConfig>().peer_idle_timeout}) {
    set_channel(output_);
    record_unserved();
}

void PlaySession::on_channel_second(int64_t) {
    record_unserved();
    record_stats();
}

net::SessionFigures PlaySession::figures() const {
    net::SessionFigures figures = Session::figures();
    figures.frames = stream().frames() - frames_before_;
    figures.first_frame_ms = output_.first_ms();
    return figures;
}

void PlaySession::on_close() {
    record_stats();
    output_.leave();
}

void PlaySession::record_stats() {
    const ::srt::Sender::Counters& now = output_.sender().counters();
    stats_.sent += (now.packets - now.repairs) - (recorded_.packets - recorded_.repairs);
    stats_.requested += now.lost - recorded_.lost;
    stats_.retransmitted += now.repairs - recorded_.repairs;
    stats_.dropped += now.dropped - recorded_.dropped;
    recorded_ = now;
}

}  // namespace service::srt
