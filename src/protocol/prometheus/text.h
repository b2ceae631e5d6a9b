#pragma once
// Metrics as text: Prometheus' exposition format 0.0.4 (prometheus.io, "Exposition formats"). A family is a name, a
// type, a line of help and its samples, which must be contiguous. Pure. No timestamps, no summaries.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
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

struct Family;  // samples.h
using Families = std::map<std::string, Family, std::less<>>;

// What becomes of a family's samples of another process.
enum class Addition : uint8_t {
    kNone,
    kSum,      // they are added to those that are written, and follow them where there are none
    kMissing,  // they follow where none is written
};

class Text {
  public:
    static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

    // Before the first family. The others must outlive this. Families that are not written here are left out.
    using Rule = std::function<Addition(std::string_view family, Type type)>;
    void add(const Families& others, Rule rule);
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

    std::string take();
    size_t size() const { return text_.size(); }

  private:
    void line(std::string_view suffix, std::string_view labels, double value);
    void write(std::string_view rest, double value);
    void end_family();
    std::string text_;
    std::string name_;
    const Families* others_ = nullptr;
    Rule rule_;
    const Family* other_ = nullptr;  // of the present family; null: nothing is added
    Addition addition_ = Addition::kNone;
    std::set<std::string, std::less<>> written_;  // of other_
};

}  // namespace prometheus
