#include "net/http/file_viewers.h"

#include <fmt/core.h>
#include <openssl/rand.h>

#include <algorithm>

#include "base/log.h"
#include "net/http/http_visitor.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/cpu_slice.h"

namespace net {

namespace {

constexpr int64_t kBanMs = 60'000;
// Fixed part of a viewer's memory, independent of what it sent.
constexpr size_t kViewerBytes = 2048;

base::Error banned() { return {base::Code::kRefused, "this viewer was ended"}; }

}  // namespace

class FileViewers::Viewer final : public Session, public std::enable_shared_from_this<FileViewers::Viewer> {
  public:
    Viewer(SessionTable& table, Admission admission, std::shared_ptr<void> held)
        : Session(table, admission.visitor.id, admission.visitor.ip),
          url_(admission.visitor.key().text()),
          share_(std::move(admission.share)),
          grant_(std::move(admission.grant)),
          held_(std::move(held)),
          details_{admission.visitor.tc_url, admission.visitor.page_url, {}, admission.visitor.param} {
        set_type(SessionType::kHlsPlay);
        set_agent(admission.visitor.user_agent);
        not_a_connection();
        enter_stream(admission.visitor.key(), false);
    }
    std::string stream_text() const override { return url_; }
    ClientDetails details() const override { return details_; }
    Traffic traffic() const override { return traffic_; }
    SessionFigures figures() const override {
        SessionFigures figures;
        figures.protocol = protocol_;
        figures.first_frame_ms = first_ms_;
        return figures;
    }
    void kick(std::string_view reason) override { kicked_ = reason; }
    using Session::log_end;

    const std::string url_;
    std::string brought_;  // the context that it sent, if different from its id
    AddressQuota::Share share_;
    Grant grant_;
    std::shared_ptr<void> held_;
    ClientDetails details_;
    Traffic traffic_;
    std::string kicked_;
    int64_t until_ms_ = 0;
    int64_t idle_ms_ = 0;
    int64_t first_ms_ = -1;  // until the first bytes of a file that is no playlist
    std::string_view protocol_ = "hls";
};

FileViewers::FileViewers(SessionTable& sessions, Gate& gate, Streams streams)
    : sessions_(sessions), gate_(gate), streams_(std::move(streams)) {}

FileViewers::~FileViewers() { end_all(); }

// ---- Contexts

bool FileViewers::is_context(std::string_view context) {
    auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    return !context.empty() && context.size() <= kMaxContextBytes && std::ranges::all_of(context, good);
}

// An id gives access to everything the viewer may fetch, so the generator of other ids is not used.
std::string FileViewers::new_id() const {
    static constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuv";
    std::string id;
    do {
        uint8_t random[8];
        CHECK(RAND_bytes(random, sizeof random) == 1);
        id.clear();
        for (uint8_t byte : random) id += kDigits[byte % kDigits.size()];
    } while (sessions_.find(id));
    return id;
}

// It cannot be guessed, and no session has it as its id.
std::string FileViewers::issue(std::string_view stream) {
    Name name{std::string(stream), new_id()};
    issued_.insert(name);
    issue_order_.push_back(name);
    if (issue_order_.size() > kMaxIssued) {
        issued_.erase(issue_order_.front());
        issue_order_.pop_front();
    }
    return name.context;
}

// Of the viewer with this name, or the one that it would get if it became one now.
std::string FileViewers::id_for(const Name& name) const {
    if (auto it = names_.find(name); it != names_.end()) return it->second->id();
    // It may have become another session's id in the meantime.
    return issued_.contains(name) && !sessions_.find(name.context) ? name.context : new_id();
}

// ---- Admission

base::Result<void> FileViewers::check_file(const Name& name, const config::Vhost& vhost) const {
    if (banned_.contains(name)) return std::unexpected(banned());
    if (gate_.guards_parts(vhost) && !is_viewer(name))
        return base::fail(base::Code::kRefused, "not without the playlist's hls_ctx");
    return {};
}

base::Result<FileViewers::Admission> FileViewers::admit(const base::StreamKey& stream, std::string_view context,
                                                        const config::Vhost& vhost, const HttpRequest& request,
                                                        runtime::ByteStream* client) {
    Admission admission;
    const std::string key = stream.text();
    const Name& name = admission.name = {key, context.empty() ? issue(key) : std::string(context)};
    while (asking_.contains(name)) TRY(asked_.wait_next(runtime::Deadline::never()));
    const Visitor& visitor = admission.visitor = http_visitor(request, id_for(name), stream, SessionType::kHlsPlay);
    if (banned_.contains(name)) return std::unexpected(banned());
    admission.was_asked = gate_.may_yield(Action::kPlay, vhost);
    if (is_viewer(name)) return admission;
    admission.visitor.streams = streams_.members(stream, vhost);
    // Reserved before a guard is asked: a flood of new names must not become a flood of queries.
    auto reserved = reserve(visitor);
    if (!reserved) sessions_.log_refusal("HLS viewer", visitor.ip, reserved.error());
    admission.share = TRY(std::move(reserved));
    asking_.insert(name);
    auto admitted = gate_.admit(visitor, vhost, client);
    asking_.erase(name);
    asked_.pulse();
    if (!admitted && admitted.error().code() != base::Code::kCancelled)
        record_refusal(sessions_, visitor, admitted.error());
    admission.grant = TRY(std::move(admitted));
    admission.was_asked |= static_cast<bool>(admission.grant);
    return admission;
}

// Its strings are stored twice if a guard follows it.
base::Result<AddressQuota::Share> FileViewers::reserve(const Visitor& visitor) {
    const size_t strings = visitor.vhost.size() + visitor.app.size() + visitor.stream.size() + visitor.param.size() +
                           visitor.tc_url.size() + visitor.page_url.size();
    return quota_.take(visitor.ip, kViewerBytes + 2 * strings);
}

base::Result<void> FileViewers::add(Admission admission, const Stay& stay, const config::Vhost& vhost) {
    if (!stay.always && !admission.was_asked) return {};
    if (banned_.contains(admission.name)) return std::unexpected(banned());
    const auto it = names_.find(admission.name);
    Viewer& viewer = it == names_.end() ? make(std::move(admission), vhost) : *it->second;
    viewer.idle_ms_ = stay.idle_ms;
    viewer.until_ms_ = runtime::now_ms() + stay.idle_ms;
    return {};
}

FileViewers::Viewer& FileViewers::make(Admission admission, const config::Vhost& vhost) {
    const Name name = admission.name;
    const std::string id = admission.id();
    auto held = streams_.hold(admission.visitor.key(), vhost);
    const auto made = std::make_shared<Viewer>(sessions_, std::move(admission), std::move(held));
    viewers_[id] = made;
    names_[{name.stream, id}] = names_[name] = made.get();
    if (name.context != id) made->brought_ = name.context;
    issued_.erase(name);
    runtime::ContextScope scope(id);
    base::log::trace("hls-play started: {} to {}", made->stream_text(), made->ip());
    return *made;
}

base::Result<std::string> FileViewers::let_in(const base::StreamKey& stream, std::string_view context, const Stay& stay,
                                              const config::Vhost& vhost, const HttpRequest& request,
                                              runtime::ByteStream* client) {
    if (context.empty() && request.is_head()) {
        const std::string id = issue(stream.text());
        TRY(gate_.check(http_visitor(request, id, stream, SessionType::kHlsPlay), vhost));
        return id;
    }
    auto admission = TRY(admit(stream, context, vhost, request, client));
    const std::string id = admission.id();
    TRY(add(std::move(admission), stay, vhost));
    return id;
}

// ---- Requests

void FileViewers::count(const Name& name, const std::shared_ptr<const base::StreamKey>& stream,
                        const HttpRequest& request, HttpResponse& response) {
    const auto it = name.context.empty() ? names_.end() : names_.find(name);
    if (it == names_.end())
        return response.observe_body([this, stream](size_t sent) { sessions_.accounts().add(*stream, {0, sent}); });
    it->second->traffic_.received_bytes += request.message.target.size();
    const std::string_view path = request.message.path;
    if (path.ends_with(".mpd")) it->second->protocol_ = "dash";
    const bool is_media = !path.ends_with(".m3u8") && !path.ends_with(".mpd");
    // It may end before the response does.
    response.observe_body([this, found = it->second->weak_from_this(), stream, is_media](size_t sent) {
        const auto viewer = found.lock();
        if (!viewer) return sessions_.accounts().add(*stream, {0, sent});
        viewer->traffic_.sent_bytes += sent;
        if (is_media && viewer->first_ms_ < 0) viewer->first_ms_ = viewer->alive_ms();
        viewer->until_ms_ = runtime::now_ms() + viewer->idle_ms_;
    });
}

// ---- End

// banned_until_ms: its names cannot be used until then; 0: they are free at once.
void FileViewers::forget(Viewer& viewer, int64_t banned_until_ms) {
    for (const std::string& context : {viewer.id(), viewer.brought_}) {
        if (context.empty()) continue;
        const Name name{viewer.url_, context};
        names_.erase(name);
        if (banned_until_ms && banned_.size() < kMaxBanned) banned_[name] = banned_until_ms;
    }
}

void FileViewers::end(Viewer& viewer, std::string_view why, base::CloseReason reason) {
    runtime::ContextScope scope(viewer.id());
    viewer.held_.reset();  // guards count those who stay
    viewer.grant_.end(viewer.traffic_);
    viewer.log_end(why, reason);
}

bool FileViewers::is_over(Viewer& viewer, int64_t now_ms) {
    if (!viewer.kicked_.empty()) {
        forget(viewer, now_ms + kBanMs);
        end(viewer, viewer.kicked_, base::CloseReason::kKicked);
        return true;
    }
    if (viewer.until_ms_ > now_ms) return false;
    forget(viewer, 0);
    end(viewer, fmt::format("it has not asked for {} ms", viewer.idle_ms_), base::CloseReason::kIdle);
    return true;
}

// Thousands may expire at once.
bool FileViewers::tick() {
    const int64_t now_ms = runtime::now_ms();
    std::erase_if(banned_, [&](const auto& entry) { return entry.second <= now_ms; });
    runtime::CpuSlice slice;
    std::string id;
    for (auto it = viewers_.begin(); it != viewers_.end(); it = viewers_.upper_bound(id)) {
        id = it->first;
        if (is_over(*it->second, now_ms)) viewers_.erase(it);
        if (!slice.step()) return false;
    }
    return true;
}

void FileViewers::end_all() {
    names_.clear();
    for (auto& [id, viewer] : viewers_) end(*viewer, "the server stops", base::CloseReason::kServerStop);
    viewers_.clear();
}

}  // namespace net
