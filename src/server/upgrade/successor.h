#pragma once
// Successor: this process as the one that is to replace another. Before the loop it says that its configuration is
// good, and gets the sockets and the lock of the pid file; on the loop it says that it is ready, and waits for the
// word. Until then it serves nobody, and the other process serves on. Where that one dies meanwhile, this one serves.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/socket/process_channel.h"
#include "server/upgrade/messages.h"

namespace server {

class Successor {
  public:
    // channel: of take_channel_of_environment(); this owns it.
    explicit Successor(int channel) : channel_(channel) {}
    ~Successor();
    Successor(const Successor&) = delete;

    // Blocks. The sockets are inherited (runtime/socket/shared_sockets.h); what could not be is a line of the result.
    base::Result<std::vector<std::string>> introduce();
    int take_pid_file() { return std::exchange(pid_file_, -1); }  // -1: there is none
    // On the loop: all is started. Yields until the other process has said that this one serves, and returns the
    // channel to it; null: it has died. The other process is told of an error.
    base::Result<std::unique_ptr<runtime::ProcessChannel>> await_commit();
    // It cannot replace the other process, and ends. Before await_commit(); harmless after it.
    void fail(std::string_view why) const;

  private:
    base::Result<void> take(runtime::ProcessMessage message, std::vector<std::string>& problems, bool& is_all);
    static base::Result<void> await_commit_from(runtime::ProcessChannel& channel);

    int channel_;  // -1: the loop has it
    int pid_file_ = -1;
};

}  // namespace server
