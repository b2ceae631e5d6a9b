#include "service/edge/pull_connection.h"

#include <fmt/format.h>

#include "base/log.h"
#include "protocol/flv/metadata.h"
#include "runtime/loop/clock.h"

namespace service::edge {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kTickMs = 500;
constexpr int64_t kWriteMs = 5'000;

}  // namespace

net::SessionType edge_pull_type() {
    static const net::SessionType kType = net::SessionType::add("edge-pull", true);
    return kType;
}

PullConnection::PullConnection(Pull& pull, Source source, UpstreamOptions options, const config::Vhost& vhost,
                               base::Ref<live::Stream> stream)
    : pull_(pull),
      source_(std::move(source)),
      merge_ms_(vhost.play.mw_latency),
      min_latency_(vhost.min_latency),
      stream_(std::move(stream)),
      id_(runtime::new_context_id()) {
    if (options.arguments.is_object()) options.arguments.set("srs_id", id_);
    upstream_ = make_upstream(source_, std::move(options), pull_.owner().tls(), static_cast<UpstreamSink&>(*this));
}

PullConnection::~PullConnection() = default;

void PullConnection::close(std::string_view why, CloseReason reason) {
    if (!end_text_.empty()) return;
    end_text_ = why;
    end_reason_ = reason;
}

Result<void> PullConnection::run() {
    runtime::ContextScope scope(id_);
    auto served = serve();
    leave(served);
    if (given_up_) return {};
    return served;
}

Result<void> PullConnection::serve() {
    TRY(upstream_->open(Deadline::in_ms(Pull::kConnectMs)));
    media_ms_ = runtime::now_ms();
    if (!publication_) pull_.note_open();
    publication_.was_read();
    int64_t ticked_ms = media_ms_;
    while (end_text_.empty()) TRY(read_once(ticked_ms));
    return fail(Code::kClosed, end_text_);
}

Result<void> PullConnection::read_once(int64_t& ticked_ms) {
    runtime::ByteStream& socket = *upstream_->socket();
    if (auto output = upstream_->take_output(); !output.empty()) {
        sent_bytes_ += output.size();
        TRY(socket.write(output, Deadline::in_ms(kWriteMs)), "writing");
    }
    const int64_t interval_ms = read_interval_ms();
    socket.pace_reads(interval_ms);
    if (interval_ms == 0) socket.acknowledge_soon();
    auto read = runtime::read_shared(socket, Deadline::in_ms(kTickMs));
    const int64_t now_ms = runtime::now_ms();
    if (!read && read.error().code() != Code::kTimeout) return std::unexpected(std::move(read).error());
    if (read) {
        if (read->empty()) return fail(Code::kClosed, "closed by the origin");
        received_bytes_ += read->size();
        TRY(upstream_->take(*read));
        read_interval_.note_read(runtime::now_us(), read->size());
        publication_.was_read();
    }
    if (now_ms - ticked_ms < kTickMs) return {};
    ticked_ms = now_ms;
    if (now_ms - media_ms_ >= Pull::kSilenceMs)
        return fail(Code::kTimeout, fmt::format("no audio or video for {} ms", Pull::kSilenceMs));
    if (pull_.is_unwanted()) {
        given_up_ = true;
        close("no player for a while", CloseReason::kNoViewers);
    }
    return {};
}

// As for a publisher by RTMP.
int64_t PullConnection::read_interval_ms() const {
    return min_latency_ || read_interval_.starts() ? 0 : read_interval_.ms(*stream_, merge_ms_);
}

bool PullConnection::read_now() { return upstream_->socket() && upstream_->socket()->poll_now(); }

Result<void> PullConnection::on_body(uint8_t type, const base::Slice& body, uint32_t timestamp) {
    auto read = bodies_.parse(type, body, timestamp);
    if (!read || !read->frame) return {};
    flv::Parsed& parsed = *read;
    // Servers send some data messages for streams that they do not have.
    const bool is_media = parsed.frame->kind != media::Kind::kData;
    if (!publication_) {
        if (!is_media && !flv::is_metadata(*parsed.frame)) return {};
        if (!end_text_.empty()) return {};
        TRY(acquire());
    }
    if (is_media) {
        media_ms_ = runtime::now_ms();
        read_interval_.note_media(runtime::now_us());
    }
    convert::BodyPublisher::publish(publication_, std::move(parsed));
    return {};
}

Result<void> PullConnection::acquire() {
    auto acquired = stream_->acquire(*this, false);
    if (!acquired) {
        given_up_ = acquired.error().code() == Code::kBusy;
        return std::unexpected(std::move(acquired).error());
    }
    publication_ = *std::move(acquired);
    media_ms_ = runtime::now_ms();
    session_.emplace(
        pull_.owner().sessions(),
        OutgoingSession::Facts{.id = id_,
                               .ip = upstream_->socket()->peer_ip(),
                               .type = edge_pull_type(),
                               .stream = stream_->key(),
                               .url = source_.shown},
        OutgoingSession::Connection{.traffic =
                                        [this] {
                                            return net::Traffic{received_bytes_, sent_bytes_};
                                        },
                                    .kick = [this](std::string_view why) { close(why, CloseReason::kKicked); }});
    pull_.note_streaming(source_, upstream_->socket()->peer_ip());
    return {};
}

live::PublisherFacts PullConnection::facts() const {
    return {.session_id = id_,
            .ip = upstream_->socket() ? upstream_->socket()->peer_ip() : std::string(),
            .tc_url = source_.shown,
            .forward_path = upstream_->path()};
}

void PullConnection::publication_revoked(std::string_view why, CloseReason reason) {
    given_up_ = reason == CloseReason::kPublisherReplaced;
    close(why, reason);
}

void PullConnection::leave(const Result<void>& served) {
    publication_.end();
    if (!session_) return;
    if (end_text_.empty()) {
        const bool stops = served.error().code() == Code::kCancelled;
        close(stops ? "the server stops" : served.error().text(),
              stops ? CloseReason::kServerStop : served.error().close_reason());
    }
    session_->end(end_text_, end_reason_);
    session_.reset();
}

}  // namespace service::edge
