#pragma once
// Recordings: the list of their files, and the files themselves, which are content and privileged. The directories are
// read by a worker thread, in pieces between which its other work runs, and the list is kept for two seconds for all
// callers.

#include <vector>

#include "runtime/loop/cached_value.h"
#include "service/api/lists/recording_scan.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"

namespace service::api {

class Recordings {
  public:
    // It must outlive this. Without a recorder among the offers requests are answered with 501.
    explicit Recordings(const Context& context) : context_(context) {}

    std::vector<Endpoint> endpoints();
    // What the other process asks this one.
    void add_other_process_routes(net::HttpRouter& router);
    // Frees a list that nobody has asked for lately. To be called every few seconds.
    void drop_old() { files_.drop_older_than(kKeepMs); }

  private:
    static constexpr int64_t kFreshMs = 2'000, kKeepMs = 10'000;
    // Of one step on a worker, and of the whole scan: a slow disk must not occupy a worker for ever.
    static constexpr int64_t kStepMs = 30'000, kMaxScanMs = 20'000;
    base::Result<void> list(Request& request, Response& response);
    base::Result<void> file(Request& request, Response& response);
    base::Result<void> growing(Request& request, Response& response);
    base::Result<std::vector<std::string>> growing_files() const;
    base::Result<RecordingFiles> scan() const;

    const Context& context_;
    runtime::CachedValue<RecordingFiles> files_{"the list of recordings", kFreshMs, kMaxScanMs + kStepMs};
};

}  // namespace service::api
