#include "config/section.h"

#include <fmt/format.h>

#include "config/nearest.h"
#include "config/path_variables.h"
#include "config/section_values.h"

namespace config {
namespace {

std::vector<Section>& all() {
    static std::vector<Section> sections;
    return sections;
}

}  // namespace

size_t Sections::next_index() {
    static size_t next = 0;
    return next++;
}

std::any& Sections::slot(size_t index) {
    if (index >= slots_.size()) slots_.resize(index + 1);
    return slots_[index];
}

void add_section(Section section) { all().push_back(std::move(section)); }

std::span<const Section> sections() { return all(); }

const NamedBlock* find_named_block(std::string_view path) {
    for (const Section& section : sections())
        for (const NamedBlock& block : section.named_blocks)
            if (block.path == path) return &block;
    return nullptr;
}

const FreeBlock* find_free_block(std::string_view path) {
    for (const Section& section : sections())
        for (const FreeBlock& block : section.free_blocks)
            if (block.path == path) return &block;
    return nullptr;
}

std::string draft_text(std::string_view path, const ConstRoot& root, std::string (*shown)(std::string_view value)) {
    const std::string inside = std::string(path) + "/";
    std::string text;
    for (const Row& row : rows()) {
        const bool is_own = row.scope == path || (row.scope.starts_with(inside) && !find_named_block(row.scope));
        if (!is_own || !row.supported()) continue;
        const std::string value = row.binding.get(root);
        if (value != row.initial) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.name, shown(value));
    }
    return text;
}

bool Checks::was_set(const Vhost& vhost, std::string_view path) const {
    return snapshot_.origins.contains({vhost.name, std::string(path)});
}

Location Checks::location_of(std::string_view vhost, std::string_view path) const {
    return snapshot_.location_of(vhost, path);
}

void Checks::check_variables(const Vhost& vhost, std::string_view path, std::string_view pattern,
                             std::span<const std::string_view> names) {
    const std::string_view unknown = unknown_variable(pattern, names);
    if (unknown.empty()) return;
    const std::string_view name = unknown.substr(1, unknown.size() - 2);
    warning(vhost, path,
            fmt::format("{} has {}, which is no variable and stays as it is{}", path.substr(path.rfind('/') + 1),
                        unknown, hint(nearest(name, std::vector<std::string_view>(names.begin(), names.end())))));
}

}  // namespace config
