#include "server/process/directories.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

namespace server {

base::Result<void> make_directory_of(const std::string& path) {
    std::filesystem::path directory = std::filesystem::path(path).parent_path();
    if (directory.empty()) return {};
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (!error || std::filesystem::is_directory(directory)) return {};
    return base::fail_errno(fmt::format("making the directory {}", directory.string()), error.value());
}

std::string existing_directory_of(const std::string& name) {
    std::filesystem::path path = std::filesystem::path(name.substr(0, name.find('['))).parent_path();
    if (path.empty()) path = ".";
    std::error_code error;
    while (!std::filesystem::exists(path, error) && path.has_parent_path() && path.parent_path() != path)
        path = path.parent_path();
    return std::filesystem::exists(path, error) ? path.string() : ".";
}

std::string unwritable_reason(const std::string& name) {
    const std::string directory = existing_directory_of(name);
    std::error_code error;
    if (!std::filesystem::is_directory(directory, error)) return fmt::format("{} is no directory", directory);
    if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
    return fmt::format("uid {} cannot write to the directory {}", geteuid(), directory);
}

}  // namespace server
