#pragma once
// For tests: an other process that publishes what it is told to, and answers nothing. It has ended when it publishes
// nothing.

#include <memory>
#include <set>

#include "service/other_process.h"

namespace service::testing {

struct FakeOtherProcess final : OtherProcess {
    std::set<base::StreamKey> published;
    bool is_there() const override { return !published.empty(); }
    bool is_replaced() const override { return is_there(); }
    bool publishes(const base::StreamKey& stream) const override { return published.contains(stream); }
    base::Result<std::unique_ptr<runtime::ByteStream>> connect() override {
        return base::fail(base::Code::kClosed, "not here");
    }
    base::Result<net::HttpAnswer> ask(OtherRequest) override { return base::fail(base::Code::kClosed, "not here"); }
    const ProcessFigures* figures() const override { return nullptr; }
    net::Traffic earlier_traffic() const override { return {}; }
    int64_t since_ms() const override { return 0; }
    base::Result<void> end_other() override { return {}; }
};

}  // namespace service::testing
