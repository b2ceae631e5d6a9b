#pragma once
// Routes: which session a datagram is for: by the address and wire that it came from, once a right-integrity request
// has come from there; before that by the user name fragment of a STUN request. Nothing is allocated to look one up. A
// session has at most ice::LiteAgent::kMaxAddresses addresses and two fragments, so the tables are bounded by the
// sessions.
//
// An address may be claimed by several sessions: by a client that uses one socket for all of them, or by somebody who
// sends requests for a session of his own from a forged address. A claim takes nothing from another one: the caller
// asks all of them whose a datagram is (service.cpp), the first first. The first is the one whose datagram it was last;
// a request puts a session there only before a later claim, or before one that has not been heard from there lately.

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protocol/stun/address.h"

namespace service::rtc {

class RtcSession;
class Wire;

class Routes {
  public:
    // Of one address. So many that a datagram that is nobody's costs little; of more claims the latest have none.
    static constexpr size_t kMaxClaims = 4;
    class Claims {
      public:
        RtcSession* first() const { return of_[0].session; }
        size_t size() const { return count_; }
        RtcSession* at(size_t i) const { return of_[i].session; }
        void put_first(size_t i);

      private:
        friend class Routes;
        struct Claim {
            RtcSession* session = nullptr;
            int64_t since_ms = 0;
        };
        std::array<Claim, kMaxClaims> of_{};
        uint8_t count_ = 0;
    };

    // A right request of the session came from there, the first of them at since_ms.
    void claim(const stun::Address& from, const Wire& wire, RtcSession& session, int64_t since_ms, int64_t now_ms);
    void remove(const stun::Address& from, const Wire& wire, const RtcSession& session);
    // Null: nobody's. Valid until the next claim() or remove().
    Claims* find(const stun::Address& from, const Wire& wire) {
        auto found = by_address_.find({from, &wire});
        return found == by_address_.end() ? nullptr : &found->second;
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
    std::unordered_map<Key, Claims, HashKey> by_address_;
    std::unordered_map<std::string, RtcSession*, HashText, std::equal_to<>> by_ufrag_;
};

// WireUsers: which sessions have used a TCP connection, and so must hear of its end. Told of it once, they are gone
// from here.
class WireUsers {
  public:
    void add(const Wire& wire, RtcSession& session) {
        by_wire_.emplace(&wire, &session);
        by_session_.emplace(&session, &wire);
    }
    void forget(RtcSession& session) {
        const auto first = by_session_.lower_bound({&session, nullptr});
        auto last = first;
        for (; last != by_session_.end() && last->first == &session; ++last) by_wire_.erase({last->second, &session});
        by_session_.erase(first, last);
    }
    std::vector<RtcSession*> take(const Wire& wire) {
        std::vector<RtcSession*> users;
        const auto first = by_wire_.lower_bound({&wire, nullptr});
        auto last = first;
        for (; last != by_wire_.end() && last->first == &wire; ++last) {
            users.push_back(last->second);
            by_session_.erase({last->second, &wire});
        }
        by_wire_.erase(first, last);
        return users;
    }
    size_t size() const { return by_wire_.size(); }

  private:
    std::set<std::pair<const Wire*, RtcSession*>> by_wire_;
    std::set<std::pair<RtcSession*, const Wire*>> by_session_;
};

}  // namespace service::rtc
