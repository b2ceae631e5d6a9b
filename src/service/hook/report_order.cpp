#include "service/hook/report_order.h"

#include <utility>

namespace service::hook {

bool ReportOrder::add(OrderedReport& report) {
    report.blocked_by = 0;
    // It cannot wait for itself.
    if (report.positions[1].sequence == report.positions[0].sequence) report.positions[1].sequence = 0;
    for (const auto& [name, is_shared] : report.positions) {
        if (name == 0) continue;
        const auto [found, is_new] = sequences_.try_emplace(name, Sequence{{is_shared, 1}});
        if (is_new) continue;
        Sequence& sequence = found->second;
        const bool is_alone = !sequence.others;
        Group& last = is_alone ? sequence.first : sequence.others->back();
        if (is_shared && last.is_shared) {
            ++last.unfinished;
            if (is_alone) continue;
            last.blocked.push_back(&report);
        } else {
            if (is_alone) sequence.others = std::make_unique<std::deque<Group>>();
            sequence.others->push_back({is_shared, 1, {&report}});
        }
        ++report.blocked_by;
    }
    return report.blocked_by == 0;
}

std::vector<OrderedReport*> ReportOrder::done(const OrderedReport& report) {
    std::vector<OrderedReport*> freed;
    for (const auto& [name, is_shared] : report.positions) {
        const auto found = name == 0 ? sequences_.end() : sequences_.find(name);
        if (found == sequences_.end() || --found->second.first.unfinished > 0) continue;
        Sequence& sequence = found->second;
        if (!sequence.others) {
            sequences_.erase(found);
            continue;
        }
        sequence.first = std::move(sequence.others->front());
        sequence.others->pop_front();
        if (sequence.others->empty()) sequence.others.reset();
        for (OrderedReport* next : std::exchange(sequence.first.blocked, {}))
            if (--next->blocked_by == 0) freed.push_back(next);
    }
    return freed;
}

}  // namespace service::hook
