#include "net/http/waiting_request.h"

#include <algorithm>
#include <utility>

#include "net/http/http1_head.h"
#include "net/http/http_exchange.h"
#include "runtime/loop/clock.h"

namespace net {

WaitingRequest::WaitingRequest(User& user, Details details)
    : user_(user), details_(std::move(details)), began_ms_(runtime::now_ms()) {
    details_.deferred->set_transport(*this);
    Timer::set(began_ms_ + details_.limit_ms);
}

void WaitingRequest::answer_late() {
    if (!is_answered()) details_.deferred->answer(nullptr);
}

void WaitingRequest::answer(AnswerPtr answer) {
    answer_ = answer ? std::move(answer) : details_.deferred->late_answer();
    Timer::set(runtime::now_ms() + details_.options->write_timeout_ms);
    user_.on_answer();
}

void WaitingRequest::on_due() {
    if (is_answered()) return user_.on_write_timeout();
    answer_late();
}

// Thousands get the same answer within a second.
const std::string& WaitingRequest::shared_head() const {
    PreparedAnswer::Memo& memo = answer_->memo();
    const int64_t key = date_second() * 4 + details_.keep_alive * 2 + details_.crossdomain;
    if (memo.key == key) return memo.text;
    memo.text = write_http1_head({.status = answer_->status(),
                                  .content_type = answer_->content_type(),
                                  .length = answer_->body().size(),
                                  .keep_alive = details_.keep_alive,
                                  .crossdomain = details_.crossdomain,
                                  .server_name = details_.options->server_name},
                                 answer_->fields());
    memo.key = key;
    return memo.text;
}

base::Result<bool> WaitingRequest::send(runtime::ByteStream& stream, uint64_t& sent_bytes) {
    if (!begun_) {
        body_bytes_ = details_.is_head || has_no_body(answer_->status()) ? 0 : answer_->body().size();
        if (details_.observer && body_bytes_ > 0) details_.observer(body_bytes_);
    }
    const std::string& head = std::exchange(begun_, true) ? head_ : shared_head();
    const size_t of_head = std::min(sent_, head.size()), of_body = sent_ - of_head;
    const iovec parts[] = {{const_cast<char*>(head.data()) + of_head, head.size() - of_head},
                           {const_cast<char*>(answer_->body().data()) + of_body, body_bytes_ - of_body}};
    const size_t first = of_head == head.size(), end = body_bytes_ > of_body ? 2 : 1;
    const size_t bytes = TRY(stream.try_writev(std::span(parts).subspan(first, end - first)));
    sent_ += bytes;
    sent_bytes += bytes;
    if (sent_ == head.size() + body_bytes_) return true;
    if (head_.empty()) head_ = head;
    if (bytes > 0) Timer::set(runtime::now_ms() + details_.options->write_timeout_ms);
    return false;
}

}  // namespace net
