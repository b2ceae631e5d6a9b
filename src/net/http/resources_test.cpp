#include "net/http/resources.h"

#include <gtest/gtest.h>

#include "net/http/http1_response.h"
#include "net/http/opened_files.h"
#include "net/http/resource_bytes.h"
#include "net/http/serve_resource.h"
#include "runtime/loop/testing.h"
#include "runtime/socket/memory_stream_testing.h"

namespace net {
namespace {

std::span<const uint8_t> span(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Resource resource(std::string_view text) {
    Resource out;
    out.keep(span(text));
    out.max_age_s = 60;
    return out;
}

std::string text_of(const Resource& resource, uint64_t first, uint64_t length) {
    std::string out;
    for (const auto& part : resource.parts(first, length)) {
        std::vector<uint8_t> bytes(part.length);
        EXPECT_EQ(part.source->read_now(bytes, part.offset), part.length);
        out.append(bytes.begin(), bytes.end());
    }
    return out;
}

class ResourcesTest : public runtime::testing::RuntimeTest {
  protected:
    // A request that waits without a coroutine.
    struct Client final : DeferredTransport {
        explicit Client(Announced& announced) {
            announced.waiting.add(*request);
            request->set_transport(*this);
        }
        void answer(AnswerPtr answer) override {
            came = answer ? std::move(answer) : request->late_answer();
            request.reset();
        }
        std::unique_ptr<Deferred> request = std::make_unique<Deferred>();
        AnswerPtr came{};
    };
    // What a client gets of one that grows.
    void get(const std::shared_ptr<Announced>& announced) {
        runtime::testing::MemoryPeer peer;
        HttpTransport transport;
        transport.stream = peer.stream();
        HttpRequest request;
        request.message.method = http::Method::kGet;
        const HttpResponseOptions options;
        Http1Response response(transport, {files_, waiting_}, request, options, true);
        result_ = serve_announced(announced, "v/x.m4s", false, request, response);
        sent_ = peer.take();
    }
    runtime::Task begin_get() {
        return runtime::spawn("client", [this] { get(resources_.announced("v", "x")); });
    }
    void announce(int64_t limit_ms = 5'000) {
        resources_.announce("v", "x", std::make_shared<const base::StreamKey>(), limit_ms);
    }
    void run() { (void)runtime::sleep_ms(5); }

    Resources resources_;
    OpenedFiles files_;
    AddressQuota waiting_{"requests", "a", "b"};
    base::Result<void> result_;
    std::string sent_;
};

TEST_F(ResourcesTest, BytesAreRangesOfWhatIsKept) {
    ResourceBytes bytes;
    ASSERT_TRUE(bytes.append(span("abcdefgh")));
    std::vector<PageRange> ranges{{0, 2}};
    append_range(ranges, {2, 1});
    append_range(ranges, {5, 3});
    ASSERT_EQ(ranges.size(), 2u) << "neighbours are one";
    auto pages = bytes.pages();
    ASSERT_TRUE(pages);
    Resource resource;
    resource.pages = *std::move(pages);
    resource.ranges = ranges;
    bytes.clear();
    EXPECT_EQ(text_of(resource, 0, 6), "abcfgh");
    EXPECT_EQ(text_of(resource, 2, 3), "cfg");
}

TEST_F(ResourcesTest, WhoWaitsGetsTheWholeWhenItComes) {
    Announced announced;
    Client one(announced), other(announced);
    announced.come(resources_.name(resource("bytes")), "x.ts", resources_.waker());
    run();
    ASSERT_TRUE(one.came);
    EXPECT_EQ(one.came->body(), "bytes");
    EXPECT_EQ(one.came->content_type(), "video/mp2t");
    EXPECT_EQ(one.came, other.came) << "one answer for all";
}

TEST_F(ResourcesTest, WhatIsWithdrawnIs404) {
    Announced announced;
    Client client(announced);
    announced.withdraw(resources_.waker());
    run();
    ASSERT_TRUE(client.came);
    EXPECT_EQ(client.came->status(), 404);
    EXPECT_EQ(client.came->fields(), (AnswerFields{{"Cache-Control", "max-age=1"}}));
}

TEST_F(ResourcesTest, OneThatGrowsIsSentAsItDoes) {
    announce();
    auto client = begin_get();
    run();
    resources_.grow("v", "x", resource("ab"));
    run();
    resources_.grow("v", "x", resource("abcd"));
    run();
    resources_.put("v", "x", resource("abcdef"));
    run();
    ASSERT_TRUE(client.done());
    EXPECT_TRUE(result_.has_value());
    EXPECT_NE(sent_.find("Transfer-Encoding: chunked"), sent_.npos);
    EXPECT_TRUE(sent_.ends_with("2\r\nab\r\n2\r\ncd\r\n2\r\nef\r\n0\r\n\r\n")) << sent_;
}

TEST_F(ResourcesTest, OneThatIsWithdrawnBreaksOff) {
    announce();
    auto client = begin_get();
    run();
    resources_.grow("v", "x", resource("ab"));
    run();
    resources_.withdraw("v", "x");
    run();
    ASSERT_TRUE(client.done());
    EXPECT_FALSE(result_.has_value());
    EXPECT_TRUE(sent_.ends_with("2\r\nab\r\n")) << sent_;
}

TEST_F(ResourcesTest, WhoseBytesDoNotComeIs404) {
    announce(10);
    auto late = begin_get();
    (void)runtime::sleep_ms(50);
    ASSERT_TRUE(late.done());
    EXPECT_TRUE(sent_.starts_with("HTTP/1.1 404")) << sent_;
    announce();
    auto lost = begin_get();
    run();
    resources_.withdraw("v", "x");
    run();
    ASSERT_TRUE(lost.done());
    EXPECT_TRUE(sent_.starts_with("HTTP/1.1 404")) << sent_;
}

TEST_F(ResourcesTest, WaitingRequestsAreBounded) {
    waiting_.set_limits({.in_all = 1});
    announce();
    auto waits = begin_get();
    run();
    get(resources_.announced("v", "x"));
    EXPECT_TRUE(sent_.starts_with("HTTP/1.1 503")) << sent_;
    resources_.put("v", "x", resource("abcdef"));
    run();
    ASSERT_TRUE(waits.done());
    EXPECT_TRUE(sent_.starts_with("HTTP/1.1 200")) << sent_;
    EXPECT_NE(sent_.find("Content-Length: 6"), sent_.npos) << "it is there as a whole";
    EXPECT_EQ(resources_.announced("v", "x"), nullptr);
    EXPECT_EQ(resources_.find("w", "x"), nullptr);
}

}  // namespace
}  // namespace net
