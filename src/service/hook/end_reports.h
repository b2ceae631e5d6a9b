#pragma once
// EndReports: what is told of a publisher's end waits until the files of its recordings are complete, so that on_dvr
// comes before on_unpublish, as with SRS; behind it waits what is told of the same client later (on_close). Not for
// ever: a disk that hangs does not keep an end from those who are told of it.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "net/hook_stats.h"
#include "runtime/loop/coroutine.h"

namespace service::hook {

class EndReports {
  public:
    static constexpr int64_t kMaxWaitMs = 5'000;
    static constexpr size_t kMaxClients = 10'000;  // whose reports wait; those of one more are told at once

    struct Report {
        net::Hook hook;
        std::string vhost;
        std::string client_id;
        std::string body;
    };
    // `tell` does not yield.
    explicit EndReports(std::function<void(const Report&)> tell, int64_t most_wait_ms = kMaxWaitMs)
        : tell_(std::move(tell)), most_wait_ms_(most_wait_ms) {}
    ~EndReports();  // drops what waits

    // A file of what that client published is being completed, or has been. Of each the one and then the other.
    void file_ending(const std::string& client_id) { ++files_[client_id]; }
    void file_ended(const std::string& client_id);

    // Tells at once, or when its turn has come.
    void add(Report report);
    void tell_all();

  private:
    struct Waiting {
        std::deque<Report> reports;
        int64_t until_ms;
    };
    using Clients = std::map<std::string, Waiting>;
    void tell_of(Clients::iterator client);
    void watch();

    std::function<void(const Report&)> tell_;
    const int64_t most_wait_ms_;
    std::map<std::string, size_t> files_;  // being completed, by client
    Clients waiting_;
    runtime::Task watcher_;  // while anything waits
};

}  // namespace service::hook
