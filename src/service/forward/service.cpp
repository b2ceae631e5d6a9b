#include "service/forward/service.h"

#include <algorithm>

#include "base/log.h"
#include "protocol/rtmp/server_session.h"
#include "runtime/loop/limited_log.h"
#include "service/forward/config.h"
#include "service/relay/path.h"

namespace service::forward {

using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kStopMs = 2'000;  // for data being sent when the server ends

}  // namespace

Service::Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry, Post post,
                 std::string service_id, const std::vector<PushOffer>& links)
    : snapshot_(std::move(snapshot)),
      sessions_(sessions),
      registry_(registry),
      followed_(registry, *this),
      service_id_(std::move(service_id)),
      shared_{.links = links} {
    query_limiter_.post = std::move(post);
}

Service::~Service() { stop(); }

Result<void> Service::start() {
    started_ = true;
    followed_.start(snapshot_);
    return {};
}

void Service::stop() {
    if (!std::exchange(started_, false)) return;
    followed_.stop();
    for (auto& query : std::exchange(queries_, {})) query->cancel();
    for (auto& push : pushes_) push->finish();
    pushes_.wait_empty(Deadline::in_ms(kStopMs));
    pushes_.cancel_and_join();
    (void)query_limiter_.running.wait_empty(Deadline::never());
}

void Service::reload(const config::SnapshotPtr& next) {
    snapshot_ = next;
    followed_.reload(next);
}

bool Service::wants(const live::Stream&, const config::Vhost& vhost) const { return vhost.get<VhostConfig>().enabled; }

bool Service::follow(live::Stream& stream, const config::Vhost& vhost) {
    keep(stream, vhost);
    return true;
}

void Service::keep(live::Stream& stream, const config::Vhost& vhost) {
    const auto& forward = vhost.get<VhostConfig>();
    if (!forward.backend.empty()) return ask(stream, forward.backend);
    stop_asking(stream);
    send_to(stream, forward.destination);
}

void Service::leave(live::Stream& stream) {
    stop_asking(stream);
    send_to(stream, {});
}

BackendQuery* Service::asking_of(const live::Stream& stream) const {
    auto found = std::ranges::find(queries_, &stream, [](const auto& query) { return query->stream(); });
    return found == queries_.end() ? nullptr : found->get();
}

void Service::stop_asking(const live::Stream& stream) {
    std::erase_if(queries_, [&](const auto& query) {
        if (query->stream() != &stream) return false;
        query->cancel();
        return true;
    });
}

void Service::ask(live::Stream& stream, const std::string& url) {
    if (BackendQuery* before = asking_of(stream); before && before->url() == url) return;
    stop_asking(stream);
    if (!stream.publisher()) return;
    live::PublisherFacts publisher = stream.publisher()->facts();
    if (const net::Session* session = sessions_.find(publisher.session_id))
        publisher.params = net::reported_param(session->type(), publisher.params);
    std::string body = backend_request(snapshot_->global.server_id, service_id_, stream.key(), publisher);
    BackendUser& user = *this;
    queries_.push_back(
        BackendQuery::begin(user, query_limiter_, base::Ref<live::Stream>(&stream), url, std::move(body)));
}

void Service::backend_answered(live::Stream& stream, const std::vector<std::string>& destinations) {
    base::log::trace("forward: the backend names {} destinations for {}", destinations.size(), stream.key().text());
    send_to(stream, destinations);
}

// Makes these the stream's only destinations.
void Service::send_to(live::Stream& stream, const std::vector<std::string>& destinations) {
    live::PublisherFacts publisher = stream.publisher() ? stream.publisher()->facts() : live::PublisherFacts();
    const std::string path = relay::path_through(stream, registry_);
    std::vector<Target> wanted;
    for (const std::string& destination : destinations) {
        auto target = make_target(destination, stream.key(), publisher.params, path);
        if (!target) {
            runtime::error_limited("forward: {}: {}", stream.key().text(), target.error().text());
        } else if (std::ranges::find(wanted, target->text, &Target::text) == wanted.end()) {
            wanted.push_back(*std::move(target));
        }
    }
    for (auto& push : pushes_) {
        if (push->ending() || push->key() != stream.key()) continue;
        bool stays =
            std::erase_if(wanted, [&](const Target& target) { return target.text == push->target().text; }) > 0;
        if (!stays) push->finish();
    }
    if (wanted.empty()) return;
    if (path.size() > ::rtmp::kMaxForwardPath)
        return runtime::error_limited("forward: {} has passed through too many servers, and is not forwarded",
                                      stream.key().text());
    for (Target& target : wanted) {
        SinkOwner& owner = *this;
        auto push = std::make_unique<Push>(owner, shared_, base::Ref<live::Stream>(&stream), std::move(target), path);
        if (push->start()) pushes_.add(std::move(push));
    }
}

}  // namespace service::forward
