#pragma once
// ReportOrder: which of the reports to one host may be sent now. A report stands in up to two sequences: its stream's
// and its client's. It may be sent when everything before it in each of them has been delivered or dropped. Reports of
// a sequence that are `shared` have no order among themselves: the ends of a stream's players, of which 12,000 may come
// at once, wait for what was told about the stream before, and not for each other. Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

namespace service::hook {

// A report in the order. It must not move or be destroyed between add() and done().
struct OrderedReport {
    struct Position {
        uint64_t sequence = 0;  // hash of its name; equal ones of two names only mean more order. 0: none
        bool is_shared = false;
    };
    std::array<Position, 2> positions{};
    uint32_t blocked_by = 0;  // sequences in which something is before it
};

class ReportOrder {
  public:
    // Appends it to its sequences. True: it may be sent now.
    bool add(OrderedReport& report);
    // One that may be sent is not waited for any more. Returns those that may be sent because of it.
    std::vector<OrderedReport*> done(const OrderedReport& report);
    size_t sequences() const { return sequences_.size(); }
    void clear() { sequences_.clear(); }

  private:
    // Reports that may be sent together.
    struct Group {
        bool is_shared = false;
        uint32_t unfinished = 0;
        std::vector<OrderedReport*> blocked{};  // not of the first group of a sequence
    };
    struct Sequence {
        Group first;
        std::unique_ptr<std::deque<Group>> others{};  // most sequences have one report
    };
    std::unordered_map<uint64_t, Sequence> sequences_;
};

}  // namespace service::hook
