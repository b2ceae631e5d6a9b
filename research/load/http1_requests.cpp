#include "load/http1_requests.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include "protocol/http/headers.h"

namespace load {

namespace {

// Where bytes are copied: of bodies that are not kept only what comes with the head.
constexpr size_t kKeptBytes = 64 * 1024, kSkippedBytes = 1024, kMaxHeadBytes = 16 * 1024;

struct AnswerHead {
    int status = 0;
    bool has_length = false;
    uint64_t length = 0;
    std::string location;
};

base::Result<AnswerHead> read_head(std::string_view text) {
    constexpr std::string_view kVersion = "HTTP/1.1 ";
    AnswerHead head;
    if (!text.starts_with(kVersion)) return base::fail(base::Code::kProtocol, "no response of HTTP/1.1");
    const std::string_view status = text.substr(kVersion.size(), 3);
    std::from_chars(status.data(), status.data() + status.size(), head.status);
    for (size_t at = text.find("\r\n"); at != text.npos && at + 2 < text.size(); at = text.find("\r\n", at + 2)) {
        const std::string_view line = text.substr(at + 2, text.find("\r\n", at + 2) - at - 2);
        const size_t colon = line.find(':');
        if (colon == line.npos) continue;
        std::string_view value = line.substr(colon + 1);
        while (value.starts_with(' ')) value.remove_prefix(1);
        if (http::equal_ignoring_case(line.substr(0, colon), "Location")) head.location = value;
        if (!http::equal_ignoring_case(line.substr(0, colon), "Content-Length")) continue;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), head.length);
        head.has_length = error == std::errc() && end == value.data() + value.size();
    }
    return head;
}

// Answers with the same head follow each other: thousands within a second.
struct HeadMemo {
    std::string text;
    AnswerHead head;
};
std::array<HeadMemo, 2> head_memos;  // of bodies that are kept, and of others

}  // namespace

Http1Requests::Http1Requests(const Target& target, std::unique_ptr<runtime::ByteStream> stream, User& user,
                             Ledger& ledger)
    : fields_(fmt::format(" HTTP/1.1\r\nHost: {}:{}\r\nUser-Agent: bench\r\nAccept-Encoding: gzip\r\n\r\n", target.host,
                          target.port)),
      stream_(std::move(stream)),
      user_(user),
      ledger_(ledger) {
    stream_->set_no_delay(true);
    stream_->park(*this);
}

base::Result<void> Http1Requests::get(std::string_view path, bool keeps_body) {
    static std::string request;
    request.assign("GET ").append(path).append(fields_);
    keeps_body_ = keeps_body;
    state_ = State::kHead;
    text_.clear();
    const size_t sent = TRY(stream_->try_write({reinterpret_cast<const uint8_t*>(request.data()), request.size()}));
    if (sent < request.size()) return base::fail(base::Code::kLimit, "the server takes no requests");
    return {};
}

// A read that leaves room has emptied the socket: the next event comes with more.
base::Result<void> Http1Requests::read() {
    const auto buffer = runtime::shared_read_buffer();
    while (state_ != State::kIdle) {
        const bool skips = state_ == State::kBody && !keeps_body_;
        const size_t room = skips ? std::min<uint64_t>(left_, 1 << 20) : keeps_body_ ? kKeptBytes : kSkippedBytes;
        const ssize_t got = recv(stream_->plain_fd(), buffer.data(), room, MSG_DONTWAIT | (skips ? MSG_TRUNC : 0));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return {};
        if (got < 0) return base::fail_errno("reading", errno);
        if (got == 0) return base::fail(base::Code::kClosed, "closed by the server");
        ledger_.bytes += static_cast<uint64_t>(got);
        if (skips) {
            left_ -= static_cast<uint64_t>(got);
            if (left_ == 0) TRY(complete({}));
        } else {
            TRY(feed({reinterpret_cast<const char*>(buffer.data()), static_cast<size_t>(got)}));
        }
        if (static_cast<size_t>(got) < room) return {};
    }
    return {};
}

base::Result<void> Http1Requests::feed(std::string_view bytes) {
    if (state_ == State::kHead) {
        const size_t used = TRY(feed_head(bytes));
        if (used == 0) return {};
        bytes.remove_prefix(used);
        // Without a copy where all of it is there.
        if (state_ == State::kBody && bytes.size() == left_) return complete(bytes);
    }
    if (state_ == State::kParsed) return feed_parser(bytes);
    if (bytes.size() > left_) return base::fail(base::Code::kProtocol, "more bytes than Content-Length says");
    left_ -= bytes.size();
    if (keeps_body_) text_.append(bytes);
    return left_ == 0 ? complete(text_) : base::Result<void>();
}

// How many of the bytes end the head; 0: it goes on.
base::Result<size_t> Http1Requests::feed_head(std::string_view bytes) {
    const HeadMemo& memo = head_memos[keeps_body_];
    if (text_.empty() && !memo.text.empty() && bytes.starts_with(memo.text)) {
        TRY(head_complete(memo.text));
        return memo.text.size();
    }
    const size_t before = text_.size();
    text_.append(bytes);
    const size_t end = text_.find("\r\n\r\n");
    if (end == text_.npos) {
        if (text_.size() > kMaxHeadBytes) return base::fail(base::Code::kProtocol, "the head does not end");
        return 0;
    }
    const std::string head = std::exchange(text_, {}).substr(0, end + 4);
    TRY(head_complete(head));
    return head.size() - before;
}

base::Result<void> Http1Requests::head_complete(std::string_view text) {
    HeadMemo& memo = head_memos[keeps_body_];
    if (memo.text != text) {
        memo.head = TRY(read_head(text));
        memo.text = text;
    }
    status_ = memo.head.status;
    location_ = memo.head.location;
    left_ = memo.head.length;
    state_ = memo.head.has_length ? State::kBody : State::kParsed;
    if (state_ == State::kBody) return {};
    parser_.reset();
    return feed_parser(text);
}

base::Result<void> Http1Requests::feed_parser(std::string_view bytes) {
    std::span<const uint8_t> rest(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    while (true) {
        size_t used = 0;
        const auto step = parser_.feed(rest, used);
        rest = rest.subspan(used);
        if (step == http::ResponseParser::Step::kNeedMore) return {};
        if (step == http::ResponseParser::Step::kError)
            return base::fail(base::Code::kProtocol, "no HTTP response: " + parser_.error_text());
        if (step == http::ResponseParser::Step::kMessage) return complete(text_);
        if (step == http::ResponseParser::Step::kBody && keeps_body_)
            text_.append(reinterpret_cast<const char*>(parser_.data().data()), parser_.data().size());
    }
}

// The user may ask for the next thing at once.
base::Result<void> Http1Requests::complete(std::string_view body) {
    state_ = State::kIdle;
    const std::string kept = body.data() == text_.data() ? std::move(text_) : std::string();
    if (!kept.empty()) body = kept;
    const std::string location = std::move(location_);
    return user_.on_answer({status_, location, body});
}

void Http1Requests::on_readable() {
    if (auto done = read(); !done) user_.on_lost(done.error());
}

void Http1Requests::on_hangup() { user_.on_lost(base::Error(base::Code::kClosed, "reset by the server")); }

}  // namespace load
