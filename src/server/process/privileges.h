#pragma once
// The directive `user`: root starts the server, which then changes to another user. From lower() on every thread opens
// files as that user; root privileges can still be regained by RootScope, which binds sockets and reads keys. drop()
// ends that for good, before the first client is served. So no file or directory is created or followed as root.

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace server {

class Privileges {
  public:
    // Looks up the user: "name", "name:group", or numbers. No change is needed if the directive is empty, or names the
    // process's current user. An error if the process is not run by root.
    static base::Result<Privileges> find(const std::string& user);

    bool change() const { return change_; }
    // "user srs (uid 998, gid 998)".
    std::string text() const;
    base::Result<void> lower() const;
    base::Result<void> drop() const;

  private:
    std::string name_;
    uid_t uid_ = 0;
    gid_t gid_ = 0;
    bool change_ = false;
};

// Between lower() and drop() the calling thread is root within this scope; otherwise it has no effect. Do not yield
// within it.
class RootScope {
  public:
    RootScope();
    ~RootScope();
    RootScope(const RootScope&) = delete;
};

}  // namespace server
