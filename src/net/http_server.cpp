#include "net/http_server.h"

#include <algorithm>

#include "net/http_connection.h"
#include "runtime/log_limit.h"

namespace net {

HttpServer::HttpServer(SessionTable& sessions, const HttpRouter& router, HttpServerOptions options)
    : sessions_(sessions), router_(router), options_(std::make_shared<HttpServerOptions>(std::move(options))) {}

HttpServer::~HttpServer() { stop(); }

void HttpServer::set_options(HttpServerOptions options) {
    options_ = std::make_shared<HttpServerOptions>(std::move(options));
}

void HttpServer::set_tls(std::shared_ptr<runtime::TlsContext> tls) {
    for (auto& listener : listeners_)
        if (listener->tls) listener->tls = tls;
}

base::Result<void> HttpServer::listen(const runtime::SocketAddress& address, std::shared_ptr<runtime::TlsContext> tls) {
    auto listener = std::make_unique<Listener>();
    listener->socket = TRY(runtime::listen_tcp(address), "HTTP");
    listener->tls = std::move(tls);
    Listener& place = *listeners_.emplace_back(std::move(listener));
    place.acceptor = runtime::spawn("http-accept", [this, &place] { accept_loop(place); });
    return {};
}

uint16_t HttpServer::port(size_t listener) const { return listeners_.at(listener)->socket->port(); }

void HttpServer::accept_loop(Listener& listener) {
    runtime::LogCondition failing;
    while (true) {
        auto stream = listener.socket->accept(runtime::Deadline::never());
        if (!stream) {
            if (stream.error().code() == base::Code::kCancelled) return;
            runtime::note_failure(failing, "HTTP accept", stream.error());
            // Most likely there are no descriptors left; trying again at once would only burn time.
            if (!runtime::sleep_ms(100)) return;
            continue;
        }
        runtime::note_success(failing, "HTTP accept");
        auto admitted = sessions_.admit_connection(options_->max_connections, (*stream)->peer_ip());
        if (admitted) {
            start(*std::move(stream), listener.tls);
        } else {
            refuse(*std::move(stream), listener.tls != nullptr, admitted.error());
        }
    }
}

void HttpServer::start(std::unique_ptr<runtime::ByteStream> stream, std::shared_ptr<runtime::TlsContext> tls) {
    ++counters_.connections;
    auto connection = std::make_unique<HttpConnection>(*this, std::move(stream), std::move(tls));
    HttpConnection& place = *connection;
    connections_.insert(&place);
    place.set_task(runtime::spawn("http", [this, connection = std::move(connection)]() mutable {
        connection->run();
        connections_.erase(connection.get());
        connection.reset();
    }));
}

// The client learns why, where that costs little.
void HttpServer::refuse(std::unique_ptr<runtime::ByteStream> stream, bool tls, const base::Error& error) {
    ++counters_.refused;
    sessions_.log_refusal("HTTP", stream->peer_ip(), error);
    std::erase_if(refusals_, [](const runtime::Task& task) { return task.done(); });
    if (tls || refusals_.size() >= kMostRefusals) return;
    // Of one address there are too many; of the server there is too little.
    const int status = error.code() == base::Code::kRefused ? 429 : 503;
    refusals_.push_back(runtime::spawn("http-refuse", [options = options_, stream = std::move(stream), status] {
        refuse_connection(*stream, options->response, status);
    }));
}

bool HttpServer::still_serves() const {
    return std::ranges::any_of(router_.routes(), [](const HttpRoute& r) { return r.still_served && r.still_served(); });
}

void HttpServer::close_listeners() {
    for (auto& listener : listeners_)
        if (listener->acceptor) listener->acceptor.cancel_and_join();
}

void HttpServer::stop_accepting() {
    stopping_ = true;
    if (!still_serves()) close_listeners();
    for (HttpConnection* connection : connections_) connection->close_if_idle();
}

void HttpServer::stop() {
    stop_accepting();
    close_listeners();
    std::vector<runtime::Task> tasks = std::move(refusals_);
    for (HttpConnection* connection : connections_) {
        connection->cancel("the server stops", base::CloseReason::kServerStop);
        tasks.push_back(connection->task());
    }
    for (runtime::Task& task : tasks) task.cancel_and_join();
    listeners_.clear();
}

}  // namespace net
