#pragma once
// For tests: a stream, and clients with sockets of memory, in simulated time.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "live/fanout/socket_testing.h"
#include "live/fanout/viewer.h"
#include "live/hub/owner_testing.h"
#include "live/hub/registry.h"
#include "live/hub/stream.h"
#include "live/hub/testing.h"
#include "runtime/loop/simulated_time_testing.h"
#include "runtime/loop/testing.h"

namespace live::testing {

struct Client final : ViewerHandler {
    std::shared_ptr<Wire> wire = std::make_shared<Wire>();
    Viewer viewer;
    std::string input;
    int64_t input_takes_us = 0;  // for each piece
    std::string why;
    base::CloseReason reason = base::CloseReason::kUnknown;
    std::string last_words;
    bool ended = false;

    explicit Client(base::Ref<Stream> stream) : viewer(*this, std::move(stream)) {}
    void on_viewer_input(Viewer&, std::span<const uint8_t> bytes) override {
        input.append(bytes.begin(), bytes.end());
        for (const int64_t end_us = base::monotonic_us() + input_takes_us; base::monotonic_us() < end_us;) {
        }
    }
    void on_stream_end(Viewer& v) override {
        if (!last_words.empty()) v.send_control(base::Slice::copy(last_words));
    }
    void on_viewer_end(Viewer& v, std::string_view text) override {
        EXPECT_FALSE(ended);
        ended = true;
        why = text;
        reason = v.close_reason();
    }
    void join(const LogKey& key = kAllText, uint32_t duration_ms = 0) {
        viewer.stop_after(duration_ms);
        viewer.join(key, std::make_unique<FakeSocket>(wire), base::Slice::copy("HEAD "));
    }
    std::string take() { return std::exchange(wire->accepted, ""); }
};

class ViewerTest : public runtime::testing::RuntimeTest {
  protected:
    ViewerTest() {
        options.merge_ms = 0;
        options.send_timeout_ms = 60;
    }
    void publish_with(const LiveOptions& o) {
        stream = registry.find_or_create({"v", "live", "s"}, o);
        publication = std::move(*stream->acquire(owner, false));
        publication.publish(header(media::Kind::kVideo, "VH"));
    }
    // Every viewer, and then the log, must be gone before the end of the test.
    void TearDown() override {
        publication.end();
        if (stream) stream->end_viewers();
        time.pass_ms(1000);
        EXPECT_TRUE(!stream || stream->viewer_count() == 0);
        stream.reset();
        time.settle();
        EXPECT_EQ(registry.size(), 0u) << "a stream without holders must be gone";
    }
    // Lets the scheduler run.
    void settle(int64_t ms = 10) { time.pass_ms(ms); }

    runtime::testing::SimulatedTime time;
    LiveOptions options;
    Registry registry;
    Owner owner;
    base::Ref<Stream> stream;
    Publication publication;
};

}  // namespace live::testing
