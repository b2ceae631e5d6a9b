#include "net/access/file_owners.h"

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "config/path_match.h"
#include "net/access/access_rules.h"

namespace net {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kRootsMs = 1'000;
constexpr std::string_view kTemporary = ".tmp";

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Resolves the existing part; the rest stays as written. Without a trailing slash.
std::string real_directory(const std::string& directory) {
    std::error_code error;
    fs::path real = fs::weakly_canonical(directory.empty() ? "." : directory, error);
    if (!error && real.is_relative()) real = fs::absolute(real, error).lexically_normal();
    std::string text = error ? std::string() : real.string();
    while (text.ends_with('/')) text.pop_back();
    return text;
}

// The path below the directory; empty: it is not inside.
std::string_view path_below(std::string_view path, std::string_view root) {
    if (path.size() <= root.size() + 1 || path[root.size()] != '/') return {};
    if (!std::ranges::equal(path.substr(0, root.size()), root, {}, lower_letter, lower_letter)) return {};
    return path.substr(root.size() + 1);
}

// "vhost/app/stream", in which the app may have several parts.
std::optional<FileOwner> parse_owner_mark(std::string_view mark) {
    const size_t first = mark.find('/'), last = mark.rfind('/');
    if (first == mark.npos || last <= first + 1 || first == 0 || last + 1 == mark.size()) return std::nullopt;
    FileOwner owner;
    owner.vhost = mark.substr(0, first);
    owner.app = mark.substr(first + 1, last - first - 1);
    owner.stream = mark.substr(last + 1);
    return owner;
}

}  // namespace

FileOwners::FileOwners(const config::Snapshot& snapshot, const std::vector<ClaimsOf>& claims) {
    server_root_ = root_index(snapshot.http_server.dir);
    for (const config::Vhost& vhost : snapshot.vhosts) {
        const size_t index = vhosts_.size();
        vhosts_.push_back({vhost.name});
        for (const ClaimsOf& claims_of : claims) {
            const FileClaims of_service = claims_of(vhost);
            if (!of_service.live_root.empty()) vhosts_.back().live_root = root_index(of_service.live_root);
            for (const FileClaims::Pattern& one : of_service.patterns)
                claims_.push_back({index, root_index(one.root), one.pattern, of_service.original});
        }
        if (vhost.http_static.enabled) static_claims_.push_back({index, root_index(vhost.http_static.dir)});
    }
}

size_t FileOwners::root_index(std::string_view directory) {
    auto found = std::ranges::find(roots_, directory);
    if (found == roots_.end()) found = roots_.insert(found, std::string(directory));
    return static_cast<size_t>(found - roots_.begin());
}

std::vector<std::string> FileOwners::real_roots() const {
    const std::lock_guard lock(mutex_);
    const int64_t now_ms = base::monotonic_ms();
    if (real_roots_.empty() || now_ms - real_roots_ms_ >= kRootsMs) {
        real_roots_.clear();
        for (const std::string& root : roots_) real_roots_.push_back(real_directory(root));
        real_roots_ms_ = now_ms;
    }
    return real_roots_;
}

std::vector<FileOwner> FileOwners::by_pattern(std::string_view path, const std::vector<std::string>& roots) const {
    std::vector<FileOwner> owners;
    for (const Claim& claim : claims_) {
        const std::string_view rest = path_below(path, roots[claim.root]);
        if (rest.empty()) continue;
        const std::string named = claim.original ? claim.original(rest) : std::string(rest);
        auto names = config::match_path(claim.pattern, named, vhosts_[claim.vhost].name);
        if (!names) continue;
        FileOwner owner{vhosts_[claim.vhost].name, std::move(names->app), std::move(names->stream), {}};
        if (owners.empty() || owners.back().vhost != owner.vhost) {
            owners.push_back(std::move(owner));
        } else if (owners.back() != owner) {
            owners.back().app = owners.back().stream = "";  // the stream is ambiguous
        }
    }
    return owners;
}

std::vector<FileOwner> FileOwners::by_directory(std::string_view path, const std::vector<std::string>& roots) const {
    std::vector<FileOwner> owners;
    size_t deepest = 0;
    auto check = [&](const Claim& claim) {
        const std::string& root = roots[claim.root];
        if (path_below(path, root).empty() || root.size() < deepest) return;
        if (root.size() > deepest) owners.clear();
        deepest = root.size();
        if (owners.empty() || owners.back().vhost != vhosts_[claim.vhost].name)
            owners.push_back({vhosts_[claim.vhost].name});
    };
    std::ranges::for_each(claims_, check);
    for (const Claim& claim : static_claims_)
        if (roots[claim.root] != roots[server_root_]) check(claim);
    return owners;
}

FileOwnership FileOwners::find(std::string_view real_path, std::string_view mark) const {
    // While a playlist is being replaced, the previous one may have the temporary name.
    if (real_path.ends_with(kTemporary)) real_path.remove_suffix(kTemporary.size());
    const std::vector<std::string> roots = real_roots();
    FileOwnership found;
    auto marked = parse_owner_mark(mark);
    auto is_marked = [&](const OfVhost& vhost) { return vhost.name == marked->vhost; };
    if (marked && std::ranges::any_of(vhosts_, is_marked)) {
        found.owners.push_back(*std::move(marked));
    } else {
        found.owners = by_pattern(real_path, roots);
        if (found.owners.empty() && is_media_file(real_path)) found.owners = by_directory(real_path, roots);
        found.orphaned = marked && found.owners.empty();
    }
    for (FileOwner& owner : found.owners) {
        auto vhost = std::ranges::find(vhosts_, owner.vhost, &OfVhost::name);
        if (vhost->live_root) owner.live_path = path_below(real_path, roots[*vhost->live_root]);
    }
    return found;
}

}  // namespace net
