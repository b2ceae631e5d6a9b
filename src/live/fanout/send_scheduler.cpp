#include "live/fanout/send_scheduler.h"

#include <algorithm>
#include <utility>

#include "live/fanout/delivery.h"
#include "live/hub/stream.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/cpu_slice.h"
#include "runtime/senders/senders.h"

namespace live {

SendGroup::~SendGroup() { leave(); }

void SendGroup::enter() {
    if (!std::exchange(entered_, true)) ++scheduler_.groups_;
}

void SendGroup::leave() {
    cancel();
    if (std::exchange(state_, State::kIdle) != State::kIdle) scheduler_.remove(*this);
    if (std::exchange(entered_, false) && --scheduler_.groups_ == 0) scheduler_.wake_.pulse();
}

int64_t SendGroup::spacing_ms(size_t receivers) {
    constexpr size_t kReceiversPerMs = 10;
    constexpr int64_t kMaxMs = 20;
    return std::min(static_cast<int64_t>(receivers / kReceiversPerMs), kMaxMs);
}

void SendGroup::request_round(int64_t at_ms) {
    if (state_ == State::kReady) return;
    if (state_ == State::kSending) {
        requested_ms_ = std::min(requested_ms_, at_ms);
        return;
    }
    at_ms = std::max(at_ms, not_before_ms_);
    if (is_set() && due_ms() <= at_ms) return;
    if (at_ms > runtime::event_ms()) return set(at_ms);
    cancel();
    scheduler_.add(*this);
}

void SendGroup::on_due() { scheduler_.add(*this); }

void SendScheduler::add(SendGroup& group) {
    if (std::exchange(group.state_, SendGroup::State::kReady) != SendGroup::State::kReady) ready_.push_back(&group);
    if (running_) return wake_.pulse();
    running_ =
        static_cast<bool>(runtime::spawn("send-scheduler", [this, held = base::Ref<Delivery>(&delivery_)] { run(); }));
    if (!running_) group.set(runtime::event_ms() + kRetryMs);
}

void SendScheduler::remove(SendGroup& group) {
    std::ranges::replace(ready_, &group, nullptr);
    std::ranges::replace(sending_, &group, nullptr);
}

void SendScheduler::begin_rounds() {
    bool reads = false;
    for (size_t begun = 0; begun < kRoundsAtOnce && !ready_.empty(); ready_.pop_front()) {
        SendGroup* group = ready_.front();
        if (!group) continue;
        group->state_ = SendGroup::State::kSending;
        const SendGroup::Begin begin = group->begin_round(runtime::now_ms());
        if (begin == SendGroup::Begin::kGone) continue;
        reads |= begin == SendGroup::Begin::kReads;
        sending_.push_back(group);
        ++begun;
    }
    if (reads) (void)runtime::yield();
}

// Sends a batch of the first group. False: it has no more to send.
bool SendScheduler::send_batch(int64_t now_us) {
    SendGroup* group = sending_.front();
    if (!group) return false;
    if (sending_.size() > 1 && sending_[1]) sending_[1]->prefetch();
    const base::Ref<Stream> held(&group->stream());
    if (group->send_batch(now_us)) return true;
    if (sending_.front()) end_round(*group, now_us / 1000);  // it may have been removed meanwhile
    return false;
}

namespace {

// Threads begin before others run here.
void publish_lent() {
    if (runtime::Senders* senders = runtime::senders()) senders->publish();
}

}  // namespace

// For one slice of time.
void SendScheduler::send() {
    const int64_t began_us = runtime::now_us();
    for (int64_t now_us = began_us; !sending_.empty();) {
        const bool more = send_batch(now_us);
        now_us = runtime::now_us();
        const bool is_over = runtime::slice_is_over(now_us - began_us);
        if (more && !is_over) continue;
        if (more) sending_.push_back(auto(sending_.front()));
        sending_.pop_front();
        if (!is_over) continue;
        publish_lent();
        (void)runtime::yield();
        return;
    }
    publish_lent();
}

void SendScheduler::end_round(SendGroup& group, int64_t now_ms) {
    group.state_ = SendGroup::State::kIdle;
    group.end_round(now_ms);
    const int64_t requested_ms = std::exchange(group.requested_ms_, INT64_MAX);
    if (requested_ms != INT64_MAX) group.request_round(requested_ms);
}

void SendScheduler::run() {
    while (groups_ > 0 && !runtime::cancelled()) {
        if (ready_.empty() && sending_.empty()) (void)wake_.wait_next(runtime::Deadline::never());
        begin_rounds();
        send();
    }
    running_ = false;
}

}  // namespace live
