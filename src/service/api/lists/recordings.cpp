#include "service/api/lists/recordings.h"

#include <algorithm>
#include <functional>

#include "base/json.h"
#include "net/http/static_files.h"
#include "protocol/http/attachment.h"
#include "protocol/http/url.h"
#include "runtime/threads/workers.h"
#include "service/api/earlier/answer_text.h"
#include "service/api/lists/listing.h"

namespace service::api {

namespace {

constexpr size_t kEntriesPerStep = 500;  // of one step on a worker

}  // namespace

std::vector<Endpoint> Recordings::endpoints() {
    Endpoints<Recordings> rows(*this);
    Endpoint& all =
        rows.get("/api/v1/recordings", "the files of recordings, the newest first",
                 "total:int truncated:bool recordings[root:str path:str bytes:int modified_ms:int active:bool]",
                 &Recordings::list);
    all.parameters = page_parameters();
    all.parameters.push_back(search_parameter("those alone whose path has this in it"));
    all.failures = {{501, "this server does not record"}};
    Endpoint& one =
        rows.get("/api/v1/recordings/file", "a complete recording, whole or a range of it", "", &Recordings::file);
    one.access = Access::kPrivileged;
    one.content_type = "video/*";  // a range of media types, as OpenAPI has it: video/x-flv or video/mp4
    one.parameters = {{.name = "vhost", .doc = "root of the list", .required = true},
                      {.name = "path", .doc = "path of the list", .required = true},
                      {.name = "download",
                       .type = Parameter::Type::kInteger,
                       .doc = "1: to be saved as a file",
                       .least = 0,
                       .most = 1,
                       .initial = 0}};
    one.other_statuses = {206, 304, 412, 416};
    one.failures = {{404, "there is no such recording"}, {501, "this server does not record"}};
    return rows.take();
}

void Recordings::add_other_process_routes(net::HttpRouter& router) {
    net::HttpRoute route;
    route.methods = {http::Method::kGet};
    route.pattern = "/recordings/growing";
    route.summary = "the files of recordings that are being written";
    route.handler = std::bind_front(&Recordings::growing, this);
    router.add(std::move(route));
}

base::Result<void> Recordings::growing(Request&, Response& response) {
    Json files = Json::array();
    if (context_.offers.recorder)
        for (const std::string& path : context_.offers.recorder->growing_files())
            files.push_back(http::percent_encode(path));
    return send_json(response, files);
}

// Those of both processes.
base::Result<std::vector<std::string>> Recordings::growing_files() const {
    std::vector<std::string> files = context_.offers.recorder->growing_files();
    OtherProcess* other = context_.offers.other_process;
    if (!other || !other->is_replaced()) return files;
    auto answer = other->ask({.router = OtherRequest::Router::kOwn, .target = "/recordings/growing"});
    if (!answer && answer.error().code() == base::Code::kCancelled) return std::unexpected(std::move(answer).error());
    if (!answer || answer->status != 200) return files;
    auto list = read_answer(answer->body);
    if (!list && list.error().code() == base::Code::kCancelled) return std::unexpected(std::move(list).error());
    if (!list || !list->is_array()) return files;
    for (const Json& one : *list) {
        if (!one.is_string()) continue;
        if (auto path = http::percent_decode(one.get_ref<const std::string&>())) files.push_back(*std::move(path));
    }
    return files;
}

base::Result<RecordingFiles> Recordings::scan() const {
    struct Work {
        RecordingScan scan;
        RecordingFiles files{};
        bool has_more = true;
    };
    const Recorder& recorder = *context_.offers.recorder;
    const auto growing = TRY(growing_files());
    auto work = std::make_shared<Work>(Work{RecordingScan(recorder.recording_roots(), growing)});
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
    return std::move(work->files);
}

base::Result<void> Recordings::list(Request& request, Response& response) {
    if (!context_.offers.recorder) return send_failure(response, context_.identity, 501, "this server does not record");
    const auto all = TRY(files_.get([this] { return scan(); }));
    List<const RecordingFile*> list(request, context_.identity, "recordings");
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
    if (!download) return send_failure(response, context_.identity, 400, "download is 0 or 1");
    if (!context_.offers.recorder) return send_failure(response, context_.identity, 501, "this server does not record");
    const std::string path(request.message.parameter("path"));
    const std::vector<RecordingRoot> roots = context_.offers.recorder->recording_roots();
    const auto root = std::ranges::find(roots, request.message.parameter("vhost"), &RecordingRoot::vhost);
    constexpr std::string_view kMissing = "there is no such recording";
    if (root == roots.end() || !is_recording_path(path))
        return send_failure(response, context_.identity, 404, kMissing);
    const std::string disposition = http::attachment(std::string_view(path).substr(path.rfind('/') + 1));
    net::ResponseHeaders headers{{"Cache-Control", "private, no-cache"}, {"X-Content-Type-Options", "nosniff"}};
    if (*download) headers.emplace_back("Content-Disposition", disposition);
    const net::StaticFiles files(root->directory, nullptr, &headers, net::StaticFiles::Kinds::kRegularOnly);
    TRY(files.serve(path, request, response));
    if (response.started()) return {};
    return send_failure(response, context_.identity, 404, kMissing);
}

}  // namespace service::api
