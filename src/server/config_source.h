#pragma once
// Where this process's configuration comes from, at the start and at each reload: a file and the environment. File
// names are taken from the directory in which the process was started, whatever work_dir says.

#include <string>
#include <utility>

#include "config/load.h"
#include "server/file_marks.h"

namespace server {

class ConfigSource {
  public:
    explicit ConfigSource(std::string path);  // empty: the environment alone

    // Blocks on file reads. read: gets the files that were read, or looked for, each as it was just then.
    config::Loaded load(FileMarks* read = nullptr) const;
    // What server_id is from now on where the configuration does not say.
    void set_server_id(std::string id) { server_id_ = std::move(id); }
    bool is_environment() const { return path_.empty(); }
    std::string name() const;  // "conf/srs.conf" or "the environment"

  private:
    std::string path_;
    std::string start_directory_;
    std::string server_id_;
};

// What -t prints: the problems, a line each, and a last line that says how it stands.
std::string describe(const config::Loaded& loaded, const std::string& name);

}  // namespace server
