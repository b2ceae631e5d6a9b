#pragma once
// HLS (RFC 8216): an Output for each published stream of a vhost that has hls enabled, and its playlists and segments
// over HTTP. What is on disk is read through workers; the loop waits for no file.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/events.h"
#include "live/hub/registry.h"
#include "net/access/file_access.h"
#include "net/access/gate.h"
#include "net/http/http_router.h"
#include "net/sessions/session.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/sync.h"
#include "service/hls/index.h"
#include "service/hls/output.h"
#include "service/hls/stream_list.h"
#include "service/hls/viewers.h"

namespace service::hls {

class Service final : private live::StreamWatcher, private live::MemoryHolder, private net::LiveFiles {
  public:
    // Adds its route to the router. All of them outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
            const live::Events& events, net::HttpRouter& router, net::Gate& gate, net::FileAccess& files);
    ~Service();  // stops: yields

    base::Result<void> start();
    // Viewers that are known go on, and where they are not told apart (hls_ctx off), all.
    void stop_accepting() { draining_ = true; }
    // Nobody watches, or there is nothing more to come and the last segment's time is over.
    bool idle() const;
    // Waits for the last segments of streams whose publishing has ended, so it comes after that.
    void stop();
    // Streams that are being published have HLS from now on, or no longer; other changes count from the next publish
    // on.
    void reload(const config::SnapshotPtr& next);

    size_t outputs() const { return outputs_.size(); }
    const Viewers& viewers() const { return viewers_; }

  private:
    // Streams that were disposed of: where their sequence goes on.
    static constexpr size_t kMaxRemembered = 10'000;

    void stream_published(live::Stream& stream) override;
    size_t memory() const override;
    void release_memory() override;
    void publish(live::Stream& stream, const config::Vhost& vhost, Names names);
    std::shared_ptr<Output> make_output(const live::StreamKey& key, const config::Vhost& vhost, Names names,
                                        uint64_t first_sequence);
    void refuse(const live::StreamKey& key, const std::string& reason);
    void dispose(const std::string& place);
    void run_housekeeping();
    void take_over_left();
    void keep_stream_list();
    void verify_files();
    void disconnect_asked();

    base::Result<void> handle(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> serve_live_file(const config::Vhost& vhost, const std::string& path,
                                       const net::HttpRequest& request, net::HttpResponse& response) override;
    base::Result<void> playlist(const std::shared_ptr<Output>& output, const config::Vhost& vhost,
                                const net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> master(const std::shared_ptr<Output>& output, const config::Vhost& vhost,
                              const net::HttpRequest& request, net::HttpResponse& response);
    base::Result<std::string> let_in(const ViewerName& name, const Output& output, const config::Vhost& vhost,
                                     const net::HttpRequest& request, bool stays, runtime::ByteStream* client);
    // What is sent from now on is a viewer's, or else its stream's alone.
    void count(const ViewerName& viewer, const live::StreamKey& stream, const net::HttpRequest& request,
               net::HttpResponse& response);
    // How long a viewer of it may be silent.
    static int64_t idle_ms(const Output& output);
    static base::Result<void> refuse_viewer(const base::Error& error, net::HttpResponse& response);
    static std::string url_of(std::string_view vhost, std::string_view path) {
        return std::string(vhost).append("\n").append(path);
    }
    std::shared_ptr<Output> find_output(std::string_view vhost, std::string_view path) const;

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    const live::Events& events_;
    Index index_;
    Viewers viewers_;
    net::Gate& gate_;
    net::FileAccess& files_;
    std::set<ViewerName> asking_;  // that a guard is being asked about
    runtime::Event asked_{"a viewer's admission"};
    std::map<std::string, std::shared_ptr<Output>> outputs_;          // by where their playlist is
    std::map<std::string, std::weak_ptr<Output>, std::less<>> urls_;  // by vhost and playlist
    std::vector<std::weak_ptr<SegmentStore>> leaving_;                // disposed of, with something under way
    std::map<std::string, uint64_t> remembered_;                      // by the same: the next sequence
    std::vector<runtime::Task> recoveries_;
    StreamList stream_list_;
    std::set<live::StreamKey> left_;  // of earlier runs, not looked at yet
    std::vector<std::pair<live::StreamKey, std::string>> to_disconnect_;
    runtime::Task housekeeper_;
    bool started_ = false;
    bool draining_ = false;
};

}  // namespace service::hls
