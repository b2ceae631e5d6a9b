#include "service/api/lists/statistics.h"

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/redaction.h"
#include "media/track.h"
#include "service/api/diagnosis/end_reasons.h"
#include "service/api/diagnosis/verdicts.h"
#include "service/api/lists/listing.h"
#include "service/api/lists/natural_order.h"
#include "service/api/lists/stream_keys.h"
#include "service/stream_view.h"

namespace service::api {

namespace {

// The accounts are brought up to date at most four times a second, however many dashboards ask.
constexpr int64_t kCountFreshMs = 250;

struct StreamRow {
    live::StreamKey key{};
    std::string url{};
    size_t clients = 0;
    uint64_t received_kbps = 0;
    const StreamVerdict* verdict = nullptr;  // of the list that the answer is made of
};
constexpr Column<StreamRow> kStreamColumns[] = {
    {"name", [](const StreamRow& a, const StreamRow& b) { return natural_less(a.url, b.url); }},
    {"clients", [](const StreamRow& a, const StreamRow& b) { return a.clients < b.clients; }},
    {"recv_kbps", [](const StreamRow& a, const StreamRow& b) { return a.received_kbps < b.received_kbps; }},
    // Descending, the sick ones come first, and those of a level in the order of their names.
    {"verdict", [](const StreamRow& a, const StreamRow& b) {
         if (a.verdict->level != b.verdict->level) return a.verdict->level < b.verdict->level;
         return natural_less(b.url, a.url);
     }}};

// Nothing: no such level.
std::optional<VerdictLevel> parse_level(std::string_view name) {
    const auto found = std::ranges::find(kVerdictLevels, name);
    if (found == std::end(kVerdictLevels)) return std::nullopt;
    return static_cast<VerdictLevel>(found - std::begin(kVerdictLevels));
}

struct ClientRow {
    std::string id{};
    int64_t started_ms = 0;  // wall clock
    uint64_t sent_kbps = 0;
    double trouble = 0;  // of a WebRTC player, or by SRT
};
constexpr Column<ClientRow> kClientColumns[] = {
    {"alive", [](const ClientRow& a, const ClientRow& b) { return a.started_ms > b.started_ms; }},
    {"send_kbps", [](const ClientRow& a, const ClientRow& b) { return a.sent_kbps < b.sent_kbps; }},
    {"trouble", [](const ClientRow& a, const ClientRow& b) { return a.trouble < b.trouble; }}};

Json kbps_json(const net::Rates& rates) { return {{"recv_30s", rates.received}, {"send_30s", rates.sent}}; }

Json video_json(const std::optional<media::VideoInfo>& video) {
    if (!video) return nullptr;
    return {{"codec", media::codec_info(video->codec).name},
            {"profile", video->profile},
            {"level", video->level},
            {"width", video->width},
            {"height", video->height}};
}

Json audio_json(const std::optional<media::AudioInfo>& audio) {
    if (!audio) return nullptr;
    return {{"codec", media::codec_info(audio->codec).name},
            {"sample_rate", audio->sample_rate},
            {"channel", audio->channels},
            {"profile", audio->profile}};
}

Json track_json(const TrackView& track) {
    return {{"kind", track.kind == media::Kind::kVideo ? "video" : "audio"},
            {"track", track.index},
            {"codec", media::codec_info(track.codec).name},
            {"language", track.language},
            {"label", track.label}};
}

// Bytes of allocations, by purpose.
Json memory_json(const StreamView& stream) {
    const live::StreamMemory& held = stream.memory;
    return {{"total", held.total()}, {"limit", stream.memory_limit},
            {"gop", held.gop},       {"mix_queue", held.mix_queue},
            {"logs", held.logs},     {"viewers", held.viewers},
            {"rtp", held.rtp},       {"outputs", held.outputs},
            {"input", held.input},   {"releases", stream.counters.memory_releases}};
}

Json link_json(const net::RtcLink& link) {
    return {{"sent", net::rtc_sent_name(link.sent)},
            {"estimate_kbps", link.estimate_kbps},
            {"lost_percent", link.lost_percent},
            {"rtt_ms", link.rtt_ms}};
}

void add_viewing(Json& out, const net::RtcViewing& viewing) {
    out["sent"] = net::rtc_sent_name(viewing.sent);
    if (!viewing.layer.empty()) out["layer"] = viewing.layer;
    out["estimate_kbps"] = viewing.estimate_kbps;
    out["playout_delay_ms"] = viewing.playout_delay_ms;
    if (viewing.history.empty()) return;
    Json& history = out["history"] = Json::array();
    for (const net::RtcLink& link : viewing.history) history.push_back(link_json(link));
}

Json quality_json(const net::RtcQuality& quality) {
    Json out = {
        {"lost_percent", quality.lost_percent}, {"rtt_ms", quality.rtt_ms ? Json(*quality.rtt_ms) : Json(nullptr)},
        {"jitter_ms", quality.jitter_ms},       {"nacks", quality.nacks},
        {"sent_again", quality.retransmitted},  {"keyframes_asked", quality.keyframes_asked},
        {"remb_kbps", quality.remb_kbps}};
    if (quality.viewing) add_viewing(out, *quality.viewing);
    return out;
}

Json quality_json(const net::SrtQuality& quality) {
    const uint32_t version = quality.peer_version;
    return {{"lost_percent", quality.lost_percent},
            {"retransmitted_percent", quality.retransmitted_percent},
            {"rtt_ms", quality.rtt_ms ? Json(*quality.rtt_ms) : Json(nullptr)},
            {"dropped", quality.dropped},
            {"latency_ms", quality.latency_ms},
            {"peer_version", fmt::format("{}.{}.{}", version >> 16, version >> 8 & 255, version & 255)},
            {"key_bits", quality.key_bits},
            {"flight_bytes", quality.flight_bytes}};
}

double trouble_of(const net::Session& session) {
    if (const auto rtc = session.rtc_quality()) return rtc->trouble();
    const auto srt = session.srt_quality();
    return srt ? srt->trouble() : 0;
}

Json standby_json(const StandbyView& standby) {
    Json out = {{"cid", standby.id},
                {"ip", standby.ip},
                {"priority", standby.priority},
                {"state", standby.sends ? "ready" : "silent"},
                {"waiting_ms", standby.waiting_ms}};
    if (standby.keyframe_age_ms) out["keyframe_age_ms"] = *standby.keyframe_age_ms;
    return out;
}

// A field that is missing where the list is empty.
template <class T>
void add_array(Json& out, const char* name, const std::vector<T>& list, Json (*entry)(const T&)) {
    if (list.empty()) return;
    Json& array = out[name] = Json::array();
    for (const T& one : list) array.push_back(entry(one));
}

void add_traffic(Json& out, const net::Traffic& traffic, const net::Rates& rates) {
    out["send_bytes"] = traffic.sent_bytes;
    out["recv_bytes"] = traffic.received_bytes;
    out["kbps"] = kbps_json(rates);
}

// A reader without credentials gets what is before the query. Passwords of cameras are for nobody.
std::string shown_url(std::string_view url, bool hides_secrets) {
    return hides_secrets ? base::bare_url(url) : base::hide_credentials(url);
}

Json stream_json(const StreamView& stream, const StreamVerdict& verdict, const Offers& offers, bool hides_secrets) {
    Json out = {{"id", stream.id},
                {"name", stream.key.name},
                {"vhost", stream.vhost_id},
                {"app", stream.key.app},
                {"tcUrl", shown_url(stream.tc_url, hides_secrets)},
                {"url", net::stream_url(stream.key)},
                {"live_ms", base::wall_ms()},
                {"clients", stream.clients},
                {"frames", stream.counters.audio_frames + stream.counters.video_frames},
                {"audio_frames", stream.counters.audio_frames},
                {"video_frames", stream.counters.video_frames}};
    add_traffic(out, stream.traffic, stream.rates);
    out["verdict"] = verdict_json(verdict);
    Json& publish = out["publish"] = {{"active", stream.published}};
    if (stream.published && !stream.publisher.empty()) publish["cid"] = stream.publisher;
    if (const Recorder* recorder = offers.recorder)
        out["recording"] =
            recorder->is_recording_by_configuration(stream.key) || recorder->is_recording_by_request(stream.key);
    out["video"] = video_json(stream.video);
    out["audio"] = audio_json(stream.audio);
    add_array(out, "tracks", stream.tracks, track_json);
    if (stream.dropped_tracks > 0) out["dropped_tracks"] = stream.dropped_tracks;
    add_array(out, "standbys", stream.standbys, standby_json);
    for (const SegmentOffer& segments : offers.segments)
        if (const std::string group = segments.variant_of ? segments.variant_of(stream.key) : ""; !group.empty())
            out[std::string(segments.name) + "_variant_of"] = group;
    out["memory"] = memory_json(stream);
    return out;
}

}  // namespace

Json session_json(const net::SessionView& session, bool hides_secrets) {
    Json out = {{"id", session.id},
                {"vhost", session.vhost_id},
                {"stream", session.stream_id},
                {"ip", session.ip},
                {"pageUrl", shown_url(session.details.page_url, hides_secrets)},
                {"swfUrl", shown_url(session.details.swf_url, hides_secrets)},
                {"tcUrl", shown_url(session.details.tc_url, hides_secrets)},
                {"url", session.url},
                {"name", session.name},
                {"type", net::session_type_name(session.type)},
                {"publish", net::publishes(session.type)},
                {"alive", static_cast<double>(session.alive_ms) / 1000}};
    add_traffic(out, session.traffic, session.rates);
    if (!session.details.transport.empty()) out["transport"] = session.details.transport;
    if (session.standby) out["standby"] = true;
    if (session.rtc) out["rtc"] = quality_json(*session.rtc);
    if (session.srt) out["srt"] = quality_json(*session.srt);
    return out;
}

std::vector<Endpoint> Statistics::endpoints() {
    Endpoints<Statistics> rows(*this);
    rows.get("/api/v1/vhosts", "the vhosts of the configuration", "total:int vhosts[@Vhost]", &Statistics::vhosts)
        .parameters = page_parameters();
    rows.get("/api/v1/vhosts/{id}", "one vhost, by id or name; code 2014: there is no such vhost",
             "vhost?@Vhost error?:str", &Statistics::vhost);
    Endpoint& streams = rows.get("/api/v1/streams", "the streams that are published, or for which players wait",
                                 "total:int streams[@Stream]", &Statistics::streams);
    streams.parameters = page_parameters();
    streams.parameters.push_back(search_parameter("those alone whose URL (vhost/app/name) has this in it"));
    streams.parameters.push_back(sort_parameter(names_of<StreamRow>(kStreamColumns)));
    streams.parameters.push_back({.name = "verdict",
                                  .doc = "those with that verdict alone",
                                  .choices = {std::begin(kVerdictLevels), std::end(kVerdictLevels)}});
    rows.get("/api/v1/streams/{id}", "one stream; code 2048: there is no such stream", "stream?@Stream error?:str",
             &Statistics::stream);
    Endpoint& clients = rows.get("/api/v1/clients",
                                 "the clients that publish and play; closed=true: closed sessions with the reason of "
                                 "their end",
                                 "total:int clients[@Client]", &Statistics::clients);
    clients.parameters = page_parameters();
    clients.parameters.push_back({.name = "closed",
                                  .type = Parameter::Type::kBoolean,
                                  .doc = "the last 1,000 sessions that ended, the newest first, with started_ms, "
                                         "ended_ms, reason and text"});
    clients.parameters.push_back(
        search_parameter("those alone whose id, address or stream's URL has this in it; not with closed"));
    clients.parameters.push_back({.name = "stream", .doc = "those of the stream with this id alone; not with closed"});
    clients.parameters.push_back(sort_parameter(names_of<ClientRow>(kClientColumns)));
    rows.get("/api/v1/clients/{id}", "one client; code 2049: there is no such client", "client?@Client error?:str",
             &Statistics::client);
    return rows.take();
}

// Both are in order of their names, so no list is made of them.
Statistics::StreamCounts Statistics::count_streams() const {
    std::vector<const live::StreamKey*> accounts;
    accounts.reserve(context_.sessions.accounts().streams());
    context_.sessions.accounts().for_each(
        [&](const net::StreamAccount& account) { accounts.push_back(&account.key()); });
    StreamCounts counts{.total = accounts.size()};
    auto next = accounts.begin();
    context_.registry.for_each([&](live::Stream& stream) {
        if (stream.published()) ++counts.published;
        while (next != accounts.end() && **next < stream.key()) ++next;
        const bool has_account = next != accounts.end() && **next == stream.key();
        if (!has_account && is_there(stream)) ++counts.total;
    });
    return counts;
}

// Nearly all streams have an account, which stores its id; computing an id takes a digest.
bool Statistics::find_stream(std::string_view id, live::StreamKey& key) const {
    const net::Accounts& accounts = context_.sessions.accounts();
    bool found = false;
    accounts.for_each([&](const net::StreamAccount& account) {
        if (found || account.id() != id) return;
        key = account.key();
        found = true;
    });
    if (found) return true;
    context_.registry.for_each([&](live::Stream& stream) {
        const live::StreamKey& one = stream.key();
        if (found || !is_there(stream) || accounts.find(one)) return;
        if (net::stream_id(one) != id) return;
        key = one;
        found = true;
    });
    return found;
}

base::Result<void> Statistics::vhosts(Request& request, Response& response) {
    TRY(context_.sessions.count(kCountFreshMs));
    const config::SnapshotPtr snapshot = context_.snapshot;
    const auto streams = keys_of_streams(context_);
    List<const config::Vhost*> list(request, context_.identity, "vhosts");
    for (const config::Vhost& vhost : snapshot->vhosts) TRY(list.add(&vhost));
    return list.send(response, [&](const config::Vhost* vhost) { return vhost_json(*vhost, streams); });
}

base::Result<void> Statistics::vhost(Request& request, Response& response) {
    TRY(context_.sessions.count(kCountFreshMs));
    const config::SnapshotPtr snapshot = context_.snapshot;
    const std::string_view id = request.capture("id");
    for (const config::Vhost& vhost : snapshot->vhosts) {
        if (vhost.name != id && net::stable_id(vhost.name) != id) continue;
        return send_fields(response, context_.identity, {{"vhost", vhost_json(vhost, keys_of_streams(context_))}});
    }
    return send_missing(response, context_.identity, Missing::kVhost);
}

size_t Statistics::clients_of_vhost(std::string_view vhost) const {
    size_t clients = 0;
    context_.registry.for_each([&](live::Stream& stream) {
        if (stream.key().vhost == vhost) clients += clients_of(stream);
    });
    return clients;
}

Json Statistics::vhost_json(const config::Vhost& vhost, const std::vector<live::StreamKey>& keys) const {
    const net::VhostAccount* account = context_.sessions.accounts().find_vhost(vhost.name);
    const net::Traffic traffic = account ? account->traffic() : net::Traffic();
    const auto segments = [&](std::string_view format) {
        const std::optional<double> length = context_.offers.fragment(vhost, format);
        Json json = {{"enabled", length.has_value()}};
        if (length) json["fragment"] = *length;
        return json;
    };
    return {{"id", net::stable_id(vhost.name)},
            {"name", vhost.name},
            {"enabled", vhost.enabled},
            {"clients", clients_of_vhost(vhost.name)},
            {"streams", std::ranges::count(keys, vhost.name, &live::StreamKey::vhost)},
            {"send_bytes", traffic.sent_bytes},
            {"recv_bytes", traffic.received_bytes},
            {"kbps", kbps_json(account ? account->rates(base::monotonic_ms()) : net::Rates())},
            {"hls", segments("hls")},
            {"dash", segments("dash")}};
}

base::Result<void> Statistics::streams(Request& request, Response& response) {
    const auto wanted = http::find_parameter(request.message.parameters, "verdict");
    const auto level = wanted ? parse_level(*wanted) : std::nullopt;
    if (wanted && !level) return send_failure(response, context_.identity, 400, "verdict is fine, notice or sick");
    TRY(context_.sessions.count(kCountFreshMs));
    const auto verdicts = TRY(verdicts_.all());
    const int64_t now_ms = base::monotonic_ms();
    List<StreamRow> list(request, context_.identity, "streams", kStreamColumns);
    for (live::StreamKey& key : keys_of_streams(context_)) {
        const std::string url = net::stream_url(key);
        const net::StreamAccount* account = context_.sessions.accounts().find(key);
        StreamRow row{.key = std::move(key), .url = url};
        row.verdict = &verdicts->of(row.key);
        if (level && row.verdict->level != *level) {
            TRY(list.skip());
            continue;
        }
        if (const auto live = context_.registry.find(row.key)) row.clients = clients_of(*live);
        if (account) row.received_kbps = account->rates(now_ms).received;
        TRY(list.add(std::move(row), {url}));
    }
    return list.send(response, [&](const StreamRow& row) {
        return stream_json(view_of(row.key, context_.registry, context_.sessions), *row.verdict, context_.offers,
                           response.hides_secrets());
    });
}

base::Result<void> Statistics::stream(Request& request, Response& response) {
    TRY(context_.sessions.count(kCountFreshMs));
    live::StreamKey key;
    if (!find_stream(request.capture("id"), key)) return send_missing(response, context_.identity, Missing::kStream);
    Json json = stream_json(view_of(key, context_.registry, context_.sessions), verdicts_.of(key), context_.offers,
                            response.hides_secrets());
    Json& outputs = json["outputs"] = Json::array();
    if (const auto live = context_.registry.find(key))
        for (const StreamOutput& output : verdicts_.outputs_of(*live)) outputs.push_back(output_json(output));
    return send_fields(response, context_.identity, {{"stream", std::move(json)}});
}

base::Result<void> Statistics::clients(Request& request, Response& response) {
    if (const auto closed = http::find_parameter(request.message.parameters, "closed").value_or("false");
        closed == "true") {
        return closed_clients(context_, request, response);
    } else if (closed != "false") {
        return send_failure(response, context_.identity, 400, "closed is true or false");
    }
    const std::string_view stream = request.message.parameter("stream");
    List<ClientRow> list(request, context_.identity, "clients", kClientColumns);
    for (size_t index = 0; index < context_.sessions.size(); ++index) {
        const net::Session& session = context_.sessions.at(index);
        const net::StreamAccount* account = session.stream_account();
        if (!account || (!stream.empty() && account->id() != stream)) {
            TRY(list.skip());
        } else {
            const std::string url = net::stream_url(account->key());
            TRY(list.add({session.id(), session.started_ms(), session.rates().sent, trouble_of(session)},
                         {session.id(), session.ip(), url}));
        }
    }
    return list.send(response, [&](const ClientRow& row) {
        const net::Session* session = context_.sessions.find(row.id);
        if (!session || !session->stream_account()) return Json();  // it has left since then
        return session_json(view_of_client(*session), response.hides_secrets());
    });
}

net::SessionView Statistics::view_of_client(const net::Session& session) const {
    net::SessionView view = session.view();
    view.standby = is_standby(session, context_.registry);
    return view;
}

base::Result<void> Statistics::client(Request& request, Response& response) {
    const net::Session* session = context_.sessions.find(request.capture("id"));
    if (!session || !session->stream_account()) return send_missing(response, context_.identity, Missing::kClient);
    return send_fields(response, context_.identity,
                       {{"client", session_json(view_of_client(*session), response.hides_secrets())}});
}

}  // namespace service::api
