#pragma once
// The directive `user`: root starts the server, and it becomes somebody else. From lower() on every thread opens files
// as the user; root remains within reach, for RootScope, which binds sockets and reads keys. drop() ends that for good,
// before the first client is served. So no file and no directory is made or followed as root.

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "config/snapshot.h"

namespace server {

class Privileges {
  public:
    // Looks up who is meant: "name", "name:group", or numbers. Nothing is to be done when the directive is empty, or
    // names who the process is already. An error when it is not root's process.
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

// Between lower() and drop() the calling thread is root within it; else it does nothing. No yield within it.
class RootScope {
  public:
    RootScope();
    ~RootScope();
    RootScope(const RootScope&) = delete;
};

// What the process, as it is now, will need and cannot have.
struct Lack {
    std::string text;
    bool is_fatal;  // an output that is enabled would write nothing; else it matters later, for a rotation or a reload
};
std::vector<Lack> find_lacks(const config::Snapshot& snapshot);

}  // namespace server
