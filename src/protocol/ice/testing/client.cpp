#include "protocol/ice/testing/client.h"

#include <algorithm>
#include <limits>

#include "protocol/stun/writer.h"

namespace ice {

Client::Client(ClientOptions options) : options_(std::move(options)), state_(options_.seed) { tie_breaker_ = random(); }

// splitmix64: transaction ids only have to be unique; in a bench there is no attacker who could guess them.
uint64_t Client::random() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void Client::begin(Pair& pair, int64_t when_ms) {
    for (auto& byte : pair.transaction) byte = static_cast<uint8_t>(random());
    pair.send_ms = when_ms;
    pair.rto_ms = kFirstRtoMs;
    pair.sends = 0;
    pair.done = false;
}

void Client::add_remote(const base::Endpoint& address) {
    const bool known = std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& p) { return p.address == address; });
    if (known || pairs_.size() >= kMaxPairs) return;
    Pair pair;
    pair.address = address;
    pair.nominating = options_.aggressive;
    begin(pair, 0);
    pairs_.push_back(pair);
}

void Client::restart(Credentials local, Credentials remote) {
    options_.local = std::move(local);
    options_.remote = std::move(remote);
    nominated_ = -1;
    for (auto& pair : pairs_) {
        pair.valid = false;
        pair.nominating = options_.aggressive;
        begin(pair, 0);
    }
}

std::span<const uint8_t> Client::write_check(const Pair& pair) {
    stun::Writer writer(check_, stun::Class::kRequest, pair.transaction);
    writer.username(options_.remote.ufrag + ":" + options_.local.ufrag);
    if (options_.controlling) {
        writer.controlling(tie_breaker_);
        if (pair.nominating) writer.use_candidate();
    } else {
        writer.controlled(tie_breaker_);
    }
    writer.priority(options_.priority);
    return std::span(check_).first(writer.finish(options_.remote.password));
}

std::optional<Outgoing> Client::poll(int64_t now_ms) {
    if (answer_to_) {
        Outgoing out{*answer_to_, std::span(answer_).first(answer_size_)};
        answer_to_.reset();
        return out;
    }
    for (auto& pair : pairs_) {
        if (pair.done || pair.send_ms > now_ms) continue;
        if (pair.sends == kMaxSends) {
            // The selected pair starts the next consent check anyway: consent is lost only by timeout.
            pair.done = true;
            if (&pair == selected_ + pairs_.data() && selected_ >= 0) begin(pair, now_ms);
            if (pair.done) continue;
        }
        ++pair.sends;
        pair.send_ms = now_ms + pair.rto_ms;
        pair.rto_ms = std::min<int64_t>(pair.rto_ms * 2, 2000);
        return Outgoing{pair.address, write_check(pair)};
    }
    return std::nullopt;
}

int64_t Client::next_ms() const {
    int64_t next = answer_to_ ? 0 : std::numeric_limits<int64_t>::max();
    for (const auto& pair : pairs_) {
        if (!pair.done) next = std::min(next, pair.send_ms);
    }
    return next;
}

bool Client::failed() const {
    return !pairs_.empty() && selected_ < 0 &&
           std::all_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) { return pair.done && !pair.valid; });
}

// A check of this pair was answered: nominates and selects it as required; then only consent checks follow.
void Client::on_valid(Pair& pair, int64_t now_ms) {
    const int index = static_cast<int>(&pair - pairs_.data());
    pair.valid = true;
    pair.done = true;
    consent_ms_ = now_ms;
    if (!options_.controlling) {
        if (selected_ < 0) selected_ = index;
    } else if (pair.nominating) {
        if (nominated_ < 0 || nominated_ == index) nominated_ = selected_ = index;
    } else if (nominated_ < 0) {
        nominated_ = index;
        pair.nominating = true;
        begin(pair, now_ms);
        return;
    }
    if (index != selected_) return;
    pair.nominating = options_.aggressive;
    begin(pair, now_ms + kConsentCheckMs * static_cast<int64_t>(80 + random() % 41) / 100);
}

bool Client::on_response(const stun::Message& message, const base::Endpoint& from, int64_t now_ms) {
    for (auto& pair : pairs_) {
        if (pair.done || !pair.sends || pair.transaction != message.transaction || pair.address != from) continue;
        if (message.kind == stun::Class::kError) {
            last_error_ = message.error_code;
            if (message.error_code == 487 && message.check_integrity(options_.remote.password)) {
                options_.controlling = !options_.controlling;
                begin(pair, now_ms);
            }
            // Other errors may be forged: the check is retransmitted until it is given up.
            return true;
        }
        if (!message.check_integrity(options_.remote.password)) return false;
        if (message.mapped) mapped_ = message.mapped;
        on_valid(pair, now_ms);
        return true;
    }
    return false;
}

bool Client::on_datagram(std::span<const uint8_t> datagram, const base::Endpoint& from, int64_t now_ms) {
    auto message = stun::parse(datagram);
    if (!message || message->method != stun::kBinding) return false;
    if (message->kind == stun::Class::kSuccess || message->kind == stun::Class::kError)
        return on_response(*message, from, now_ms);
    if (message->kind != stun::Class::kRequest) return true;
    if (message->receiver_ufrag() != options_.local.ufrag || !message->check_integrity(options_.local.password))
        return false;
    stun::Writer writer(answer_, stun::Class::kSuccess, message->transaction);
    writer.mapped(from);
    answer_size_ = writer.finish(options_.local.password);
    answer_to_ = from;
    add_remote(from);
    return true;
}

}  // namespace ice
