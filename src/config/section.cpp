#include "config/section.h"

#include <fmt/format.h>

#include "config/sections.h"

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

std::string draft_text(std::string_view path, const Vhost& vhost, std::string (*shown)(std::string_view value)) {
    const std::string inside = std::string(path) + "/";
    std::string text;
    for (const Row& row : rows()) {
        const bool is_own = row.scope == path || (row.scope.starts_with(inside) && !find_named_block(row.scope));
        if (!is_own || !row.supported()) continue;
        const std::string value = row.binding.get({nullptr, &vhost});
        if (value != row.initial) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", row.name, shown(value));
    }
    return text;
}

bool Checks::was_set(const Vhost& vhost, std::string_view path) const {
    return snapshot_.origins.contains({vhost.name, std::string(path)});
}

Location Checks::place_of(std::string_view vhost, std::string_view path) const {
    auto found = snapshot_.origins.find({std::string(vhost), std::string(path)});
    return found == snapshot_.origins.end() ? Location{"configuration", 0} : found->second;
}

}  // namespace config
