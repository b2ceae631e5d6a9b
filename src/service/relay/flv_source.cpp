#include <fmt/format.h>

#include "protocol/flv/reader.h"
#include "protocol/http/response_parser.h"
#include "protocol/http/via.h"
#include "service/relay/body_source.h"
#include "service/relay/dial.h"

namespace service::relay {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr size_t kMaxHeadBytes = 16 * 1024;

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

class FlvSource final : public BodySource {
  public:
    explicit FlvSource(BodySourceOptions options) : BodySource(std::move(options)) {}

  private:
    Result<void> open(Deadline limit) override {
        const auto url = TRY(http::parse_absolute_url(options_.target.url));
        socket_ = TRY(dial(url.host, url.port, url.tls ? options_.tls : nullptr, limit, limit));
        const std::string request =
            fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nVia: {}\r\nConnection: close\r\n\r\n",
                        url.target, url.authority, options_.user_agent, http::via_of_path(options_.path));
        TRY(socket_->write({reinterpret_cast<const uint8_t*>(request.data()), request.size()}, limit), "asking");
        while (!answered_) {
            auto bytes = TRY(runtime::read_shared(*socket_, limit), "waiting for the answer");
            if (bytes.empty()) return fail(Code::kClosed, "closed without an answer");
            TRY(take(bytes));
        }
        return {};
    }

    Result<void> take(std::span<const uint8_t> bytes) override {
        using Step = http::ResponseParser::Step;
        while (true) {
            size_t used = 0;
            const Step step = parser_.feed(bytes, used);
            bytes = bytes.subspan(used);
            switch (step) {
                case Step::kNeedMore:
                    return {};
                case Step::kError:
                    return fail(Code::kProtocol, "the answer: " + parser_.error_text());
                case Step::kMessage:
                    return fail(Code::kClosed, "the origin ended the stream");
                case Step::kHead:
                    TRY(take_head());
                    break;
                case Step::kBody:
                    TRY(take_body(parser_.data()));
                    break;
            }
        }
    }

    std::string path() const override { return path_; }

    Result<void> take_head() {
        const http::Response& response = parser_.response();
        answered_ = true;
        if (is_redirect(response.status)) location_ = response.headers.get("Location");
        if (response.status != 200) {
            fetch_->refused();
            return fail(Code::kRefused, fmt::format("the answer's status is {}", response.status));
        }
        path_ = http::path_of_via(response.headers.get("Via"));
        return {};
    }

    Result<void> take_body(std::span<const uint8_t> bytes) {
        reader_.feed(bytes);
        while (true) {
            const auto tag = TRY(reader_.next());
            if (!tag) return {};
            TRY(on_body(tag->type, tag->body, tag->timestamp));
        }
    }

    http::ResponseParser parser_{{.header_bytes = kMaxHeadBytes}};
    flv::Reader reader_;
    std::string path_;
    bool answered_ = false;
};

}  // namespace

std::unique_ptr<Source> make_flv_source(BodySourceOptions options) {
    return std::make_unique<FlvSource>(std::move(options));
}

}  // namespace service::relay
