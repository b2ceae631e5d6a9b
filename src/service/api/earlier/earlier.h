#pragma once
// Earlier: what lists of the API need of the process that this one has replaced, while both serve (an upgrade): its
// entries, in pieces that neither block the loop nor are large. All that it says is limited in size and time; where it
// says nothing, answers have what this process has.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "runtime/loop/cached_value.h"
#include "service/api/diagnosis/stream_diagnosis.h"
#include "service/api/table/context.h"
#include "service/api/table/endpoint.h"
#include "service/api/table/envelope.h"
#include "service/pass_on.h"

namespace service::api {

// Of a stream of that process, as /streams of its own router says: "vhost", "app", "name", clients, kbit/s, published,
// verdict.
struct EarlierStream {
    size_t clients = 0;
    uint64_t received_kbps = 0;
    bool is_published = false;  // by a client of it
    VerdictLevel level{};

    bool operator==(const EarlierStream&) const = default;
};
using EarlierStreams = std::map<live::StreamKey, EarlierStream>;

class Earlier {
  public:
    static constexpr int64_t kAnswerMs = 1'000, kStreamsFreshMs = 500;
    static constexpr int64_t kStreamsMs = 3'000;   // of all pieces of all its streams
    static constexpr size_t kPieceEntries = 500;   // of a list, in one answer
    static constexpr size_t kMaxEntries = 10'000;  // of a list, in all
    static constexpr size_t kMaxJoined = 1'000;    // of each process, in a list that join() makes
    static constexpr size_t kMaxStreams = 100'000;

    // It must outlive this.
    explicit Earlier(const Context& context) : context_(context) {}

    // Whether answers to this request are about both processes.
    bool has(const Request& request) const { return has_earlier_process(context_.offers, request); }

    // Passes the call on as it is, with its body: true, it has been answered. The caller has checked what the client
    // may do. Yields.
    base::Result<bool> passes_on(const Request& request, Response& response, http::Method method = http::Method::kGet,
                                 int64_t within_ms = kAnswerMs);
    // The answer to the request will have what both have, as the row says, which must outlive the response. Changes the
    // page that the request asks for: it ends behind kMaxJoined entries of each. One behind that has this process's
    // entries, with the totals of both.
    void join(const net::ApiOfBoth& how, Request& request, Response& response);
    // The whole answer; null: none came. Yields.
    base::Result<Json> answer(const Request& request, std::string target);
    // The same with all secrets, for this process itself.
    base::Result<Json> answer(std::string target);

    // Entries start to start + count of a list of it, with the parameters of the request: path is the list's, name its
    // member in the answer. total: of the whole list. Yields.
    struct Entries {
        std::vector<Json> entries{};
        size_t total = 0;
    };
    base::Result<Entries> list(const Request& request, std::string_view path, std::string_view name, size_t start,
                               size_t count);
    bool is_there() const { return context_.offers.other_process && context_.offers.other_process->is_replaced(); }
    bool publishes(const live::StreamKey& key) const {
        return is_there() && context_.offers.other_process->publishes(key);
    }
    // The member `name` of what it answers; null: it has none. Yields.
    base::Result<Json> object(const Request& request, const std::string& target, std::string_view name);
    // The same without secrets, for what is made for several callers.
    base::Result<Json> object(const std::string& target, std::string_view name);
    // Its streams; empty without such a process, or an answer. Yields.
    using StreamsPtr = std::shared_ptr<const EarlierStreams>;  // never null
    base::Result<StreamsPtr> streams(const Request& request);
    base::Result<StreamsPtr> streams();

  private:
    // Of who asks.
    struct Rights {
        bool sees_secrets = false, sees_records = false;
    };
    Rights rights_of(const Request& request) const;
    // With '&' before them; those of JSONP and of the page are the caller's.
    static std::string passed_parameters(const Request& request);
    base::Result<Json> ask(std::string target, Rights rights);
    base::Result<Json> whole(std::string target, Rights rights);
    base::Result<Json> member(const std::string& target, std::string_view name, Rights rights);
    base::Result<EarlierStreams> read_streams();

    const Context& context_;
    runtime::CachedValue<EarlierStreams> streams_{"the streams of the process before", kStreamsFreshMs, kAnswerMs};
};

// A page of at most Earlier::kPieceEntries, with an array of arrays; adds to the streams. False: it is none. Pure.
bool read_earlier_streams(const Json& page, EarlierStreams& streams, size_t& total);
// One of them, for the other side. Pure.
Json earlier_stream_json(const live::StreamKey& key, const EarlierStream& stream);

// The sums of a client list's rows in both, for a stream and a vhost: `base` with the clients and traffic of the other
// one. Members that are no numbers count as 0. Pure.
void add_counts(Json& base, const Json& other);
// Adds the outputs of the stream that are not there yet. Pure.
void add_outputs(Json& base, const Json& other);
// Adds each number of an object to that of the same name, or as a new one. Pure.
void add_numbers(Json& base, const Json& other);

}  // namespace service::api
