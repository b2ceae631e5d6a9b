#pragma once
// For tests of HTTP over loopback: a client that sends raw bytes and parses responses.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "protocol/http/response_parser.h"
#include "runtime/socket/byte_stream.h"
#include "runtime/socket/tcp.h"

namespace net::testing {

struct Answer {
    int status = 0;  // 0: the connection closed, or nothing arrived in time
    http::Headers headers;
    std::string body;
    bool complete = false;
    std::string_view header(std::string_view name) const { return headers.get(name); }
};

class RawClient {
  public:
    explicit RawClient(uint16_t port) {
        auto stream = runtime::connect_tcp("127.0.0.1", port, runtime::Deadline::in_ms(5000));
        if (stream) stream_ = *std::move(stream);
        EXPECT_TRUE(stream_ != nullptr);
    }
    explicit RawClient(std::unique_ptr<runtime::ByteStream> stream) : stream_(std::move(stream)) {}
    void send(std::string_view text) {
        (void)stream_
            ->write({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, runtime::Deadline::in_ms(5000))
            .has_value();
    }
    // Reads more bytes into the buffer; false at the end or the deadline.
    bool receive(int64_t ms = 5000) {
        uint8_t bytes[4096];
        auto n = stream_->read(bytes, runtime::Deadline::in_ms(ms));
        if (!n || *n == 0) {
            closed_ = n.has_value() || n.error().code() != base::Code::kTimeout;
            return false;
        }
        buffer_.append(reinterpret_cast<char*>(bytes), *n);
        return true;
    }
    Answer read(bool to_head = false, int64_t ms = 5000) {
        http::ResponseParser parser({}, to_head);
        Answer answer;
        while (true) {
            size_t used = 0;
            auto step = parser.feed({reinterpret_cast<const uint8_t*>(buffer_.data()), buffer_.size()}, used);
            if (step == http::ResponseParser::Step::kHead) {
                answer.status = parser.response().status;
                answer.headers = parser.response().headers;
            }
            if (step == http::ResponseParser::Step::kBody)
                answer.body.append(reinterpret_cast<const char*>(parser.data().data()), parser.data().size());
            buffer_.erase(0, used);
            answer.complete = step == http::ResponseParser::Step::kMessage;
            if (answer.complete || step == http::ResponseParser::Step::kError) return answer;
            if (step == http::ResponseParser::Step::kNeedMore && !receive(ms)) {
                answer.complete = closed_ && parser.finish() == http::ResponseParser::Step::kMessage;
                return answer;
            }
        }
    }
    // Reads until n bytes are there, the end, or the deadline.
    std::string read_bytes(size_t n, int64_t ms = 5000) {
        while (buffer_.size() < n && receive(ms)) {
        }
        std::string out = buffer_.substr(0, n);
        buffer_.erase(0, out.size());
        return out;
    }
    // Whether the server closes its side within the time.
    bool sees_close(int64_t ms = 5000) {
        while (receive(ms)) {
        }
        return closed_;
    }
    runtime::ByteStream& stream() { return *stream_; }
    void close() { stream_.reset(); }

  private:
    std::unique_ptr<runtime::ByteStream> stream_;
    std::string buffer_;
    bool closed_ = false;
};

}  // namespace net::testing
