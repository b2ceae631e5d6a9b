// A Connection that publishes: the request, which may ask guards and so yield, what is received, and what the stream
// does with its publisher.

#include "base/log.h"
#include "protocol/http/via.h"
#include "runtime/loop/clock.h"
#include "service/rtmp/connection.h"
#include "service/rtmp/service.h"

namespace service::rtmp {

using base::CloseReason;
using base::Code;
using base::Result;

namespace {

net::SessionType session_type(::rtmp::PublishStyle style) {
    switch (style) {
        case ::rtmp::PublishStyle::kFmle:
            return net::SessionType::kFmlePublish;
        case ::rtmp::PublishStyle::kHaivision:
            return net::SessionType::kHaivisionPublish;
        case ::rtmp::PublishStyle::kFlash:
            break;
    }
    return net::SessionType::kFlashPublish;
}

}  // namespace

// A forwarding server names the servers of our kind that the stream has passed through.
bool Connection::is_forward_loop() const {
    return http::has_passed(client_.forward_path(), service_.registry().instance());
}

void Connection::decide_publish(const ::rtmp::PublishRequest& request) {
    const config::SnapshotPtr snapshot = service_.snapshot();
    auto refused = [&](const base::Error& error, std::string_view code = "NetStream.Publish.BadName") {
        session_.refuse_publish(code, error.text());
        return refuse("publish", error);
    };
    auto resolved = resolve_stream(request.name, *snapshot);
    if (!resolved) return refused(resolved.error());
    const live::StreamKey& key = resolved->key;
    const config::Vhost* vhost = resolved->vhost;
    if (is_forward_loop())
        return refused(base::Error(Code::kRefused,
                                   fmt::format("{} was forwarded by this server and has come back to it", key.text())),
                       ::rtmp::kForwardLoop);
    set_type(session_type(request.style));
    auto connected = admit_key(*resolved);
    if (!connected) return gave_up(connected.error()) ? void() : refused(connected.error());
    stream_ = service_.registry().find_or_create(key, live::live_options(*vhost));
    // No guard is asked if the name is in use anyway.
    if (auto free = stream_->check_free(vhost->publish.takeover, live::standby_options(*vhost)); !free)
        return refused(free.error());
    auto grant = admit(net::Action::kPublish, *resolved);
    if (!grant) return gave_up(grant.error()) ? void() : refused(grant.error());
    grant->hold(*std::move(connected));
    auto publisher = std::make_unique<Publisher>(*this, snapshot, *vhost, runtime::now_us());
    publisher->keep(*std::move(grant));
    if (auto acquired = publisher->acquire(*stream_); !acquired) return refused(acquired.error());
    publisher_ = std::move(publisher);
    enter_stream(key, true);
    session_.accept_publish();
    base::log::trace("RTMP publish: {}, {}, from {}{}", stream_->key().text(), session_type_name(type()), ip(),
                     publisher_->waits() ? ", as a standby" : "");
}

Result<void> Connection::on_media(::rtmp::Message& message) {
    publisher_->on_media(message);
    return {};
}

// Nobody looks at those of players.
void Connection::on_dropped(const base::Error& error) {
    if (publisher_) publisher_->on_dropped(error);
}

bool Connection::read_now() { return serving() && work_->socket && work_->socket->poll_now(); }

void Connection::on_revoked(std::string_view why, CloseReason reason) {
    const bool replaced = reason == CloseReason::kPublisherReplaced;
    session_.end_publish(replaced ? "NetStream.Publish.BadName" : "NetStream.Publish.Failed", why);
    // Its coroutine is waiting, and the pending output fits the socket's buffer.
    if (auto sent = work_->socket->try_write(session_.take_output()); sent) sent_bytes_ += *sent;
    will_end(why, reason);
    // In the middle of a message the peer goes on sending, which wakes the coroutine, and has time to read the reason.
    work_->refused = reason == CloseReason::kFlood && session_.reader().in_progress() > 0;
    if (!work_->refused) work_->task.cancel();
}

bool Connection::peer_alive() const { return serving() && !work_->socket->peer_gone(); }

live::PublisherFacts Connection::publisher_facts() const {
    return {.session_id = id(),
            .ip = ip(),
            .tc_url = client_.tc_url(),
            .page_url = client_.page_url(),
            .params = std::string(client_.params()),
            .forward_path = std::string(client_.forward_path())};
}

}  // namespace service::rtmp
