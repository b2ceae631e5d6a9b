// A Connection that publishes: ANNOUNCE and RECORD, and what it receives then. It keeps its coroutine.

#include "base/log.h"
#include "base/text.h"
#include "live/hub/options.h"
#include "protocol/http/via.h"
#include "protocol/sdp/session/read.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "service/rtsp/address.h"
#include "service/rtsp/config.h"
#include "service/rtsp/connection.h"
#include "service/rtsp/service.h"

namespace service::rtsp {

using base::CloseReason;
using base::Code;
using base::Result;

namespace {

constexpr std::string_view kCameBack = "the stream was forwarded by this server and has come back to it";

}  // namespace

net::SessionType rtsp_publish_type() {
    static const net::SessionType kType = net::SessionType::add("rtsp-publish", true);
    return kType;
}

// Parses the description and asks the gate. Yields.
Result<void> Connection::open_publication(const std::string& url, const std::string& description) {
    auto announced = sdp::read_session_text(description, url);
    if (!announced) return base::fail(Code::kProtocol, "description: " + announced.error().text());
    if (announced->tracks.size() > ::rtsp::ServerSession::kMaxTracks)
        announced->tracks.resize(::rtsp::ServerSession::kMaxTracks);
    if (announced->tracks.empty())
        return base::fail(Code::kProtocol, announced->skipped.empty()
                                               ? "description: no media"
                                               : "description: " + announced->skipped.front().reason);
    const config::SnapshotPtr snapshot = service_.snapshot();
    const ResolvedStream resolved = TRY(resolve_url(url, *snapshot));
    if (!resolved.vhost->get<VhostConfig>().publish)
        return base::fail(Code::kRefused, "publishing by RTSP is switched off (rtsp.publish)");
    auto stream = service_.registry().find_or_create(resolved.key, live::live_options(*resolved.vhost));
    // No guard is asked if the name is in use anyway.
    TRY(stream->check_free(resolved.vhost->publish.takeover, live::standby_options(*resolved.vhost)));
    auto grant =
        TRY(service_.gate().admit(visitor(net::Action::kPublish, resolved, url), *resolved.vhost, work_->socket.get()));
    const auto outcome = session_.set_tracks(::rtsp::ServerSession::Direction::kRecord, announced->tracks.size());
    if (!outcome) return base::fail(Code::kRefused, std::string(outcome.why));
    grant_ = std::move(grant);
    params_ = resolved.params;
    url_ = url;
    stream_ = std::move(stream);
    for (const std::string& warning : announced->warnings)
        runtime::warn_some(service_.description_log(), "RTSP publish: {}", warning);
    for (const auto& skipped : announced->skipped)
        runtime::warn_some(service_.description_log(), "RTSP publish: left out: {}", skipped.reason);
    work_->frames.reset();  // of a stream that it asked for before
    work_->tracks.clear();
    work_->announced = *std::move(announced);
    work_->snapshot = snapshot;
    work_->vhost = resolved.vhost;
    return {};
}

Connection::Message Connection::announce(const Message& request) {
    const std::string_view type = request.headers.get("Content-Type");
    if (!type.empty() && type.find("application/sdp") == std::string_view::npos) return response_to(request, 415);
    std::string path = http::path_of_via(request.headers.get("Via"));
    if (http::has_passed(path, service_.registry().instance())) {
        runtime::warn_some(service_.refusal_log(), "RTSP publish refused: {}", kCameBack);
        return response_to(request, 508, kCameBack);
    }
    const TrackUrl url = split_track(request.url);
    if (auto opened = open_publication(url.base, request.body); !opened) {
        if (opened.error().code() == Code::kProtocol) return response_to(request, 400, opened.error().text());
        return refusal(request, "publish", opened.error());
    }
    work_->path = std::move(path);
    return response_to(request);
}

Connection::Message Connection::record(const Message& request) {
    if (publisher_) {
        (void)session_.record();
        return response_to(request);
    }
    PublisherOwner& owner = *this;
    auto publisher = std::make_unique<Publisher>(owner, work_->snapshot, *work_->vhost, work_->announced.tracks,
                                                 work_->announced.skipped.size(), claimed_ != 0, runtime::now_us());
    if (auto acquired = publisher->acquire(*stream_); !acquired) return refusal(request, "publish", acquired.error());
    (void)session_.record();
    publisher_ = std::move(publisher);
    counted_.begin(SessionKind::kPublish, carrier());
    work_->embryonic.leave_list();
    set_type(rtsp_publish_type());
    enter_stream(stream_->key(), true);
    base::log::trace("RTSP publish: {}, {}, from {}{}", stream_text(), claimed_ ? "UDP" : "interleaved", ip(),
                     publisher_->waits() ? ", as a standby" : "");
    return response_to(request);
}

// Everything that arrived, parsed in place. Answers are sent behind it, because sending yields.
Result<void> Connection::take_recorded(std::span<const uint8_t> bytes) {
    const int64_t now_us = runtime::now_us();
    std::string answers;
    while (work_->end_reason.empty()) {
        size_t used = 0;
        const auto step = reader_.feed(bytes, used);
        bytes = bytes.subspan(used);
        if (step == ::rtsp::Reader::Step::kNeedMore) break;
        if (step == ::rtsp::Reader::Step::kError) return base::fail(Code::kProtocol, std::string(reader_.error_text()));
        if (step == ::rtsp::Reader::Step::kInterleaved) {
            take_interleaved(now_us);
            continue;
        }
        const Message request = reader_.take_message();
        if (!request.is_request) continue;
        answers += ::rtsp::write(respond(request));
    }
    if (answers.empty()) return {};
    return send(answers);
}

void Connection::take_interleaved(int64_t now_us) {
    const auto channel = session_.channel(reader_.channel());
    if (!channel || !publisher_ || session_.state() != ::rtsp::ServerSession::State::kRecording) return;
    on_media(channel->track, channel->rtcp, reader_.payload(), now_us);
}

void Connection::on_media(size_t track, bool rtcp, std::span<const uint8_t> bytes, int64_t now_us) {
    if (rtcp) return publisher_->on_rtcp(track, bytes, now_us);
    publisher_->on_rtp(track, bytes, now_us);
}

size_t Connection::unfinished_input() const {
    return reader_.memory() + (work_ ? work_->input.capacity() : 0) + (publisher_ ? publisher_->unfinished_input() : 0);
}

void Connection::list_unfinished_input(std::vector<uint64_t>& parts) const {
    if (publisher_) publisher_->list_unfinished(parts);
}

// A track may have ended in the middle of a frame, while others go on.
void Connection::drop_unfinished_input(std::string_view why) {
    if (!publisher_) return close(why, CloseReason::kFlood);
    publisher_->drop_unfinished();
}

// Called for each 64 kB that came.
Result<void> Connection::count_memory() {
    constexpr size_t kMuch = 1u << 20;
    TRY(count_input());
    if (publisher_ && unfinished_input() >= kMuch) publisher_->check_memory();
    return {};
}

// Time limits and reports.
Result<void> Connection::tick_publisher() {
    const int64_t now_us = runtime::now_us();
    publisher_->on_tick(now_us);
    if (const auto passed = publisher_->passed_limit(now_us, stream_.get())) will_end(passed->text, passed->reason);
    if (now_us < work_->report_us) return {};
    work_->report_us = now_us + kReportIntervalUs;
    std::string frames;
    for (size_t track = 0; track < publisher_->tracks(); ++track) {
        const auto* chosen = session_.chosen(track);
        const std::vector<uint8_t> report = publisher_->report(track, now_us);
        if (!chosen || report.empty()) continue;
        if (!chosen->tcp) {
            service_.udp_ports()->send(true, {*base::IpAddress::parse(ip()), chosen->client_ports.rtcp}, report);
            continue;
        }
        const char head[] = {'$', static_cast<char>(chosen->channels.rtcp), static_cast<char>(report.size() >> 8),
                             static_cast<char>(report.size())};
        frames.append(head, sizeof head);
        frames.append(reinterpret_cast<const char*>(report.data()), report.size());
    }
    if (frames.empty()) return {};
    return send(frames);
}

void Connection::on_revoked(std::string_view why, CloseReason reason) {
    will_end(why, reason);
    work_->task.cancel();
}

bool Connection::peer_alive() const { return work_ && work_->socket && !work_->socket->peer_gone(); }

live::PublisherFacts Connection::publisher_facts() const {
    return {.session_id = id(),
            .ip = ip(),
            .tc_url = tc_url_of(url_),
            .params = params_,
            .forward_path = work_ ? work_->path : ""};
}

}  // namespace service::rtsp
