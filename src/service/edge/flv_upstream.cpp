#include <fmt/format.h>

#include "protocol/flv/reader.h"
#include "protocol/http/response_parser.h"
#include "protocol/http/via.h"
#include "runtime/socket/tcp.h"
#include "service/edge/upstream.h"

namespace service::edge {

using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr size_t kMaxHeadBytes = 16 * 1024;

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

class FlvUpstream final : public Upstream {
  public:
    FlvUpstream(const Source& source, UpstreamOptions options, ClientTls& tls, UpstreamSink& sink)
        : source_(source), options_(std::move(options)), tls_(tls), sink_(sink) {}

    Result<void> open(Deadline limit) override {
        const auto url = TRY(http::parse_absolute_url(source_.url));
        socket_ = TRY(runtime::connect_tcp(url.host, url.port, limit));
        if (url.tls) {
            auto context = TRY(tls_.context());
            socket_ =
                TRY(runtime::tls_connect(std::move(socket_), std::move(context), url.host, limit), "TLS handshake");
        }
        socket_->set_no_delay(true);
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

    const std::string& location() const override { return location_; }
    const std::string& path() const override { return path_; }

  private:
    Result<void> take_head() {
        const http::Response& response = parser_.response();
        answered_ = true;
        if (is_redirect(response.status)) location_ = response.headers.get("Location");
        if (response.status != 200)
            return fail(Code::kRefused, fmt::format("the answer's status is {}", response.status));
        path_ = http::path_of_via(response.headers.get("Via"));
        return {};
    }

    Result<void> take_body(std::span<const uint8_t> bytes) {
        reader_.feed(bytes);
        while (true) {
            const auto tag = TRY(reader_.next());
            if (!tag) return {};
            TRY(sink_.on_body(tag->type, tag->body, tag->timestamp));
        }
    }

    const Source source_;
    const UpstreamOptions options_;
    ClientTls& tls_;
    UpstreamSink& sink_;
    http::ResponseParser parser_{{.header_bytes = kMaxHeadBytes}};
    flv::Reader reader_;
    std::string location_, path_;
    bool answered_ = false;
};

}  // namespace

std::unique_ptr<Upstream> make_flv_upstream(const Source& source, UpstreamOptions options, ClientTls& tls,
                                            UpstreamSink& sink) {
    return std::make_unique<FlvUpstream>(source, std::move(options), tls, sink);
}

}  // namespace service::edge
