// What a Connection asks before it publishes or plays: the key that a name stands for, and the guards of the gate. What
// was admitted at connect holds for the vhost and app that connect named. A stream of others is asked about like a
// connect of its own first: on_connect and token_traverse have decided about each key that is published or played.

#include "base/log.h"
#include "base/text.h"
#include "net/access/access_rules.h"
#include "runtime/loop/clock.h"
#include "service/rtmp/connection.h"
#include "service/rtmp/service.h"

namespace service::rtmp {

using base::CloseReason;
using base::Code;
using base::Result;

Result<Connection::Place> Connection::resolve(std::string_view tc_url, std::string_view app, std::string_view name,
                                              const config::Snapshot& snapshot) {
    auto address = TRY(::rtmp::resolve_stream(tc_url, app, name, std::string(config::kDefaultVhost)));
    const config::Vhost* vhost = snapshot.vhost(address.vhost);
    live::StreamKey key{vhost ? vhost->name : std::string(), std::move(address.app), std::move(address.stream)};
    return Place{vhost, std::move(key), std::move(address.vhost), std::move(address.params)};
}

std::unexpected<base::Error> Connection::no_vhost(const Place& place) {
    return base::fail(CloseReason::kNotFound,
                      fmt::format("vhost {} is not there or disabled", base::for_log(place.named_vhost)));
}

Result<Connection::Place> Connection::resolve_stream(std::string_view name, const config::Snapshot& snapshot) {
    auto place = TRY(resolve(client_.tc_url(), client_.app(), name, snapshot));
    if (!place.vhost) return no_vhost(place);
    client_.set_params(place.params);
    return place;
}

// The time that guards and look-ups take is not counted against the client.
void Connection::not_counting(int64_t waited_us) {
    work_->deadline = runtime::Deadline::at_us(work_->deadline.at_us() + waited_us);
}

// The URL of the stream at another server, to which its players are sent; empty: it is played here. The hooks of this
// server are not asked about such a player, those of the other one are. Yields if there is a look-up.
std::string Connection::redirection(const Place& place) {
    Locator* locator = service_.locator();
    if (!locator || !locator->redirects(*place.vhost, false) ||
        !net::check_play(*place.vhost, ip(), client_.page_url()))
        return {};
    const int64_t began_us = runtime::now_us();
    const std::string server = locator->redirect(place.key, false);
    not_counting(runtime::now_us() - began_us);
    return server.empty() ? std::string() : rtmp_redirect(server, place.key, client_.params());
}

Result<net::Grant> Connection::ask_gate(net::Visitor visitor, const config::Vhost& vhost) {
    visitor.id = id();
    visitor.ip = ip();
    visitor.page_url = client_.page_url();
    visitor.swf_url = client_.swf_url();
    visitor.forward_path = client_.forward_path();
    const int64_t began_us = runtime::now_us();
    auto grant = service_.gate().admit(std::move(visitor), vhost, work_->socket.get());
    not_counting(runtime::now_us() - began_us);
    return grant;
}

// Yields if a guard does.
Result<net::Grant> Connection::admit(net::Action action, const Place& place) {
    net::Visitor visitor;
    visitor.action = action;
    visitor.type = action == net::Action::kPlay ? net::SessionType::kRtmpPlay : type();
    visitor.vhost = place.key.vhost;
    visitor.app = place.key.app;
    visitor.stream = place.key.name;
    visitor.param = place.params;
    visitor.tc_url = client_.tc_url();
    return ask_gate(std::move(visitor), *place.vhost);
}

// A connect to the place's vhost and app. Yields if a guard does.
Result<net::Grant> Connection::admit_connect(const Place& place) {
    net::Visitor visitor;
    visitor.action = net::Action::kConnect;
    visitor.type = type();
    visitor.vhost = place.key.vhost;
    visitor.app = place.key.app;
    visitor.param = place.params;
    visitor.tc_url = client_.tc_url();
    // One of a stream with another vhost or app: as a client would connect there.
    if (session_.connected()) visitor.tc_url = ::rtmp::tc_url_of(place.key.vhost, place.key.app, place.params);
    return ask_gate(std::move(visitor), *place.vhost);
}

// The connect that a stream's vhost and app need. It lasts as long as the stream is published or played.
Result<net::Grant> Connection::admit_key(const Place& place) {
    if (client_.connected_to(place.key)) return net::Grant();
    auto grant = TRY(admit_connect(place));
    apply(*place.vhost);
    return grant;
}

void Connection::apply(const config::Vhost& vhost) {
    if (vhost.tcp_nodelay || vhost.min_latency) work_->socket->set_no_delay(true);
}

}  // namespace service::rtmp
