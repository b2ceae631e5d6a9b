#pragma once
// What the sessions of a run share: the HTTP client and the DTLS certificate; and their leaving, some at a time.

#include <memory>
#include <vector>

#include "load/rtc/peer.h"

namespace load::rtc {

class SessionRoom {
  public:
    static base::Result<SessionRoom> make(uint32_t sessions) {
        auto context = TRY(dtls::Context::make(TRY(dtls::Certificate::make(dtls::KeyKind::kEcdsa))));
        net::HttpClient::Options options{.user_agent = "bench", .idle_connections = sessions, .idle_per_host = 16};
        return SessionRoom(std::make_unique<net::HttpClient>(options), std::move(context));
    }
    Shared shared(load::Ledger& ledger) const { return {ledger, *http_, dtls_}; }

    // DELETE of each; yields.
    template <class P>
    void leave(const std::vector<std::unique_ptr<P>>& peers) {
        constexpr size_t kAtOnce = 16;
        std::vector<runtime::Task> tasks;
        for (size_t first = 0; first < kAtOnce; ++first) {
            tasks.push_back(runtime::spawn("leave", [&peers, first] {
                for (size_t i = first; i < peers.size(); i += kAtOnce) peers[i]->leave();
            }));
        }
        for (auto& task : tasks) (void)task.join(runtime::Deadline::in_ms(10'000));
        for (auto& task : tasks) {
            if (!task.done()) task.cancel_and_join();
        }
    }

  private:
    SessionRoom(std::unique_ptr<net::HttpClient> http, std::shared_ptr<const dtls::Context> context)
        : http_(std::move(http)), dtls_(std::move(context)) {}
    std::unique_ptr<net::HttpClient> http_;
    std::shared_ptr<const dtls::Context> dtls_;
};

}  // namespace load::rtc
