#pragma once
// Admission: limits transport connections, of all listeners together (max_connections) and of one address
// (address_limits): TCP and TLS of every protocol, ICE over TCP, and WebRTC sessions connected by UDP. Anything else
// does not count here: a service that keeps it has an AddressQuota of its own.
//
// When the server is full, connections without a first request are closed to make room, the oldest first, then those
// that wait for their next request, then players that get nothing (UnservedSessions).

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/ip.h"
#include "base/result.h"
#include "net/admission/address_limiter.h"
#include "net/admission/eviction.h"

namespace net {

class UnservedSessions;

class Admission {
  public:
    // A connection is kept at least this long, ms, before it may be closed to make room for another.
    static constexpr int64_t kEvictableMs = 1'000;

    struct Options {
        size_t max_connections = 0;  // 0: any number
        AddressLimiter::Options addresses{};
    };

    Admission() = default;
    Admission(const Admission&) = delete;

    // It must outlive this.
    void set_unserved(UnservedSessions& unserved) { unserved_ = &unserved; }
    // Existing connections are kept, and count.
    void set_options(Options options);
    const Options& options() const { return options_; }

    // The number of a connection's descriptor, before admit(): the server is full, too, when clients have taken all
    // that the process may have but its reserve (runtime/threads/descriptors.h).
    void saw_descriptor(int number);
    // kLimit: the server is full; kRefused: the address has too many connections, or exceeds the rate. The caller
    // counts an admitted connection by opened(), before anything yields.
    base::Result<void> admit(std::string_view ip);
    // For a client whose datagrams come to a socket that is there.
    base::Result<void> admit_without_descriptor(std::string_view ip);
    // For a client that will connect soon, and takes no descriptor: what admit() would return. It takes a token of the
    // rate, but counts no connection; admit_expected() follows, which does not check the rate.
    base::Result<void> expect(std::string_view ip);
    base::Result<void> admit_expected(std::string_view ip);
    void opened(const base::IpAddress& ip);
    void closed(const base::IpAddress& ip);

    // A connection that is not a net::Session, from opened() to closed().
    class Ticket {
      public:
        Ticket() = default;
        Ticket(Admission& admission, const base::IpAddress& ip) : admission_(&admission), ip_(ip) {
            admission.opened(ip);
        }
        Ticket(Ticket&& other) noexcept : admission_(std::exchange(other.admission_, nullptr)), ip_(other.ip_) {}
        Ticket& operator=(Ticket&& other) noexcept {
            std::swap(admission_, other.admission_);
            std::swap(ip_, other.ip_);
            return *this;
        }
        ~Ticket() { release(); }
        void release() {
            if (Admission* admission = std::exchange(admission_, nullptr)) admission->closed(ip_);
        }
        explicit operator bool() const { return admission_ != nullptr; }

      private:
        Admission* admission_ = nullptr;
        base::IpAddress ip_;
    };

    // What the server's other process has, during an upgrade: it counts for the limits.
    void set_elsewhere(size_t connections, const AddressLimiter::Counts& addresses) {
        elsewhere_ = connections;
        limiter_.set_elsewhere(addresses);
    }
    size_t elsewhere() const { return elsewhere_; }

    // Connections without a first request, and those that wait for their next request. A connection that evict_one()
    // ends calls closed() at once.
    EvictionList& embryonic() { return embryonic_; }
    EvictionList& idle() { return idle_; }
    const EvictionList& embryonic() const { return embryonic_; }
    const EvictionList& idle() const { return idle_; }

    size_t connections() const { return connections_; }
    bool is_full() const { return is_short_of_descriptors_ || has_max_connections(); }
    uint64_t refused_for_descriptors() const { return refused_for_descriptors_; }
    uint64_t refused_total() const { return refused_total_; }
    const AddressLimiter& limiter() const { return limiter_; }

  private:
    enum class Rate : uint8_t { kCounts, kPaid };
    base::Result<void> admit_address(std::string_view ip, Rate rate, int64_t now_ms);
    base::Result<void> admit(std::string_view ip, Rate rate, bool is_full_now);
    bool can_evict(int64_t now_ms) const;
    bool evict_one(int64_t now_ms);
    bool has_max_connections() const {
        return options_.max_connections > 0 && connections_ + elsewhere_ >= options_.max_connections;
    }
    base::Result<void> full();

    Options options_;
    AddressLimiter limiter_;
    EvictionList embryonic_;
    EvictionList idle_;
    UnservedSessions* unserved_ = nullptr;  // null: there are none
    size_t connections_ = 0;
    size_t elsewhere_ = 0;
    uint64_t refused_total_ = 0;
    bool is_short_of_descriptors_ = false;  // by the newest connection that came
    uint64_t refused_for_descriptors_ = 0;
};

}  // namespace net
