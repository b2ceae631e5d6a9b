#include "service/api/snapshots/snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "convert/picture/picture.h"
#include "net/http/http_visitor.h"
#include "protocol/http/conditional.h"
#include "runtime/loop/clock.h"
#include "runtime/threads/compute.h"
#include "service/api/table/envelope.h"

namespace service::api {

namespace {

using base::Code;
using base::fail;

// Increments while it lives.
class Counted {
  public:
    explicit Counted(size_t& count) : count_(count) { ++count_; }
    ~Counted() { --count_; }
    Counted(const Counted&) = delete;

  private:
    size_t& count_;
};

// Set while it lives; wakes those who wait for its end.
class Busy {
  public:
    Busy(bool& flag, runtime::Event& ended) : flag_(flag), ended_(ended) { flag_ = true; }
    ~Busy() {
        flag_ = false;
        ended_.pulse();
    }
    Busy(const Busy&) = delete;

  private:
    bool& flag_;
    runtime::Event& ended_;
};

int status_of(Code code) {
    switch (code) {
        case Code::kNotFound:
            return 404;
        case Code::kRefused:
            return 409;
        default:
            return 503;
    }
}

bool is_same(const NewestKeyframe& a, const NewestKeyframe& b) {
    return a.frame.payload.data() == b.frame.payload.data() && a.frame.dts == b.frame.dts;
}

}  // namespace

std::vector<Endpoint> Snapshots::endpoints() {
    Endpoints<Snapshots> rows(*this, Access::kPrivileged);
    Endpoint& row = rows.get("/api/v1/streams/{id}/snapshot.jpg", "the stream's newest keyframe as a picture", "",
                             &Snapshots::serve);
    row.content_type = "image/jpeg";
    row.of_both.by_publisher = true;
    row.of_both.within_ms = kPatienceMs + 1'000;
    row.parameters = {{.name = "width",
                       .type = Parameter::Type::kInteger,
                       .doc = "its width at most, in pixels; it is never larger than the video",
                       .least = kMinWidth,
                       .most = kMaxWidth,
                       .initial = kWidth}};
    row.other_statuses = {304};
    row.failures = {{404, "the stream is not published"},
                    {409, "it has no video"},
                    {503, "no keyframe came in time, it is not decoded, or too many pictures are asked for"}};
    auto taken = rows.take();
    taken.push_back(poster_row());
    return taken;
}

Endpoint Snapshots::poster_row() {
    Endpoints<Snapshots> rows(*this, Access::kOpen);
    Endpoint& row = rows.get("/api/v1/poster",
                             "the newest keyframe of a stream that everybody may play, for the page that embeds it", "",
                             &Snapshots::serve_poster);
    row.content_type = "image/jpeg";
    row.parameters = {{.name = "app", .doc = "of the stream", .required = true},
                      {.name = "stream", .doc = "its name", .required = true},
                      {.name = "vhost", .doc = "without it that of the request's host"}};
    row.other_statuses = {204, 304};
    row.failures = {{400, "app or stream is missing"}};
    return std::move(rows.take().front());
}

base::Result<void> Snapshots::serve(Request& request, Response& response) {
    const auto width = number_parameter(request, "width", kWidth, kMinWidth, kMaxWidth);
    if (!width)
        return send_failure(response, context_.identity, 400,
                            fmt::format("width is a number from {} to {}", kMinWidth, kMaxWidth));
    live::StreamKey key;
    if (!statistics_.find_stream(request.capture("id"), key))
        return send_failure(response, context_.identity, 404, "there is no such stream");
    auto picture = get(key, {static_cast<int>(*width), kFreshMs, false});
    if (!picture && picture.error().code() == Code::kCancelled) return std::unexpected(std::move(picture.error()));
    const int status = picture ? (*picture)->status : status_of(picture.error().code());
    if (status == 503) response.header("Retry-After", "1");
    if (status != 200)
        return send_failure(response, context_.identity, status, picture ? (*picture)->body : picture.error().text());
    return send(**picture, kFreshMs, request, response);
}

base::Result<void> Snapshots::send(const Kept& kept, int64_t fresh_ms, const Request& request,
                                   Response& response) const {
    response.header("Cache-Control", fmt::format("private, max-age={}", fresh_ms / 1000)).header("ETag", kept.etag);
    if (http::not_modified(request.message.headers, {kept.etag, 0})) return response.send(304, {}, {});
    response.header("X-Content-Type-Options", "nosniff");
    return response.send(200, "image/jpeg", kept.body);
}

// Guards that ask somebody (hooks, origins) are not asked for a picture: where there are such, it is for nobody.
base::Result<live::StreamKey> Snapshots::admitted_to_poster(const Request& request) const {
    const config::SnapshotPtr snapshot = context_.snapshot;
    const config::Vhost* vhost = snapshot->vhost(std::string(net::vhost_name(request.message)));
    if (!vhost || !vhost->enabled) return fail(Code::kNotFound, "there is no such vhost");
    const live::StreamKey key{vhost->name, std::string(request.message.parameter("app")),
                              std::string(request.message.parameter("stream"))};
    const base::Ref<live::Stream> stream = context_.registry.find(key);
    if (!stream || !stream->published()) return fail(Code::kNotFound, "the stream is not published");
    if (context_.gate.may_yield(net::Action::kPlay, *vhost))
        return fail(Code::kRefused, "who may play is not decided by the vhost alone");
    TRY(context_.gate.check(net::http_visitor(request, request.session_id, key, net::SessionType::kHttp), *vhost));
    return key;
}

// No picture is no error: the browser of each visitor would note it in its console. It does not say why, either, nor
// whether there is such a stream.
base::Result<void> Snapshots::serve_poster(Request& request, Response& response) {
    for (const char* name : {"app", "stream"})
        if (request.message.parameter(name).empty())
            return send_failure(response, context_.identity, 400, fmt::format("{} is missing", name));
    const auto none = [&response] {
        response.header("Cache-Control", "no-store");
        return response.send(204, {}, {});
    };
    const auto key = admitted_to_poster(request);
    if (!key || !posters_.may_wait(waiting_posters_)) return none();
    const Counted counted(waiting_posters_);
    auto picture = get(*key, {kPosterWidth, kPosterFreshMs, true});
    if (!picture && picture.error().code() == Code::kCancelled) return std::unexpected(std::move(picture.error()));
    if (!picture || (*picture)->status != 200) return none();
    return send(**picture, kPosterFreshMs, request, response);
}

base::Result<Snapshots::KeptPtr> Snapshots::get(const live::StreamKey& key, Wanted wanted) {
    OfStreamPtr& found = streams_[key];
    if (!found) found = std::make_shared<OfStream>();
    const OfStreamPtr all = found;  // held while this waits
    auto made = wait_or_make(key, wanted, *all);
    if (all->kept.empty() && all->waiting == 0) streams_.erase(key);
    if (made) (*made)->asked_ms = runtime::now_ms();
    return made;
}

base::Result<Snapshots::KeptPtr> Snapshots::wait_or_make(const live::StreamKey& key, Wanted wanted, OfStream& all) {
    if (all.waiting >= kMaxWaitingOfStream || waiting_ >= kMaxWaiting)
        return fail(Code::kLimit, "too many pictures are asked for at once");
    const Counted of_stream(all.waiting), of_all(waiting_);
    const auto deadline = runtime::Deadline::in_ms(kPatienceMs);
    while (true) {
        const auto known = all.kept.find(wanted.width);
        if (known != all.kept.end() && runtime::now_ms() - known->second->made_ms < wanted.fresh_ms)
            return known->second;
        if (!all.is_busy) return make(key, wanted, all);
        TRY(all.changed.wait_next(deadline), "waiting for another picture of the stream");
    }
}

// A picture that is not made is kept too: what cannot be decoded must not be tried for each request. Where too many
// posters are asked for, an old one is better than none.
base::Result<Snapshots::KeptPtr> Snapshots::make(const live::StreamKey& key, Wanted wanted, OfStream& all) {
    const Busy busy(all.is_busy, all.changed);
    const auto deadline = runtime::Deadline::in_ms(kPatienceMs);
    NewestKeyframe newest = TRY(newest_keyframe(context_.registry.find(key), deadline));
    const auto known = all.kept.find(wanted.width);
    const bool is_known = known != all.kept.end();
    if (is_known && is_same(known->second->keyframe, newest)) return known->second;
    if (wanted.is_poster && !posters_.take(runtime::now_us())) {
        if (is_known) return known->second;
        return fail(Code::kLimit, "too many posters are asked for");
    }
    auto kept = std::make_shared<Kept>();
    kept->keyframe = std::move(newest);
    auto decoded = decode(*kept, wanted.width, deadline);
    if (!decoded && (decoded.error().code() == Code::kCancelled || decoded.error().code() == Code::kTimeout))
        return std::unexpected(std::move(decoded.error()));
    kept->made_ms = kept->asked_ms = runtime::now_ms();
    kept->status = decoded ? 200 : 503;
    if (!decoded) kept->body = decoded.error().text();
    kept->etag = fmt::format("\"{:x}-{:x}\"", base::wall_ms(), ++count_);
    all.kept[wanted.width] = kept;
    keep_below(kMaxKeptBytes);
    return kept;
}

// The thread's copy of the frame shares no memory with the loop.
base::Result<void> Snapshots::decode(Kept& kept, int width, runtime::Deadline deadline) {
    struct Job {
        convert::Keyframe keyframe;
        base::Result<convert::Picture> picture = convert::Picture();
        runtime::Event ended{"the conversion of a picture"};
    };
    const media::Frame& frame = kept.keyframe.frame;
    if (frame.payload.size() > convert::kMaxKeyframeBytes)
        return fail(Code::kLimit, fmt::format("the keyframe has {} bytes", frame.payload.size()));
    while (decodes_) TRY(decoded_.wait_next(deadline), "waiting for pictures of other streams");
    const Busy busy(decodes_, decoded_);
    auto job = std::make_shared<Job>();
    const std::span<const uint8_t> header = kept.keyframe.header, payload = frame.payload;
    job->keyframe = {frame.codec, {header.begin(), header.end()}, {payload.begin(), payload.end()}};
    const bool begun = runtime::compute([job, width] { job->picture = make_picture(job->keyframe, width); },
                                        [job] { job->ended.set(); });
    if (!begun) return fail(Code::kSystem, "there is no thread for the picture");
    // It ends soon in any case, and the next one begins after it.
    TRY(job->ended.wait(runtime::Deadline::never()));
    kept.body = TRY(std::move(job->picture)).jpeg;
    return {};
}

// The one that nobody has asked for for the longest time goes first.
void Snapshots::keep_below(size_t bytes) {
    size_t sum = 0;
    const auto size_of = [](const Kept& kept) { return kept.body.size() + kept.keyframe.frame.payload.memory(); };
    for (const auto& [key, all] : streams_)
        for (const auto& [width, kept] : all->kept) sum += size_of(*kept);
    while (sum > bytes) {
        OfStream* from = nullptr;
        std::optional<int> oldest;
        for (const auto& [key, all] : streams_)
            for (const auto& [width, kept] : all->kept)
                if (!from || kept->asked_ms < from->kept[*oldest]->asked_ms) {
                    from = all.get();
                    oldest = width;
                }
        if (!from) return;
        sum -= size_of(*from->kept[*oldest]);
        from->kept.erase(*oldest);
    }
}

void Snapshots::drop_old() {
    const int64_t now_ms = runtime::now_ms();
    for (auto& [key, all] : streams_)
        std::erase_if(all->kept, [&](const auto& one) { return now_ms - one.second->asked_ms > kKeepMs; });
    std::erase_if(streams_, [](const auto& one) { return one.second->kept.empty() && one.second->waiting == 0; });
}

void Snapshots::write_metrics(prometheus::Text& text) const {
    using prometheus::Type;
    const PosterBudget::Counters& counters = posters_.counters();
    text.single("srs_posters_total", Type::kCounter, "Posters of streams that were made.",
                static_cast<double>(counters.made));
    text.family("srs_posters_refused_total", Type::kCounter,
                "Posters that were not made, because too many were asked for: a second, or at once.");
    text.sample({{"limit", "rate"}}, static_cast<double>(counters.refused_rate));
    text.sample({{"limit", "waiting"}}, static_cast<double>(counters.refused_waiting));
}

}  // namespace service::api
