#pragma once
// Requests by HTTP/1.1. What is not kept of a body is skipped in the kernel (MSG_TRUNC), and a head that is that of the
// answer before is not read again, so that one core can receive what many players are sent.

#include <string>

#include "load/http_requests.h"
#include "protocol/http/response_parser.h"

namespace load {

class Http1Requests final : public HttpRequests, private runtime::ParkedHandler {
  public:
    Http1Requests(const Target& target, std::unique_ptr<runtime::ByteStream> stream, User& user, Ledger& ledger);

    base::Result<void> get(std::string_view path, bool keeps_body) override;

  private:
    enum class State : uint8_t { kIdle, kHead, kBody, kParsed };

    base::Result<void> read();
    base::Result<void> feed(std::string_view bytes);
    base::Result<size_t> feed_head(std::string_view bytes);
    base::Result<void> head_complete(std::string_view head);
    base::Result<void> feed_parser(std::string_view bytes);
    base::Result<void> complete(std::string_view body);
    void on_readable() override;
    void on_writable() override {}
    void on_hangup() override;

    const std::string fields_;  // of each request
    const std::unique_ptr<runtime::ByteStream> stream_;
    User& user_;
    Ledger& ledger_;
    http::ResponseParser parser_;  // where a head does not name a length
    State state_ = State::kIdle;
    bool keeps_body_ = false;
    int status_ = 0;
    uint64_t left_ = 0;  // bytes of the body
    std::string location_;
    std::string text_;  // of a head, or of a body, as far as it has come
};

}  // namespace load
