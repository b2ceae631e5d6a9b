// A whole connection of HTTP/2, without a network and in simulated time: frames as the input has them, in pieces, to
// handlers that answer, wait, give their body to a viewer, or are cancelled. Steps, a byte each with one behind it:
//
//     0 n   n bytes of the input are sent
//     1 n   a HEADERS frame for one of the paths: n % 8, with or without its end (n & 8), of the next stream
//     2 n   n * n ms pass
//     3 n   the connection takes n * 100 bytes more; 0: everything
//     4 n   those that wait are answered
//     5 n   viewers write n * 10 bytes; 0: they finish
//     6 n   viewers leave
//     7 n   the server drains (n even), or waits end
//     8 n   the client's side ends (n even), or breaks
//
// Afterwards no handler, no wait, no viewer and no coroutine may be left.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "net/http/http2_testing.h"
#include "runtime/loop/fuzz_testing.h"

namespace {

using runtime::testing::FuzzInput;

constexpr size_t kMaxSteps = 200;
constexpr const char* kPaths[] = {"/now", "/echo", "/wait", "/take", "/sleep", "/large", "/cut", "/none"};

struct Shared {
    int waiting = 0, handlers = 0;
    net::DeferredList list;
    struct Viewer final : runtime::ParkedHandler {
        void on_readable() override {}
        void on_writable() override {}
        void on_hangup() override { gone = true; }
        std::unique_ptr<runtime::ByteStream> stream;
        bool gone = false;
    };
    std::vector<std::unique_ptr<Viewer>> viewers;
};

struct FuzzedWait final : net::Deferred {
    explicit FuzzedWait(int& count) : count_(++count) {}
    ~FuzzedWait() override { --count_; }
    int& count_;
};

void add(net::HttpRouter& router, const char* path, net::HttpHandler handler) {
    net::HttpRoute route;
    route.methods = {http::Method::kGet, http::Method::kPost};
    route.pattern = path;
    route.handler = std::move(handler);
    route.body_limit_bytes = 1'000;
    router.add(std::move(route));
}

void add_routes(net::HttpRouter& router, Shared& shared) {
    using net::HttpRequest;
    using net::HttpResponse;
    add(router, "/now", [](HttpRequest&, HttpResponse& response) { return response.send(200, "text/plain", "now"); });
    add(router, "/echo", [](HttpRequest& request, HttpResponse& response) {
        return response.send(200, "text/plain", request.message.body);
    });
    add(router, "/wait", [&shared](HttpRequest&, HttpResponse& response) {
        auto waiting = std::make_unique<FuzzedWait>(shared.waiting);
        shared.list.add(*waiting);
        return response.defer(std::move(waiting), 3'000);
    });
    add(router, "/take", [&shared](HttpRequest&, HttpResponse& response) -> base::Result<void> {
        auto viewer = std::make_unique<Shared::Viewer>();
        viewer->stream = TRY(response.detach(200, "video/x-flv")).stream;
        viewer->stream->park(*viewer);
        shared.viewers.push_back(std::move(viewer));
        return {};
    });
    add(router, "/sleep", [&shared](HttpRequest&, HttpResponse& response) -> base::Result<void> {
        const runtime::EndWatch watch(response.client());
        ++shared.handlers;
        auto slept = runtime::sleep_ms(1'000);
        --shared.handlers;
        if (!slept) return slept;
        return response.send(200, "text/plain", "late");
    });
    add(router, "/large", [](HttpRequest&, HttpResponse& response) {
        return response.send(200, "text/plain", std::string(100'000, 'x'));
    });
    add(router, "/cut", [](HttpRequest&, HttpResponse& response) -> base::Result<void> {
        TRY(response.begin(200, "text/plain", 10));
        return response.write("abc");
    });
}

std::string headers_frame(std::string_view path, bool is_all, uint32_t id) {
    const std::string block = std::string(is_all ? "\x82\x87\x41\x01" : "\x83\x87\x41\x01", 4) + "a" +
                              std::string("\x04", 1) + static_cast<char>(path.size()) + std::string(path);
    std::string frame{0, 0, static_cast<char>(block.size()), 1, is_all ? '\5' : '\4'};
    for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(id >> shift);
    return frame + block;
}

class Fuzzed {
  public:
    Fuzzed(net::testing::Http2Host& host, Shared& shared, FuzzInput in) : host_(host), shared_(shared), in_(in) {}
    void run() {
        host_.peer.send(std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\4\0\0\0\0\0", 9));
        for (size_t i = 0; i < kMaxSteps && !in_.empty(); ++i) {
            const uint8_t what = in_.byte();
            step(what % 9, in_.byte());
            runtime::testing::fuzz_time().settle();
            (void)host_.peer.take();
        }
        shared_.viewers.clear();
    }

  private:
    void step(uint8_t what, uint8_t n) {
        switch (what) {
            case 0:
                return send_bytes(n);
            case 1:
                return host_.peer.send(headers_frame(kPaths[n % 8], !(n & 8), (next_ += 2) - 2));
            case 2:
                return runtime::testing::fuzz_time().pass_ms(n * n);
            case 3:
                return host_.peer.set_room(n == 0 ? SIZE_MAX : size_t{n} * 100);
            case 4:
                while (net::Deferred* one = shared_.list.first())
                    one->answer(n == 0 ? nullptr
                                       : std::make_shared<net::PreparedAnswer>(200, "text/plain", net::AnswerFields{},
                                                                               std::string(n * 100, 'p')));
                return;
            case 5:
                for (auto& viewer : shared_.viewers) write(*viewer, n);
                return;
            case 6:
                return shared_.viewers.clear();
            case 7:
                if (!host_.why.empty()) return;
                return n % 2 == 0 ? host_.session->drain() : host_.session->end_waits(n % 3 == 0);
            default:
                return n % 2 == 0 ? host_.peer.end() : host_.peer.reset();
        }
    }
    void send_bytes(uint8_t count) {
        std::string bytes;
        for (int i = 0; i < count && !in_.empty(); ++i) bytes += static_cast<char>(in_.byte());
        host_.peer.send(bytes);
    }
    static void write(Shared::Viewer& viewer, uint8_t n) {
        if (viewer.gone) return;
        if (n == 0) return static_cast<void>(viewer.stream->try_finish().has_value());
        (void)viewer.stream->try_write(base::Slice::copy(std::string(n * 10, 'v'))).has_value();
    }

    net::testing::Http2Host& host_;
    Shared& shared_;
    FuzzInput in_;
    uint32_t next_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    auto& time = runtime::testing::fuzz_time();
    const size_t before = runtime::coroutine_count();
    {
        Shared shared;
        net::HttpRouter router;
        add_routes(router, shared);
        net::testing::Http2Host host(router);
        host.limits.request_timeout_ms = host.limits.body_timeout_ms = 1'000;
        host.options.write_timeout_ms = 500;
        host.start();
        Fuzzed(host, shared, FuzzInput(data, size)).run();
        time.settle();
        host.stop();
        CHECK(shared.waiting == 0 && shared.handlers == 0 && host.deferred.count() == 0);
    }
    time.settle();
    CHECK(runtime::coroutine_count() == before);
    return 0;
}
