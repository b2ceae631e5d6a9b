#include "net/access/gate.h"

#include <algorithm>

namespace net {

std::string_view action_name(Action action) {
    switch (action) {
        case Action::kConnect:
            return "connect";
        case Action::kPublish:
            return "publish";
        case Action::kPlay:
            return "play";
    }
    return "play";
}

Grant& Grant::operator=(Grant&& other) noexcept {
    if (this != &other) {
        end({});
        kept_ = std::move(other.kept_);
    }
    return *this;
}

void Grant::end(const Traffic& traffic) {
    for (std::unique_ptr<Kept> kept = std::move(kept_); kept; kept = std::move(kept->held))
        for (Guard* guard : kept->followers)
            if (kept->gate->has(guard)) guard->left(kept->visitor, traffic);
}

void Grant::hold(Grant other) {
    std::unique_ptr<Kept>* last = &kept_;
    while (*last) last = &(*last)->held;
    *last = std::move(other.kept_);
}

// A guard may have been removed while another was asked: the server stops.
void Gate::add(Guard& guard) { guards_.push_back(&guard); }

void Gate::remove(Guard& guard) { std::erase(guards_, &guard); }

bool Gate::has(const Guard* guard) const { return std::ranges::find(guards_, guard) != guards_.end(); }

bool Gate::may_yield(Action action, const config::Vhost& vhost) const {
    return std::ranges::any_of(guards_, [&](const Guard* guard) { return guard->may_yield(action, vhost); });
}

bool Gate::guards_parts(const config::Vhost& vhost) const {
    return std::ranges::any_of(guards_, [&](const Guard* guard) { return guard->guards_parts(vhost); });
}

void Gate::record_refusal(const Visitor& visitor, const base::Error& error) {
    if (error.code() == base::Code::kCancelled) return;
    ++refused_total_;
    runtime::warn_some(refusal_log_, "{} of {} by {} refused: {}", action_name(visitor.action), visitor.key().text(),
                       visitor.ip, error.text());
}

base::Result<void> Gate::check(const Visitor& visitor, const config::Vhost& vhost) {
    for (Guard* guard : guards_) {
        if (guard->may_yield(visitor.action, vhost)) continue;
        auto admitted = guard->check(visitor, vhost);
        if (admitted) continue;
        record_refusal(visitor, admitted.error());
        return admitted;
    }
    return {};
}

base::Result<Grant> Gate::admit(Visitor visitor, const config::Vhost& vhost, runtime::ByteStream* client) {
    if (!client || !may_yield(visitor.action, vhost)) return ask(std::move(visitor), vhost);
    const runtime::EndWatch watch(client);
    auto stay = ask(std::move(visitor), vhost);
    if (!stay && stay.error().code() == base::Code::kCancelled && client->peer_gone())
        return std::unexpected(base::Error(base::Code::kCancelled, "closed by the peer, which was not let in yet")
                                   .because(base::CloseReason::kPeerClosed));
    return stay;
}

base::Result<Grant> Gate::ask(Visitor visitor, const config::Vhost& vhost) {
    std::vector<Guard*> followers;
    for (Guard* guard : std::vector(guards_)) {  // a copy: one may be removed while another is asked
        if (!has(guard)) continue;
        auto admitted = guard->admit(visitor, vhost);
        if (!admitted) {
            // The followers asked before took the client for admitted: its end is reported to them.
            for (Guard* follower : followers)
                if (has(follower)) follower->left(visitor, {});
            record_refusal(visitor, admitted.error());
            return std::unexpected(std::move(admitted.error()));
        }
        if (guard->follows(visitor.action, vhost)) followers.push_back(guard);
    }
    if (followers.empty()) return Grant();
    visitor.passphrase = nullptr;
    return Grant(std::make_unique<Grant::Kept>(this, std::move(visitor), std::move(followers)));
}

}  // namespace net
