#include "protocol/prometheus/samples.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace prometheus {

using base::Code;
using base::fail;
using base::Result;

namespace {

std::optional<double> number_of(std::string_view text) {
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "+Inf") return std::numeric_limits<double>::infinity();
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

// "# TYPE name type"
Result<void> SampleReader::read_type(std::string_view line) {
    line.remove_prefix(std::string_view("# TYPE ").size());
    const size_t space = line.find(' ');
    const std::string_view name = line.substr(0, space);
    if (space == line.npos || name.empty()) return fail(Code::kProtocol, "no type of a family");
    const std::string_view type = line.substr(space + 1);
    Type known = Type::kGauge;
    if (type == "counter") known = Type::kCounter;
    if (type == "histogram") known = Type::kHistogram;
    family_ = families_.try_emplace(std::string(name), Family{known}).first;
    if (families_.size() > kMaxSamples) return fail(Code::kLimit, "too many families");
    return {};
}

Result<void> SampleReader::read_line(std::string_view line) {
    if (line.size() > kMaxLine) return fail(Code::kLimit, "a line is too long");
    if (line.starts_with("# TYPE ")) return read_type(line);
    if (line.empty() || line.starts_with('#')) return {};
    // A label's value may have spaces; what follows the last one is the number.
    const size_t space = line.rfind(' ');
    if (family_ == families_.end() || space == line.npos || !line.substr(0, space).starts_with(family_->first))
        return fail(Code::kProtocol, "a sample of no family");
    const auto value = number_of(line.substr(space + 1));
    if (!value) return fail(Code::kProtocol, "a sample without a number");
    if (++samples_ > kMaxSamples) return fail(Code::kLimit, "too many samples");
    family_->second.values.insert_or_assign(
        std::string(line.substr(family_->first.size(), space - family_->first.size())), *value);
    return {};
}

Families SampleReader::take() {
    samples_ = 0;
    Families families = std::exchange(families_, {});
    family_ = families_.end();
    return families;
}

}  // namespace prometheus
