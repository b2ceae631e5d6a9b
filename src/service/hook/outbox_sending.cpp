// The outbox's calls: which reports are next, and what becomes of them.

#include <algorithm>
#include <utility>

#include "runtime/loop/clock.h"
#include "service/hook/outbox.h"
#include "service/hook/outbox_parts.h"

namespace service::hook {

namespace {

// A report that has no answer, or that of a gateway, may be one of many to a host of which a part is away. Its failure
// counts only if the host answered this many other calls since its last attempt, and it has more retries: above a
// minute of growing pauses.
constexpr uint64_t kOthersAnswered = 10;
constexpr int kMoreRetries = 4;

}  // namespace

void Outbox::start_workers(Host& host) {
    if (stopping_) return;
    const size_t wanted = host.breaker.is_open() ? 1 : std::min(host.concurrency, host.in_flight + host.ready.size());
    std::erase_if(workers_, [](const runtime::Task& task) { return task.done(); });
    while (host.workers < wanted && !host.ready.empty()) {
        if (host.breaker.is_open() && runtime::now_ms() < host.probe_ms) return;
        runtime::Task task = runtime::spawn("hook-report", [this, &host] { work(host); });
        if (!task) return;
        ++host.workers;
        workers_.push_back(std::move(task));
    }
}

void Outbox::work(Host& host) {
    while (!runtime::cancelled()) {
        const Batch batch = take(host);
        if (batch.empty()) break;
        ++host.in_flight;
        const Delivery delivery = send(batch);
        --host.in_flight;
        settle(host, batch, delivery);
        start_workers(host);
    }
    --host.workers;
}

Outbox::Batch Outbox::take(Host& host) {
    const int64_t now_ms = runtime::now_ms();
    if (host.breaker.is_open() ? host.in_flight > 0 || now_ms < host.probe_ms : host.in_flight >= host.concurrency)
        return {};
    Batch batch;
    if (host.ready.empty()) return batch;
    batch.push_back(host.ready.front());
    host.ready.pop_front();
    take_more(host, batch);
    for (Report* report : batch) report->state = Report::State::kSent;
    return batch;
}

// One that had no valid answer before is sent alone, so that it does not take others with it.
void Outbox::take_more(Host& host, Batch& batch) {
    const Report& first = *batch.front();
    const auto limit = static_cast<size_t>(first.route->hooks->outbox_batch);
    size_t bytes = first.body.size(), looked_at = 0;
    if (first.own_failures > 0 || first.body.empty()) return;
    for (auto at = host.ready.begin(); at != host.ready.end() && batch.size() < limit && looked_at < 4 * limit;
         ++looked_at) {
        Report* report = *at;
        const bool fits =
            report->route == first.route && report->own_failures == 0 && bytes + report->body.size() <= kMaxBatchBytes;
        if (!fits) {
            ++at;
            continue;
        }
        bytes += report->body.size();
        batch.push_back(report);
        at = host.ready.erase(at);
    }
}

Delivery Outbox::send(const Batch& batch) {
    const Report& first = *batch.front();
    // A reload may come meanwhile.
    const config::SnapshotPtr snapshot = first.route->snapshot;
    const VhostConfig& hooks = *first.route->hooks;
    Call call{first.route->hook, first.address(), ""};
    if (hooks.outbox_batch == 1 || first.body.empty()) {
        call.body = first.text(server_id_);
        call.report_id = first.id(server_id_);
    } else {
        for (const Report* report : batch) call.body += (call.body.empty() ? "[" : ",") + report->text(server_id_);
        call.body += ']';
    }
    for (Report* report : batch) {
        stats_.at(first.route->hook).retries += report->attempts > 0;
        report->attempts = static_cast<uint16_t>(std::min<int>(report->attempts + 1, UINT16_MAX));
    }
    runtime::set_context_id(first.client_id.empty() ? runtime::new_context_id() : first.client_id);
    return caller_.report(call, hooks);
}

void Outbox::settle(Host& host, const Batch& batch, const Delivery& delivery) {
    record_outcome(host, delivery);
    // A reload may have changed where the hook is.
    const bool is_moved = !delivery.delivered && batch.front()->route->host != &host;
    for (Report* report : batch) {
        if (delivery.delivered) {
            ++host.delivered;
            finish(*report);
        } else {
            retry(host, *report, delivery);
        }
    }
    if (is_moved) rebuild();
}

void Outbox::record_outcome(Host& host, const Delivery& delivery) {
    const int64_t now_ms = runtime::now_ms();
    if (delivery.is_cancelled) return;
    if (delivery.delivered) {
        ++host.answered;
        host.backoff.reset();
        if (host.breaker.succeeded(now_ms))
            runtime::warn_some(host_log_, "hook server {} takes reports again; {} wait", host.name, host.waiting);
        return;
    }
    const bool was_open = host.breaker.is_open();
    if (host.breaker.failed(now_ms, delivery.why))
        runtime::warn_some(host_log_, "hook server {} takes no reports: {}; {} wait", host.name, delivery.why,
                           host.waiting);
    if (host.breaker.is_open() && (!was_open || now_ms >= host.probe_ms))
        host.probe_ms = now_ms + runtime::varied_ms(host.backoff.next_ms());
}

void Outbox::retry(Host& host, Report& report, const Delivery& delivery) {
    if (!report.route->host) return drop(report, Drop::kRemoved);
    const uint64_t others = host.answered - report.answered_before;
    if (!delivery.is_cancelled && others >= (delivery.is_answered ? 1 : kOthersAnswered)) ++report.own_failures;
    report.answered_before = host.answered;
    const int retries = report.route->hooks->retries + (delivery.is_answered ? 0 : kMoreRetries);
    if (report.own_failures > retries) return drop(report, Drop::kRejected);
    if (host.breaker.is_open()) {
        // The next attempt is that of another one.
        report.state = Report::State::kReady;
        report.ready_at = host.ready.insert(host.ready.end(), &report);
    } else {
        report.state = Report::State::kDelayed;
        report.delayed_at =
            host.delayed.emplace(runtime::now_ms() + runtime::varied_ms(report.backoff.next_ms()), &report);
    }
    changed_.set();
}

}  // namespace service::hook
