#include "load/publisher.h"

namespace load {

Publisher::Publisher(Target target, Script& script, bool loop, Ledger& ledger, PublisherObserver* observer)
    : Connection(std::move(target), Role::kPublish, ledger),
      script_(script),
      loop_(loop),
      observer_(observer),
      position_(static_cast<uint32_t>(script.messages().size()), script.repeat_from(), script.round_ms()) {}

int64_t Publisher::due_us() const {
    return start_us_ + (script_.messages()[position_.index()].timestamp_ms + int64_t{position_.shift_ms()}) * 1000;
}

void Publisher::send_next(int64_t now_us) {
    uint32_t index = position_.index();
    uint32_t timestamp = script_.messages()[index].timestamp_ms + position_.shift_ms();
    if (timestamp > Script::kMaxTimestamp) return close();
    auto bytes =
        rtp_ ? rtp_->encode(index, position_.round(), start_wall_us_) : script_.encode(index, timestamp, stream_id());
    if (observer_) observer_->on_publisher_send(index, now_us);
    ledger().bytes += bytes.size();
    ++ledger().messages;
    position_.advance(loop_);
    if (!bytes.empty()) send(bytes);
}

int64_t Publisher::send_due(int64_t now_us) {
    while (is_open()) {
        if (position_.at_end()) {
            close();
            break;
        }
        int64_t due = due_us();
        if (due > now_us) return due;
        ledger().lateness_us.add(now_us - due);
        send_next(now_us);
    }
    return -1;
}

uint32_t Publisher::send_now(uint32_t count) {
    uint32_t sent = 0;
    for (; sent < count && is_open() && !position_.at_end(); ++sent) send_next(base::monotonic_us());
    return sent;
}

void Pacer::add(Publisher& publisher) {
    queue_.push({base::monotonic_us(), &publisher});
    changed_.pulse();
}

void Pacer::stop() {
    stopped_ = true;
    changed_.pulse();
}

void Pacer::run() {
    int burst = 0;
    while (!stopped_ && !runtime::cancelled()) {
        int64_t now = base::monotonic_us();
        if (queue_.empty() || queue_.top().at_us > now) {
            auto deadline =
                queue_.empty() ? runtime::Deadline::in_ms(1000) : runtime::Deadline::at_us(queue_.top().at_us);
            (void)changed_.wait_next(deadline);
            burst = 0;
            continue;
        }
        Publisher* publisher = queue_.top().publisher;
        queue_.pop();
        if (int64_t next = publisher->send_due(now); next >= 0) queue_.push({next, publisher});
        if (++burst >= kBurst) {
            burst = 0;
            (void)runtime::yield();
        }
    }
}

}  // namespace load
