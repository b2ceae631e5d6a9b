#include "protocol/ice/lite_agent.h"

#include <algorithm>

#include "protocol/stun/writer.h"

namespace ice {
namespace {

constexpr uint32_t kHostPriority = 0x7effffff;  // RFC 8445, 5.1.2.1: of the only candidate

}  // namespace

void LiteAgent::restart(Credentials local, std::string_view remote_ufrag, std::string_view remote_password) {
    next_ = std::make_unique<Next>(Next{std::move(local), {}});
    next_->remote.set(remote_ufrag, remote_password);
}

size_t LiteAgent::find(const base::Endpoint& address) const {
    size_t i = 0;
    while (i < pairs_.size() && pairs_[i].address != address) ++i;
    return i;
}

// Finds or adds the pair of an address. When the table is full, the pair that has been silent longest is evicted, but
// never the selected one.
LiteAgent::Pair& LiteAgent::pair_of(const base::Endpoint& from, int64_t now_ms, Reply& reply) {
    size_t index = find(from);
    if (index < pairs_.size()) return pairs_[index];
    reply.new_address = true;
    const Pair fresh{from, 0, now_ms, -1};
    if (pairs_.size() < kMaxAddresses) return pairs_.emplace_back(fresh);
    ++forgotten_;
    index = selected_ == 0 ? 1 : 0;
    for (size_t i = 0; i < pairs_.size(); ++i) {
        if (static_cast<int>(i) != selected_ && pairs_[i].heard_ms < pairs_[index].heard_ms) index = i;
    }
    return pairs_[index] = fresh;
}

Refusal LiteAgent::check(const stun::Message& message, bool& next) const {
    if (message.username.empty() || !message.has_integrity()) return Refusal::kNoCredentials;
    auto names = [&message](const Credentials& local, const Remote& remote) {
        const std::string_view ufrag = remote.ufrag();
        return message.receiver_ufrag() == local.ufrag && (ufrag.empty() || message.sender_ufrag() == ufrag);
    };
    // Both names are compared before any digest is computed: a request with unknown names costs no more than this.
    next = next_ && names(next_->local, next_->remote);
    if (!next && !names(local_, remote_)) return Refusal::kWrongUsername;
    if (!message.check_integrity(next ? next_->local.password : local_.password)) return Refusal::kWrongIntegrity;
    if (message.unknown_count) return Refusal::kUnknownAttributes;
    if (message.controlled) return Refusal::kRoleConflict;
    return Refusal::kNone;
}

void LiteAgent::take_next() {
    local_ = std::move(next_->local);
    remote_ = std::move(next_->remote);
    next_.reset();
    // Earlier nominations are void; the selected address stays until another one is nominated.
    for (auto& pair : pairs_) pair.nominated_ms = -1;
}

void LiteAgent::accept(const stun::Message& message, const base::Endpoint& from, int64_t now_ms, Reply& reply) {
    Pair& pair = pair_of(from, now_ms, reply);
    pair.heard_ms = now_ms;
    if (message.priority) pair.priority = *message.priority;
    if (message.use_candidate) pair.nominated_ms = now_ms;
    reply.nominated = message.use_candidate;
    const auto index = static_cast<int8_t>(&pair - pairs_.data());
    if (index == selected_) return;

    bool select = selected_ < 0 ? message.use_candidate : false;
    if (selected_ >= 0) {
        const Pair& current = pairs_[static_cast<size_t>(selected_)];
        if (now_ms - current.heard_ms > (reply.new_address ? kSilentMs : kNoCheckMs)) {
            select = true;
        } else if (message.use_candidate) {
            select = current.nominated_ms < 0 || pair.priority > current.priority ||
                     now_ms - current.nominated_ms > kRenominationMs;
        }
    }
    if (!select) return;
    selected_ = index;
    reply.selected_changed = true;
}

bool LiteAgent::heard(const base::Endpoint& from, int64_t now_ms) {
    const size_t index = find(from);
    if (index == pairs_.size()) return false;
    pairs_[index].heard_ms = now_ms;
    if (selected_ < 0 || now_ms - pairs_[static_cast<size_t>(selected_)].heard_ms <= kSilentMs) return false;
    selected_ = static_cast<int8_t>(index);
    return true;
}

size_t LiteAgent::write_check(const stun::TransactionId& transaction, std::span<uint8_t> out) const {
    if (remote_.password().empty()) return 0;
    stun::Writer writer(out.first(kMaxCheckSize), stun::Class::kRequest, transaction);
    writer.username(std::string(remote_.ufrag()) + ":" + local_.ufrag);
    writer.controlled(0);
    writer.priority(kHostPriority);
    return writer.finish(remote_.password());
}

bool LiteAgent::on_answer(std::span<const uint8_t> datagram, const stun::TransactionId& transaction,
                          const base::Endpoint& from, int64_t since_ms, int64_t now_ms) {
    auto message = stun::parse(datagram);
    if (!message || message->kind != stun::Class::kSuccess || message->transaction != transaction ||
        !message->check_integrity(remote_.password()))
        return false;
    Reply ignored;
    Pair& pair = pair_of(from, now_ms, ignored);
    pair.heard_ms = now_ms;
    const bool is_silent = selected_ < 0 || pairs_[static_cast<size_t>(selected_)].heard_ms <= since_ms;
    if (is_silent) selected_ = static_cast<int8_t>(&pair - pairs_.data());
    return true;
}

size_t LiteAgent::answer_error(const stun::Message& message, Refusal refusal, int64_t now_ms, std::span<uint8_t> out) {
    const bool verified = refusal >= Refusal::kUnknownAttributes;
    if (!verified) {
        if (now_ms - errors_since_ms_ >= 1000 || now_ms < errors_since_ms_) {
            errors_since_ms_ = now_ms;
            errors_ = 0;
        }
        if (errors_ >= kMaxErrorsPerSecond) return 0;
        ++errors_;
    }
    stun::Writer writer(out, stun::Class::kError, message.transaction, message.method);
    if (refusal == Refusal::kNoCredentials) writer.error(400, "Bad Request");
    if (refusal == Refusal::kWrongUsername || refusal == Refusal::kWrongIntegrity) writer.error(401, "Unauthorized");
    if (refusal == Refusal::kRoleConflict) writer.error(487, "Role Conflict");
    if (refusal == Refusal::kUnknownAttributes) {
        writer.error(420, "Unknown Attribute");
        writer.unknown(std::span(message.unknown).first(std::min(message.unknown_count, stun::kMaxUnknown)));
    }
    const size_t size = writer.finish(verified ? local_.password : std::string_view());
    return verified || size <= message.datagram.size() ? size : 0;
}

Reply LiteAgent::on_request(std::span<const uint8_t> datagram, const base::Endpoint& from, int64_t now_ms,
                            std::span<uint8_t> out) {
    Reply reply;
    auto message = stun::parse(datagram);
    if (!message) {
        reply.refusal = Refusal::kNotStun;
        return reply;
    }
    if (message->kind != stun::Class::kRequest || message->method != stun::kBinding) {
        reply.refusal = Refusal::kNotRequest;
        return reply;
    }
    bool next = false;
    reply.refusal = check(*message, next);
    if (next && reply.verified()) {
        take_next();
        reply.restarted = true;
    }
    if (reply.refusal != Refusal::kNone) {
        reply.size = answer_error(*message, reply.refusal, now_ms, out);
        return reply;
    }
    accept(*message, from, now_ms, reply);
    stun::Writer writer(out, stun::Class::kSuccess, message->transaction);
    writer.mapped(from);
    reply.size = writer.finish(local_.password);
    return reply;
}

}  // namespace ice
