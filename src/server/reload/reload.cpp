#include "server/reload/reload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "config/diff.h"
#include "runtime/loop/coroutine.h"
#include "runtime/threads/workers.h"
#include "server/log_setup.h"
#include "server/process/directories.h"
#include "server/process/resources.h"

namespace server {

namespace {

net::ReloadChange to_report(const config::Change& change) {
    net::ReloadChange out{change.vhost, "", change.before, change.after, change.live()};
    if (change.row == nullptr) return out;
    out.directive = change.row->path();
    if (change.row->is_secret()) out.before = out.after = "(hidden)";
    return out;
}

std::string text_of(const net::ReloadChange& change) {
    auto for_log = [](const std::string& value) { return value.empty() ? std::string("nothing") : value; };
    const std::string where = change.vhost.empty() ? "" : fmt::format("vhost {}", change.vhost);
    return fmt::format("{}{}{}: {} -> {}", where, where.empty() || change.directive.empty() ? "" : " ",
                       change.directive, for_log(change.before), for_log(change.after));
}

}  // namespace

// The data of a reload that the worker threads use.
struct Reloader::Job {
    ConfigSource source;
    config::SnapshotPtr current;
    config::Loaded loaded{};
    FileMarks read{};
    config::Reload plan{};
    base::Result<void> log{};
};

// Held by the one reload in progress.
class Reloader::InProgress {
  public:
    explicit InProgress(Reloader& reloader) : reloader_(reloader) { reloader_.busy_ = true; }
    InProgress(const InProgress&) = delete;
    ~InProgress() {
        reloader_.busy_ = false;
        reloader_.free_.pulse();
    }

  private:
    Reloader& reloader_;
};

Reloader::Reloader(ConfigSource source, Lifecycle& lifecycle, net::Operations& operations, config::SnapshotPtr snapshot,
                   FileMarks read)
    : source_(std::move(source)),
      lifecycle_(lifecycle),
      operations_(operations),
      snapshot_(std::move(snapshot)),
      read_(std::move(read)) {}

base::Result<void> Reloader::wait_for_others() {
    while (busy_) TRY(free_.wait_next(runtime::Deadline::never()));
    if (closed_) return base::fail(base::Code::kClosed, "the server ends");
    return {};
}

base::Result<net::ReloadReport> Reloader::reload(std::string_view cause) {
    TRY(wait_for_others());
    const InProgress in_progress(*this);
    net::ReloadReport report;
    report.number = operations_.reloads + 1;
    report.began_ms = base::wall_ms();
    report.cause = cause;
    base::log::trace("reload: {}: {} is reloaded", cause, source_.name());
    const int64_t began_ms = base::monotonic_ms();
    if (on_reloading_) on_reloading_();
    auto done = run(report);
    if (done) {
        report.took_ms = base::monotonic_ms() - began_ms;
        ++operations_.reloads;
        if (!report.ok) ++operations_.reloads_failed;
        operations_.last_reload = report;
        record(report);
    }
    if (on_reloaded_) on_reloaded_();
    TRY(std::move(done));
    return report;
}

void Reloader::record(const net::ReloadReport& report) const {
    if (!operations_.audit) return;
    std::string changes;
    for (const net::ReloadChange& change : report.changes) changes += (changes.empty() ? "" : "; ") + text_of(change);
    operations_.audit({.action = "reload",
                       .what = report.cause,
                       .about = std::move(changes),
                       .result = report.ok ? "accepted" : "refused: " + report.error});
}

std::string Reloader::errors_text(const config::Loaded& loaded) const {
    return fmt::format("{} has {} errors", source_.name(), loaded.problems.errors());
}

std::string Reloader::refused_text() const { return fmt::format("{} cannot be put in force", source_.name()); }

base::Result<void> Reloader::refuse(net::ReloadReport& report, std::string why) {
    base::log::error("reload: {}; nothing was changed", why);
    report.error = std::move(why);
    return {};
}

base::Result<std::shared_ptr<Reloader::Job>> Reloader::read_files() const {
    auto job = std::make_shared<Job>(Job{source_, snapshot_});
    TRY(runtime::offload(
        [job] {
            job->loaded = job->source.load(&job->read);
            if (!job->loaded.snapshot) return;
            job->plan = config::plan_reload(*job->current, *job->loaded.snapshot);
            check_resources(*job->plan.snapshot, CheckedAt::kReload, job->loaded.problems);
        },
        runtime::Deadline::never()));
    return job;
}

base::Result<void> Reloader::not_cancelled() const {
    if (runtime::cancelled() || closed_) return base::fail(base::Code::kCancelled, "the reload was cancelled");
    return {};
}

base::Result<net::ReloadReport> Reloader::check() {
    TRY(wait_for_others());
    const InProgress in_progress(*this);
    net::ReloadReport report;
    report.began_ms = base::wall_ms();
    const auto job = TRY(read_files());
    for (const config::Problem& problem : job->loaded.problems.all()) report.problems.push_back(problem.describe());
    for (const config::Change& change : job->plan.changes) report.changes.push_back(to_report(change));
    if (job->loaded.problems.errors() > 0) {
        report.error = errors_text(job->loaded);
    } else {
        const std::vector<std::string> refusals = lifecycle_.check(job->plan.snapshot);
        TRY(not_cancelled());
        report.problems.insert(report.problems.end(), refusals.begin(), refusals.end());
        if (!refusals.empty()) report.error = refused_text();
    }
    report.ok = report.error.empty();
    report.took_ms = base::wall_ms() - report.began_ms;
    return report;
}

// Returns an error only if cancelled; an invalid configuration is recorded in the report instead.
base::Result<void> Reloader::run(net::ReloadReport& report) {
    const auto job = TRY(read_files());
    read_ = std::move(job->read);
    for (const config::Problem& problem : job->loaded.problems.all()) {
        report.problems.push_back(problem.describe());
        const bool is_error = problem.severity == config::Severity::kError;
        is_error ? base::log::error("reload: {}", problem.describe())
                 : base::log::warn("reload: {}", problem.describe());
    }
    if (job->loaded.problems.errors() > 0) return refuse(report, errors_text(job->loaded));

    Lifecycle::Prepared prepared = lifecycle_.prepare(job->plan.snapshot);
    TRY(not_cancelled());
    for (const std::string& refusal : prepared.refusals) {
        report.problems.push_back(refusal);
        base::log::error("reload: {}", refusal);
    }
    if (!prepared.refusals.empty()) return refuse(report, refused_text());
    auto activated = activate(job, std::move(prepared));
    if (!activated && activated.error().code() == base::Code::kCancelled) return activated;
    if (!activated) {
        report.problems.push_back(activated.error().describe());
        return refuse(report, activated.error().describe());
    }
    report.ok = true;
    size_t live = 0;
    for (const config::Change& change : job->plan.changes) {
        const net::ReloadChange& shown = report.changes.emplace_back(to_report(change));
        live += shown.is_active ? 1 : 0;
        shown.is_active ? base::log::trace("reload: {}", text_of(shown))
                        : base::log::warn("reload: {} needs a restart; the old value stays", text_of(shown));
    }
    base::log::trace("reload: {}: {} changes, {} of them in force", source_.name(), report.changes.size(), live);
    return {};
}

// Opening the log file is the last step that can fail, and leaves either the new or the old one in use. Nothing after
// it yields.
base::Result<void> Reloader::activate(const std::shared_ptr<Job>& job, Lifecycle::Prepared prepared) {
    const config::Snapshot& next = *job->plan.snapshot;
    const base::log::Options log = log_options(next);
    if (!same_log_file(*snapshot_, next)) {
        auto job_log = std::make_shared<base::Result<void>>();
        TRY(runtime::offload(
            [job_log, log] {
                if (!log.console) *job_log = make_directory_of(log.file);
                if (*job_log) *job_log = base::log::turn_to(log);
            },
            runtime::Deadline::never()));
        TRY(std::move(*job_log), fmt::format("srs_log_file ({})", next.where("srs_log_file")));
    }
    base::log::adopt(log);
    snapshot_ = job->plan.snapshot;
    for (Commit& commit : prepared.commits) commit();
    return {};
}

base::Result<void> Reloader::reopen_log() {
    TRY(wait_for_others());
    const InProgress in_progress(*this);
    auto outcome = std::make_shared<base::Result<void>>();
    TRY(runtime::offload([outcome] { *outcome = base::log::reopen(); }, runtime::Deadline::never()));
    return std::move(*outcome);
}

}  // namespace server
