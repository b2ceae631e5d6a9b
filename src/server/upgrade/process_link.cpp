#include "server/upgrade/process_link.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "live/hub/options.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/loop/limited_log.h"
#include "server/upgrade/figures.h"

namespace server {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;
using upgrade::Kind;
using upgrade::Message;

namespace {

// Neither what comes from the other process, nor what this one pulls from other servers for its players: the other one
// pulls that from there, too, and would otherwise be a player that never leaves.
bool is_own(const live::Stream& stream) {
    const live::PublicationOwner* publisher = stream.publisher();
    return publisher && !publisher->is_copy() && !publisher->is_relay();
}

}  // namespace

ProcessLink::~ProcessLink() { close(); }

void ProcessLink::connect(const Parts& parts) {
    parts_ = std::make_unique<Parts>(parts);
    http_ = std::make_unique<LinkHttp>(
        parts.sessions, LinkHttp::Routers{parts.api_router, parts.router, parts.offers.other_process_router},
        [this](std::string_view router) { return connect_http(router); });
}

void ProcessLink::open(std::unique_ptr<runtime::ProcessChannel> channel, std::function<config::SnapshotPtr()> snapshot,
                       bool is_replaced) {
    CHECK(parts_ && !is_open_);
    close();
    snapshot_ = std::move(snapshot);
    channel_ = std::move(channel);
    is_open_ = true;
    is_replaced_ = is_replaced;
    parts_->registry.watch(*this);
    parts_->gate.add(*this);
    std::vector<base::StreamKey> published;
    parts_->registry.for_each([&](live::Stream& stream) {
        if (stream.published() && is_own(stream)) published.push_back(stream.key());
    });
    named_ = {published.begin(), published.end()};
    for (const Message& message : upgrade::messages_of(Kind::kPublished, published)) post(message);
    if (is_replaced_) {
        auto passing = datagrams_.open_passing();
        if (passing) post({.kind = Kind::kDatagrams}, *std::move(passing));
        if (!passing) base::log::error("upgrade: datagrams for the other process: {}", passing.error().text());
    }
    since_ms_ = base::wall_ms();
    is_ending_ = false;
    http_->open();
    receiver_ = runtime::spawn("other-process", [this] { receive(); });
    sender_ = runtime::spawn("to-other-process", [this] { send_queued(); });
    reporter_ = runtime::spawn("figures-for-other-process", [this] { send_figures(); });
    if (is_replaced_) counter_ = runtime::spawn("counters-of-other-process", [this] { read_other(); });
    if (!receiver_ || !sender_) end("no coroutine could be started");
}

void ProcessLink::close() {
    if (!channel_) return;
    end("closed");
    lost_.clear();
    if (receiver_) std::exchange(receiver_, {}).cancel_and_join();
    for (runtime::Task* task : {&sender_, &reporter_, &counter_})
        if (*task) std::exchange(*task, {}).cancel_and_join();
    http_->close();
    datagrams_.close();
    channel_.reset();
    queue_.clear();
}

Result<void> ProcessLink::await_end(Deadline deadline) {
    while (is_open_) TRY(ended_.wait_next(deadline));
    return {};
}

// The coroutines end soon; close() awaits them.
void ProcessLink::end(std::string_view why) {
    if (!std::exchange(is_open_, false)) return;
    base::log::trace("upgrade: the link to the other process has ended: {}", why);
    // The other process learns it, too, whatever waits in between.
    channel_->shut_down();
    parts_->registry.unwatch(*this);
    parts_->gate.remove(*this);
    // What passes has no coroutine: this does not yield.
    if (is_replaced_) datagrams_.close();
    lost_ = std::exchange(streams_, {});
    named_.clear();
    figures_.reset();
    use_elsewhere({});
    ending_.pulse();
    answered_.pulse();
    queued_.pulse();
    ended_.pulse();
    // Those who wait for a stream of it do so in vain.
    parts_->registry.wake_waiting();
}

// ---- The channel

void ProcessLink::receive() {
    while (is_open_) {
        auto message = channel_->receive(Deadline::never());
        if (!message && message.error().code() == Code::kCancelled) return;
        if (message)
            take(*message);
        else
            end(message.error().text());
    }
    report_lost();
}

// In this coroutine, whoever has found the end: that may be one of those who are told. Until the last one is told the
// first of the streams may be published here again, which they look up.
void ProcessLink::report_lost() {
    runtime::CpuSlice slice;
    while (!lost_.empty() && slice.step())
        if (!lost_.empty()) tell_of(lost_.extract(lost_.begin()).value());
}

void ProcessLink::send_queued() {
    while (is_open_) {
        if (queue_.empty()) {
            if (!queued_.wait_next(Deadline::never())) return;
            continue;
        }
        runtime::ProcessMessage message = std::move(queue_.front());
        queue_.pop_front();
        if (auto sent = channel_->send(std::move(message), Deadline::never()); !sent) {
            if (sent.error().code() != Code::kCancelled) end(sent.error().text());
            return;
        }
    }
}

bool ProcessLink::post(const Message& message, runtime::OwnedDescriptors descriptors) {
    if (!is_open_) return false;
    if (queue_.size() >= kMaxQueued) {
        end("it does not read what it is told");
        return false;
    }
    queue_.push_back({upgrade::write_message(message), std::move(descriptors)});
    queued_.pulse();
    return true;
}

void ProcessLink::take(runtime::ProcessMessage& message) {
    auto parsed = upgrade::parse_message(message.text);
    if (!parsed) return end(parsed.error().text());
    switch (parsed->kind) {
        case Kind::kPublished:
            return add_streams(parsed->keys);
        case Kind::kUnpublished:
            return remove_streams(parsed->keys);
        case Kind::kStream:
            return serve(message.descriptors);
        case Kind::kDatagrams:
            return receive_datagrams(message.descriptors);
        case Kind::kClaim:
            return answer_claim(*parsed);
        case Kind::kHttp:
            return serve_http(message.descriptors, parsed->text);
        case Kind::kFigures:
            if (parsed->figures) take_figures(*std::move(parsed->figures));
            return;
        case Kind::kEnd:
            return end_as_told();
        case Kind::kEnding:
            is_ending_ = true;
            return ending_.pulse();
        case Kind::kVerdict:
            if (const auto found = claims_.find(parsed->id); found != claims_.end()) {
                *found->second = {true, parsed->is_granted, parsed->text};
                answered_.pulse();
            }
            return;
        default:
            return;
    }
}

// ---- Streams

void ProcessLink::stream_published(live::Stream& stream) {
    if (!is_own(stream) || !named_.insert(stream.key()).second) return;
    for (const Message& message : upgrade::messages_of(Kind::kPublished, {stream.key()})) post(message);
}

void ProcessLink::stream_unpublished(live::Stream& stream) {
    if (named_.erase(stream.key()) == 0) return;
    for (const Message& message : upgrade::messages_of(Kind::kUnpublished, {stream.key()})) post(message);
}

void ProcessLink::add_streams(const std::vector<base::StreamKey>& keys) {
    for (const base::StreamKey& key : keys) {
        if (streams_.size() >= kMaxStreams) {
            runtime::warn_limited("upgrade: the other process publishes more than {} streams; others are not found",
                                  kMaxStreams);
            return;
        }
        if (!streams_.insert(key).second) continue;
        if (!is_replaced_) end_standbys(key);
        tell_of(key);
        if (!is_open_) return;
    }
}

// A publisher that waits here for a name that has gone to the other process would be a second one of it. When it comes
// again, it waits there.
void ProcessLink::end_standbys(const base::StreamKey& key) const {
    const auto stream = parts_->registry.find(key);
    if (!stream || !stream->standby() || (stream->published() && is_own(*stream))) return;
    std::vector<live::PublicationOwner*> waiting;
    for (const live::StandbyPublisher& one : stream->standby()->publishers()) waiting.push_back(one.owner);
    for (live::PublicationOwner* owner : waiting)
        owner->publication_revoked("the name has gone to the server's new process, where publishers wait from now on",
                                   base::CloseReason::kPublisherReplaced);
}

void ProcessLink::remove_streams(const std::vector<base::StreamKey>& keys) {
    for (const base::StreamKey& key : keys)
        if (streams_.erase(key) > 0) tell_of(key);
}

void ProcessLink::tell_of(const base::StreamKey& key) const {
    for (const auto& tell : parts_->offers.other_process_changed) tell(key);
}

Result<std::unique_ptr<runtime::ByteStream>> ProcessLink::connect() {
    if (!is_open_) return fail(Code::kClosed, "the other process has ended");
    auto [mine, theirs] = TRY(runtime::local_stream_pair());
    if (!post({.kind = Kind::kStream}, std::move(theirs)))
        return fail(Code::kClosed, "the other process has ended, or stands still");
    return std::move(mine);
}

void ProcessLink::serve(runtime::OwnedDescriptors& descriptors) {
    const auto fd = descriptors.release_one();
    if (!fd) return;
    auto stream = runtime::local_stream(*fd);
    if (!stream) return runtime::warn_limited("upgrade: {}", stream.error().text());
    if (parts_->offers.serve_other_process) parts_->offers.serve_other_process(*std::move(stream));
}

void ProcessLink::receive_datagrams(runtime::OwnedDescriptors& descriptors) {
    const auto fd = descriptors.release_one();
    if (!fd || is_replaced_) return;
    if (auto opened = datagrams_.open_receiving(*fd); !opened)
        base::log::error("upgrade: datagrams of the other process: {}", opened.error().text());
}

// ---- The API, figures and counters

Result<std::unique_ptr<runtime::ByteStream>> ProcessLink::connect_http(std::string_view router) {
    if (!is_open_) return fail(Code::kClosed, "the other process has ended");
    auto [mine, theirs] = TRY(runtime::local_stream_pair());
    if (!post({.kind = Kind::kHttp, .text = std::string(router)}, std::move(theirs)))
        return fail(Code::kClosed, "the other process has ended, or stands still");
    return std::move(mine);
}

void ProcessLink::serve_http(runtime::OwnedDescriptors& descriptors, std::string_view router) {
    const auto fd = descriptors.release_one();
    if (!fd) return;
    auto stream = runtime::local_stream(*fd);
    if (!stream) return runtime::warn_limited("upgrade: {}", stream.error().text());
    http_->serve(*std::move(stream), router);
}

Result<net::HttpAnswer> ProcessLink::ask(service::OtherRequest request) {
    if (!is_open_) return fail(Code::kClosed, "the other process has ended");
    return http_->ask(std::move(request));
}

void ProcessLink::send_figures() {
    do {
        post_figures();
    } while (runtime::sleep_ms(kFiguresMs));
}

void ProcessLink::post_figures() {
    service::ProcessFigures figures = figures_of(parts_->sessions, parts_->registry);
    figures.traffic += earlier_traffic_;
    post({.kind = Kind::kFigures, .figures = std::move(figures)});
}

void ProcessLink::take_figures(service::ProcessFigures figures) {
    use_elsewhere(figures);
    if (is_replaced_) earlier_traffic_ = figures.traffic;
    figures_ = std::move(figures);
}

void ProcessLink::use_elsewhere(const service::ProcessFigures& figures) const {
    parts_->sessions.admission().set_elsewhere(figures.connections, figures.addresses);
    parts_->registry.set_memory_elsewhere(figures.stream_memory);
}

// When it begins, and when the other process is about to end, which waits for that.
void ProcessLink::read_other() {
    const auto read = [this](bool is_ending) {
        for (const auto& one : parts_->offers.read_other_process) one(is_ending);
    };
    read(false);
    while (is_open_ && !is_ending_)
        if (!ending_.wait_next(Deadline::never())) return;
    if (!is_open_) return;
    read(true);
    post({.kind = Kind::kEnding});
}

void ProcessLink::announce_end() {
    if (!is_open_ || is_replaced_) return;
    post_figures();
    if (!post({.kind = Kind::kEnding})) return;
    const Deadline limit = Deadline::in_ms(kLastReadMs);
    while (is_open_ && !is_ending_)
        if (!ending_.wait_next(limit)) return;
}

Result<void> ProcessLink::end_other() {
    if (!is_open_ || !is_replaced_ || !post({.kind = Kind::kEnd}))
        return fail(Code::kClosed, "there is no earlier process");
    return {};
}

void ProcessLink::end_as_told() const {
    if (is_replaced_) return;
    base::log::trace("upgrade: the other process was asked to end this one, with the clients that are left");
    ::kill(getpid(), SIGINT);
}

// ---- Names

Result<void> ProcessLink::admit(const net::Visitor& visitor, const config::Vhost&) {
    if (visitor.action != net::Action::kPublish || !publishes(visitor.key())) return {};
    const uint64_t id = ++last_claim_;
    Claim claim;
    claims_[id] = &claim;
    post({.kind = Kind::kClaim, .id = id, .keys = {visitor.key()}});
    const Deadline limit = Deadline::in_ms(kAnswerMs);
    Result<void> waited;
    while (is_open_ && !claim.has_answer && waited) waited = answered_.wait_next(limit);
    claims_.erase(id);
    if (!waited && waited.error().code() == Code::kCancelled) return waited;
    // A process that does not answer, or is gone, does not serve the publisher's players.
    if (!claim.has_answer || claim.is_granted) return {};
    return std::unexpected(base::Error(Code::kBusy, claim.text).because(base::CloseReason::kRefusedBusy));
}

void ProcessLink::answer_claim(const Message& claim) {
    if (claim.keys.size() != 1) return;
    const auto free = give_up_name(claim.keys.front());
    post({.kind = Kind::kVerdict,
          .text = free ? std::string() : free.error().text(),
          .id = claim.id,
          .is_granted = free.has_value()});
}

// A publisher that waits as a standby cannot do so in another process.
Result<void> ProcessLink::give_up_name(const base::StreamKey& key) const {
    const auto stream = parts_->registry.find(key);
    if (!stream || !stream->published() || stream->publisher()->is_copy()) return {};
    const config::SnapshotPtr snapshot = snapshot_();
    const config::Vhost* vhost = snapshot->find_vhost(key.vhost);
    TRY(stream->check_free(vhost && vhost->publish.takeover));
    stream->revoke("another publisher has the name now, in the server's other process",
                   base::CloseReason::kPublisherReplaced);
    return {};
}

}  // namespace server
