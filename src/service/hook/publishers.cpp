#include "service/hook/publishers.h"

#include <algorithm>

namespace service::hook {

void Publishers::left(const net::Visitor& visitor) {
    auto at = entries_.find(visitor.key());
    if (at == entries_.end()) return;
    std::list<Entry>& entries = at->second;
    auto entry = std::ranges::find_if(entries, [&](const Entry& e) { return !e.ended && e.visitor.id == visitor.id; });
    if (entry == entries.end()) return;
    entry->ended = true;
    entries.splice(std::ranges::find_if(entries, [&](const Entry& e) { return !e.ended || &e == &*entry; }), entries,
                   entry);
    left_.push_back(at);
    if (left_.size() <= kMaxLeft) return;
    auto oldest = left_.front();
    left_.pop_front();
    oldest->second.pop_front();
    if (oldest->second.empty()) entries_.erase(oldest);
}

net::Visitor Publishers::find(const live::StreamKey& key) const {
    auto at = entries_.find(key);
    if (at == entries_.end()) return unknown(key);
    auto here = std::ranges::find(at->second, false, &Entry::ended);
    return here != at->second.end() ? here->visitor : at->second.back().visitor;
}

net::Visitor Publishers::find(const live::StreamKey& key, std::string_view id) const {
    if (id.empty()) return find(key);
    if (auto at = entries_.find(key); at != entries_.end())
        for (auto entry = at->second.rbegin(); entry != at->second.rend(); ++entry)
            if (entry->visitor.id == id) return entry->visitor;
    net::Visitor publisher = unknown(key);
    publisher.id = id;
    return publisher;
}

net::Visitor Publishers::unknown(const live::StreamKey& key) {
    net::Visitor publisher;
    publisher.action = net::Action::kPublish;
    publisher.vhost = key.vhost;
    publisher.app = key.app;
    publisher.stream = key.name;
    return publisher;
}

}  // namespace service::hook
