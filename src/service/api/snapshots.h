#pragma once
// Snapshots of all streams and all clients, which searches and sorted lists are made from. A snapshot is made at most
// four times a second for all callers together, in pieces between which other coroutines run, and is kept for a few
// seconds. It has what a list is searched for and sorted by; everything else is read when an entry is written.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/sessions/session.h"
#include "runtime/loop/sync.h"

namespace service::api {

// Maximum age of lists: a busy dashboard causes at most four passes over all sessions per second.
inline constexpr int64_t kListFreshMs = 250;

struct StreamRow {
    base::StreamKey key{};
    std::string text{};  // what is searched, in lower case
    size_t clients = 0;
    uint64_t received_kbps = 0;
};
using StreamRows = std::vector<StreamRow>;

struct ClientRow {
    std::string id;
    std::string text;     // what is searched, in lower case: id and address
    uint32_t stream = 0;  // index into ClientRows::streams
    uint32_t sent_kbps = 0;
    int64_t started_ms = 0;  // wall clock
};
struct ClientRows {
    struct Stream {
        std::string id;
        std::string text;  // what is searched, in lower case
    };
    std::vector<Stream> streams;
    std::vector<ClientRow> clients;
};

class Snapshots {
  public:
    // It must outlive this.
    explicit Snapshots(net::SessionTable& sessions) : sessions_(sessions) {}

    // keys: of all streams, read when a snapshot is made. The accounts are up to date (SessionTable::count). Both
    // yield.
    base::Result<std::shared_ptr<const StreamRows>> streams(const std::function<std::vector<base::StreamKey>()>& keys);
    base::Result<std::shared_ptr<const ClientRows>> clients();
    // Frees snapshots that nobody has asked for lately. To be called every few seconds.
    void drop_old();

  private:
    template <class Rows>
    struct Kept {
        std::shared_ptr<const Rows> rows{};
        int64_t made_ms = 0;  // monotonic
        bool making = false;
        runtime::Event made{"a list"};
    };
    template <class Rows, class Make>
    base::Result<std::shared_ptr<const Rows>> renewed(Kept<Rows>& kept, const Make& make);
    base::Result<std::shared_ptr<const ClientRows>> make_clients() const;

    net::SessionTable& sessions_;
    Kept<StreamRows> streams_;
    Kept<ClientRows> clients_;
};

}  // namespace service::api
