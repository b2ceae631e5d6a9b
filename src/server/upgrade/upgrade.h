#pragma once
// Upgrade: this process as the one that is replaced (SIGUSR2). It starts the server's program anew and goes on serving.
// When that process has started everything, new clients come to it, and this one lasts until its last client has left,
// or upgrade_limit has passed. If the new process does not get ready nothing is changed; if it dies later, this one
// accepts clients again.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "runtime/loop/coroutine.h"
#include "runtime/socket/process_channel.h"
#include "server/lifecycle.h"
#include "server/process/pid_file.h"
#include "server/process/service_manager.h"
#include "server/reload/auto_reload.h"
#include "server/upgrade/process_link.h"
#include "server/upgrade/program_call.h"

namespace server {

class Upgrade {
  public:
    static constexpr int64_t kHelloMs = 30'000, kReadyMs = 60'000;
    // How long it waits for the keyframes at which segments go over.
    static constexpr int64_t kKeyframesMs = 5'000;

    struct Parts {
        const ProgramCall& call;
        const ServiceManager::Environment& environment;
        Lifecycle& lifecycle;
        ProcessLink& link;
        PidFile& pid_file;
        ServiceManager& manager;
        AutoReload& auto_reload;
        std::function<config::SnapshotPtr()> snapshot;
        const net::Operations& operations;
    };

    // The parts must outlive it.
    explicit Upgrade(Parts parts) : parts_(std::move(parts)) {}
    ~Upgrade();  // yields
    Upgrade(const Upgrade&) = delete;

    // By a signal. What prevents it is logged, and told to the service manager. Does not yield.
    void begin();
    // New clients come to another process, and the last one of this process has left.
    bool is_over() const;

  private:
    enum class State : uint8_t { kNone, kPreparing, kGivenOver };

    std::string obstacle() const;
    void refuse(std::string_view why);
    void record(std::string result) const;
    void run();
    base::Result<void> prepare();
    base::Result<void> give_sockets(runtime::Deadline limit);
    base::Result<upgrade::Message> await(upgrade::Kind kind, runtime::Deadline limit);
    base::Result<void> commit();
    base::Result<void> send_commit(runtime::Deadline limit);
    void drain();
    bool close_some(int64_t given_over_ms);
    void end_with_it();
    void take_back();
    void end_child();
    std::string how_it_ended();

    Parts parts_;
    State state_ = State::kNone;
    pid_t child_ = 0;  // 0: none, or it was reaped
    std::string program_;
    std::unique_ptr<runtime::ProcessChannel> channel_;
    runtime::Task task_;
};

}  // namespace server
