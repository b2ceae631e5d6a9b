#include "config/environment.h"

#include <algorithm>
#include <map>

namespace config {
namespace {

std::string upper(std::string_view text) {
    std::string out;
    for (char c : text) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '/' ? '_' : c;
    return out;
}

const std::map<std::string, const Row*, std::less<>>& index() {
    static const auto kIndex = [] {
        std::map<std::string, const Row*, std::less<>> index;
        for (const Row& row : rows()) {
            for (std::string& name : environment_names(row)) index.emplace(std::move(name), &row);
        }
        return index;
    }();
    return kIndex;
}

// The feature that this build does not have, if the name is one of a directive in its blocks. Blocks whose rows are
// known and have variables are not meant.
const Feature* missing_feature_of(std::string_view name) {
    for (const Block& block : blocks())
        if (block.missing && (block.free_form || block.names != Block::Names::kNone) &&
            name.starts_with("SRS_" + upper(block.path) + "_"))
            return block.missing;
    return nullptr;
}

// Used elsewhere: by the command line, and by the heartbeat.
constexpr std::string_view kNoDirectives[] = {"SRS_CONFIG_FILE", "SRS_ENV_ONLY", "SRS_DEVICE_IP"};

}  // namespace

std::vector<std::string> environment_names(const Row& row) {
    if (in_named_block(row)) return {};
    std::vector<std::string> names;
    std::string full = "SRS_" + upper(row.path());
    if (row.scope == "rtmp") names.push_back("SRS_" + upper(row.name));
    if (row.scope.empty() && row.name.starts_with("srs_")) names.push_back(upper(row.name));
    names.push_back(std::move(full));
    std::string_view block = std::string_view(row.scope).substr(row.scope.rfind('/') + 1);
    if (!block.empty() && row.name.starts_with(std::string(block) + "_"))
        names.push_back("SRS_" + upper(row.scope) + upper(row.name).substr(block.size()));
    return names;
}

std::vector<EnvironmentEntry> read_environment(const std::vector<std::string>& environment) {
    std::vector<EnvironmentEntry> entries;
    for (const std::string& line : environment) {
        size_t equals = line.find('=');
        if (!line.starts_with("SRS_") || equals == std::string::npos || equals + 1 == line.size()) continue;
        EnvironmentEntry entry{line.substr(0, equals), line.substr(equals + 1), nullptr};
        if (std::ranges::find(kNoDirectives, entry.name) != std::end(kNoDirectives)) continue;
        auto found = index().find(entry.name);
        if (found != index().end())
            entry.row = found->second;
        else
            entry.missing = missing_feature_of(entry.name);
        entries.push_back(std::move(entry));
    }
    return entries;
}

std::vector<std::string_view> known_environment_names() {
    std::vector<std::string_view> names;
    for (const auto& [name, row] : index()) names.push_back(name);
    return names;
}

}  // namespace config
