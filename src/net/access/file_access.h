#pragma once
// FileAccess: access control for the files of static_files.h. A file belongs to the vhosts that wrote it
// (file_owners.h), and their rules apply, whatever host the request names and by whatever path. A file that a service
// still serves itself, as HLS does, is answered by that service. A media file without an owner is subject to the rules
// of the host that the request names.

#include <memory>
#include <string>
#include <vector>

#include "config/snapshot.h"
#include "net/access/file_owners.h"
#include "net/access/gate.h"
#include "net/http/http_exchange.h"

namespace net {

// A service whose files are in directories that are served, and that has rules for each file (HLS). Must not be
// destroyed while it is registered in a FileAccess.
class LiveFiles {
  public:
    // Answers for a file by the rules of its vhost. path: below the vhost's live_root (FileClaims). Sends nothing if
    // the file is not one that the service serves now.
    virtual base::Result<void> serve_live_file(const config::Vhost& vhost, const std::string& path,
                                               const HttpRequest& request, HttpResponse& response) = 0;

  protected:
    ~LiveFiles() = default;
};

class FileAccess {
  public:
    // gate must outlive it, and so must every added LiveFiles. A null snapshot: nothing is served before
    // set_snapshot().
    explicit FileAccess(Gate& gate) : gate_(gate) {}

    void set_snapshot(const config::SnapshotPtr& snapshot);
    // Counts from the next set_snapshot() on. What claims_of refers to must outlive this object.
    void add_claims(ClaimsOf claims_of);
    void add(LiveFiles& files);
    void remove(LiveFiles& files);

    // For a worker that looks the file up.
    std::shared_ptr<const FileOwners> owners() const { return owners_; }
    // If nothing was sent, the file may be sent as it is. Otherwise it has answered. real_path: of the file.
    base::Result<void> admit(const FileOwnership& ownership, std::string_view real_path, const HttpRequest& request,
                             HttpResponse& response) const;

  private:
    base::Result<void> check(const config::Vhost& vhost, const FileOwner& owner, const HttpRequest& request) const;

    Gate& gate_;
    config::SnapshotPtr snapshot_;
    std::shared_ptr<const FileOwners> owners_;
    std::vector<ClaimsOf> claims_;
    std::vector<LiveFiles*> live_;
};

}  // namespace net
