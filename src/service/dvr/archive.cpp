#include "service/dvr/archive.h"

#include <fmt/format.h>

#include "base/log.h"
#include "service/dvr/finishing.h"

namespace service::dvr {

using base::Code;
using base::Result;

namespace {
// A journal on a disk that hangs holds recordings up for no longer.
constexpr int64_t kJournalMs = 5000;
constexpr const char* kOutput = "dvr";  // its name in events
}  // namespace

struct Archive::Ending {
    OpenRecording names;
    std::string publisher;
    bool whole = true;
    bool recovered = false;
    int64_t duration_ms = 0;
    Finished finished;  // used by the worker until the job is done
};

std::unique_ptr<OpenFile> Archive::begin(const live::StreamKey& key, const std::string& path,
                                         const ContainerOptions& options) {
    auto open = std::make_unique<OpenFile>();
    open->names = {key, path + std::string(kGrowing), path};
    for (int number = 1; names_.contains(open->names.growing); ++number) {
        open->names.path = numbered(path, number);
        open->names.growing = open->names.path + std::string(kGrowing);
    }
    names_.insert(open->names.growing);
    bool mp4 = format_of(path) == Format::kMp4;
    // An MP4 file receives whole fragments that are already old enough.
    open->file = runtime::disk::AppendFile::create(open->names.growing,
                                                   {.flush_ms = mp4 ? kPieceFlushMs : kFlushMs, .hold_ms = kJournalMs});
    // After a crash there is no file that the journal does not name.
    journal_.opened(open->names, open->file->releaser());
    open->container = mp4 ? make_mp4(*open->file, options) : make_flv(*open->file, options);
    ++counters_.files_begun;
    ++counters_.files_open;
    base::log::trace("dvr: {}: {} begins", key.text(), open->names.path);
    return open;
}

void Archive::end(std::unique_ptr<OpenFile> open, bool whole) {
    --counters_.files_open;
    if (whole) {
        if (auto ended = open->container->end(); !ended) {
            whole = false;
            runtime::error_some(failure_log_, "dvr: {}: {}", open->names.growing, ended.error().describe());
            report_failed(open->names.stream, open->names.path, ended.error().text());
        }
    }
    ++ending_;
    auto ending = std::make_shared<Ending>();
    ending->names = open->names;
    ending->publisher = open->publisher;
    ending->whole = whole;
    ending->duration_ms = open->container->duration_ms();
    bool nothing = open->file->size() == 0;
    open->container.reset();
    events_.notify(live::FileEnding{ending->publisher});
    auto later = [this, alive = std::weak_ptr(alive_), ending, nothing](Result<void> result) {
        if (alive.expired()) return;
        if (nothing) {
            --ending_;
            release(ending->names);
            return events_.notify(live::FileEnded{ending->publisher});
        }
        if (!result && ending->whole) {
            runtime::error_some(failure_log_, "dvr: {}: {}", ending->names.growing, result.error().describe());
            report_failed(ending->names.stream, ending->names.path, result.error().text());
            ending->whole = false;
        }
        finish(ending);
    };
    if (nothing) return open->file->discard(std::move(later));
    open->file->finish("", std::move(later));
}

void Archive::finish_left(const OpenRecording& left) {
    ++ending_;
    auto ending = std::make_shared<Ending>();
    ending->names = left;
    ending->whole = false;
    ending->recovered = true;
    finish(std::move(ending));
}

void Archive::finish(std::shared_ptr<Ending> ending) {
    auto job = [ending]() -> Result<void> {
        ending->finished = TRY(finish_file(ending->names.growing, ending->names.path, ending->whole,
                                           ending->duration_ms, ending->names.stream.text()));
        return {};
    };
    runtime::disk::run(std::move(job), [this, alive = std::weak_ptr(alive_), ending](Result<void> result) {
        if (alive.expired()) return;
        --ending_;
        finished(*ending, result);
        if (!ending->recovered) events_.notify(live::FileEnded{ending->publisher});
    });
}

void Archive::finished(const Ending& ending, const Result<void>& result) {
    const OpenRecording& names = ending.names;
    if (!ending.whole && !ending.recovered) ++counters_.files_failed;
    if (!result && result.error().code() == Code::kNotFound) {
        // After a disk error this is expected.
        if (ending.whole || ending.recovered)
            base::log::warn("dvr: {}: {}; there is nothing to finish", names.stream.text(), result.error().text());
        if (ending.whole) report_failed(names.stream, names.path, result.error().text());
        return release(names);
    }
    if (!result) {
        // The file keeps its name and its journal entry: the next start tries again.
        base::log::error("dvr: {} cannot be finished: {}", names.growing, result.error().describe());
        if (ending.whole || ending.recovered) report_failed(names.stream, names.growing, result.error().text());
        return;
    }
    release(names);
    const Finished& finished = ending.finished;
    if (finished.path.empty())
        return base::log::trace("dvr: {}: no complete data was recorded, the file is removed", names.growing);
    ++counters_.files_done;
    counters_.files_recovered += ending.recovered;
    base::log::trace("dvr: {}: {} is complete: {} ms, {} bytes{}{}", names.stream.text(), finished.path,
                     finished.duration_ms, finished.bytes, ending.recovered ? ", left by an earlier run" : "",
                     ending.whole || ending.recovered ? "" : ", up to the error");
    events_.notify(live::RecordingDone{names.stream, finished.path, finished.duration_ms, finished.bytes,
                                       ending.recovered, ending.publisher, ending.whole});
}

void Archive::release(const OpenRecording& names) {
    names_.erase(names.growing);
    journal_.done(names.growing);
}

void Archive::forget(const OpenRecording& left) { journal_.done(left.growing); }

void Archive::report_failed(const live::StreamKey& key, const std::string& path, const std::string& reason) const {
    events_.notify(live::OutputFailed{key, kOutput, path, reason});
}

void Archive::report_recovered(const live::StreamKey& key) const {
    events_.notify(live::OutputRecovered{key, kOutput});
}

}  // namespace service::dvr
