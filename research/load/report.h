#pragma once
// Report: the outcome of a run, as a table for people and as JSON with the same figures.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "load/histogram.h"
#include "load/ledger.h"

namespace load {

class Report {
  public:
    // value goes into the JSON under key; text, where given, is what people read instead.
    void add(std::string key, nlohmann::ordered_json value, std::string text = {});
    // p50, p95, p99 and max, in ms.
    void add_times(const std::string& key, const Histogram& us);
    // What every command has: connections and why they failed.
    void add_ledger(const Ledger& ledger, uint32_t wanted);

    std::string table() const;
    std::string json() const { return document_.dump(2) + "\n"; }
    // Prints the table; writes the JSON to the file, to stdout for "-", nowhere for "".
    base::Result<void> deliver(const std::string& json_file) const;

  private:
    nlohmann::ordered_json document_;
    std::vector<std::pair<std::string, std::string>> rows_;
};

}  // namespace load
