#include "service/api/snapshots.h"

#include <algorithm>

#include "base/clock.h"
#include "runtime/loop/cpu_slice.h"
#include "service/api/search.h"

namespace service::api {

namespace {
constexpr int64_t kSnapshotWaitMs = 5'000;
constexpr int64_t kSnapshotKeepMs = 5'000;
// Number of entries between two checks of the clock.
constexpr size_t kRowsPerCheck = 64;
}  // namespace

template <class Rows, class Make>
base::Result<std::shared_ptr<const Rows>> Snapshots::renewed(Kept<Rows>& kept, const Make& make) {
    const runtime::Deadline patience = runtime::Deadline::in_ms(kSnapshotWaitMs);
    while (kept.making) TRY(kept.made.wait_next(patience));
    if (kept.rows && base::monotonic_ms() - kept.made_ms < kListFreshMs) return kept.rows;
    kept.making = true;
    base::Result<std::shared_ptr<const Rows>> rows = make();
    kept.making = false;
    if (rows) {
        kept.rows = *rows;
        kept.made_ms = base::monotonic_ms();
    }
    kept.made.pulse();
    return rows;
}

base::Result<std::shared_ptr<const StreamRows>> Snapshots::streams(
    const std::function<std::vector<base::StreamKey>()>& keys) {
    const auto make = [&]() -> base::Result<std::shared_ptr<const StreamRows>> {
        auto rows = std::make_shared<StreamRows>();
        std::vector<base::StreamKey> all = keys();
        rows->reserve(all.size());
        const int64_t now_ms = base::monotonic_ms();
        runtime::CpuSlice slice(kRowsPerCheck);
        for (base::StreamKey& key : all) {
            StreamRow row{.text = lower_case(net::stream_url(key))};
            if (const net::StreamAccount* account = sessions_.accounts().find(key)) {
                row.clients = account->clients();
                row.received_kbps = account->rates(now_ms).received;
            }
            row.key = std::move(key);
            rows->push_back(std::move(row));
            TRY(slice.step());
        }
        return rows;
    };
    return renewed(streams_, make);
}

base::Result<std::shared_ptr<const ClientRows>> Snapshots::clients() {
    return renewed(clients_, [this] { return make_clients(); });
}

base::Result<std::shared_ptr<const ClientRows>> Snapshots::make_clients() const {
    auto rows = std::make_shared<ClientRows>();
    rows->clients.reserve(sessions_.size());
    std::unordered_map<std::string, uint32_t> streams;  // indexes by id
    runtime::CpuSlice slice(kRowsPerCheck);
    for (size_t index = 0; index < sessions_.size(); ++index) {
        const net::Session& session = sessions_.at(index);
        if (const net::StreamAccount* account = session.stream_account()) {
            const auto [stream, is_new] = streams.try_emplace(account->id(), static_cast<uint32_t>(streams.size()));
            if (is_new) rows->streams.push_back({account->id(), lower_case(net::stream_url(account->key()))});
            const uint64_t sent_kbps = std::min<uint64_t>(session.rates().sent, UINT32_MAX);
            rows->clients.push_back({session.id(), lower_case(session.id() + "\n" + session.ip()), stream->second,
                                     static_cast<uint32_t>(sent_kbps), session.started_ms()});
        }
        TRY(slice.step());
    }
    return rows;
}

void Snapshots::drop_old() {
    const int64_t before_ms = base::monotonic_ms() - kSnapshotKeepMs;
    if (streams_.made_ms < before_ms) streams_.rows.reset();
    if (clients_.made_ms < before_ms) clients_.rows.reset();
}

}  // namespace service::api
