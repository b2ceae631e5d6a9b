#pragma once
// Connects and starts the modules in order, stops them in reverse order, and prepares all of them for a reload.

#include <string>
#include <vector>

#include "server/module.h"

namespace server {

class Lifecycle {
  public:
    Lifecycle() = default;
    Lifecycle(const Lifecycle&) = delete;
    ~Lifecycle();  // stops: yields

    void add(Module module) { modules_.push_back(std::move(module)); }
    // If one fails, those before it are stopped again and its error is returned, with its name.
    base::Result<void> start();
    void stop_accepting();
    bool idle() const;
    std::string busy() const;  // the names of those that are not idle
    // The first phase of a reload: asks every module, and changes nothing. Yields.
    struct Prepared {
        std::vector<Commit> commits;        // the second phase: call all of them in order, if no module refuses
        std::vector<std::string> refusals;  // "rtmp: rtmps: conf/server.key: no such file"
    };
    Prepared prepare(const config::SnapshotPtr& next);
    // The refusals alone, for which no port and no file is opened. Yields.
    std::vector<std::string> check(const config::SnapshotPtr& next);
    // See Module::give_over(). Before start(), and after it. Yields.
    void give_over(bool on);
    void stop();

  private:
    std::vector<Module> modules_;
    size_t started_ = 0;  // number of started modules
};

}  // namespace server
