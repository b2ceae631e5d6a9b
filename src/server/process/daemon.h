#pragma once
// Daemonising. The process that the operator started waits until the server reports that it runs, or why it does not,
// so that its exit status and error text are the server's.

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

    // Forks and returns in the child, which leads a new session. The parent waits in here until the child has reported
    // or ended, and exits. Must be called before there are threads.
    static base::Result<Daemon> start();
    // Reports to the parent; an empty text is success. Then redirects standard input, output and error to /dev/null.
    void report(std::string_view error);

  private:
    int pipe_ = -1;
};

}  // namespace server
