#pragma once
// Leases: the streams that are published at this server, as the other servers of the cluster know them. Each has a
// lease in the store, which names this server and process (the fence) and ends unless it is renewed.
//
// A publisher is refused while another server has the name, and is there. Without the store it is admitted, and the
// stream is registered when the store is back. Two servers may then have a name, or when a lease ended while a server
// could not reach the store: as soon as one of them sees the other's lease, the publication that began first keeps the
// name, and the other one is ended. Names that are not exclusive may be published at several servers: one of them has
// the lease, the others wait for it. The time is handed in; calls that yield say so.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "service/cluster/record.h"
#include "service/cluster/store.h"

namespace service::cluster {

class LeaseOwner {
  public:
    // Another server has the name: the publication here has to end. Does not yield.
    virtual void lease_lost(const base::StreamKey& stream, const Record& winner) = 0;
    virtual bool is_exclusive(const base::StreamKey& stream) const = 0;
    // Whether the server of that record certainly does not run any more. Yields, for a limited time.
    virtual bool is_gone(const Record& record) = 0;

  protected:
    ~LeaseOwner() = default;
};

class Leases {
  public:
    static constexpr size_t kBatch = 64;  // leases that are renewed by one call

    struct Times {
        int64_t now_ms;   // by the loop's clock
        int64_t wall_ms;  // Unix time
    };
    struct Lease {
        bool published = false;
        bool lost = false;
        bool waiting = false;  // another server has the name, which is not exclusive
        std::string key;
        Record record;
        std::string value;
        std::string expected{};  // an earlier value of this server, which may be replaced
        int64_t renewed_ms = 0;  // by the loop's clock; 0: never
        int64_t asked_ms = 0;    // while it waits: when it was claimed last
    };
    struct Counters {
        uint64_t acquired = 0, renewed = 0, released = 0;
        uint64_t refused = 0;    // publishers: another server has the name
        uint64_t won = 0;        // leases that were taken over from a publication that began later
        uint64_t lost = 0;       // publications that were ended
        uint64_t unguarded = 0;  // publishers that were admitted while the store was away
        uint64_t inherited = 0;  // leases of servers that were gone, before their time was over
    };

    // Both must outlive it.
    Leases(Store& store, LeaseOwner& owner) : store_(store), owner_(owner) {}

    // self: its addresses and fence. What it says of streams changes with the next renewal.
    void configure(const std::string& prefix, Record self, int64_t lease_ms);

    // A publisher asks for the name. kBusy: another server has it; the text says which. Yields.
    base::Result<void> admit(const base::StreamKey& stream, Times times);
    // The publisher that was admitted has left, or could not publish.
    void left(const base::StreamKey& stream);
    void published(const base::StreamKey& stream, Times times);
    void unpublished(const base::StreamKey& stream);

    // Releases, claims and renews what is due. Error: the store is away. Yields.
    base::Result<void> work(int64_t now_ms);
    // All are due: the store may have lost them.
    void renew_all();
    // When work() has something to do next, by the loop's clock; INT64_MAX: nothing.
    int64_t next_ms() const;

    bool is_held(const Lease& lease, int64_t now_ms) const {
        return !lease.lost && lease.renewed_ms > 0 && now_ms - lease.renewed_ms < lease_ms_;
    }
    const std::map<base::StreamKey, Lease>& list() const { return leases_; }
    const Counters& counters() const { return counters_; }
    const Record& self() const { return self_; }

  private:
    base::Result<void> take_over(const base::StreamKey& stream, Lease& lease, const Record& other, int64_t now_ms);
    void wait(const base::StreamKey& stream, Lease& lease, const Record& other, int64_t now_ms);
    int64_t due_ms(const Lease& lease) const;
    void describe(Lease& lease);
    base::Result<void> release_some();
    base::Result<void> claim_some(int64_t now_ms);
    void settle(const base::StreamKey& stream, const Store::Claim& claim, const std::string& held, int64_t now_ms);
    void release(Lease& lease);

    Store& store_;
    LeaseOwner& owner_;
    std::string prefix_;
    Record self_;
    int64_t lease_ms_ = 10'000;
    std::map<base::StreamKey, Lease> leases_;
    std::vector<Store::Claim> releases_;  // not sent yet
    Counters counters_;
};

}  // namespace service::cluster
