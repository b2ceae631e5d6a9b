#pragma once
// Requests by HTTP/2 over TLS, by libnghttp2.

#include <nghttp2/nghttp2.h>

#include <string>

#include "load/http_requests.h"

namespace load {

class Http2Requests final : public HttpRequests, private runtime::ParkedHandler {
  public:
    Http2Requests(const Target& target, std::unique_ptr<runtime::ByteStream> stream, User& user, Ledger& ledger);
    ~Http2Requests() override;

    base::Result<void> get(std::string_view path, bool keeps_body) override;

  private:
    friend struct Http2RequestsCallbacks;

    base::Result<void> read();
    base::Result<void> pump();
    void on_readable() override;
    void on_writable() override;
    void on_hangup() override;

    const std::string authority_;
    const std::unique_ptr<runtime::ByteStream> stream_;
    User& user_;
    Ledger& ledger_;
    nghttp2_session* session_ = nullptr;
    std::string unsent_;
    bool keeps_body_ = false;
    bool is_complete_ = false;  // the answer
    uint32_t error_ = 0;        // with which the stream was closed
    int status_ = 0;
    std::string location_, text_;
};

}  // namespace load
