#include "service/api/diagnosis/incidents.h"

#include <algorithm>

#include "base/clock.h"
#include "net/sessions/account.h"

namespace service::api {

using Kind = Incident::Kind;

std::string_view Incident::kind_name(Kind kind) {
    return kind == Kind::kPublisherGone ? "publisher_gone" : "output_failed";
}

Incidents::Incidents(live::Registry& registry, live::Events& events) : registry_(registry), events_(events) {
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
    const auto gone = lasting(stream.key(), Kind::kPublisherGone, {});
    if (!gone) return;
    end(gone);
    if (gone->to_ms - gone->from_ms < kTakeoverMs) std::erase(streams_[stream.key()], gone);
}

// A stream that is pulled for players ends with the last of them: that is none.
void Incidents::stream_unpublished(live::Stream& stream) {
    if (const auto list = streams_.find(stream.key()); list != streams_.end())
        for (const auto& incident : list->second)
            if (incident->to_ms == 0) end(incident);  // its outputs end with it
    const bool was_pulled = pulled_.erase(stream.key()) > 0;
    const size_t players = stream.demand();
    if (was_pulled && players == 0) return;
    begin({.stream = stream.key(), .kind = Kind::kPublisherGone, .players_before = players});
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

void Incidents::begin(Incident incident) {
    if (streams_.size() >= kMaxStreams && !streams_.contains(incident.stream)) drop_oldest();
    incident.number = ++begun_;
    incident.stream_id = net::stream_id(incident.stream);
    incident.from_ms = base::wall_ms();
    incident.players_after = incident.players_before;
    List& list = streams_[incident.stream];
    list.push_back(std::make_shared<Incident>(std::move(incident)));
    if (list.size() > kMaxOfStream) list.pop_front();
}

// The clock may have been set back meanwhile.
void Incidents::end(const std::shared_ptr<Incident>& incident) {
    incident->to_ms = std::max(base::wall_ms(), incident->from_ms + 1);
    incident->players_after = players_of(incident->stream);
}

void Incidents::drop_oldest() {
    const auto newest = [](const auto& stream) { return stream.second.empty() ? 0 : stream.second.back()->number; };
    streams_.erase(std::ranges::min_element(streams_, {}, newest));
}

std::vector<Incidents::Ptr> Incidents::newest(std::string_view stream_id) const {
    const int64_t oldest_ms = base::wall_ms() - kKeepMs;
    std::vector<Ptr> found;
    for (const auto& [key, list] : streams_)
        for (const auto& incident : list) {
            if (!stream_id.empty() && incident->stream_id != stream_id) break;
            if (incident->to_ms == 0 || incident->to_ms >= oldest_ms) found.push_back(incident);
        }
    std::ranges::sort(found, std::greater(), [](const Ptr& incident) { return incident->number; });
    return found;
}

}  // namespace service::api
