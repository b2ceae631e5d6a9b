#pragma once
// EndReports: delays the reports about a publisher's end until the files of its recordings are complete, so that on_dvr
// comes before on_unpublish, as in SRS. Later reports about the same client (on_close) are delayed with it. The delay
// is limited, so that a disk that hangs does not suppress the reports.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "runtime/loop/coroutine.h"
#include "service/hook/stats.h"

namespace service::hook {

class EndReports {
  public:
    static constexpr int64_t kMaxWaitMs = 5'000;
    static constexpr size_t kMaxClients = 10'000;  // with waiting reports; those of further clients are sent at once

    struct Report {
        Hook hook;
        std::string vhost;
        std::string client_id;
        std::string body;
        std::string stream{};  // "app/name"; empty: none
        uint64_t session = 0;  // its number in the outbox's file; 0: none
    };
    // `send` sends a report. It must not yield.
    explicit EndReports(std::function<void(const Report&)> send, int64_t max_wait_ms = kMaxWaitMs)
        : send_(std::move(send)), max_wait_ms_(max_wait_ms) {}
    ~EndReports();  // drops waiting reports; yields

    // A file of the client's recording is being completed, or has been. The calls are paired.
    void file_ending(const std::string& client_id) { ++files_[client_id]; }
    void file_ended(const std::string& client_id);

    // Sends the report at once, or when the client's files are complete.
    void add(Report report);
    void send_all();

  private:
    struct Waiting {
        std::deque<Report> reports;
        int64_t until_ms;
    };
    using Clients = std::map<std::string, Waiting>;
    void send_of(Clients::iterator client);
    void watch();

    std::function<void(const Report&)> send_;
    const int64_t max_wait_ms_;
    std::map<std::string, size_t> files_;  // files being completed, by client
    Clients waiting_;
    runtime::Task watcher_;  // runs while any report waits
};

}  // namespace service::hook
