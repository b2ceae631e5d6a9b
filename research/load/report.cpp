#include "load/report.h"

#include <cmath>
#include <cstdio>
#include <fstream>

namespace load {

namespace {
double ms(int64_t us) { return std::round(static_cast<double>(us) / 10) / 100; }
}  // namespace

void Report::add(std::string key, nlohmann::ordered_json value, std::string text) {
    if (text.empty()) text = value.is_string() ? value.get<std::string>() : value.dump();
    std::string label = key;
    for (char& c : label) {
        if (c == '_') c = ' ';
    }
    rows_.emplace_back(std::move(label), std::move(text));
    document_[key] = std::move(value);
}

void Report::add_times(const std::string& key, const Histogram& us) {
    nlohmann::ordered_json value{{"count", us.count()},
                                 {"p50", ms(us.percentile(0.5))},
                                 {"p95", ms(us.percentile(0.95))},
                                 {"p99", ms(us.percentile(0.99))},
                                 {"max", ms(us.max())}};
    std::string text = us.count()
                           ? fmt::format("p50 {:.2f}, p95 {:.2f}, p99 {:.2f}, max {:.2f}", ms(us.percentile(0.5)),
                                         ms(us.percentile(0.95)), ms(us.percentile(0.99)), ms(us.max()))
                           : "none";
    add(key, std::move(value), std::move(text));
}

void Report::add_ledger(const Ledger& ledger, uint32_t wanted) {
    add("wanted", wanted);
    add("connected", ledger.opened);
    add("failed", ledger.failed);
    add("lost", ledger.lost);
    add("stream_errors", ledger.stream_errors);
    std::string text;
    for (const auto& [reason, count] : ledger.reasons) {
        text += fmt::format("{}{} x {}", text.empty() ? "" : "; ", count, reason);
    }
    add("reasons", nlohmann::ordered_json(ledger.reasons), text.empty() ? "none" : text);
}

std::string Report::table() const {
    size_t width = 0;
    for (const auto& [label, text] : rows_) width = std::max(width, label.size());
    std::string out;
    for (const auto& [label, text] : rows_) out += fmt::format("{:<{}}  {}\n", label, width, text);
    return out;
}

base::Result<void> Report::deliver(const std::string& json_file) const {
    // With JSON on stdout the table goes to stderr.
    std::FILE* people = json_file == "-" ? stderr : stdout;
    std::fputs(table().c_str(), people);
    std::fflush(people);
    if (json_file.empty()) return {};
    if (json_file == "-") {
        std::fputs(json().c_str(), stdout);
        return {};
    }
    std::ofstream file(json_file);
    file << json();
    file.flush();
    if (!file) return base::fail_errno(fmt::format("writing {}", json_file), errno);
    return {};
}

}  // namespace load
