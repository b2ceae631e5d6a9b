#include "server/directories.h"

#include <fmt/format.h>

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
    while (!std::filesystem::is_directory(path, error) && path.has_parent_path() && path.parent_path() != path)
        path = path.parent_path();
    return std::filesystem::is_directory(path, error) ? path.string() : ".";
}

}  // namespace server
