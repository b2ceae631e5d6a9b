#pragma once
// Metrics as text: Prometheus' exposition format 0.0.4 (prometheus.io, "Exposition formats"). A family is a name, a
// type, a line of help and its samples, which must be contiguous. Pure. No timestamps, no summaries.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace prometheus {

enum class Type : uint8_t { kCounter, kGauge, kHistogram };

// The labels of one sample: name="value",... Values may be any text: they are escaped, and invalid UTF-8 is replaced.
class Labels {
  public:
    Labels() = default;
    Labels(std::initializer_list<std::pair<std::string_view, std::string_view>> all) {
        for (const auto& [name, value] : all) add(name, value);
    }
    Labels& add(std::string_view name, std::string_view value);
    const std::string& text() const { return text_; }  // without braces

  private:
    std::string text_;
};

class Text {
  public:
    static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

    // Begins a family; the samples that follow belong to it. A family may have no samples.
    void family(std::string_view name, Type type, std::string_view help);
    void sample(const Labels& labels, double value) { line({}, labels.text(), value); }
    void sample(double value) { line({}, {}, value); }
    // A part of a histogram: name_bucket, name_sum and so on. le: upper bound of the bucket; empty if not a bucket.
    void part(std::string_view suffix, const Labels& labels, std::string_view le, double value);
    // A family of one sample without labels.
    void single(std::string_view name, Type type, std::string_view help, double value) {
        family(name, type, help);
        sample(value);
    }

    std::string take() { return std::move(text_); }
    size_t size() const { return text_.size(); }

  private:
    void line(std::string_view suffix, std::string_view labels, double value);
    std::string text_;
    std::string name_;
};

}  // namespace prometheus
