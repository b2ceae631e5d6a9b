#pragma once
// For fuzz targets of a whole server: clients in memory, in simulated time, and the steps that are the same for every
// protocol: clients send requests, sessions and media, pipelined and cut anywhere; they are kicked, stop reading, end,
// reset and connect again; time passes; the configuration is reloaded. Behind each input no coroutine is left.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "live/hub/registry.h"
#include "net/access/gate.h"
#include "net/sessions/session.h"
#include "runtime/loop/fuzz_testing.h"
#include "runtime/socket/memory_stream_testing.h"

namespace service::testing {

inline constexpr size_t kFuzzClients = 4;

// An end of a connection, and what it has to send.
class FuzzClient {
  public:
    runtime::testing::MemoryPeer& peer() { return *peer_; }
    void raw(std::string_view bytes) { pending_ += bytes; }
    void flush(size_t cut) { send_in_two(std::exchange(pending_, {}), cut); }

  protected:
    std::unique_ptr<runtime::ByteStream> new_stream() {
        pending_.clear();
        peer_ = std::make_unique<runtime::testing::MemoryPeer>();
        return peer_->stream();
    }
    void send_in_two(std::string_view bytes, size_t cut) {
        const size_t at = std::min(bytes.size(), bytes.size() * cut / 255);
        peer_->send(bytes.substr(0, at));
        if (at > 0 && at < bytes.size()) runtime::testing::fuzz_time().settle();
        peer_->send(bytes.substr(at));
    }

    std::unique_ptr<runtime::testing::MemoryPeer> peer_;
    std::string pending_;
};

// A World derives from it and defines what a protocol has of its own: client(), one of kFuzzClients, kPauses,
// connect(), add_request(), add_session(), add_media(), add_other(), reload() and check().
template <typename World>
class ConnectionsFuzz {
  public:
    ConnectionsFuzz(const ConnectionsFuzz&) = delete;

    void run() {
        while (!input_.empty()) {
            step();
            world().check();
        }
    }

  protected:
    explicit ConnectionsFuzz(runtime::testing::FuzzInput& input) : input_(input) { registry_.start(); }

    // Until every connection and stream has ended, whose time limits are these.
    void end_clients(const auto& service, std::initializer_list<int64_t> limits_ms) {
        for (size_t i = 0; i < kFuzzClients; ++i) world().client(i).peer().end();
        for (const int64_t ms : limits_ms)
            if (service.connections() > 0 || registry_.size() > 0) runtime::testing::fuzz_time().pass_ms(ms);
        world().check();
        CHECK(service.connections() == 0 && sessions_.size() == 0);
        CHECK(registry_.size() == 0 && registry_.standbys() == 0);
    }

    runtime::testing::FuzzInput& input_;
    net::SessionTable sessions_;
    live::Registry registry_;
    net::Gate gate_;

  private:
    World& world() { return static_cast<World&>(*this); }

    void kick() {
        if (sessions_.size() == 0) return;
        sessions_.at(input_.choice(std::min<size_t>(sessions_.size(), 256))).kick("kicked");
    }

    void step() {
        const uint8_t action = input_.byte();
        const size_t number = action & (kFuzzClients - 1);
        auto& client = world().client(number);
        auto& time = runtime::testing::fuzz_time();
        switch (action >> 2 & 15) {
            case 0:
            case 1:
                return world().add_request(client);
            case 2:
                return world().add_session(number, false);
            case 3:
                return world().add_session(number, true);
            case 4:
            case 5:
                return world().add_media(number);
            case 6:
            case 7:
                client.flush(input_.byte());
                return time.settle();
            case 8:
                return time.pass_ms(World::kPauses[input_.choice(std::size(World::kPauses))]);
            case 9:
                return kick();
            case 10:
                return input_.byte() & 1 ? client.peer().end() : client.peer().reset();
            case 11:
                return client.peer().closed() ? world().connect(number) : void();
            case 12:
                return client.peer().set_room(input_.byte() & 1 ? input_.byte() : SIZE_MAX);
            case 13:
                return world().add_other(number);
            case 14:
                return world().reload();
            default:
                return client.raw(input_.text());
        }
    }
};

// What a target's LLVMFuzzerTestOneInput() does.
template <typename World>
int run_fuzz_input(const uint8_t* data, size_t size) {
    auto& time = runtime::testing::fuzz_time();
    const size_t coroutines = runtime::coroutine_count();
    {
        runtime::testing::FuzzInput input(data, std::min<size_t>(size, 4'096));
        World(input).run();
    }
    time.settle();
    CHECK(runtime::coroutine_count() == coroutines);
    return 0;
}

}  // namespace service::testing
