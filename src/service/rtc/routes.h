#pragma once
// Routes: which session a datagram is for: by the address and wire that it came from, once a right-integrity request
// has come from there; before that by the user name fragment of a STUN request. Nothing is allocated to look one up. A
// session has at most ice::LiteAgent::kMaxAddresses addresses and two fragments, so the tables are bounded by the
// sessions.

#include <string>
#include <string_view>
#include <unordered_map>

#include "protocol/stun/address.h"

namespace service::rtc {

class RtcSession;
class Wire;

class Routes {
  public:
    // An address that was another session's is that session's no more.
    void add(const stun::Address& from, const Wire& wire, RtcSession& session) {
        by_address_[{from, &wire}] = &session;
    }
    void remove(const stun::Address& from, const Wire& wire, const RtcSession& session) {
        auto found = by_address_.find({from, &wire});
        if (found != by_address_.end() && found->second == &session) by_address_.erase(found);
    }
    RtcSession* find(const stun::Address& from, const Wire& wire) const {
        auto found = by_address_.find({from, &wire});
        return found == by_address_.end() ? nullptr : found->second;
    }

    // False: another has it.
    bool add(std::string_view ufrag, RtcSession& session) {
        return by_ufrag_.try_emplace(std::string(ufrag), &session).second;
    }
    void remove(std::string_view ufrag) {
        if (auto found = by_ufrag_.find(ufrag); found != by_ufrag_.end()) by_ufrag_.erase(found);
    }
    RtcSession* find(std::string_view ufrag) const {
        auto found = by_ufrag_.find(ufrag);
        return found == by_ufrag_.end() ? nullptr : found->second;
    }

    size_t addresses() const { return by_address_.size(); }
    size_t fragments() const { return by_ufrag_.size(); }

  private:
    struct Key {
        stun::Address from;
        const Wire* wire;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct HashKey {
        size_t operator()(const Key& key) const {
            return std::hash<stun::Address>()(key.from) ^ reinterpret_cast<uintptr_t>(key.wire) >> 4;
        }
    };
    struct HashText {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    std::unordered_map<Key, RtcSession*, HashKey> by_address_;
    std::unordered_map<std::string, RtcSession*, HashText, std::equal_to<>> by_ufrag_;
};

}  // namespace service::rtc
