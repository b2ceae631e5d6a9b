#pragma once
// Samples, read from text as text.h writes it, so that those of two processes can be added: Prometheus' exposition
// format 0.0.4, without timestamps. The text is another process's: it is bounded, and what is no sample is an error.
// Pure.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/prometheus/text.h"

namespace prometheus {

struct Family {
    Type type = Type::kGauge;
    // By what is between the family's name and the value: "", "_sum", "{kind=\"audio\"}".
    std::map<std::string, double, std::less<>> values{};

    bool operator==(const Family&) const = default;
};
using Families = std::map<std::string, Family, std::less<>>;

// Takes a text line by line, so that the caller can let others run in between.
class SampleReader {
  public:
    static constexpr size_t kMaxSamples = 200'000, kMaxLine = 16 * 1024;

    // kProtocol; kLimit.
    base::Result<void> read_line(std::string_view line);
    // What was read; it is empty afterwards.
    Families take();

  private:
    base::Result<void> read_type(std::string_view line);

    Families families_;
    Families::iterator family_ = families_.end();
    size_t samples_ = 0;
};

}  // namespace prometheus
