#include "net/access/file_access.h"

#include "net/access/access_rules.h"
#include "net/http/http_visitor.h"

namespace net {

void FileAccess::set_snapshot(const config::SnapshotPtr& snapshot) {
    snapshot_ = snapshot;
    owners_ = std::make_shared<const FileOwners>(*snapshot, claims_);
}

// Hooks are not called: fetching a file of a stream that has ended is not a play.
base::Result<void> FileAccess::check(const config::Vhost& vhost, const FileOwner& owner,
                                     const HttpRequest& request) const {
    TRY(check_play(vhost, request.peer_ip, page_of(request.message.headers)));
    if (!gate_.guards_parts(vhost)) return {};
    if (owner.app.empty() || owner.stream.empty())
        return base::fail(base::Code::kRefused, "the stream of this file is unknown");
    return gate_.check(
        http_visitor(request, request.session_id, {vhost.name, owner.app, owner.stream}, SessionType::kHttp), vhost);
}

void FileAccess::add_claims(ClaimsOf claims_of) { claims_.push_back(std::move(claims_of)); }

void FileAccess::add(LiveFiles& files) { live_.push_back(&files); }

void FileAccess::remove(LiveFiles& files) { std::erase(live_, &files); }

base::Result<void> FileAccess::admit(const FileOwnership& ownership, std::string_view real_path,
                                     const HttpRequest& request, HttpResponse& response) const {
    const config::SnapshotPtr snapshot = snapshot_;
    auto refused = [&](const char* why) { return send_refusal(base::Error(base::Code::kRefused, why), response); };
    if (ownership.orphaned) return refused("the file is of a vhost that there is no more");
    for (const FileOwner& owner : ownership.owners) {
        const config::Vhost* vhost = snapshot->find_vhost(owner.vhost);
        if (!vhost) return refused("the file is of a vhost that there is no more");
        if (owner.live_path.empty()) continue;
        for (LiveFiles* files : std::vector(live_)) {
            TRY(files->serve_live_file(*vhost, owner.live_path, request, response));
            if (response.started()) return {};
        }
    }
    for (const FileOwner& owner : ownership.owners)
        if (auto allowed = check(*snapshot->find_vhost(owner.vhost), owner, request); !allowed)
            return send_refusal(std::move(allowed.error()), response);
    const bool is_media = is_media_file(real_path) || is_media_file(request.message.path);
    if (!ownership.owners.empty() || !is_media) return {};
    if (const config::Vhost* named = snapshot->vhost(request.message.host))
        if (auto allowed = check_play(*named, request.peer_ip, page_of(request.message.headers)); !allowed)
            return send_refusal(std::move(allowed.error()), response);
    return {};
}

}  // namespace net
