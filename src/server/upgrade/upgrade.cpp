#include "server/upgrade/upgrade.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/handover_points.h"
#include "runtime/loop/handover_state.h"
#include "runtime/socket/shared_sockets.h"
#include "runtime/socket/tls_tickets.h"
#include "server/upgrade/closings.h"

namespace server {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;
using upgrade::Kind;
using upgrade::Message;

namespace {

constexpr int64_t kCheckMs = upgrade::kClosingRoundMs;
constexpr int64_t kSendMs = 10'000;

}  // namespace

Upgrade::~Upgrade() {
    if (task_) task_.cancel_and_join();
    // Its clients are its own from the commit on.
    if (state_ == State::kPreparing) end_child();
}

void Upgrade::begin() {
    if (const std::string why = obstacle(); !why.empty()) return refuse(why);
    state_ = State::kPreparing;
    parts_.manager.status(fmt::format("Upgrading: starting {}", parts_.call.program));
    task_ = runtime::spawn("upgrade", [this] { run(); });
    if (task_) return;
    state_ = State::kNone;
    refuse("no coroutine could be started");
}

// Empty: there is none.
std::string Upgrade::obstacle() const {
    if (state_ == State::kGivenOver)
        return fmt::format("process {} replaces this one already; send it the signal", child_);
    if (state_ == State::kPreparing) return "an upgrade is being prepared already";
    if (parts_.link.is_there())
        return "the process that this one has replaced still has clients; there is no upgrade before it has ended";
    if (parts_.snapshot()->global.asprocess)
        return "asprocess is on: the process that started this one would lose the server";
    return {};
}

void Upgrade::refuse(std::string_view why) {
    base::log::warn("SIGUSR2: {}", why);
    record(fmt::format("refused: {}", why));
    if (state_ != State::kPreparing) parts_.manager.status(fmt::format("Not upgraded: {}", why));
}

// What came of the signal, for the audit file.
void Upgrade::record(std::string result) const {
    if (!parts_.operations.audit) return;
    parts_.operations.audit({.action = "upgrade",
                             .what = "SIGUSR2",
                             .about = child_ > 0 ? fmt::format("process {} ({})", child_, program_) : std::string(),
                             .result = std::move(result)});
}

bool Upgrade::is_over() const { return state_ == State::kGivenOver && parts_.lifecycle.idle(); }

void Upgrade::run() {
    base::log::trace("upgrade: starting {}", parts_.call.program);
    auto prepared = prepare();
    if (prepared) prepared = commit();
    runtime::seek_handover(false);
    if (!prepared) {
        if (prepared.error().code() == Code::kCancelled) return;
        base::log::error("upgrade: {} cannot replace this process, which goes on: {}", parts_.call.program,
                         prepared.error().text());
        parts_.manager.status(fmt::format("Not upgraded: {}", prepared.error().text()));
        record(fmt::format("failed: {}", prepared.error().text()));
        end_child();
        channel_.reset();
        state_ = State::kNone;
        return;
    }
    drain();
}

// ---- Before the commit: nothing of this process is changed

Result<void> Upgrade::prepare() {
    auto [mine, theirs] = TRY(runtime::process_channel_pair());
    child_ = TRY(parts_.call.start(theirs.all().front(), parts_.environment.for_successor()));
    { const auto closed = std::move(theirs); }
    channel_ = std::make_unique<runtime::ProcessChannel>();
    TRY(channel_->open(*mine.release_one()));
    const Message hello = TRY(await(Kind::kHello, Deadline::in_ms(kHelloMs)));
    if (hello.version != upgrade::kVersion)
        return fail(Code::kOther, fmt::format("version {} of the program upgrades by messages of version {}, this one "
                                              "by {}: restart the server",
                                              hello.text, hello.version, upgrade::kVersion));
    program_ = hello.text;
    TRY(give_sockets(Deadline::in_ms(kSendMs)));
    TRY(await(Kind::kReady, Deadline::in_ms(kReadyMs)));
    // Not before: while segments end at each keyframe, streams of keyframes alone have one for each frame.
    runtime::seek_handover(true);
    runtime::await_handover(Deadline::in_ms(kKeyframesMs));
    return {};
}

Result<void> Upgrade::give_sockets(Deadline limit) {
    const auto give = [&](Kind kind, const std::vector<int>& fds) -> Result<void> {
        std::vector<int> copies;  // sending closes them
        int error = 0;
        for (const int fd : fds) {
            const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
            if (copy < 0) error = errno;
            if (copy >= 0) copies.push_back(copy);
        }
        runtime::OwnedDescriptors descriptors(std::move(copies));
        if (error) return base::fail_errno(kind_name(kind), error);
        return channel_->send({upgrade::write_message({.kind = kind}), std::move(descriptors)}, limit);
    };
    const std::vector<int> sockets = runtime::client_sockets();
    for (size_t i = 0; i < sockets.size(); i += runtime::kMaxDescriptors) {
        const auto end =
            sockets.begin() + static_cast<ptrdiff_t>(std::min(i + runtime::kMaxDescriptors, sockets.size()));
        TRY(give(Kind::kSockets, {sockets.begin() + static_cast<ptrdiff_t>(i), end}));
    }
    TRY(give(Kind::kPidFile, {parts_.pid_file.fd()}));
    const Message tickets{.kind = Kind::kTickets, .text = runtime::ticket_secret()};
    TRY(channel_->send({upgrade::write_message(tickets)}, limit));
    return give(Kind::kStart, {});
}

Result<Message> Upgrade::await(Kind kind, Deadline limit) {
    while (true) {
        auto received = channel_->receive(limit);
        if (!received && received.error().code() == Code::kClosed) return fail(Code::kClosed, how_it_ended());
        if (!received) return std::unexpected(std::move(received).error());
        Message message = TRY(upgrade::parse_message(received->text));
        if (message.kind == Kind::kFailed) return fail(Code::kOther, message.text);
        if (message.kind == kind) return message;
    }
}

// ---- The commit, and after it

Result<void> Upgrade::commit() {
    runtime::hold_clients(true);
    parts_.lifecycle.give_over(true);
    if (auto sent = send_commit(Deadline::in_ms(kSendMs)); !sent) {
        parts_.lifecycle.give_over(false);
        runtime::hold_clients(false);
        return sent;
    }
    parts_.pid_file.leave();
    parts_.manager.replaced_by(child_, fmt::format("Upgraded: process {} serves", child_));
    parts_.link.open(std::move(channel_), parts_.snapshot, false);
    state_ = State::kGivenOver;
    parts_.auto_reload.give_over(true);
    record("serves new clients");
    base::log::trace(
        "upgrade: process {} (version {}) serves new clients from now on; this one ends with its last "
        "client; busy: {}",
        child_, program_, parts_.lifecycle.idle() ? "no service" : parts_.lifecycle.busy());
    return {};
}

// Behind what the services leave.
Result<void> Upgrade::send_commit(Deadline limit) {
    std::vector<runtime::HandoverState> states = runtime::take_left_states();
    Result<void> sent;
    for (runtime::HandoverState& state : states) {
        if (!sent) break;
        const Message message{.kind = Kind::kState, .text = state.service};
        const int copy = ::fcntl(state.file.all().front(), F_DUPFD_CLOEXEC, 0);  // sending closes it
        if (copy < 0) sent = base::fail_errno("what a service leaves", errno);
        if (sent) sent = channel_->send({upgrade::write_message(message), runtime::OwnedDescriptors({copy})}, limit);
    }
    if (sent) sent = channel_->send({upgrade::write_message({.kind = Kind::kCommit})}, limit);
    // This process goes on with it.
    for (runtime::HandoverState& state : states)
        if (!sent) runtime::leave_state(std::move(state));
    return sent;
}

void Upgrade::drain() {
    const int64_t given_over_ms = runtime::now_ms();
    bool is_closing = false;
    while (true) {
        auto ended = parts_.link.await_end(Deadline::in_ms(kCheckMs));
        if (!ended && ended.error().code() == Code::kCancelled) return;
        if (ended) {
            int status = 0;
            const bool has_ended = child_ > 0 && waitpid(child_, &status, WNOHANG) == child_;
            if (has_ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) return end_with_it();
            if (has_ended) return take_back();
            // It is about to end, or serves and says nothing.
            if (!runtime::sleep_ms(kCheckMs)) return;
        }
        if (close_some(given_over_ms) && !std::exchange(is_closing, true))
            base::log::trace("upgrade: upgrade_limit has passed: the last clients are closed");
    }
}

// False: it is not time.
bool Upgrade::close_some(int64_t given_over_ms) {
    const int64_t limit_ms = parts_.snapshot()->global.upgrade_limit * int64_t{1'000};
    const int64_t late_ms = runtime::now_ms() - given_over_ms - limit_ms;
    if (limit_ms == 0 || late_ms < 0) return false;
    std::vector<std::string> players, publishers;
    parts_.link.sessions().for_each([&](net::Session& session) {
        if (session.is_with_other_process()) return;
        (net::publishes(session.type()) ? publishers : players).push_back(session.id());
    });
    // The end of one may be the end of others.
    for (const std::string& id : upgrade::closings(players, publishers, late_ms))
        if (net::Session* session = parts_.link.sessions().find(id))
            session->close("the server was upgraded, and upgrade_limit has passed", base::CloseReason::kServerStop);
    return true;
}

// It was told to end, and that was the server.
void Upgrade::end_with_it() {
    base::log::trace("upgrade: process {} has ended in order, and so does this one", std::exchange(child_, 0));
    ::kill(getpid(), SIGINT);
}

// The other process is dead. Clients may have come to its sockets, which are this one's, too.
void Upgrade::take_back() {
    record("it has ended: the process before serves again");
    const pid_t ended = std::exchange(child_, 0);
    base::log::error("upgrade: process {} has ended: this one accepts clients again", ended);
    parts_.link.close();
    if (auto written = parts_.pid_file.write(); !written) base::log::error("{}", written.error().describe());
    parts_.lifecycle.give_over(false);
    runtime::hold_clients(false);
    parts_.auto_reload.give_over(false);
    parts_.manager.taken_back(fmt::format("Process {} has ended: this one serves again", ended));
    state_ = State::kNone;
}

void Upgrade::end_child() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(std::exchange(child_, 0), nullptr, 0);
}

std::string Upgrade::how_it_ended() {
    // It closes the channel when it ends.
    int status = 0;
    for (int i = 0; i < 100 && child_ > 0; ++i) {
        if (waitpid(child_, &status, WNOHANG) == child_) {
            child_ = 0;
            break;
        }
        if (!runtime::sleep_ms(10)) break;
    }
    if (child_ > 0) return "it closed the channel";
    if (WIFSIGNALED(status)) return fmt::format("it was ended by signal {}", WTERMSIG(status));
    return fmt::format("it ended with status {}", WEXITSTATUS(status));
}

}  // namespace server
