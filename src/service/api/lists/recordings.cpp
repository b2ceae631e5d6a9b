#include "service/api/lists/recordings.h"

#include <algorithm>

#include "base/clock.h"
#include "net/http/static_files.h"
#include "protocol/http/url.h"
#include "runtime/threads/workers.h"
#include "service/api/lists/listing.h"

namespace service::api {

namespace {

constexpr int64_t kRecordingsFreshMs = 2'000;
constexpr int64_t kRecordingsKeepMs = 10'000;
// Of one step on a worker, and of the whole scan: a slow disk must not occupy a worker for ever.
constexpr size_t kEntriesPerStep = 500;
constexpr int64_t kStepMs = 30'000;
constexpr int64_t kMaxScanMs = 20'000;

// RFC 6266: the name in ASCII for old clients, and as it is.
std::string attachment(std::string_view name) {
    std::string plain;
    for (const char c : name) plain += c >= 0x20 && c < 0x7f && c != '"' && c != '\\' ? c : '_';
    return "attachment; filename=\"" + plain + "\"; filename*=UTF-8''" + http::percent_encode(name);
}

}  // namespace

std::vector<Endpoint> Recordings::endpoints() {
    using enum Parameter::In;
    using enum Parameter::Type;
    Endpoint all;
    all.methods = {http::Method::kGet};
    all.pattern = "/api/v1/recordings";
    all.summary = "the files of recordings, the newest first";
    all.shape = "total:int truncated:bool recordings[root:str path:str bytes:int modified_ms:int active:bool]";
    all.parameters = page_parameters();
    all.parameters.push_back(search_parameter("those alone whose path has this in it"));
    all.failures = {{501, "this server does not record"}};
    all.handler = [this](Request& request, Response& response) { return list(request, response); };
    Endpoint one;
    one.methods = {http::Method::kGet};
    one.pattern = "/api/v1/recordings/file";
    one.summary = "a complete recording, whole or a range of it";
    one.access = Access::kPrivileged;
    one.content_type = "video/*";  // a range of media types, as OpenAPI has it: video/x-flv or video/mp4
    one.parameters = {{kQuery, "vhost", kText, "root of the list", {}, {}, {}, {}, true},
                      {kQuery, "path", kText, "path of the list", {}, {}, {}, {}, true},
                      {kQuery, "download", kInteger, "1: to be saved as a file", 0, 1, 0}};
    one.other_statuses = {206, 304, 412, 416};
    one.failures = {{404, "there is no such recording"}, {501, "this server does not record"}};
    one.handler = [this](Request& request, Response& response) { return file(request, response); };
    std::vector<Endpoint> rows;
    rows.push_back(std::move(all));
    rows.push_back(std::move(one));
    return rows;
}

base::Result<std::shared_ptr<const RecordingFiles>> Recordings::files() {
    const runtime::Deadline patience = runtime::Deadline::in_ms(kMaxScanMs + kStepMs);
    while (scanning_) TRY(scanned_.wait_next(patience));
    if (files_ && base::monotonic_ms() - made_ms_ < kRecordingsFreshMs) return files_;
    scanning_ = true;
    auto found = scan();
    scanning_ = false;
    if (found) {
        files_ = *found;
        made_ms_ = base::monotonic_ms();
    }
    scanned_.pulse();
    return found;
}

base::Result<std::shared_ptr<const RecordingFiles>> Recordings::scan() const {
    struct Work {
        RecordingScan scan;
        RecordingFiles files{};
        bool has_more = true;
    };
    const Recorder& recorder = *offers_.recorder;
    auto work = std::make_shared<Work>(Work{RecordingScan(recorder.recording_roots(), recorder.growing_files())});
    const runtime::Deadline end = runtime::Deadline::in_ms(kMaxScanMs);
    while (work->has_more) {
        const bool is_late = end.passed();
        auto step = [work, is_late] {
            if (is_late) work->scan.truncate();
            work->has_more = work->scan.step(kEntriesPerStep);
            if (!work->has_more) work->files = work->scan.take();
        };
        TRY(runtime::offload(step, runtime::Deadline::in_ms(kStepMs)));
    }
    return std::make_shared<const RecordingFiles>(std::move(work->files));
}

void Recordings::drop_old() {
    if (base::monotonic_ms() - made_ms_ > kRecordingsKeepMs) files_.reset();
}

base::Result<void> Recordings::list(Request& request, Response& response) {
    if (!offers_.recorder) return send_failure(response, identity_, 501, "this server does not record");
    const auto all = TRY(files());
    List<const RecordingFile*> list(request, identity_, "recordings");
    for (const RecordingFile& file : all->files) TRY(list.add(&file, {all->path(file)}));
    const auto write = [&](const RecordingFile* file) -> Json {
        return {{"root", all->roots[file->root].vhost},
                {"path", all->path(*file)},
                {"bytes", file->bytes},
                {"modified_ms", file->modified_ms},
                {"active", file->active}};
    };
    return list.send(response, write, {{"truncated", all->truncated}});
}

base::Result<void> Recordings::file(Request& request, Response& response) {
    const auto download = number_parameter(request, "download", 0, 0, 1);
    if (!download) return send_failure(response, identity_, 400, "download is 0 or 1");
    if (!offers_.recorder) return send_failure(response, identity_, 501, "this server does not record");
    const std::string path(request.message.parameter("path"));
    const std::vector<RecordingRoot> roots = offers_.recorder->recording_roots();
    const auto root = std::ranges::find(roots, request.message.parameter("vhost"), &RecordingRoot::vhost);
    constexpr std::string_view kMissing = "there is no such recording";
    if (root == roots.end() || !is_recording_path(path)) return send_failure(response, identity_, 404, kMissing);
    const std::string disposition = attachment(std::string_view(path).substr(path.rfind('/') + 1));
    net::ResponseHeaders headers{{"Cache-Control", "private, no-cache"}, {"X-Content-Type-Options", "nosniff"}};
    if (*download) headers.emplace_back("Content-Disposition", disposition);
    const net::StaticFiles files(root->directory, nullptr, &headers, net::StaticFiles::Kinds::kRegularOnly);
    TRY(files.serve(path, request, response));
    if (response.started()) return {};
    return send_failure(response, identity_, 404, kMissing);
}

}  // namespace service::api
