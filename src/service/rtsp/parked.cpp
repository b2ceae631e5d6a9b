// A Connection that plays: parked, without a coroutine. Nothing here yields.

#include <algorithm>

#include "base/log.h"
#include "protocol/rtcp/parser.h"
#include "runtime/loop/clock.h"
#include "service/rtsp/connection.h"
#include "service/rtsp/datagram_stream.h"
#include "service/rtsp/service.h"

namespace service::rtsp {

using base::CloseReason;

namespace {

class ReportedLoss final : public rtcp::Visitor {
  public:
    uint32_t packets = 0;

  private:
    void on_report_block(uint32_t, const rtcp::ReportBlock& block) override {
        packets = static_cast<uint32_t>(std::max<int64_t>(block.cumulative_lost, 0));
    }
};

}  // namespace

// response: of PLAY, which is sent before the stream.
void Connection::park(const Message& response) {
    const live::LogKey key = play_key().log_key();
    set_type(rtsp_play_type());
    enter_stream(stream_->key(), false);
    base::log::trace("RTSP play: {}, {}, from {}", stream_text(), claimed_ ? "UDP" : "interleaved", ip());
    heard_ms_ = runtime::now_ms();
    counted_.begin(SessionKind::kPlay, carrier());
    if (claimed_) lost_ = std::make_unique<std::array<uint32_t, kMaxPlayTracks>>();
    viewer_.emplace(static_cast<live::ViewerHandler&>(*this), stream_);
    viewer_->join(key, claimed_ ? stream_of_datagrams() : std::move(work_->socket),
                  base::Slice::copy(::rtsp::write(response)));
    work_.reset();
    note_unserved();
}

std::unique_ptr<runtime::ByteStream> Connection::stream_of_datagrams() {
    DatagramStream::Targets targets;
    const base::IpAddress address = *base::IpAddress::parse(ip());
    size_t next = 0;
    for (size_t track = 0; track < work_->tracks.size(); ++track) {
        const auto* chosen = session_.chosen(track);
        if (chosen) targets[next++] = {{address, chosen->client_ports.rtp}, {address, chosen->client_ports.rtcp}};
    }
    return std::make_unique<DatagramStream>(std::move(work_->socket), *service_.udp_ports(), targets);
}

void Connection::on_datagram(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) {
    if (rtcp) heard_ms_ = now_us / 1000;
    if (rtcp && viewer_ && lost_) on_player_report(track, bytes);
    if (!publisher_ || session_.state() != ::rtsp::ServerSession::State::kRecording) return;
    runtime::ContextScope scope(id());
    const uint64_t before = std::exchange(received_bytes_, received_bytes_ + bytes.size());
    on_media(track, rtcp, bytes, now_us);
    if ((before ^ received_bytes_) / net::InputMemory::kFree == 0) return;
    if (auto counted = count_memory(); !counted) close(counted.error().text(), CloseReason::kFlood);
}

// A count that goes back adds nothing, so that a player can state each lost packet once.
void Connection::on_player_report(size_t track, std::span<const uint8_t> bytes) {
    ReportedLoss loss;
    (void)rtcp::parse(bytes, loss);
    if (track >= lost_->size()) return;
    uint32_t& counted = (*lost_)[track];
    if (loss.packets <= counted) return;
    rtsp_stats().player_lost += loss.packets - counted;
    counted = loss.packets;
}

Carrier Connection::carrier() const {
    if (claimed_) return Carrier::kUdp;
    return work_->tunnelled ? Carrier::kTunnel : Carrier::kTcp;
}

void Connection::on_viewer_input(live::Viewer& viewer, std::span<const uint8_t> bytes) {
    runtime::ContextScope scope(id());
    while (viewer.joined()) {
        size_t used = 0;
        const auto step = reader_.feed(bytes, used);
        bytes = bytes.subspan(used);
        if (step == ::rtsp::Reader::Step::kNeedMore) {
            if (auto counted = count_input(); !counted) viewer.abort(counted.error().text(), CloseReason::kFlood);
            return;
        }
        if (step == ::rtsp::Reader::Step::kError)
            return viewer.abort(reader_.error_text(), CloseReason::kProtocolError);
        if (step == ::rtsp::Reader::Step::kInterleaved) continue;  // receiver reports: over TCP nothing is lost
        const Message request = reader_.take_message();
        if (request.is_request) on_request(request);
    }
}

void Connection::on_request(const Message& request) {
    heard_ms_ = runtime::now_ms();
    const auto before = session_.state();
    const Message response = respond(request);
    // Nothing of the stream may follow the answer to PAUSE and TEARDOWN.
    if (before != session_.state() && session_.state() == ::rtsp::ServerSession::State::kReady)
        viewer_->set_paused(true);
    note_unserved();
    const bool tears_down = request.method == ::rtsp::Method::kTeardown && response.status == 200;
    if (tears_down) viewer_->set_paused(true);
    viewer_->send_control(base::Slice::copy(::rtsp::write(response)));
    if (!viewer_->joined()) return;
    if (tears_down) return viewer_->finish("closed by the client (TEARDOWN)", CloseReason::kPeerClosed);
    if (before != session_.state() && session_.state() == ::rtsp::ServerSession::State::kPlaying)
        viewer_->set_paused(false);
}

void Connection::on_stream_end(live::Viewer&) {}

void Connection::on_viewer_end(live::Viewer& viewer, std::string_view why) {
    runtime::ContextScope scope(id());
    grant_.end(traffic());
    log_end(viewer.end_text(why), viewer.close_reason());
    service_.remove(*this);
}

}  // namespace service::rtsp
