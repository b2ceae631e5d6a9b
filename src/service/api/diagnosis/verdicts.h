#pragma once
// Verdicts: the checks of streams (stream_diagnosis.h) with the facts of the live stream and of its outputs: of one
// stream at once, of all streams together at most every two seconds, for as long as somebody asks. The pass over all
// streams yields, and takes at most a fiftieth of the time.

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "runtime/loop/sync.h"
#include "service/api/diagnosis/output_failures.h"
#include "service/api/diagnosis/stream_diagnosis.h"
#include "service/api/table/context.h"
#include "service/api/table/envelope.h"

namespace service::api {

class Verdicts {
  public:
    // Of all streams that are there; those that are fine are only counted.
    struct All {
        std::map<live::StreamKey, StreamVerdict> attention{};
        std::array<size_t, std::size(kVerdictLevels)> counts{};  // by VerdictLevel

        const StreamVerdict& of(const live::StreamKey& key) const {
            static const StreamVerdict kFine;
            const auto found = attention.find(key);
            return found == attention.end() ? kFine : found->second;
        }
    };

    // It must outlive this.
    explicit Verdicts(const Context& context) : context_(context), failures_(context.events) {}

    std::vector<Check> checks_of(const live::Stream& stream) const;
    // Of a stream that may have players alone, or none that is live.
    StreamVerdict of(const live::StreamKey& key) const;
    // The outputs of a stream, with the state of each.
    std::vector<StreamOutput> outputs_of(const live::Stream& stream) const;
    // Two seconds old at most, older where a pass takes long. Yields.
    base::Result<std::shared_ptr<const All>> all();
    // Frees what nobody has asked for lately. To be called every few seconds.
    void drop_old();
    uint64_t passes() const { return passes_; }

  private:
    static constexpr int64_t kFreshMs = 2'000, kMaxFreshMs = 20'000, kKeepMs = 10'000, kPatienceMs = 10'000;
    static constexpr int64_t kShare = 50;  // of the time, for passes

    using Failing = std::map<live::StreamKey, std::vector<StreamOutput>>;
    Failing failing_outputs() const;
    std::vector<Check> checks_of(const live::Stream& stream, std::vector<StreamOutput> failing) const;
    std::vector<StreamOutput> events_of(const live::Stream& stream) const;
    base::Result<All> make() const;

    const Context& context_;
    OutputFailures failures_;
    runtime::Event made_{"the verdicts of all streams"};
    std::shared_ptr<const All> all_;
    bool making_ = false;
    int64_t made_ms_ = 0, fresh_ms_ = kFreshMs;  // by the loop's clock
    uint64_t passes_ = 0;
};

// {"level", "code", "text", "advice", "figure", "unit"}
Json verdict_json(const StreamVerdict& verdict);
Json output_json(const StreamOutput& output);
Json figure_json(const std::optional<double>& figure);

}  // namespace service::api
