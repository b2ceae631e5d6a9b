#include "service/relay/body_source.h"

#include "protocol/flv/metadata.h"
#include "runtime/loop/clock.h"

namespace service::relay {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kTickMs = 500;
constexpr int64_t kWriteMs = 5'000;

}  // namespace

Result<void> BodySource::run(Fetch& fetch, Deadline limit) {
    fetch_ = &fetch;
    auto served = serve(limit);
    publication_.end();
    return served;
}

Result<std::unique_ptr<Source>> BodySource::redirected() {
    if (location_.empty()) return nullptr;
    BodySourceOptions options = options_;
    options.target = TRY(relay::redirected(options_.target, location_));
    return make_body_source(std::move(options));
}

Result<void> BodySource::serve(Deadline limit) {
    TRY(open(limit));
    fetch_->opened();
    int64_t ticked_ms = runtime::now_ms();
    while (!fetch_->is_ending()) {
        TRY(read_once(ticked_ms));
        // By RTMP this is how a server says that it has not got the stream.
        if (!publication_ && limit.passed()) return fail(Code::kTimeout, "no audio or video in time");
    }
    return fail(Code::kClosed, fetch_->end_text());
}

Result<void> BodySource::read_once(int64_t& ticked_ms) {
    if (auto output = take_output(); !output.empty()) {
        fetch_->traffic.sent_bytes += output.size();
        TRY(socket_->write(output, Deadline::in_ms(kWriteMs)), "writing");
    }
    const int64_t interval_ms = read_interval_ms();
    socket_->pace_reads(interval_ms);
    if (interval_ms == 0) socket_->acknowledge_soon();
    auto read = runtime::read_shared(*socket_, Deadline::in_ms(kTickMs));
    const int64_t now_ms = runtime::now_ms();
    if (!read && read.error().code() != Code::kTimeout) return std::unexpected(std::move(read).error());
    if (read) {
        if (read->empty()) return fail(Code::kClosed, "closed by the origin");
        fetch_->traffic.received_bytes += read->size();
        TRY(take(*read));
        read_interval_.record_read(runtime::now_us(), read->size());
    }
    if (now_ms - ticked_ms < kTickMs) return {};
    ticked_ms = now_ms;
    if (limits_ && limits_->silent_at().passed()) return fail(Code::kTimeout, limits_->silence_text(&bodies_.faults()));
    fetch_->check();
    return {};
}

// The interval is that of a publisher by RTMP.
int64_t BodySource::read_interval_ms() const {
    const config::Vhost& vhost = fetch_->vhost();
    return read_interval_.ms(fetch_->stream(), {vhost.play.mw_latency, vhost.min_latency});
}

Result<void> BodySource::on_body(uint8_t type, const base::Slice& body, uint32_t timestamp) {
    auto read = bodies_.parse(type, body, timestamp);
    if (!read || !read->frame) return {};
    flv::Parsed& parsed = *read;
    // Servers send some data messages for streams that they do not have.
    const bool is_media = parsed.frame->kind != media::Kind::kData;
    if (!publication_) {
        if (!is_media && !flv::is_metadata(*parsed.frame)) return {};
        if (fetch_->is_ending()) return {};
        TRY(acquire());
    }
    if (is_media) {
        limits_->on_media(runtime::now_us());
        read_interval_.record_media(runtime::now_us());
    }
    convert::BodyPublisher::publish(publication_, std::move(parsed));
    return {};
}

Result<void> BodySource::acquire() {
    auto acquired = fetch_->stream().acquire(*this, false);
    if (!acquired) {
        if (acquired.error().code() == Code::kBusy)
            fetch_->give_up(acquired.error().text(), acquired.error().close_reason());
        return std::unexpected(std::move(acquired).error());
    }
    publication_ = *std::move(acquired);
    limits_.emplace(fetch_->vhost().publish, runtime::now_us());
    fetch_->streaming(socket_->peer_ip(), shown(), {});
    return {};
}

live::PublisherFacts BodySource::facts() const {
    return {.session_id = fetch_->id(),
            .ip = socket_ ? socket_->peer_ip() : std::string(),
            .tc_url = shown(),
            .forward_path = path()};
}

void BodySource::publication_revoked(std::string_view why, CloseReason reason) {
    if (reason == CloseReason::kPublisherReplaced) return fetch_->give_up(why, reason);
    fetch_->close(why, reason);
}

}  // namespace service::relay
