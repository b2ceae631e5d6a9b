#include "server/server_id.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <random>

namespace server {
namespace {

constexpr size_t kMadeUpLength = 7;
constexpr size_t kMaxLength = 128;

// Empty if the file does not exist or contains something else.
std::string read_id(const std::string& path) {
    std::string id;
    std::getline(std::ifstream(path), id);
    bool good = id.size() <= kMaxLength &&
                std::ranges::all_of(id, [](unsigned char c) { return std::isgraph(c) && c != '"' && c != '\\'; });
    return good ? id : "";
}

std::string make_up() {
    constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
    std::random_device random;
    std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
    std::string id = "vid-";
    for (size_t i = 0; i < kMadeUpLength; ++i) id += kLetters[letter(random)];
    return id;
}

}  // namespace

std::string server_id_path(std::string_view pid_path) {
    if (pid_path.ends_with(".pid")) pid_path.remove_suffix(4);
    return std::string(pid_path) + ".id";
}

std::string decide_server_id(const std::string& configured, const std::string& pid_path) {
    std::string path = server_id_path(pid_path);
    std::string kept = read_id(path);
    std::string id = !configured.empty() ? configured : !kept.empty() ? kept : make_up();
    if (id != kept) std::ofstream(path) << id << '\n';
    return id;
}

}  // namespace server
