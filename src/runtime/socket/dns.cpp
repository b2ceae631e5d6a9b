#include "runtime/socket/dns.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/ref.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/coroutine_state.h"
#include "runtime/loop/reactor.h"
#include "runtime/loop/services.h"
#include "runtime/loop/sync.h"

namespace runtime {
namespace detail {
namespace {

constexpr size_t kQueryBound = 1024;  // concurrent lookups
constexpr int kTryTimeoutMs = 2000;
constexpr int kTries = 3;

// One lookup. c-ares may answer after the caller has given up, so both hold a reference.
struct Query : base::RefCounted<Query> {
    Event answered{"a name to be resolved"};
    int status = ARES_SUCCESS;
    std::vector<std::string> addresses;
};

class Resolver;

// A descriptor of c-ares in the loop, level-triggered, because c-ares may not read it until empty.
class AresSocket final : public ParkedHandler {
  public:
    AresSocket(Resolver& resolver, ares_socket_t fd) : resolver_(resolver), fd_(fd) {}
    ~AresSocket() { watch_.forget(); }
    bool watch(uint32_t events) {
        if (watch_.fd() >= 0) {
            watch_.change_events(events);
            return true;
        }
        if (!watch_.open(fd_, events)) return false;
        watch_.write_would_block();
        watch_.park(*this);
        return true;
    }
    void on_readable() override;
    void on_writable() override;
    void on_hangup() override { on_readable(); }
    Watch& watch() { return watch_; }

  private:
    Resolver& resolver_;
    ares_socket_t fd_;
    Watch watch_;
};

class Resolver {
  public:
    base::Result<void> start();
    void stop();
    base::Result<base::Ref<Query>> ask(const std::string& name);
    void process(ares_socket_t readable, ares_socket_t writable);

  private:
    static void on_socket_state(void* self, ares_socket_t fd, int readable, int writable);
    static void on_answer(void* query, int status, int timeouts, ares_addrinfo* result);
    void run_timers();

    ares_channel channel_ = nullptr;
    std::map<ares_socket_t, std::unique_ptr<AresSocket>> sockets_;
    std::vector<std::unique_ptr<AresSocket>> closed_;  // may be the one whose handler is running
    size_t queries_ = 0;
    Event changed_;  // a query has begun, or the resolver stops
    bool stopping_ = false;
    Task timers_;
};

Resolver* resolver = nullptr;  // owned; exit() leaves it alone

void AresSocket::on_readable() { resolver_.process(fd_, ARES_SOCKET_BAD); }
void AresSocket::on_writable() {
    watch_.write_would_block();  // level-triggered: called as long as c-ares requests it
    resolver_.process(ARES_SOCKET_BAD, fd_);
}

base::Result<void> Resolver::start() {
    static const int library = ares_library_init(ARES_LIB_INIT_ALL);
    if (library != ARES_SUCCESS) return base::fail(base::Code::kSystem, "c-ares does not start");
    ares_options options{};
    options.timeout = kTryTimeoutMs;
    options.tries = kTries;
    options.sock_state_cb = on_socket_state;
    options.sock_state_cb_data = this;
    const int status =
        ares_init_options(&channel_, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (status != ARES_SUCCESS) {
        return base::fail(base::Code::kSystem,
                          fmt::format("name resolution does not start: {}", ares_strerror(status)));
    }
    timers_ = spawn("dns", [this] { run_timers(); });
    return {};
}

void Resolver::stop() {
    stopping_ = true;
    changed_.pulse();
    timers_.cancel_and_join();
    ares_destroy(channel_);
    sockets_.clear();
    closed_.clear();
}

void Resolver::on_socket_state(void* self, ares_socket_t fd, int readable, int writable) {
    auto& resolver = *static_cast<Resolver*>(self);
    auto at = resolver.sockets_.find(fd);
    if (!readable && !writable) {  // c-ares is about to close it
        if (at == resolver.sockets_.end()) return;
        at->second->watch().forget();
        resolver.closed_.push_back(std::move(at->second));
        resolver.sockets_.erase(at);
        return;
    }
    if (at == resolver.sockets_.end()) {
        at = resolver.sockets_.emplace(fd, std::make_unique<AresSocket>(resolver, fd)).first;
    }
    // If the loop cannot watch it, the lookup ends by its timeout.
    at->second->watch((readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u));
}

void Resolver::process(ares_socket_t readable, ares_socket_t writable) {
    ares_process_fd(channel_, readable, writable);
    changed_.pulse();
}

void Resolver::run_timers() {
    while (!stopping_) {
        closed_.clear();
        auto deadline = Deadline::never();
        if (timeval wait{}; ares_timeout(channel_, nullptr, &wait)) {
            deadline = Deadline::at_us(now_us() + wait.tv_sec * 1'000'000LL + wait.tv_usec);
        }
        auto woken = changed_.wait_next(deadline);
        if (!woken && woken.error().code() == base::Code::kTimeout) {
            ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        }
    }
}

void Resolver::on_answer(void* argument, int status, int, ares_addrinfo* result) {
    const std::unique_ptr<base::Ref<Query>> held(static_cast<base::Ref<Query>*>(argument));
    Query& query = **held;
    --resolver->queries_;
    query.status = status;
    std::vector<std::string> v6;
    for (auto* node = result ? result->nodes : nullptr; node; node = node->ai_next) {
        char text[INET6_ADDRSTRLEN] = "";
        const bool is_v4 = node->ai_family == AF_INET;
        const void* ip = is_v4 ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(node->ai_addr)->sin_addr)
                               : &reinterpret_cast<sockaddr_in6*>(node->ai_addr)->sin6_addr;
        inet_ntop(node->ai_family, ip, text, sizeof text);
        auto& list = is_v4 ? query.addresses : v6;
        if (std::find(list.begin(), list.end(), text) == list.end()) list.emplace_back(text);
    }
    query.addresses.insert(query.addresses.end(), v6.begin(), v6.end());
    if (result) ares_freeaddrinfo(result);
    query.answered.set();
}

base::Result<base::Ref<Query>> Resolver::ask(const std::string& name) {
    if (queries_ >= kQueryBound) return base::fail(base::Code::kLimit, "too many names are being resolved");
    auto query = base::make_ref<Query>();
    ++queries_;
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_flags = ARES_AI_NOSORT;
    // The answer may arrive inside this call.
    ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, on_answer,
                     std::make_unique<base::Ref<Query>>(query).release());
    changed_.pulse();
    return query;
}

base::Code code_of(int status) { return status == ARES_ETIMEOUT ? base::Code::kTimeout : base::Code::kNotFound; }

base::Result<std::vector<std::string>> ask_resolver(const std::string& name, Deadline deadline) {
    if (!resolver) {
        auto fresh = std::make_unique<Resolver>();
        TRY(fresh->start());
        resolver = fresh.release();
        stop_at_shutdown(Service::kDns, [] {
            resolver->stop();
            std::unique_ptr<Resolver>(std::exchange(resolver, nullptr)).reset();
        });
    }
    const auto query = TRY(resolver->ask(name));
    TRY(query->answered.wait(deadline));
    if (query->addresses.empty()) {
        const int status = query->status == ARES_SUCCESS ? ARES_ENODATA : query->status;
        return base::fail(code_of(status), ares_strerror(status));
    }
    return std::move(query->addresses);
}

}  // namespace

}  // namespace detail

base::Result<std::vector<std::string>> resolve(const std::string& name, Deadline deadline) {
    TRY(detail::check_cancelled());
    in6_addr numeric;
    if (inet_pton(AF_INET, name.c_str(), &numeric) == 1 || inet_pton(AF_INET6, name.c_str(), &numeric) == 1) {
        return std::vector<std::string>{name};
    }
    return TRY(detail::ask_resolver(name, deadline), fmt::format("resolving \"{}\"", name));
}

}  // namespace runtime
