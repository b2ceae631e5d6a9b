#pragma once
// Locations: where streams are that this server lacks: by the store, and by coworkers, the APIs of other origins. Those
// who ask about one stream at the same time share one question, and an answer counts for a second. While neither can be
// asked the last known answer counts. The number and size of what is kept are bounded, whatever names clients choose.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stream_key.h"
#include "runtime/loop/backoff.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/current_error.h"
#include "runtime/loop/sync.h"
#include "service/cluster/recent.h"
#include "service/cluster/record.h"
#include "service/cluster/store.h"

namespace service::cluster {

class Locations {
  public:
    static constexpr int64_t kFreshMs = 1'000;      // an answer counts for so long,
    static constexpr int64_t kNothingMs = 3'000;    // and for so long if coworkers say that they have not got it
    static constexpr int64_t kKnownMs = 3'600'000;  // the last known one, if nobody can be asked
    static constexpr int64_t kCoworkerMs = 1'000;   // for the answer of a coworker
    static constexpr int64_t kFirstSkippedMs = 1'000, kLongestSkippedMs = 30'000;  // one that did not answer
    static constexpr size_t kMaxQuestions = 256;  // at the same time; others get the last known answer
    static constexpr size_t kMaxRounds = 32;      // of coworkers, likewise
    static constexpr size_t kMaxKnown = 10'000, kMaxKnownBytes = 8 * 1024 * 1024;
    static constexpr size_t kMaxFresh = 2'000, kMaxFreshBytes = 2 * 1024 * 1024;

    struct Sources {
        bool store = false;
        std::vector<std::string> coworkers{};  // HOST:PORT of their APIs
    };
    struct Coworker {
        runtime::Backoff backoff{kFirstSkippedMs, kLongestSkippedMs};
        int64_t skipped_until_ms = 0;
        uint64_t asked = 0, failures = 0;
        runtime::CurrentError error{};
    };
    struct Counters {
        uint64_t found = 0, nothing = 0;
        uint64_t last_known = 0;  // nobody could be asked
        uint64_t shared = 0;      // with a question in progress, or a fresh answer
        uint64_t left_out = 0;    // because of kMaxQuestions
    };
    // Asks a coworker about a stream. Yields.
    using Ask = std::function<base::Result<Record>(const std::string& coworker, const base::StreamKey& stream)>;

    // The store must outlive it.
    Locations(Store& store, Ask ask) : store_(store), ask_(std::move(ask)) {}
    ~Locations() { stop(); }  // yields
    Locations(const Locations&) = delete;

    void configure(const std::string& prefix, const Record& self);
    // The server that publishes the stream; nothing: none that is known. Not this server itself. Yields.
    std::optional<Record> find(const base::StreamKey& stream, const Sources& sources);
    // Ends all questions. Yields.
    void stop();
    // Forgets the state of other coworkers.
    void keep_coworkers(const std::vector<std::string>& coworkers);

    const Counters& counters() const { return counters_; }
    const std::map<std::string, Coworker>& coworkers() const { return coworkers_; }
    size_t known() const { return known_.size(); }
    size_t known_bytes() const { return known_.bytes() + fresh_.bytes(); }
    size_t questions() const { return questions_.size(); }

  private:
    struct Fresh {
        std::optional<Record> record;
        int64_t until_ms;
    };
    struct Known {
        Record record;
        int64_t recorded_ms;
    };
    struct Question {
        runtime::Event answered{"where a stream is"};
        std::optional<Record> record{};
        runtime::Task task{};
    };
    struct Round;

    std::optional<Record> last_known(const base::StreamKey& stream);
    std::optional<Record> answer(const base::StreamKey& stream, const Sources& sources);
    // certain: whether all sources were asked.
    std::optional<Record> ask_store(const base::StreamKey& stream, bool& certain);
    std::optional<Record> ask_coworkers(const base::StreamKey& stream, const std::vector<std::string>& coworkers,
                                        bool& certain);
    void record_answer(const std::string& coworker, const base::Result<Record>& answer);

    Store& store_;
    const Ask ask_;
    std::string prefix_;
    Record self_;
    Recent<Known> known_{kMaxKnown, kMaxKnownBytes};
    Recent<Fresh> fresh_{kMaxFresh, kMaxFreshBytes};
    std::map<base::StreamKey, std::shared_ptr<Question>> questions_;
    std::map<std::string, Coworker> coworkers_;
    Counters counters_;
    runtime::WaitGroup rounds_;  // of coworkers, in progress
    bool stopped_ = false;
};

}  // namespace service::cluster
