#include "service/api/diagnosis/incidents.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/clock.h"
#include "net/sessions/account.h"

namespace service::api {

using Kind = Incident::Kind;

std::string_view Incident::kind_name(Kind kind) {
    return kind == Kind::kPublisherGone ? "publisher_gone" : "output_failed";
}

namespace {
// Greater for one that began later.
std::pair<int64_t, uint64_t> age_of(const Incident& incident) { return {incident.from_ms, incident.number}; }
}  // namespace

Incidents::Incidents(live::Registry& registry, live::Events& events, const Offers& offers)
    : registry_(registry), events_(events), offers_(offers) {
    registry_.watch(*this);
    events_.subscribe(*this);
}

Incidents::~Incidents() {
    events_.unsubscribe(*this);
    registry_.unwatch(*this);
}

size_t Incidents::players_of(const live::StreamKey& key) const {
    const base::Ref<live::Stream> stream = registry_.find(key);
    return stream ? stream->demand() : 0;
}

void Incidents::stream_published(live::Stream& stream) {
    const live::PublicationOwner* publisher = stream.publisher();
    if (publisher && publisher->is_relay()) pulled_.insert(stream.key());
    if (publisher && publisher->is_copy()) copies_.insert(stream.key());
    is_back(stream.key());
}

void Incidents::is_back(const live::StreamKey& key) {
    const auto gone = lasting(key, Kind::kPublisherGone, {});
    if (!gone) return;
    end(gone);
    if (gone->to_ms - gone->from_ms < kTakeoverMs) std::erase(streams_[key], gone);
}

// A stream that is pulled for players ends with the last of them: that is none.
void Incidents::stream_unpublished(live::Stream& stream) {
    if (const auto list = streams_.find(stream.key()); list != streams_.end())
        for (const auto& incident : list->second)
            if (incident->to_ms == 0 && incident->kind == Kind::kOutputFailed) end(incident);  // they end with it
    const bool was_pulled = pulled_.erase(stream.key()) > 0;
    const size_t players = stream.demand();
    if (copies_.erase(stream.key()) > 0 || (was_pulled && players == 0)) return;
    begin({.stream = stream.key(), .kind = Kind::kPublisherGone, .players_before = players});
}

void Incidents::other_process_changed(const live::StreamKey& key) {
    const OtherProcess* other = offers_.other_process;
    if (!other) return;
    if (other->publishes(key)) return is_back(key);
    const auto stream = registry_.find(key);
    const bool is_here = stream && stream->published() && !copies_.contains(key);
    if (!other->is_there() && !is_here && !lasting(key, Kind::kPublisherGone, {}))
        begin({.stream = key,
               .kind = Kind::kPublisherGone,
               .players_before = players_of(key),
               .text = "the other process of the server, which had its publisher, has ended"});
}

// Its outputs ended with its process; a publisher that is gone may be here by now.
void Incidents::adopt(Incident incident) {
    incident.is_adopted = true;
    incident.stream_id = net::stream_id(incident.stream);
    incident.text.resize(std::min(incident.text.size(), kMaxTextBytes));
    const auto stream = registry_.find(incident.stream);
    const bool is_published = stream && stream->published() && !copies_.contains(incident.stream);
    if (incident.to_ms == 0 && (incident.kind == Kind::kOutputFailed || is_published))
        incident.to_ms = std::max(base::wall_ms(), incident.from_ms + 1);
    List& list = list_of(incident.stream);
    const auto next =
        std::ranges::upper_bound(list, incident.from_ms, {}, [](const auto& one) { return one->from_ms; });
    list.insert(next, std::make_shared<Incident>(std::move(incident)));
    if (list.size() > kMaxOfStream) list.pop_front();
}

void Incidents::on_output_failed(const live::OutputFailed& event) {
    const std::string text = event.reason.substr(0, kMaxTextBytes);
    if (const auto before = lasting(event.stream, Kind::kOutputFailed, event.output)) {
        before->text = text;  // it is tried again and again, in another file each time
        return;
    }
    begin({.stream = event.stream,
           .kind = Kind::kOutputFailed,
           .players_before = players_of(event.stream),
           .output = event.output,
           .text = text});
}

void Incidents::works(const live::StreamKey& key, std::string_view output) {
    if (const auto failure = lasting(key, Kind::kOutputFailed, output)) end(failure);
}

std::shared_ptr<Incident> Incidents::lasting(const live::StreamKey& key, Kind kind, std::string_view output) const {
    const auto stream = streams_.find(key);
    if (stream == streams_.end()) return nullptr;
    for (const auto& incident : stream->second)
        if (incident->to_ms == 0 && incident->kind == kind && incident->output == output) return incident;
    return nullptr;
}

Incidents::List& Incidents::list_of(const live::StreamKey& key) {
    if (streams_.size() >= kMaxStreams && !streams_.contains(key)) drop_oldest();
    return streams_[key];
}

void Incidents::begin(Incident incident) {
    incident.number = ++begun_;
    incident.stream_id = net::stream_id(incident.stream);
    incident.from_ms = base::wall_ms();
    incident.players_after = incident.players_before;
    List& list = list_of(incident.stream);
    list.push_back(std::make_shared<Incident>(std::move(incident)));
    if (list.size() > kMaxOfStream) list.pop_front();
}

// The clock may have been set back meanwhile.
void Incidents::end(const std::shared_ptr<Incident>& incident) {
    incident->to_ms = std::max(base::wall_ms(), incident->from_ms + 1);
    incident->players_after = players_of(incident->stream);
}

void Incidents::drop_oldest() {
    const auto newest = [](const auto& stream) {
        return stream.second.empty() ? std::pair<int64_t, uint64_t>() : age_of(*stream.second.back());
    };
    streams_.erase(std::ranges::min_element(streams_, {}, newest));
}

std::vector<Incidents::Ptr> Incidents::newest(std::string_view stream_id) const {
    const int64_t oldest_ms = base::wall_ms() - kKeepMs;
    const bool is_with_earlier = offers_.other_process && offers_.other_process->is_replaced();
    std::vector<Ptr> found;
    for (const auto& [key, list] : streams_)
        for (const auto& incident : list) {
            if (!stream_id.empty() && incident->stream_id != stream_id) break;
            if (incident->is_adopted && is_with_earlier) continue;
            if (incident->to_ms == 0 || incident->to_ms >= oldest_ms) found.push_back(incident);
        }
    std::ranges::sort(found, std::greater(), [](const Ptr& incident) { return age_of(*incident); });
    return found;
}

}  // namespace service::api
