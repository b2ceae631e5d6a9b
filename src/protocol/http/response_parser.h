#pragma once
// ResponseParser: the client's side of HTTP/1.0 and 1.1 (RFC 9112), for the load tool and for requests that the server
// makes. It returns the body in pieces and keeps none of it. Interim (1xx) responses are skipped, except 101.

#include <cstdint>
#include <span>
#include <string>

#include "protocol/http/body_reader.h"
#include "protocol/http/head_parser.h"
#include "protocol/http/message.h"

namespace http {

class ResponseParser {
  public:
    // to_head: the request was HEAD, so there is no body whatever the fields say.
    explicit ResponseParser(const Limits& limits = {}, bool to_head = false) : limits_(limits), to_head_(to_head) {
        reset();
    }

    enum class Step : uint8_t {
        kNeedMore,
        kHead,     // response() is available
        kBody,     // data() is a piece of the body; valid as long as the bytes that were fed
        kMessage,  // complete; after status 101 the bytes that follow are another protocol
        kError,
    };
    // Consumes bytes up to the next step and sets used. After kHead it may be fed an empty span: a response without a
    // body is complete then.
    Step feed(std::span<const uint8_t> bytes, size_t& used);
    // The connection is closed: kMessage when that ends the body, else kError.
    Step finish();

    const Response& response() const { return response_; }
    std::span<const uint8_t> data() const { return data_; }
    const std::string& error_text() const { return error_text_; }
    void reset();

  private:
    Step feed_head(std::span<const uint8_t> bytes, size_t& used);
    Step fail(std::string text);
    Step head_complete();

    Limits limits_;
    bool to_head_;
    HeadParser head_{HTTP_RESPONSE};
    BodyReader body_;
    Response response_;
    std::span<const uint8_t> data_;
    std::string error_text_;
};

}  // namespace http
