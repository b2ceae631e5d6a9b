#include "service/cluster/redis_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "protocol/http/url.h"
#include "protocol/redis/command.h"
#include "runtime/loop/clock.h"
#include "runtime/socket/tcp.h"

namespace service::cluster {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kFlushMs = 5;   // while the socket is full
constexpr int64_t kTickMs = 100;  // calls in progress are checked so often
constexpr size_t kReadBytes = 16 * 1024;

}  // namespace

Result<RedisAddress> parse_redis_address(std::string_view text) {
    const auto url = http::parse_absolute_url(fmt::format("http://{}/", text));
    if (!url || url->target != "/" || text.find_first_of("/?#@") != text.npos)
        return fail(Code::kConfig, fmt::format("'{}' is no address: write HOST or HOST:PORT", base::for_log(text)));
    const size_t colon = text.rfind(':'), bracket = text.rfind(']');
    const bool has_port = colon != text.npos && (bracket == text.npos || colon > bracket);
    return RedisAddress{url->host, has_port ? url->port : RedisAddress::kDefaultPort};
}

std::string_view RedisClient::state_name(State state) {
    constexpr std::array<std::string_view, 4> kNames = {"off", "connecting", "up", "away"};
    return kNames[static_cast<size_t>(state)];
}

RedisClient::~RedisClient() { stop(); }

void RedisClient::start(RedisOptions options) {
    if (task_) return;
    options_ = std::move(options);
    begin();
    task_ = runtime::spawn("redis", [this] { run(); });
    if (!task_) state_ = State::kAway;
}

void RedisClient::begin() {
    state_ = options_.enabled ? State::kConnecting : State::kOff;
    reconfigured_ = false;
    has_failed_ = false;
    backoff_.reset();
    error_.clear();
}

void RedisClient::stop() {
    if (task_) task_.cancel_and_join();
    task_ = {};
    state_ = State::kOff;
    changed_.pulse();
}

void RedisClient::reload(const RedisOptions& options) {
    if (!task_ || options == options_) return;
    options_ = options;
    reconfigured_ = true;
    changed_.pulse();
}

Result<std::vector<redis::Reply>> RedisClient::call(std::string commands, size_t count) {
    const auto limit = Deadline::in_ms(options_.timeout);
    ++calls_;
    // The first connection is worth waiting for; later ones may take long.
    while (state_ == State::kConnecting && !has_failed_) {
        if (auto waited = changed_.wait_next(limit); !waited) {
            ++failures_;
            return std::unexpected(std::move(waited).error());
        }
    }
    if (state_ != State::kUp) {
        ++failures_;
        return fail(Code::kClosed, fmt::format("Redis is away: {}", error_.text()));
    }
    if (pending_.size() >= kMaxCalls) {
        ++failures_;
        return fail(Code::kLimit, "too many questions to Redis are in progress");
    }
    const auto call = std::make_shared<Call>(count, limit);
    pending_.push_back(call);
    output_ += commands;
    (void)flush().has_value();  // the connection's coroutine learns of an error, too
    auto waited = call->done.wait(limit);
    if (!waited || !call->problem.empty()) {
        ++failures_;
        if (!waited) return std::unexpected(std::move(waited).error());
        return fail(Code::kClosed, call->problem);
    }
    return std::move(call->replies);
}

void RedisClient::run() {
    runtime::set_context_id(runtime::new_context_id());
    while (!runtime::cancelled()) {
        if (reconfigured_) begin();
        if (!options_.enabled) {
            (void)changed_.wait_next(Deadline::never());
            continue;
        }
        auto ended = serve();
        socket_.reset();
        output_.clear();
        if (!runtime::cancelled() && !reconfigured_) on_connection_end(ended.error());
        fail_calls(error_.empty() ? "the connection to Redis ends" : error_.text());
        changed_.pulse();
        if (reconfigured_) continue;
        state_ = State::kAway;
        has_failed_ = true;
        const auto next = Deadline::in_ms(runtime::varied_ms(backoff_.next_ms()));
        while (!reconfigured_ && !next.passed() && !runtime::cancelled()) (void)changed_.wait_next(next);
        if (!reconfigured_) state_ = State::kConnecting;
    }
    fail_calls("the server stops");
}

void RedisClient::on_connection_end(const base::Error& error) {
    if (error_.update(error.text()))
        base::log::warn("redis: {} is away: {}; it is tried again", base::for_log(options_.server), error_.text());
}

void RedisClient::fail_calls(const std::string& problem) {
    for (const auto& call : std::exchange(pending_, {})) {
        call->problem = problem;
        call->done.set();
    }
}

Result<void> RedisClient::serve() {
    const auto limit = Deadline::in_ms(options_.timeout);
    ++connections_;
    const RedisAddress address = TRY(parse_redis_address(options_.server));
    auto socket = TRY(runtime::connect_tcp(address.host, address.port, limit));
    socket->set_no_delay(true);
    reader_ = std::make_unique<redis::ReplyReader>();
    TRY(greet(*socket, *reader_, limit));
    if (reconfigured_) return {};
    socket_ = std::move(socket);
    state_ = State::kUp;
    has_failed_ = false;
    backoff_.reset();
    error_.clear();
    read_ms_ = runtime::now_ms();
    base::log::trace("redis: {} answers", base::for_log(options_.server));
    changed_.pulse();
    on_up_();
    while (!reconfigured_) TRY(read_once());
    return {};
}

// A Redis that wants a password answers the PING with an error, too.
Result<void> RedisClient::greet(runtime::ByteStream& socket, redis::ReplyReader& reader, Deadline limit) {
    std::string commands;
    size_t left = 1;
    if (!options_.password.empty()) {
        ++left;
        options_.user.empty() ? redis::append_command(commands, {"AUTH", options_.password})
                              : redis::append_command(commands, {"AUTH", options_.user, options_.password});
    }
    if (options_.db != 0) {
        ++left;
        redis::append_command(commands, {"SELECT", std::to_string(options_.db)});
    }
    redis::append_command(commands, {"PING"});
    TRY(socket.write({reinterpret_cast<const uint8_t*>(commands.data()), commands.size()}, limit), "greeting");
    while (left > 0) {
        auto bytes = TRY(runtime::read_shared(socket, limit), "waiting for the answer");
        if (bytes.empty()) return fail(Code::kClosed, "it closed the connection");
        reader.feed(bytes);
        while (left > 0) {
            auto reply = TRY(reader.next());
            if (!reply) break;
            --left;
            if (reply->type == redis::Reply::Type::kError)
                return fail(Code::kRefused, fmt::format("it refuses this server: {}", base::for_log(reply->text)));
        }
    }
    return {};
}

Result<void> RedisClient::flush() {
    if (!socket_ || output_.empty()) return {};
    const size_t sent =
        TRY(socket_->try_write({reinterpret_cast<const uint8_t*>(output_.data()), output_.size()}), "asking");
    output_.erase(0, sent);
    return {};
}

Result<void> RedisClient::read_once() {
    TRY(flush());
    std::array<uint8_t, kReadBytes> buffer;
    auto read = socket_->read(buffer, Deadline::in_ms(output_.empty() ? kTickMs : kFlushMs));
    if (!read && read.error().code() != Code::kTimeout) return std::unexpected(std::move(read).error());
    if (read) {
        if (*read == 0) return fail(Code::kClosed, "it closed the connection");
        read_ms_ = runtime::now_ms();
        reader_->feed(std::span(buffer).first(*read));
        TRY(take_replies());
    }
    if (!pending_.empty()) {
        if (pending_.front()->limit.passed())
            return fail(Code::kTimeout, fmt::format("no answer for {} ms", options_.timeout));
    } else if (runtime::now_ms() - read_ms_ >= kPingMs) {
        pending_.push_back(std::make_shared<Call>(1, Deadline::in_ms(options_.timeout)));
        redis::append_command(output_, {"PING"});
    }
    return {};
}

Result<void> RedisClient::take_replies() {
    while (true) {
        auto reply = TRY(reader_->next());
        if (!reply) return {};
        if (pending_.empty()) return fail(Code::kProtocol, "an answer to no question");
        const std::shared_ptr<Call> call = pending_.front();
        call->replies.push_back(*std::move(reply));
        if (call->replies.size() < call->count) continue;
        pending_.pop_front();
        call->done.set();
    }
}

}  // namespace service::cluster
