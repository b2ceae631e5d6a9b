#include "config/diff.h"

#include <fmt/format.h>

#include "base/redaction.h"
#include "config/section.h"
#include "config/value.h"

namespace config {
namespace {

// Keeps the current value and its origin.
void keep(const Row& row, const ConstRoot& current, const Root& to) {
    row.binding.copy(to, current);
    const std::pair<std::string, std::string> key{row.in_vhost() ? to.vhost->name : "", row.path()};
    to.snapshot->origins.erase(key);
    auto origin = current.snapshot->origins.find(key);
    if (origin != current.snapshot->origins.end()) to.snapshot->origins.insert(*origin);
}

// Compares and, where a restart is needed, restores the old value in `to`.
void compare(const ConstRoot& current, const Root& to, bool in_vhost, std::vector<Change>& changes) {
    for (const Row& row : rows()) {
        if (!row.supported() || row.in_vhost() != in_vhost) continue;
        Change change{in_vhost ? to.vhost->name : "", &row, row.binding.get(current),
                      row.binding.get({to.snapshot, to.vhost})};
        if (change.before == change.after) continue;
        if (!change.live()) keep(row, current, to);
        change.before = base::hide_credentials(change.before);
        change.after = base::hide_credentials(change.after);
        changes.push_back(std::move(change));
    }
}

// Blocks that a vhost may have several of.
void compare_named_blocks(const Vhost& before, const Vhost& after, std::vector<Change>& changes) {
    for (const Section& section : sections()) {
        for (const NamedBlock& block : section.named_blocks) {
            if (!block.text || find_named_block(block.path) != &block) continue;
            Change change{after.name, find_row(std::string(block.path) + "/enabled"), block.text(before),
                          block.text(after)};
            if (change.before != change.after) changes.push_back(std::move(change));
        }
    }
}

// Blocks that the server may have several of.
void compare_named_blocks(const Snapshot& before, const Snapshot& after, std::vector<Change>& changes) {
    for (const Section& section : sections()) {
        for (const NamedBlock& block : section.named_blocks) {
            if (!block.text_of_server || find_named_block(block.path) != &block) continue;
            Change change{"", find_row(std::string(block.path) + "/enabled"), block.text_of_server(before),
                          block.text_of_server(after)};
            if (change.before != change.after) changes.push_back(std::move(change));
        }
    }
}

}  // namespace

std::string Change::describe() const {
    if (row == nullptr) return fmt::format("vhost {}: {} -> {}", vhost, before, after);
    std::string where = vhost.empty() ? "" : fmt::format("vhost {} ", vhost);
    auto for_log = [](const std::string& value) { return value.empty() ? std::string("nothing") : value; };
    return fmt::format("{}{}: {} -> {}", where, row->path(), for_log(before), for_log(after));
}

Reload plan_reload(const Snapshot& current, const Snapshot& next) {
    Reload reload;
    auto merged = std::make_shared<Snapshot>(next);
    compare({&current, nullptr}, {merged.get(), nullptr}, false, reload.changes);
    compare_named_blocks(current, *merged, reload.changes);
    for (Vhost& vhost : merged->vhosts) {
        const Vhost* before = current.find_vhost(vhost.name);
        if (before) {
            compare({&current, before}, {merged.get(), &vhost}, true, reload.changes);
            compare_named_blocks(*before, vhost, reload.changes);
        } else {
            reload.changes.push_back({vhost.name, nullptr, "not there", "there"});
        }
    }
    for (const Vhost& vhost : current.vhosts) {
        if (!next.find_vhost(vhost.name)) reload.changes.push_back({vhost.name, nullptr, "there", "not there"});
    }
    reload.snapshot = std::move(merged);
    return reload;
}

}  // namespace config
