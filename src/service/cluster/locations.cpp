#include "service/cluster/locations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "runtime/loop/clock.h"

namespace service::cluster {

using base::Result;
using runtime::Deadline;

namespace {

// More than the store and the coworkers take together.
constexpr int64_t kMaxWaitMs = 15'000;

size_t size_of(const Record& record) {
    return record.rtmp.size() + record.http.size() + record.api.size() + record.fence.size();
}

}  // namespace

// The coworkers that are asked about one stream. Shared by the coroutines that ask them.
struct Locations::Round {
    size_t left = 0;
    bool certain = true;
    std::optional<Record> found{};
    runtime::Event changed{"an answer of a coworker"};
};

void Locations::configure(const std::string& prefix, const Record& self) {
    if (prefix != prefix_) {
        known_.clear();
        fresh_.clear();
    }
    prefix_ = prefix;
    self_ = self;
}

void Locations::stop() {
    stopped_ = true;
    // Each leaves the list as it ends.
    while (!questions_.empty()) runtime::Task(questions_.begin()->second->task).cancel_and_join();
}

void Locations::keep_coworkers(const std::vector<std::string>& coworkers) {
    const std::set<std::string> kept(coworkers.begin(), coworkers.end());
    std::erase_if(coworkers_, [&](const auto& entry) { return !kept.contains(entry.first); });
}

std::optional<Record> Locations::last_known(const base::StreamKey& stream) {
    const Known* known = known_.find(stream);
    if (!known || runtime::now_ms() - known->recorded_ms > kKnownMs) return {};
    return known->record;
}

std::optional<Record> Locations::find(const base::StreamKey& stream, const Sources& sources) {
    if (stopped_ || stream.vhost.size() + stream.app.size() + stream.name.size() > kMaxName) return {};
    if (const Fresh* fresh = fresh_.find(stream); fresh && runtime::now_ms() < fresh->until_ms) {
        ++counters_.shared;
        return fresh->record;
    }
    auto found = questions_.find(stream);
    if (found != questions_.end()) {
        ++counters_.shared;
    } else {
        if (questions_.size() >= kMaxQuestions) {
            ++counters_.left_out;
            return last_known(stream);
        }
        // In a coroutine of its own: whoever asked first may leave.
        auto question = std::make_shared<Question>();
        found = questions_.emplace(stream, question).first;
        question->task = runtime::spawn("cluster-lookup", [this, question, stream, sources] {
            question->record = answer(stream, sources);
            question->answered.set();
            questions_.erase(stream);
        });
        if (!question->task) {
            questions_.erase(found);
            return last_known(stream);
        }
    }
    const std::shared_ptr<Question> question = found->second;
    if (!question->answered.wait(Deadline::in_ms(kMaxWaitMs))) return {};
    return question->record;
}

std::optional<Record> Locations::answer(const base::StreamKey& stream, const Sources& sources) {
    bool certain = true;
    std::optional<Record> found;
    if (sources.store) found = ask_store(stream, certain);
    if (!found && !sources.coworkers.empty()) found = ask_coworkers(stream, sources.coworkers, certain);
    if (runtime::cancelled()) return {};
    const int64_t now_ms = runtime::now_ms();
    if (found) {
        ++counters_.found;
        known_.put(stream, {*found, now_ms}, size_of(*found));
    } else if (certain) {
        ++counters_.nothing;
        known_.erase(stream);
    } else {
        found = last_known(stream);
        ++counters_.last_known;
    }
    const int64_t counts_ms = !found && !sources.coworkers.empty() ? kNothingMs : kFreshMs;
    fresh_.put(stream, {found, now_ms + counts_ms}, found ? size_of(*found) : 0);
    return found;
}

std::optional<Record> Locations::ask_store(const base::StreamKey& stream, bool& certain) {
    auto text = store_.find(key_of(prefix_, stream));
    if (!text) {
        certain = false;
        return {};
    }
    if (text->empty()) return {};
    auto record = parse_record(*text);
    if (!record || is_of_server(*record, self_)) return {};
    return *std::move(record);
}

std::optional<Record> Locations::ask_coworkers(const base::StreamKey& stream, const std::vector<std::string>& coworkers,
                                               bool& certain) {
    if (rounds_.inside() >= kMaxRounds) {
        certain = false;
        ++counters_.left_out;
        return {};
    }
    const auto counted = rounds_.enter();
    const auto round = std::make_shared<Round>();
    std::vector<runtime::Task> tasks;
    for (const std::string& coworker : coworkers) {
        if (coworkers_[coworker].skipped_until_ms > runtime::now_ms()) {
            round->certain = false;
            continue;
        }
        ++round->left;
        auto task = runtime::spawn("cluster-coworker", [this, round, coworker, stream] {
            auto record = ask_(coworker, stream);
            if (!runtime::cancelled()) {
                record_answer(coworker, record);
                if (!record) round->certain = false;
                if (record && !record->rtmp.empty() && !round->found) round->found = *std::move(record);
            }
            --round->left;
            round->changed.pulse();
        });
        if (task) {
            tasks.push_back(std::move(task));
        } else {
            --round->left;
            round->certain = false;
        }
    }
    while (round->left > 0 && !round->found && !runtime::cancelled())
        (void)round->changed.wait_next(Deadline::in_ms(2 * kCoworkerMs));
    // Those that have not answered yet are not needed.
    for (runtime::Task& task : tasks) task.cancel_and_join();
    certain &= round->certain;
    return round->found;
}

void Locations::record_answer(const std::string& name, const Result<Record>& answer) {
    Coworker& coworker = coworkers_[name];
    ++coworker.asked;
    if (answer) {
        if (coworker.error.clear()) base::log::trace("cluster: coworker {} answers again", base::for_log(name));
        coworker.backoff.reset();
        coworker.skipped_until_ms = 0;
        return;
    }
    ++coworker.failures;
    coworker.skipped_until_ms = runtime::now_ms() + coworker.backoff.next_ms();
    if (coworker.error.update(answer.error().text()))
        base::log::warn("cluster: coworker {}: {}; it is asked again later", base::for_log(name),
                        coworker.error.text());
}

}  // namespace service::cluster
