#pragma once
// FileAccess: who may have a file of static_files.h. A file belongs to the vhosts that wrote it (file_owners.h), and
// their rules hold, whatever host a request names and by whatever path it comes. A file that a service still offers
// itself, as HLS does, is that service's to answer with. A media file that nobody wrote goes by the rules of the host
// that the request names.

#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "net/access/file_owners.h"
#include "net/access/gate.h"
#include "net/http/http_exchange.h"

namespace net {

// A service whose files lie where they may be found, and who has rules for each (who watches HLS). Never destroyed
// while it is in a FileAccess.
class LiveFiles {
  public:
    // Answers for a file by the rules of its vhost. path: below the vhost's hls_path. Sends nothing: it is none of
    // those that the service offers now.
    virtual base::Result<void> serve_live_file(const config::Vhost& vhost, const std::string& path,
                                               const HttpRequest& request, HttpResponse& response) = 0;

  protected:
    ~LiveFiles() = default;
};

class FileAccess {
  public:
    // Both outlive it. A null snapshot: nothing is served before set_snapshot().
    explicit FileAccess(Gate& gate) : gate_(gate) {}

    void set_snapshot(const config::SnapshotPtr& snapshot);
    void add(LiveFiles& files) { live_.push_back(&files); }
    void remove(LiveFiles& files) { std::erase(live_, &files); }

    // For a worker that finds the file.
    std::shared_ptr<const FileOwners> owners() const { return owners_; }
    // Sends nothing: the file may be sent as it is. Else it has answered. real_path: of the file.
    base::Result<void> admit(const FileOwnership& ownership, std::string_view real_path, const HttpRequest& request,
                             HttpResponse& response) const;

  private:
    base::Result<void> check(const config::Vhost& vhost, const FileOwner& owner, const HttpRequest& request) const;
    base::Result<void> refuse(const base::Error& error, HttpResponse& response) const;

    Gate& gate_;
    config::SnapshotPtr snapshot_;
    std::shared_ptr<const FileOwners> owners_;
    std::vector<LiveFiles*> live_;
};

}  // namespace net
