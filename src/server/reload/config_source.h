#pragma once
// The source of this process's configuration, at the start and at each reload: a file and the environment. File names
// are relative to the directory in which the process was started, whatever work_dir is.

#include <string>
#include <utility>

#include "config/load.h"
#include "server/reload/file_marks.h"

namespace server {

class ConfigSource {
  public:
    explicit ConfigSource(std::string path);  // empty: the environment alone

    // Blocks on file reads. read: receives the files that were read or not found, with their state at that moment.
    config::Loaded load(FileMarks* read = nullptr) const;
    // The server_id to use from now on if the configuration does not set one.
    void set_server_id(std::string id) { server_id_ = std::move(id); }
    bool is_environment() const { return path_.empty(); }
    std::string name() const;  // "conf/srs.conf" or "the environment"

  private:
    std::string path_;
    std::string start_directory_;
    std::string server_id_;
};

// The output of -t: the problems, one per line, and a last line with the result.
std::string describe(const config::Loaded& loaded, const std::string& name);

}  // namespace server
