// Fuzzes the lines of the usage's file: what is read is written as the same line again, and a row that was restored
// twice is there once.
#include <cstddef>
#include <cstdint>

#include "base/record_lines.h"
#include "base/result.h"
#include "net/sessions/usage_ledger.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size), line;
    net::UsageLedger ledger(4);
    while (base::take_line(text, line)) {
        net::UsageKey key, again_key;
        net::Usage usage, again;
        if (!net::read_usage_line(line, key, usage)) continue;
        const std::string written = net::usage_line(key, usage);
        CHECK(net::read_usage_line(std::string_view(written).substr(0, written.size() - 1), again_key, again));
        CHECK(again_key == key && net::usage_line(again_key, again) == written);
        ledger.restore(key, usage);
        ledger.restore(std::move(key), std::move(usage));
        usage = {};
        CHECK(ledger.size() <= 5 + ledger.overflows());
    }
    return 0;
}
