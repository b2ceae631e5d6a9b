#include "service/api/lists/relays.h"

#include "service/api/lists/listing.h"

namespace service::api {

namespace {

constexpr std::string_view kKinds[] = {"ingest", "pull", "push", "forward"};

Json relay_json(const RelayedStream& relay) {
    return {
        {"kind", relay.kind},          {"vhost", relay.stream.vhost}, {"app", relay.stream.app},
        {"stream", relay.stream.name}, {"server", relay.server},      {"state", RelayedStream::state_name(relay.state)},
        {"problem", relay.problem},    {"attempts", relay.attempts},  {"bytes", relay.bytes}};
}

}  // namespace

std::vector<Endpoint> Relays::endpoints() {
    Endpoints<Relays> rows(*this);
    Endpoint& relays =
        rows.get("/api/v1/relays", "the streams that this server fetches from other servers or passes on to them",
                 "total:int failing:int relays[kind:str vhost:str app:str stream:str server:str state:str problem:str "
                 "attempts:int bytes:int]",
                 &Relays::answer);
    relays.of_both = {.lists = {{.name = "relays"}}, .sums = {"total", "failing"}};
    relays.parameters = page_parameters();
    relays.parameters.push_back(search_parameter("those whose stream or server has this in it"));
    relays.parameters.push_back(
        {.name = "kind", .doc = "those alone", .choices = {std::begin(kKinds), std::end(kKinds)}});
    relays.failures = {{400, "there is no such kind"}};
    return rows.take();
}

base::Result<void> Relays::answer(Request& request, Response& response) {
    const std::string kind(request.message.parameter("kind"));
    if (!kind.empty() && std::ranges::find(kKinds, kind) == std::end(kKinds))
        return send_failure(response, context_.identity, 400, "kind is ingest, pull, push or forward");
    // Those of a service change while the list yields.
    std::vector<RelayedStream> all;
    for (const RelayOffer& offer : context_.offers.relays)
        offer([&all](RelayedStream relay) { all.push_back(std::move(relay)); });
    List<RelayedStream> list(request, context_.identity, "relays");
    size_t failing = 0;
    for (RelayedStream& relay : all) {
        failing += relay.state == RelayedStream::State::kFails ? 1 : 0;
        if (!kind.empty() && relay.kind != kind) continue;
        const std::string text = relay.stream.text(), server = relay.server;
        TRY(list.add(std::move(relay), {text, server}));
    }
    return list.send(response, relay_json, {{"failing", failing}});
}

}  // namespace service::api
