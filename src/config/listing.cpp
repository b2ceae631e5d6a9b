#include "config/listing.h"

namespace config {
namespace {

void list(const Snapshot& snapshot, const Vhost* vhost, std::vector<Listed>& out) {
    for (const Row& row : rows()) {
        if (!row.supported() || row.in_vhost() != (vhost != nullptr) || in_named_block(row)) continue;
        Listed listed{vhost ? vhost->name : "", &row, row.binding.get({&snapshot, vhost}), "default"};
        auto origin = snapshot.origins.find({listed.vhost, row.path()});
        if (origin != snapshot.origins.end()) listed.origin = origin->second.text();
        out.push_back(std::move(listed));
    }
}

}  // namespace

std::vector<Listed> list_directives(const Snapshot& snapshot, const Vhost* vhost) {
    std::vector<Listed> out;
    list(snapshot, vhost, out);
    return out;
}

std::vector<Listed> list_directives(const Snapshot& snapshot) {
    std::vector<Listed> out;
    list(snapshot, nullptr, out);
    for (const Vhost& vhost : snapshot.vhosts) list(snapshot, &vhost, out);
    return out;
}

}  // namespace config
