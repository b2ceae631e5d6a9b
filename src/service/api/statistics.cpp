#include "service/api/statistics.h"

#include <algorithm>

#include "base/clock.h"
#include "media/track.h"
#include "runtime/coroutine.h"
#include "service/api/listing.h"

namespace service::api {

namespace {

// Lists may be as old as that: so a busy dashboard costs a walk over all sessions four times a second at most.
constexpr int64_t kFreshMs = 250;
constexpr size_t kLookedAtAtOnce = 1'000;

Json kbps(const net::Rates& rates) { return {{"recv_30s", rates.received}, {"send_30s", rates.sent}}; }

// As SRS has it: without the vhost where it is the default one.
std::string url_of(std::string_view vhost, std::string_view app, std::string_view name) {
    std::string url = vhost == config::kDefaultVhost ? "" : std::string(vhost);
    return url.append("/").append(app).append("/").append(name);
}

// Of a codec whose header does not say all (VP9).
const media::Frame* keyframe_of(const live::Stream& stream) {
    for (const media::Frame& frame : stream.gop())
        if (frame.kind == media::Kind::kVideo && frame.keyframe && !frame.sequence_header) return &frame;
    return nullptr;
}

Json video_json(const live::Stream* stream) {
    if (!stream || !stream->headers().has_video) return nullptr;
    media::VideoInfo info;
    const live::StreamHeaders& headers = stream->headers();
    if (const auto& header = headers.video ? headers.video : headers.video_example)
        if (auto read = media::video_info(*header)) info = *std::move(read);
    if (info.width == 0) {
        const media::Frame* frame = keyframe_of(*stream);
        auto read = frame ? media::video_info(*frame) : base::Result<media::VideoInfo>(media::VideoInfo());
        if (read && read->width > 0) {
            info.width = read->width;
            info.height = read->height;
            if (info.profile.empty()) info.profile = read->profile;
            if (info.level.empty()) info.level = read->level;
        }
    }
    return {{"codec", media::codec_info(stream->headers().video_codec).name},
            {"profile", info.profile},
            {"level", info.level},
            {"width", info.width},
            {"height", info.height}};
}

Json audio_json(const live::Stream* stream) {
    if (!stream || !stream->headers().has_audio) return nullptr;
    media::AudioInfo info;
    const live::StreamHeaders& headers = stream->headers();
    if (const auto& header = headers.audio ? headers.audio : headers.audio_example)
        if (auto read = media::audio_info(*header)) info = *std::move(read);
    return {{"codec", media::codec_info(stream->headers().audio_codec).name},
            {"sample_rate", info.sample_rate},
            {"channel", info.channels},
            {"profile", info.profile}};
}

bool is_there(const live::Stream& stream) { return stream.published() || stream.viewer_count() > 0; }

}  // namespace

std::vector<Endpoint> Statistics::endpoints(net::HttpHandler closed) {
    closed_ = std::move(closed);
    using Member = base::Result<void> (Statistics::*)(Request&, Response&);
    std::vector<Endpoint> all;
    auto add = [&](const char* path, const char* summary, const char* shape, Member member) {
        Endpoint row;
        row.methods = {http::Method::kGet};
        row.pattern = path;
        row.summary = summary;
        row.shape = shape;
        row.handler = [this, member](Request& request, Response& response) {
            return (this->*member)(request, response);
        };
        if (row.pattern.ends_with('}')) {
            row.failures = {{404, "it is not there"}};
        } else {
            row.parameters = page_parameters();
        }
        all.push_back(std::move(row));
    };
    add("/api/v1/vhosts", "the vhosts of the configuration", "total:int vhosts[@Vhost]", &Statistics::vhosts);
    add("/api/v1/vhosts/{id}", "one of them, by id or name", "vhost@Vhost", &Statistics::vhost);
    add("/api/v1/streams", "the streams that are published or waited for", "total:int streams[@Stream]",
        &Statistics::streams);
    add("/api/v1/streams/{id}", "one of them", "stream@Stream", &Statistics::stream);
    add("/api/v1/clients", "who publishes and plays; closed=true: who did, with the reason of its end",
        "total:int clients[@Client]", &Statistics::clients);
    all.back().parameters.push_back({Parameter::In::kQuery, "closed", Parameter::Type::kBoolean,
                                     "the last 1,000 sessions that ended, the newest first, with started_ms, ended_ms, "
                                     "reason and text"});
    add("/api/v1/clients/{id}", "one of them", "client@Client", &Statistics::client);
    return all;
}

// Those that have a publisher, a player, or somebody who counts as one (HLS).
std::vector<live::StreamKey> Statistics::keys() const {
    std::vector<live::StreamKey> keys;
    registry_.for_each([&](live::Stream& stream) {
        if (is_there(stream)) keys.push_back(stream.key());
    });
    sessions_.accounts().for_each([&](const net::StreamAccount& account) {
        keys.push_back({account.vhost().name(), account.app(), account.name()});
    });
    std::ranges::sort(keys);
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    return keys;
}

bool Statistics::find_stream(std::string_view id, live::StreamKey& key) const {
    for (live::StreamKey& one : keys()) {
        if (net::stream_id(one.vhost, one.app, one.name) != id) continue;
        key = std::move(one);
        return true;
    }
    return false;
}

base::Result<void> Statistics::vhosts(Request& request, Response& response) {
    const auto page = TRY(page_of(request, response, identity_));
    if (!page) return {};
    TRY(sessions_.count(kFreshMs));
    const config::SnapshotPtr snapshot = snapshot_();
    const auto streams = keys();
    ListWriter list(identity_, "vhosts");
    for (size_t i = 0; i < snapshot->vhosts.size(); ++i)
        if (page->has(i)) TRY(list.add(vhost_json(snapshot->vhosts[i], streams)));
    return list.send(response, snapshot->vhosts.size());
}

base::Result<void> Statistics::vhost(Request& request, Response& response) {
    TRY(sessions_.count(kFreshMs));
    const config::SnapshotPtr snapshot = snapshot_();
    const std::string_view id = request.capture("id");
    for (const config::Vhost& vhost : snapshot->vhosts) {
        if (vhost.name != id && net::stable_id(vhost.name) != id) continue;
        Json body = envelope(identity_);
        body["vhost"] = vhost_json(vhost, keys());
        return send_json(response, body);
    }
    return send_failure(response, identity_, 404, "there is no such vhost");
}

Json Statistics::vhost_json(const config::Vhost& vhost, const std::vector<live::StreamKey>& keys) const {
    const net::VhostAccount* account = sessions_.accounts().find_vhost(vhost.name);
    const net::Traffic traffic = account ? account->traffic() : net::Traffic();
    Json hls = {{"enabled", vhost.hls.enabled}};
    if (vhost.hls.enabled) hls["fragment"] = vhost.hls.fragment;
    return {{"id", net::stable_id(vhost.name)},
            {"name", vhost.name},
            {"enabled", vhost.enabled},
            {"clients", account ? account->clients() : 0},
            {"streams", std::ranges::count(keys, vhost.name, &live::StreamKey::vhost)},
            {"send_bytes", traffic.sent_bytes},
            {"recv_bytes", traffic.received_bytes},
            {"kbps", kbps(account ? account->rates(base::monotonic_ms()) : net::Rates())},
            {"hls", std::move(hls)}};
}

base::Result<void> Statistics::streams(Request& request, Response& response) {
    const auto page = TRY(page_of(request, response, identity_));
    if (!page) return {};
    TRY(sessions_.count(kFreshMs));
    const auto all = keys();
    ListWriter list(identity_, "streams");
    for (size_t i = page->start; i < all.size() && page->has(i); ++i) TRY(list.add(stream_json(all[i])));
    return list.send(response, all.size());
}

base::Result<void> Statistics::stream(Request& request, Response& response) {
    TRY(sessions_.count(kFreshMs));
    live::StreamKey key;
    if (!find_stream(request.capture("id"), key))
        return send_failure(response, identity_, 404, "there is no such stream");
    Json body = envelope(identity_);
    body["stream"] = stream_json(key);
    return send_json(response, body);
}

Json Statistics::stream_json(const live::StreamKey& key) const {
    const base::Ref<live::Stream> stream = registry_.find(key);
    const net::StreamAccount* account = sessions_.accounts().find(key.vhost, key.app, key.name);
    const net::Traffic traffic = account ? account->traffic() : net::Traffic();
    const live::StreamCounters counters = stream ? stream->counters() : live::StreamCounters();
    const bool active = stream && stream->published();
    const net::Session* publisher = account ? account->publisher() : nullptr;
    Json publish = {{"active", active}};
    if (active && publisher) publish["cid"] = publisher->id();
    std::string tc_url = publisher ? publisher->details().tc_url : std::string();
    if (tc_url.empty()) tc_url = "rtmp://" + key.vhost + "/" + key.app;
    // Who multiplexes streams on one connection is in one account alone.
    const size_t seen = stream ? stream->viewer_count() + (active ? 1 : 0) : 0;
    return {{"id", net::stream_id(key.vhost, key.app, key.name)},
            {"name", key.name},
            {"vhost", net::stable_id(key.vhost)},
            {"app", key.app},
            {"tcUrl", tc_url},
            {"url", url_of(key.vhost, key.app, key.name)},
            {"live_ms", base::wall_ms()},
            {"clients", std::max(account ? account->clients() : 0, seen)},
            {"frames", counters.audio_frames + counters.video_frames},
            {"audio_frames", counters.audio_frames},
            {"video_frames", counters.video_frames},
            {"send_bytes", traffic.sent_bytes},
            {"recv_bytes", traffic.received_bytes},
            {"kbps", kbps(account ? account->rates(base::monotonic_ms()) : net::Rates())},
            {"publish", std::move(publish)},
            {"video", video_json(stream.get())},
            {"audio", audio_json(stream.get())}};
}

base::Result<void> Statistics::clients(Request& request, Response& response) {
    if (const std::string_view closed = request.message.parameter("closed"); closed == "true") {
        return closed_(request, response);
    } else if (!closed.empty() && closed != "false") {
        return send_failure(response, identity_, 400, "closed is true or false");
    }
    const auto page = TRY(page_of(request, response, identity_));
    if (!page) return {};
    ListWriter list(identity_, "clients");
    size_t seen = 0;
    for (size_t place = 0; place < sessions_.size(); ++place) {
        if (place % kLookedAtAtOnce == kLookedAtAtOnce - 1) TRY(runtime::yield());
        if (place >= sessions_.size()) break;
        const net::Session& session = sessions_.at(place);
        if (session.stream_account() && page->has(seen++)) TRY(list.add(client_json(session)));
    }
    return list.send(response, seen);
}

base::Result<void> Statistics::client(Request& request, Response& response) {
    const net::Session* session = sessions_.find(request.capture("id"));
    if (!session || !session->stream_account())
        return send_failure(response, identity_, 404, "there is no such client");
    Json body = envelope(identity_);
    body["client"] = client_json(*session);
    return send_json(response, body);
}

Json Statistics::client_json(const net::Session& session) const {
    const net::StreamAccount& account = *session.stream_account();
    const net::ClientDetails details = session.details();
    const net::Traffic traffic = session.traffic();
    return {{"id", session.id()},
            {"vhost", account.vhost().id()},
            {"stream", account.id()},
            {"ip", session.ip()},
            {"pageUrl", details.page_url},
            {"swfUrl", details.swf_url},
            {"tcUrl", details.tc_url},
            {"url", url_of(account.vhost().name(), account.app(), account.name())},
            {"name", account.name()},
            {"type", net::session_type_name(session.type())},
            {"publish", net::publishes(session.type())},
            {"alive", static_cast<double>(session.alive_ms()) / 1000},
            {"send_bytes", traffic.sent_bytes},
            {"recv_bytes", traffic.received_bytes},
            {"kbps", kbps(session.rates())}};
}

}  // namespace service::api
