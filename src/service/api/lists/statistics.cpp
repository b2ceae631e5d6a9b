#include "service/api/lists/statistics.h"

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/redaction.h"
#include "media/track.h"
#include "protocol/http/url.h"
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
    VerdictLevel level{};                    // that of the process that has the publisher
    bool is_in_earlier = false;              // the process that this one has replaced has it, too
};
constexpr Column<StreamRow> kStreamColumns[] = {
    {"name", [](const StreamRow& a, const StreamRow& b) { return natural_less(a.url, b.url); }},
    {"clients", [](const StreamRow& a, const StreamRow& b) { return a.clients < b.clients; }},
    {"recv_kbps", [](const StreamRow& a, const StreamRow& b) { return a.received_kbps < b.received_kbps; }},
    // Descending, the sick ones come first, and those of a level in the order of their names.
    {"verdict", [](const StreamRow& a, const StreamRow& b) {
         if (a.level != b.level) return a.level < b.level;
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
    Json entry{};        // of a client of the process that this one has replaced; else null
};
constexpr Column<ClientRow> kClientColumns[] = {
    {"alive", [](const ClientRow& a, const ClientRow& b) { return a.started_ms > b.started_ms; }},
    {"send_kbps", [](const ClientRow& a, const ClientRow& b) { return a.sent_kbps < b.sent_kbps; }},
    {"trouble", [](const ClientRow& a, const ClientRow& b) { return a.trouble < b.trouble; }}};

// Its publisher is in the other process, or nowhere.
bool is_elsewhere(const live::Stream& stream) { return !stream.published() || stream.publisher()->is_copy(); }

// An entry of the list of that process. It has "trouble" only there.
ClientRow earlier_client(Json entry, int64_t now_ms) {
    const auto number = [](const Json& object, const char* name) {
        const auto found = object.is_object() ? object.find(name) : object.end();
        return found != object.end() && found->is_number() ? std::clamp(found->get<double>(), 0.0, 1e12) : 0.0;
    };
    ClientRow row;
    row.started_ms = now_ms - static_cast<int64_t>(1000 * number(entry, "alive"));
    row.trouble = number(entry, "trouble");
    if (const auto rates = entry.find("kbps"); rates != entry.end())
        row.sent_kbps = static_cast<uint64_t>(number(*rates, "send_30s"));
    entry.erase("trouble");
    row.entry = std::move(entry);
    return row;
}

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

PassOn client_request(http::Method method, std::string_view id) {
    return {OtherRequest::Router::kApi, method, "/api/v1/clients/" + http::percent_encode(id, "")};
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
        if (stream.published() && !stream.publisher()->is_copy()) ++counts.published;
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
    const auto streams = TRY(keys_of_both(request));
    List<const config::Vhost*> list(request, context_.identity, "vhosts");
    for (const config::Vhost& vhost : snapshot->vhosts) TRY(list.add(&vhost));
    return list.send(
        response, [&](const config::Vhost* vhost) { return vhost_of_both(*vhost, streams, request).value_or(Json()); });
}

base::Result<void> Statistics::vhost(Request& request, Response& response) {
    TRY(context_.sessions.count(kCountFreshMs));
    const config::SnapshotPtr snapshot = context_.snapshot;
    const std::string_view id = request.capture("id");
    for (const config::Vhost& vhost : snapshot->vhosts) {
        if (vhost.name != id && net::stable_id(vhost.name) != id) continue;
        const auto streams = TRY(keys_of_both(request));
        return send_fields(response, context_.identity, {{"vhost", TRY(vhost_of_both(vhost, streams, request))}});
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

// keys: of both.
base::Result<Json> Statistics::vhost_of_both(const config::Vhost& vhost, const std::vector<live::StreamKey>& keys,
                                             const Request& request) {
    Json json = vhost_json(vhost, keys);
    if (earlier_.has(request))
        add_counts(json, TRY(earlier_.object(request, "/api/v1/vhosts/" + net::stable_id(vhost.name), "vhost")));
    return json;
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

// With the streams of the other process.
base::Result<std::vector<live::StreamKey>> Statistics::keys_of_both(const Request& request) {
    const auto earlier = TRY(earlier_.streams(request));
    std::vector<live::StreamKey> all = keys_of_streams(context_);
    const auto middle = static_cast<ptrdiff_t>(all.size());
    for (const auto& [key, stream] : *earlier) all.push_back(key);
    std::inplace_merge(all.begin(), all.begin() + middle, all.end());
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
}

base::Result<void> Statistics::streams(Request& request, Response& response) {
    const auto wanted = http::find_parameter(request.message.parameters, "verdict");
    const auto level = wanted ? parse_level(*wanted) : std::nullopt;
    if (wanted && !level) return send_failure(response, context_.identity, 400, "verdict is fine, notice or sick");
    TRY(context_.sessions.count(kCountFreshMs));
    const auto verdicts = TRY(verdicts_.all());
    const auto earlier = TRY(earlier_.streams(request));
    const int64_t now_ms = base::monotonic_ms();
    List<StreamRow> list(request, context_.identity, "streams", kStreamColumns);
    for (live::StreamKey& key : TRY(keys_of_both(request))) {
        const std::string url = net::stream_url(key);
        const net::StreamAccount* account = context_.sessions.accounts().find(key);
        StreamRow row{.key = std::move(key), .url = url};
        row.verdict = &verdicts->of(row.key);
        row.level = row.verdict->level;
        const auto live = context_.registry.find(row.key);
        if (live) row.clients = clients_of(*live);
        if (account) row.received_kbps = account->rates(now_ms).received;
        if (const auto other = earlier->find(row.key); other != earlier->end()) {
            row.is_in_earlier = true;
            row.clients += other->second.clients;
            row.received_kbps += other->second.received_kbps;
            if (!live || is_elsewhere(*live)) row.level = other->second.level;
        }
        if (level && row.level != *level) {
            TRY(list.skip());
            continue;
        }
        TRY(list.add(std::move(row), {url}));
    }
    return list.send(response, [&](const StreamRow& row) -> Json {
        const StreamView view = view_of(row.key, context_.registry, context_.sessions);
        Json here = stream_json(view, *row.verdict, context_.offers, response.hides_secrets());
        if (!row.is_in_earlier) return here;
        return stream_of_both(view, std::move(here), request).value_or(Json());
    });
}

// What the stream is is known where its publisher is; both have clients of it. here: what this process has.
base::Result<Json> Statistics::stream_of_both(const StreamView& view, Json here, const Request& request) {
    Json there = TRY(earlier_.object(request, "/api/v1/streams/" + net::stream_id(view.key), "stream"));
    const bool is_theirs = view.is_copy || !view.published;
    if (!there.is_object()) return here;
    if (is_theirs) std::swap(here, there);
    add_counts(here, there);
    add_outputs(here, there);
    return here;
}

base::Result<void> Statistics::stream(Request& request, Response& response) {
    TRY(context_.sessions.count(kCountFreshMs));
    live::StreamKey key;
    bool is_found = find_stream(request.capture("id"), key), is_in_earlier = false;
    const auto earlier = TRY(earlier_.streams(request));
    for (const auto& [other, facts] : *earlier) {
        if (is_found ? other != key : net::stream_id(other) != request.capture("id")) continue;
        is_found = is_in_earlier = true;
        key = other;
        break;
    }
    if (!is_found) return send_missing(response, context_.identity, Missing::kStream);
    const StreamView view = view_of(key, context_.registry, context_.sessions);
    Json json = stream_json(view, verdicts_.of(key), context_.offers, response.hides_secrets());
    Json& outputs = json["outputs"] = Json::array();
    if (const auto live = context_.registry.find(key))
        for (const StreamOutput& output : verdicts_.outputs_of(*live)) outputs.push_back(output_json(output));
    if (is_in_earlier) json = TRY(stream_of_both(view, std::move(json), request));
    return send_fields(response, context_.identity, {{"stream", std::move(json)}});
}

base::Result<void> Statistics::brief_streams(Request& request, Response& response) {
    TRY(context_.sessions.count(kCountFreshMs));
    const auto verdicts = TRY(verdicts_.all());
    const Page page = page_of(request);
    const int64_t now_ms = base::monotonic_ms();
    Json list = Json::array();
    size_t total = 0;
    for (const live::StreamKey& key : keys_of_streams(context_)) {
        if (!page.has(total++)) continue;
        EarlierStream brief;
        if (const auto live = context_.registry.find(key)) {
            brief.clients = clients_of(*live);
            brief.is_published = live->published() && !live->publisher()->is_copy();
        }
        brief.level = verdicts->of(key).level;
        if (const net::StreamAccount* account = context_.sessions.accounts().find(key))
            brief.received_kbps = account->rates(now_ms).received;
        list.push_back(earlier_stream_json(key, brief));
    }
    return send_json(response, {{"total", total}, {"streams", std::move(list)}});
}

void Statistics::add_other_process_routes(net::HttpRouter& router) {
    net::HttpRoute route;
    route.methods = {http::Method::kGet};
    route.pattern = "/streams";
    route.summary = "the streams, in short";
    route.handler = [this](Request& request, Response& response) { return brief_streams(request, response); };
    router.add(std::move(route));
}

base::Result<void> Statistics::clients(Request& request, Response& response) {
    if (const auto closed = http::find_parameter(request.message.parameters, "closed").value_or("false");
        closed == "true") {
        return closed_clients(context_, earlier_, request, response);
    } else if (closed != "false") {
        return send_failure(response, context_.identity, 400, "closed is true or false");
    }
    const std::string_view stream = request.message.parameter("stream");
    List<ClientRow> list(request, context_.identity, "clients", kClientColumns);
    for (size_t index = 0; index < context_.sessions.size(); ++index) {
        const net::Session& session = context_.sessions.at(index);
        const net::StreamAccount* account = session.stream_account();
        if (!account || session.is_with_other_process() || (!stream.empty() && account->id() != stream)) {
            TRY(list.skip());
        } else {
            const std::string url = net::stream_url(account->key());
            TRY(list.add({session.id(), session.started_ms(), session.rates().sent, trouble_of(session)},
                         {session.id(), session.ip(), url}));
        }
    }
    if (earlier_.has(request)) {
        const auto needed = list.needed();
        auto others = TRY(earlier_.list(request, "/api/v1/clients", "clients", needed.start, needed.count));
        std::vector<ClientRow> rows;
        for (Json& entry : others.entries) rows.push_back(earlier_client(std::move(entry), base::wall_ms()));
        list.add_others(std::move(rows), others.total);
    }
    return list.send(response, [&](const ClientRow& row) {
        if (!row.entry.is_null()) return row.entry;
        const net::Session* session = context_.sessions.find(row.id);
        if (!session || !session->stream_account()) return Json();  // it has left since then
        Json entry = session_json(view_of_client(*session), response.hides_secrets());
        if (request.is_of_other_process) entry["trouble"] = row.trouble;
        return entry;
    });
}

net::SessionView Statistics::view_of_client(const net::Session& session) const {
    net::SessionView view = session.view();
    view.standby = is_standby(session, context_.registry);
    return view;
}

// Null: it is no client of this process.
const net::Session* Statistics::find_client(std::string_view id) const {
    const net::Session* session = context_.sessions.find(id);
    return session && session->stream_account() && !session->is_with_other_process() ? session : nullptr;
}

base::Result<void> Statistics::client(Request& request, Response& response) {
    const std::string_view id = request.capture("id");
    const net::Session* session = find_client(id);
    if (!session && TRY(pass_on(context_.offers, client_request(http::Method::kGet, id), request, response))) return {};
    if (!session) return send_missing(response, context_.identity, Missing::kClient);
    return send_fields(response, context_.identity,
                       {{"client", session_json(view_of_client(*session), response.hides_secrets())}});
}

}  // namespace service::api
