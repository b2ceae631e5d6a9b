#pragma once
// Recordings: the list of their files, and the files themselves, which are content and privileged. The directories are
// read by a worker thread, in pieces between which its other work runs, and the list is kept for two seconds for all
// callers.

#include <memory>
#include <vector>

#include "runtime/loop/sync.h"
#include "service/api/lists/recording_scan.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"
#include "service/shared_parts.h"

namespace service::api {

class Recordings {
  public:
    // Both must outlive it. Without a recorder among the offers requests are answered with 501.
    Recordings(const Identity& identity, const Offers& offers) : identity_(identity), offers_(offers) {}

    std::vector<Endpoint> endpoints();
    // Frees a list that nobody has asked for lately. To be called every few seconds.
    void drop_old();

  private:
    using Request = net::HttpRequest;
    using Response = net::HttpResponse;
    base::Result<void> list(Request& request, Response& response);
    base::Result<void> file(Request& request, Response& response);
    base::Result<std::shared_ptr<const RecordingFiles>> files();
    base::Result<std::shared_ptr<const RecordingFiles>> scan() const;

    const Identity& identity_;
    const Offers& offers_;
    std::shared_ptr<const RecordingFiles> files_;
    int64_t made_ms_ = 0;  // monotonic
    bool scanning_ = false;
    runtime::Event scanned_{"the list of recordings"};
};

}  // namespace service::api
