#include "net/http/http_server.h"

#include <algorithm>

#include "base/clock.h"
#include "net/http/http_connection.h"

namespace net {

HttpServer::HttpServer(SessionTable& sessions, const HttpRouter& router, HttpServerOptions options)
    : sessions_(sessions), router_(router), options_(std::make_shared<HttpServerOptions>(std::move(options))) {
    opened_files_.set_limit(options_->opened_files);
}

HttpServer::~HttpServer() { stop(); }

void HttpServer::set_options(HttpServerOptions options) {
    options_ = std::make_shared<HttpServerOptions>(std::move(options));
    opened_files_.set_limit(options_->opened_files);
    new_options_.pulse();
}

base::Result<void> HttpServer::listen(const runtime::SocketAddress& address, const TlsPair* tls,
                                      const HttpRouter* router) {
    Listener& listener = *listeners_.emplace_back(std::make_unique<Listener>());
    listener.tls = tls;
    listener.router = router ? router : &router_;
    Acceptor::Handlers handlers;
    handlers.take = [this, &listener](std::unique_ptr<runtime::ByteStream> stream) {
        start(std::move(stream), listener, Slot::kAdmitted);
    };
    handlers.refuse = [this, &listener](std::unique_ptr<runtime::ByteStream> stream, const base::Error& error) {
        refuse(std::move(stream), listener, error);
    };
    listener.acceptor = std::make_unique<Acceptor>(sessions_, "HTTP connection", "http-accept", std::move(handlers));
    TRY(listener.acceptor->listen(address), "HTTP");
    start_closing_idle();
    return {};
}

void HttpServer::start_closing_idle() {
    if (close_idle_.done()) close_idle_ = runtime::spawn("http-idle", [this] { close_idle(); });
}

void HttpServer::serve(std::unique_ptr<runtime::ByteStream> stream, const HttpRouter* router) {
    start_closing_idle();
    start(std::move(stream), {nullptr, nullptr, router ? router : &router_}, Slot::kAdmitted);
}

uint16_t HttpServer::port(size_t listener) const { return listeners_.at(listener)->acceptor->port(); }

void HttpServer::start(std::unique_ptr<runtime::ByteStream> stream, const Listener& listener, Slot slot) {
    ++counters_.connections;
    if (slot == Slot::kReserve) ++counters_.reserve_used;
    HttpConnection& connection = connections_.add(std::make_unique<HttpConnection>(
        *this, *listener.router, std::move(stream), TlsPair::context_of(listener.tls)));
    if (slot == Slot::kReserve) connection.enter_reserve();
    connection.await_request();
    if (pool_.give(connection)) return;
    ++counters_.refused;
    connections_.remove(connection);
}

// When the reserve is full, a connection in it that has not proven that it may use it makes room at once.
bool HttpServer::has_reserve() {
    if (in_reserve_ < options_->reserve) return true;
    return options_->reserve > 0 && reserve_idle_.evict_one(base::monotonic_ms(), 0);
}

// Sends the client the reason, where that is cheap.
void HttpServer::refuse(std::unique_ptr<runtime::ByteStream> stream, const Listener& listener,
                        const base::Error& error) {
    // kRefused: too many connections from one address; otherwise the server is full.
    const bool is_full = error.code() != base::Code::kRefused;
    if (is_full && has_reserve()) return start(std::move(stream), listener, Slot::kReserve);
    ++counters_.refused;
    std::erase_if(refusals_, [](const runtime::Task& task) { return task.done(); });
    if (listener.tls || refusals_.size() >= kMaxRefusals) return;
    refusals_.push_back(runtime::spawn("http-refuse", [options = options_, stream = std::move(stream), is_full] {
        refuse_connection(*stream, options->response, is_full ? 503 : 429);
    }));
}

void HttpServer::close_idle() {
    while (!runtime::cancelled()) {
        if (idle_.empty()) {
            has_idle_.reset();
            (void)has_idle_.wait(runtime::Deadline::never());
        } else if (HttpConnection& longest = *idle_.front(); longest.idle_until().passed()) {
            longest.close_as_idle();
        } else {
            (void)new_options_.wait_next(longest.idle_until());
        }
    }
}

bool HttpServer::Listener::still_serves() const {
    return std::ranges::any_of(router->routes(), [](const HttpRoute& r) { return r.still_served && r.still_served(); });
}

void HttpServer::stop_accepting() {
    stopping_ = true;
    for (auto& listener : listeners_)
        if (listener->acceptor && !listener->still_serves()) listener->acceptor->stop();
    for (auto& connection : connections_) {
        connection->close_if_idle();
        connection->end_wait(false);
    }
}

void HttpServer::give_over(bool on) {
    given_over_ = on;
    if (!on) return;
    for (auto& connection : connections_) {
        connection->close_if_idle();
        connection->end_wait(false);
    }
}

void HttpServer::stop() {
    stop_accepting();
    for (auto& listener : listeners_)
        if (listener->acceptor) listener->acceptor->stop();
    std::vector<runtime::Task> tasks = std::move(refusals_);
    tasks.push_back(std::move(close_idle_));
    for (auto& connection : connections_) connection->end_wait(true);
    // While some are awaited, coroutines may begin to serve others, which are told then.
    while (!connections_.empty()) {
        std::vector<HttpConnection*> unserved;
        for (auto& connection : connections_) {
            connection->cancel("the server stops", base::CloseReason::kServerStop);
            if (!connection->add_tasks(tasks)) unserved.push_back(connection.get());
        }
        for (HttpConnection* connection : unserved) connection->finish();
        for (runtime::Task& task : tasks) task.cancel_and_join();
        tasks.clear();
    }
    for (runtime::Task& task : tasks) task.cancel_and_join();
    listeners_.clear();
}

}  // namespace net
