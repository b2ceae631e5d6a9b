#include "service/hook/publishers.h"

#include <algorithm>

namespace service::hook {

void Publishers::left(const net::Visitor& visitor) {
    auto at = entries_.find(key_of(visitor));
    if (at == entries_.end()) return;
    std::list<Entry>& entries = at->second;
    auto entry = std::ranges::find_if(entries, [&](const Entry& e) { return !e.gone && e.visitor.id == visitor.id; });
    if (entry == entries.end()) return;
    bool others = std::ranges::any_of(entries, [&](const Entry& e) { return &e != &*entry && !e.gone; });
    if (others) {
        entries.erase(entry);
        return;
    }
    entry->gone = true;
    entries.remove_if([&](const Entry& e) { return &e != &*entry; });
    left_.remove(at->first);
    left_.push_back(at->first);
    while (left_.size() > kMostLeft) {
        auto oldest = entries_.find(left_.front());
        left_.pop_front();
        if (oldest == entries_.end()) continue;
        oldest->second.remove_if([](const Entry& e) { return e.gone; });
        if (oldest->second.empty()) entries_.erase(oldest);
    }
}

net::Visitor Publishers::find(const live::StreamKey& key) const {
    auto at = entries_.find(key);
    if (at != entries_.end()) {
        auto here = std::ranges::find(at->second, false, &Entry::gone);
        return here != at->second.end() ? here->visitor : at->second.front().visitor;
    }
    net::Visitor unknown;
    unknown.action = net::Action::kPublish;
    unknown.vhost = key.vhost;
    unknown.app = key.app;
    unknown.stream = key.name;
    return unknown;
}

}  // namespace service::hook
