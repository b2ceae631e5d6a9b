#pragma once
// Going into the background. The process that the operator started waits until the server says that it runs or why it
// does not, so that its exit status and its error text are the server's.

#include <string_view>
#include <utility>

#include "base/result.h"

namespace server {

class Daemon {
  public:
    Daemon() = default;  // stays in the foreground: report() does nothing
    Daemon(Daemon&& other) noexcept : pipe_(std::exchange(other.pipe_, -1)) {}
    Daemon& operator=(Daemon&& other) noexcept {
        std::swap(pipe_, other.pipe_);
        return *this;
    }
    ~Daemon();

    // Forks: returns in the child, which is the leader of a session of its own. The parent stays in here until the
    // child reported or ended, and exits. Call it before there are threads.
    static base::Result<Daemon> start();
    // To the parent: an empty text is success. Then standard input, output and error lead to /dev/null.
    void report(std::string_view error);

  private:
    int pipe_ = -1;
};

}  // namespace server
