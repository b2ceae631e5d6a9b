#pragma once
// Routes: finds the session of a datagram. The key is the source address and wire once a STUN request with valid
// integrity, or a packet that decrypts, has arrived from there; before that it is the user name fragment of a STUN
// request. A NAT may give a client another port: its sessions are found by its IP address too. A lookup allocates
// nothing. A session has at most ice::LiteAgent::kMaxAddresses addresses and two fragments, so the tables are bounded
// by the number of sessions.
//
// An address may be claimed by several sessions: by a client that uses one socket for all of them, or by an attacker
// that sends requests for its own session from a forged address. A claim never removes another one: the caller offers
// the datagram to all of them (service.cpp), beginning with the first. The first is the session that accepted the last
// datagram. A request moves its session to the front only ahead of later claims, or of sessions that have not received
// anything valid from that address lately.

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

#include "base/endpoint.h"

namespace service::rtc {

class RtcSession;
class Wire;

class Routes {
  public:
    // Claims per address. Few enough that a datagram that belongs to no session costs little; further claims are
    // ignored.
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
        uint8_t count_ = 0;  // before the claims: beside the first, which nearly always is the only one
        std::array<Claim, kMaxClaims> of_{};
    };

    // The session received a STUN request with valid integrity from there, the first of them at since_ms.
    void claim(const base::Endpoint& from, const Wire& wire, RtcSession& session, int64_t since_ms, int64_t now_ms);
    void remove(const base::Endpoint& from, const Wire& wire, const RtcSession& session);
    // Null: no session. Valid until the next claim() or remove().
    Claims* find(const base::Endpoint& from, const Wire& wire) {
        auto found = by_address_.find({from, &wire});
        return found == by_address_.end() ? nullptr : &found->second;
    }

    // The sessions with an address of that host, once for each address. stop: true ends it.
    template <class Stop>
    void for_each_of(const base::IpAddress& ip, Stop stop) const {
        const uint64_t host = host_of(ip);
        for (auto at = by_host_.lower_bound({host, nullptr}); at != by_host_.end() && at->first == host; ++at)
            if (stop(*at->second)) return;
    }

    // False: another session has it.
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
        base::Endpoint from;
        const Wire* wire;
        friend bool operator==(const Key&, const Key&) = default;
    };
    struct HashKey {
        // Were it not noexcept, the map would store hash codes, in another cache line than the keys.
        size_t operator()(const Key& key) const noexcept {
            return std::hash<base::Endpoint>()(key.from) ^ reinterpret_cast<uintptr_t>(key.wire) >> 4;
        }
    };
    struct HashText {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    void forget_host(const base::Endpoint& from, RtcSession& session);
    // Two hosts of one number cost an attempt.
    static uint64_t host_of(const base::IpAddress& ip) { return std::hash<base::Endpoint>()({ip, 0}); }

    std::unordered_map<Key, Claims, HashKey> by_address_;
    std::multiset<std::pair<uint64_t, RtcSession*>> by_host_;
    std::unordered_map<std::string, RtcSession*, HashText, std::equal_to<>> by_ufrag_;
};

// WireUsers: which sessions have used a TCP connection and must be notified when it closes. take() removes the sessions
// that it returns.
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
