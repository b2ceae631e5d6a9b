#include "server/upgrade/successor.h"

#include <unistd.h>

#include "runtime/loop/handover_state.h"
#include "runtime/socket/shared_sockets.h"
#include "runtime/socket/tls_tickets.h"
#include "server/version.h"

namespace server {

using base::Code;
using base::Result;
using runtime::ProcessMessage;
using upgrade::Kind;

namespace {

constexpr int kAnswerMs = 30'000;
constexpr int kFailedMs = 1'000;
// Before the start: a server's sockets are in a few dozen.
constexpr size_t kMaxMessages = 1'000;

}  // namespace

Successor::~Successor() {
    if (channel_ >= 0) ::close(channel_);
    if (pid_file_ >= 0) ::close(pid_file_);
}

Result<std::vector<std::string>> Successor::introduce() {
    const upgrade::Message hello{
        .kind = Kind::kHello, .version = upgrade::kVersion, .pid = getpid(), .text = std::string(kVersion)};
    TRY(runtime::send_message_blocking(channel_, {upgrade::write_message(hello)}, kAnswerMs));
    std::vector<std::string> problems;
    size_t count = 0;
    for (bool is_all = false; !is_all; ++count) {
        if (count == kMaxMessages) return base::fail(Code::kProtocol, "the process to replace does not come to an end");
        TRY(take(TRY(runtime::receive_message_blocking(channel_, kAnswerMs)), problems, is_all));
    }
    return problems;
}

Result<void> Successor::take(ProcessMessage message, std::vector<std::string>& problems, bool& is_all) {
    const upgrade::Message parsed = TRY(upgrade::parse_message(message.text));
    if (parsed.kind == Kind::kSockets)
        for (std::string& problem : runtime::inherit_sockets(message.descriptors.release()))
            problems.push_back("a socket of the process that is replaced: " + std::move(problem));
    if (parsed.kind == Kind::kPidFile && pid_file_ < 0) pid_file_ = message.descriptors.release_one().value_or(-1);
    if (parsed.kind == Kind::kTickets) runtime::inherit_ticket_secret(parsed.text);
    is_all = parsed.kind == Kind::kStart;
    return {};
}

// The channel is the loop's: it does not outlive it, whatever comes.
Result<std::unique_ptr<runtime::ProcessChannel>> Successor::await_commit() {
    auto channel = std::make_unique<runtime::ProcessChannel>();
    TRY(channel->open(std::exchange(channel_, -1)));
    auto committed = await_commit_from(*channel);
    if (committed) return channel;
    // It has died: one that gives up kills this process.
    if (committed.error().code() == Code::kClosed) return nullptr;
    const upgrade::Message failed{.kind = Kind::kFailed, .text = committed.error().text()};
    // The process ends anyway; its exit status tells the other one, too.
    static_cast<void>(channel->send({upgrade::write_message(failed)}, runtime::Deadline::in_ms(kFailedMs)));
    return std::unexpected(std::move(committed).error());
}

Result<void> Successor::await_commit_from(runtime::ProcessChannel& channel) {
    const runtime::Deadline limit = runtime::Deadline::in_ms(kAnswerMs);
    TRY(channel.send({upgrade::write_message({.kind = Kind::kReady})}, limit));
    while (true) {
        runtime::ProcessMessage received = TRY(channel.receive(limit));
        upgrade::Message message = TRY(upgrade::parse_message(received.text));
        if (message.kind == Kind::kCommit) return {};
        if (message.kind == Kind::kState)
            runtime::leave_state({std::move(message.text), std::move(received.descriptors)});
    }
}

void Successor::fail(std::string_view why) const {
    if (channel_ < 0) return;
    const upgrade::Message message{.kind = Kind::kFailed, .text = std::string(why)};
    // The process ends anyway; its exit status tells the other one, too.
    static_cast<void>(runtime::send_message_blocking(channel_, {upgrade::write_message(message)}, kFailedMs));
}

}  // namespace server
