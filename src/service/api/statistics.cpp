#include "service/api/statistics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/redaction.h"
#include "media/track.h"
#include "runtime/loop/cpu_slice.h"
#include "service/api/search.h"
#include "service/stream_view.h"

namespace service::api {

namespace {

// Number of sessions between two checks of the clock.
constexpr size_t kClockCheckInterval = 256;

constexpr std::string_view kStreamColumns[] = {"name", "clients", "recv_kbps"};
constexpr std::string_view kClientColumns[] = {"alive", "send_kbps"};

bool is_given(const net::HttpRequest& request, std::string_view name) {
    return http::find_parameter(request.message.parameters, name).has_value();
}

std::string unknown_column(std::span<const std::string_view> columns) {
    return fmt::format("sort is one of {}, or one of these with '-' before it", fmt::join(columns, ", "));
}

Json kbps(const net::Rates& rates) { return {{"recv_30s", rates.received}, {"send_30s", rates.sent}}; }

// Answers with a single object: its name, and `put` writes its fields.
base::Result<void> send_one(net::HttpResponse& response, const Identity& identity, std::string_view name,
                            const std::function<void(JsonText&)>& put) {
    std::string text = base::to_text(envelope(identity));
    text.pop_back();
    JsonText out(text);
    out.open(name);
    put(out);
    out.close();
    return response.send(200, "application/json", text + "}");
}

void put_video(JsonText& out, const std::optional<media::VideoInfo>& video) {
    if (!video) return out.null("video");
    out.open("video");
    out.field("codec", media::codec_info(video->codec).name);
    out.field("profile", video->profile);
    out.field("level", video->level);
    out.field("width", video->width);
    out.field("height", video->height);
    out.close();
}

void put_audio(JsonText& out, const std::optional<media::AudioInfo>& audio) {
    if (!audio) return out.null("audio");
    out.open("audio");
    out.field("codec", media::codec_info(audio->codec).name);
    out.field("sample_rate", audio->sample_rate);
    out.field("channel", audio->channels);
    out.field("profile", audio->profile);
    out.close();
}

// Where there are several of a kind.
void put_tracks(JsonText& out, const std::vector<TrackView>& tracks) {
    if (tracks.empty()) return;
    out.open_list("tracks");
    for (const TrackView& track : tracks) {
        out.open();
        out.field("kind", track.kind == media::Kind::kVideo ? "video" : "audio");
        out.field("track", track.index);
        out.field("codec", media::codec_info(track.codec).name);
        out.field("language", track.language);
        out.field("label", track.label);
        out.close();
    }
    out.close_list();
}

// Bytes of allocations, by purpose.
void put_memory(JsonText& out, const StreamView& stream) {
    const live::StreamMemory& held = stream.memory;
    out.open("memory");
    out.field("total", held.total());
    out.field("limit", stream.memory_limit);
    out.field("gop", held.gop);
    out.field("mix_queue", held.mix_queue);
    out.field("logs", held.logs);
    out.field("viewers", held.viewers);
    out.field("rtp", held.rtp);
    out.field("outputs", held.outputs);
    out.field("input", held.input);
    out.field("releases", stream.counters.memory_releases);
    out.close();
}

bool is_there(const live::Stream& stream) { return stream.published() || stream.viewer_count() > 0; }

void put_quality(JsonText& out, const net::RtcQuality& quality) {
    out.open("rtc");
    out.field("lost_percent", quality.lost_percent);
    if (quality.rtt_ms) {
        out.field("rtt_ms", *quality.rtt_ms);
    } else {
        out.null("rtt_ms");
    }
    out.field("jitter_ms", quality.jitter_ms);
    out.field("nacks", quality.nacks);
    out.field("sent_again", quality.retransmitted);
    out.field("keyframes_asked", quality.keyframes_asked);
    out.field("remb_kbps", quality.remb_kbps);
    out.close();
}

void put_traffic(JsonText& out, const net::Traffic& traffic, const net::Rates& rates) {
    out.field("send_bytes", traffic.sent_bytes);
    out.field("recv_bytes", traffic.received_bytes);
    out.open("kbps");
    out.field("recv_30s", rates.received);
    out.field("send_30s", rates.sent);
    out.close();
}

// Where publishers wait.
void put_standbys(JsonText& out, const std::vector<StandbyView>& standbys) {
    if (standbys.empty()) return;
    out.open_list("standbys");
    for (const StandbyView& standby : standbys) {
        out.open();
        out.field("cid", standby.id);
        out.field("ip", standby.ip);
        out.field("priority", standby.priority);
        out.field("state", standby.sends ? "ready" : "silent");
        out.field("waiting_ms", standby.waiting_ms);
        if (standby.keyframe_age_ms) out.field("keyframe_age_ms", *standby.keyframe_age_ms);
        out.close();
    }
    out.close_list();
}

// A reader without credentials gets what is before the query. Passwords of cameras are for nobody.
std::string shown_url(std::string_view url, bool hides_secrets) {
    return hides_secrets ? base::bare_url(url) : base::hide_credentials(url);
}

void put_stream(JsonText& out, const StreamView& stream, const Offers& offers, bool hides_secrets) {
    out.field("id", stream.id);
    out.field("name", stream.key.name);
    out.field("vhost", stream.vhost_id);
    out.field("app", stream.key.app);
    out.field("tcUrl", shown_url(stream.tc_url, hides_secrets));
    out.field("url", net::stream_url(stream.key));
    out.field("live_ms", base::wall_ms());
    out.field("clients", stream.clients);
    out.field("frames", stream.counters.audio_frames + stream.counters.video_frames);
    out.field("audio_frames", stream.counters.audio_frames);
    out.field("video_frames", stream.counters.video_frames);
    put_traffic(out, stream.traffic, stream.rates);
    out.open("publish");
    out.field("active", stream.published);
    if (stream.published && !stream.publisher.empty()) out.field("cid", stream.publisher);
    out.close();
    if (const Recorder* recorder = offers.recorder)
        out.field("recording",
                  recorder->is_recording_by_configuration(stream.key) || recorder->is_recording_by_request(stream.key));
    put_video(out, stream.video);
    put_audio(out, stream.audio);
    put_tracks(out, stream.tracks);
    if (stream.dropped_tracks > 0) out.field("dropped_tracks", stream.dropped_tracks);
    put_standbys(out, stream.standbys);
    put_memory(out, stream);
}

}  // namespace

void put_session(JsonText& out, const net::SessionView& session, bool hides_secrets) {
    out.field("id", session.id);
    out.field("vhost", session.vhost_id);
    out.field("stream", session.stream_id);
    out.field("ip", session.ip);
    out.field("pageUrl", shown_url(session.details.page_url, hides_secrets));
    out.field("swfUrl", shown_url(session.details.swf_url, hides_secrets));
    out.field("tcUrl", shown_url(session.details.tc_url, hides_secrets));
    out.field("url", session.url);
    out.field("name", session.name);
    out.field("type", net::session_type_name(session.type));
    out.field("publish", net::publishes(session.type));
    out.field("alive", static_cast<double>(session.alive_ms) / 1000);
    put_traffic(out, session.traffic, session.rates);
    if (session.standby) out.field("standby", true);
    if (session.rtc) put_quality(out, *session.rtc);
}

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
        if (!row.pattern.ends_with('}')) row.parameters = page_parameters();
        all.push_back(std::move(row));
    };
    add("/api/v1/vhosts", "the vhosts of the configuration", "total:int vhosts[@Vhost]", &Statistics::vhosts);
    add("/api/v1/vhosts/{id}", "one vhost, by id or name; code 2014: there is no such vhost", "vhost?@Vhost error?:str",
        &Statistics::vhost);
    add("/api/v1/streams", "the streams that are published, or for which players wait", "total:int streams[@Stream]",
        &Statistics::streams);
    all.back().parameters.push_back(search_parameter("those alone whose URL (vhost/app/name) has this in it"));
    all.back().parameters.push_back(sort_parameter(kStreamColumns));
    add("/api/v1/streams/{id}", "one stream; code 2048: there is no such stream", "stream?@Stream error?:str",
        &Statistics::stream);
    add("/api/v1/clients",
        "the clients that publish and play; closed=true: closed sessions with the reason of "
        "their end",
        "total:int clients[@Client]", &Statistics::clients);
    all.back().parameters.push_back({Parameter::In::kQuery, "closed", Parameter::Type::kBoolean,
                                     "the last 1,000 sessions that ended, the newest first, with started_ms, ended_ms, "
                                     "reason and text"});
    all.back().parameters.push_back(
        search_parameter("those alone whose id, address or stream's URL has this in it; not with closed"));
    all.back().parameters.push_back({Parameter::In::kQuery, "stream", Parameter::Type::kText,
                                     "those of the stream with this id alone; not with closed"});
    all.back().parameters.push_back(sort_parameter(kClientColumns));
    add("/api/v1/clients/{id}", "one client; code 2049: there is no such client", "client?@Client error?:str",
        &Statistics::client);
    return all;
}

// Streams with a publisher, a player, or another session that counts as a player (HLS). Both sources are nearly sorted
// by name.
std::vector<live::StreamKey> Statistics::keys() const {
    std::vector<live::StreamKey> keys;
    keys.reserve(registry_.size() + sessions_.accounts().streams());
    registry_.for_each([&](live::Stream& stream) {
        if (is_there(stream)) keys.push_back(stream.key());
    });
    const auto middle = static_cast<ptrdiff_t>(keys.size());
    sessions_.accounts().for_each([&](const net::StreamAccount& account) { keys.push_back(account.key()); });
    const auto begin = keys.begin() + middle;
    if (!std::is_sorted(begin, keys.end())) std::sort(begin, keys.end());
    std::inplace_merge(keys.begin(), begin, keys.end());
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    return keys;
}

// Both are in order of their names, so no list is made of them.
Statistics::StreamCounts Statistics::count_streams() const {
    std::vector<const live::StreamKey*> accounts;
    accounts.reserve(sessions_.accounts().streams());
    sessions_.accounts().for_each([&](const net::StreamAccount& account) { accounts.push_back(&account.key()); });
    StreamCounts counts{.total = accounts.size()};
    auto next = accounts.begin();
    registry_.for_each([&](live::Stream& stream) {
        if (stream.published()) ++counts.published;
        while (next != accounts.end() && **next < stream.key()) ++next;
        const bool has_account = next != accounts.end() && **next == stream.key();
        if (!has_account && is_there(stream)) ++counts.total;
    });
    return counts;
}

// Nearly all streams have an account, which stores its id; computing an id takes a digest.
bool Statistics::find_stream(std::string_view id, live::StreamKey& key) const {
    const net::Accounts& accounts = sessions_.accounts();
    bool found = false;
    accounts.for_each([&](const net::StreamAccount& account) {
        if (found || account.id() != id) return;
        key = account.key();
        found = true;
    });
    if (found) return true;
    registry_.for_each([&](live::Stream& stream) {
        const live::StreamKey& one = stream.key();
        if (found || !is_there(stream) || accounts.find(one)) return;
        if (net::stream_id(one) != id) return;
        key = one;
        found = true;
    });
    return found;
}

base::Result<void> Statistics::vhosts(Request& request, Response& response) {
    const Page page = page_of(request);
    TRY(sessions_.count(kListFreshMs));
    const config::SnapshotPtr snapshot = snapshot_();
    const auto streams = keys();
    ListWriter list(identity_, "vhosts");
    for (size_t i = 0; i < snapshot->vhosts.size(); ++i)
        if (page.has(i)) TRY(list.add(vhost_json(snapshot->vhosts[i], streams)));
    return list.send(response, snapshot->vhosts.size());
}

base::Result<void> Statistics::vhost(Request& request, Response& response) {
    TRY(sessions_.count(kListFreshMs));
    const config::SnapshotPtr snapshot = snapshot_();
    const std::string_view id = request.capture("id");
    for (const config::Vhost& vhost : snapshot->vhosts) {
        if (vhost.name != id && net::stable_id(vhost.name) != id) continue;
        Json body = envelope(identity_);
        body["vhost"] = vhost_json(vhost, keys());
        return send_json(response, body);
    }
    return send_missing(response, identity_, Missing::kVhost);
}

std::optional<double> Statistics::hls_fragment(const config::Vhost& vhost) const {
    const auto hls = std::ranges::find(offers_.segments, "hls", &SegmentOffer::name);
    return hls != offers_.segments.end() ? hls->fragment(vhost) : std::nullopt;
}

Json Statistics::vhost_json(const config::Vhost& vhost, const std::vector<live::StreamKey>& keys) const {
    const net::VhostAccount* account = sessions_.accounts().find_vhost(vhost.name);
    const net::Traffic traffic = account ? account->traffic() : net::Traffic();
    const std::optional<double> fragment = hls_fragment(vhost);
    Json hls = {{"enabled", fragment.has_value()}};
    if (fragment) hls["fragment"] = *fragment;
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
    const Page page = page_of(request);
    TRY(sessions_.count(kListFreshMs));
    if (is_given(request, "search") || is_given(request, "sort")) return selected_streams(request, response, page);
    const auto all = keys();
    ListWriter list(identity_, "streams");
    for (size_t i = page.start; i < all.size() && page.has(i); ++i) {
        list.text().open();
        put_stream(list.text(), view_of(all[i], registry_, sessions_), offers_, response.hides_secrets());
        list.text().close();
        TRY(list.next());
    }
    return list.send(response, all.size());
}

base::Result<void> Statistics::selected_streams(Request& request, Response& response, const Page& page) {
    const SortParameter sort = parse_sort(http::find_parameter(request.message.parameters, "sort"), kStreamColumns);
    if (!sort.valid) return send_failure(response, identity_, 400, unknown_column(kStreamColumns));
    const Search search(request.message.parameter("search"));
    const auto rows = TRY(snapshots_.streams([this] { return keys(); }));
    std::vector<uint32_t> found;
    runtime::CpuSlice walk(kClockCheckInterval);
    for (uint32_t i = 0; i < rows->size(); ++i) {
        if (search.matches((*rows)[i].text)) found.push_back(i);
        TRY(walk.step());
    }
    const size_t total = found.size();
    const Order order = sort.order.value_or(Order{3});
    cut_page(found, page, order.descending, [&](uint32_t a, uint32_t b) {
        const StreamRow &one = (*rows)[a], &other = (*rows)[b];
        switch (order.column) {
            case 0:
                return one.key.name < other.key.name;
            case 1:
                return one.clients < other.clients;
            case 2:
                return one.received_kbps < other.received_kbps;
            default:
                return false;  // as the whole list: by vhost, application and name
        }
    });
    ListWriter list(identity_, "streams");
    for (const uint32_t index : found) {
        list.text().open();
        put_stream(list.text(), view_of((*rows)[index].key, registry_, sessions_), offers_, response.hides_secrets());
        list.text().close();
        TRY(list.next());
    }
    return list.send(response, total);
}

base::Result<void> Statistics::stream(Request& request, Response& response) {
    TRY(sessions_.count(kListFreshMs));
    live::StreamKey key;
    if (!find_stream(request.capture("id"), key)) return send_missing(response, identity_, Missing::kStream);
    return send_one(response, identity_, "stream", [&](JsonText& out) {
        put_stream(out, view_of(key, registry_, sessions_), offers_, response.hides_secrets());
    });
}

base::Result<void> Statistics::clients(Request& request, Response& response) {
    if (const auto closed = http::find_parameter(request.message.parameters, "closed").value_or("false");
        closed == "true") {
        return closed_(request, response);
    } else if (closed != "false") {
        return send_failure(response, identity_, 400, "closed is true or false");
    }
    const Page page = page_of(request);
    if (is_given(request, "search") || is_given(request, "sort") || is_given(request, "stream"))
        return selected_clients(request, response, page);
    ListWriter list(identity_, "clients");
    runtime::CpuSlice walk(kClockCheckInterval);
    size_t seen = 0;
    for (size_t index = 0; index < sessions_.size(); ++index) {
        const net::Session& session = sessions_.at(index);
        if (session.stream_account() && page.has(seen++)) {
            list.text().open();
            put_session(list.text(), view_of_client(session), response.hides_secrets());
            list.text().close();
            TRY(list.next());
        } else {
            TRY(walk.step());
        }
    }
    return list.send(response, seen);
}

net::SessionView Statistics::view_of_client(const net::Session& session) const {
    net::SessionView view = session.view();
    view.standby = is_standby(session, registry_);
    return view;
}

base::Result<void> Statistics::selected_clients(Request& request, Response& response, const Page& page) {
    const SortParameter sort = parse_sort(http::find_parameter(request.message.parameters, "sort"), kClientColumns);
    if (!sort.valid) return send_failure(response, identity_, 400, unknown_column(kClientColumns));
    const Search search(request.message.parameter("search"));
    const std::string_view stream = request.message.parameter("stream");
    const auto rows = TRY(snapshots_.clients());
    std::vector<uint8_t> stream_matches;  // by stream: its own text is searched once
    for (const ClientRows::Stream& one : rows->streams) stream_matches.push_back(search.matches(one.text));
    std::vector<uint32_t> found;
    runtime::CpuSlice walk(kClockCheckInterval);
    for (uint32_t i = 0; i < rows->clients.size(); ++i) {
        const ClientRow& row = rows->clients[i];
        const bool is_of_stream = stream.empty() || rows->streams[row.stream].id == stream;
        if (is_of_stream && (stream_matches[row.stream] || search.matches(row.text))) found.push_back(i);
        TRY(walk.step());
    }
    const size_t total = found.size();
    const Order order = sort.order.value_or(Order{2});
    cut_page(found, page, order.descending, [&](uint32_t a, uint32_t b) {
        const ClientRow &one = rows->clients[a], &other = rows->clients[b];
        switch (order.column) {
            case 0:
                return one.started_ms > other.started_ms;
            case 1:
                return one.sent_kbps < other.sent_kbps;
            default:
                return false;
        }
    });
    ListWriter list(identity_, "clients");
    for (const uint32_t index : found) {
        // A client that has left since then is left out.
        const net::Session* session = sessions_.find(rows->clients[index].id);
        if (!session || !session->stream_account()) continue;
        list.text().open();
        put_session(list.text(), view_of_client(*session), response.hides_secrets());
        list.text().close();
        TRY(list.next());
    }
    return list.send(response, total);
}

base::Result<void> Statistics::client(Request& request, Response& response) {
    const net::Session* session = sessions_.find(request.capture("id"));
    if (!session || !session->stream_account()) return send_missing(response, identity_, Missing::kClient);
    return send_one(response, identity_, "client",
                    [&](JsonText& out) { put_session(out, view_of_client(*session), response.hides_secrets()); });
}

}  // namespace service::api
