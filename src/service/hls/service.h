#pragma once
// HLS (RFC 8216): an Output for each published stream of a vhost that has hls enabled; serves its playlists and
// segments over HTTP. Files are read by worker threads; the loop waits for no file.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/snapshot.h"
#include "live/hub/events.h"
#include "live/hub/followed_streams.h"
#include "live/hub/registry.h"
#include "net/access/file_access.h"
#include "net/access/gate.h"
#include "net/http/api_endpoint.h"
#include "net/http/file_viewers.h"
#include "net/http/http_router.h"
#include "net/http/resources.h"
#include "net/sessions/session.h"
#include "runtime/disk/locked_text.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/handover_points.h"
#include "runtime/loop/log_limit.h"
#include "runtime/loop/sync.h"
#include "service/hls/handover/stream_state.h"
#include "service/hls/output.h"
#include "service/hls/playlists/stream_list_text.h"
#include "service/hls/variants/variant_group.h"
#include "service/shared_parts.h"

namespace service::hls {

class Service final : private live::StreamFollower,
                      private live::MemoryHolder,
                      private net::LiveFiles,
                      private runtime::HandoverPoint {
  public:
    // Adds its route to the router. All references must outlive it.
    Service(config::SnapshotPtr snapshot, net::SessionTable& sessions, live::Registry& registry,
            const live::Events& events, net::HttpRouter& router, net::Gate& gate, net::FileAccess& files,
            const Offers& offers);
    ~Service();  // stops: yields

    base::Result<void> start();
    // Refuses new viewers. Known viewers continue, and all viewers where they are not distinguished (hls_ctx off).
    void stop_accepting();
    // Leaves all streams to another process of the server (runtime/loop/handover_state.h), and gives up the files; or
    // continues what another one has left, and what it finds on disk. Yields.
    void give_over(bool on);
    // There are no viewers, or nothing is published any more and the last segment has expired.
    bool idle() const;
    // Waits for the last segments of streams whose publishing has ended, so it must be called after that.
    void stop();
    // For streams being published, HLS starts or stops at once; other changes apply from the next publish on.
    void reload(const config::SnapshotPtr& next);

    // The row of the API. identity: must outlive it.
    net::ApiEndpoint clip_row(const Identity& identity);

    size_t outputs() const { return outputs_.size(); }
    const net::FileViewers& viewers() const { return viewers_; }
    // The group, "live/x", that the stream is a variant of; empty: it is none.
    std::string variant_of(const live::StreamKey& stream) const {
        const auto group = groups_.of(stream);
        return group ? group->key->app + "/" + group->key->name : std::string();
    }

  private:
    // Streams that were disposed of, with their next sequence number.
    static constexpr size_t kMaxRemembered = 10'000;

    bool wants(const live::Stream& stream, const config::Vhost& vhost) const override;
    bool follows_copies() const override { return true; }
    bool follow(live::Stream& stream, const config::Vhost& vhost) override;
    void leave(live::Stream& stream) override;
    size_t memory() const override;
    void release_memory() override;
    void seek_handover(bool on) override;
    bool is_at_handover() const override;
    void end_outputs();
    // Of an upgrade (service_handover.cpp).
    void settle_outputs();
    void leave_outputs();
    void answer_waiting();
    void take_over_outputs();
    void add_left_output(StreamState state);
    bool publish(live::Stream& stream, const config::Vhost& vhost, SegmentPaths names);
    void follow(const std::shared_ptr<Output>& output, live::Stream& stream, const config::Vhost& vhost);
    std::optional<config::StreamGroups::Membership> membership_of(const live::Stream& stream,
                                                                  const config::Vhost& vhost) const;
    base::Result<void> check_dash(const OutputOptions& options) const;
    // left: by another process of the server; null: what an earlier run has left is read first.
    std::shared_ptr<Output> add_output(const std::string& location, OutputOptions options, SegmentPaths names,
                                       LeftStream* left = nullptr);
    static std::vector<std::string> urls_of(const Output& output);
    // Always false: it is not followed.
    bool refuse(const live::StreamKey& key, const std::string& reason, std::string_view output = "hls");
    void begin(const std::shared_ptr<Output>& output);
    void dispose(const std::string& location);
    void run_housekeeping();
    void take_over_left();
    void remember(const ListedStream& stream);
    void keep_stream_list();
    void verify_files();
    void disconnect_asked();

    base::Result<void> handle(net::HttpRequest& request, net::HttpResponse& response);
    // The 404 of a playlist that neither a stream nor a file has, with the reason that other protocols give.
    base::Result<void> explain_missing(net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> clip(const Identity& identity, const net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> serve_live_file(const config::Vhost& vhost, const std::string& path,
                                       const net::HttpRequest& request, net::HttpResponse& response) override;
    // A playlist or manifest of a stream, or of a group of streams.
    struct Playlist {
        std::shared_ptr<Output> output{};
        std::shared_ptr<VariantGroup> group{};  // instead of an output
        bool master = false;                    // the multivariant one
        std::string path{};

        explicit operator bool() const { return output || group; }
        // Whom a viewer is admitted to.
        const live::StreamKey& key() const { return group ? *group->key : output->key(); }
        bool is_manifest() const {
            if (group) return path == group->manifest_path;
            return output && output->dash() && path == output->dash()->manifest_path();
        }
        std::shared_ptr<const live::StreamKey> shared_key() const {
            return group ? group->key : std::shared_ptr<const live::StreamKey>(output, &output->key());
        }
        // Those that it has now.
        std::vector<std::shared_ptr<Output>> outputs() const;
    };
    base::Result<void> redirect(const config::Vhost& vhost, const std::string& path, const net::HttpRequest& request,
                                net::HttpResponse& response);
    // A request for a playlist that is not there: of a stream that is fetched it waits, once it is admitted. Without an
    // answer: there is none.
    base::Result<void> await_fetched(const config::Vhost& vhost, const std::string& path,
                                     const net::HttpRequest& request, net::HttpResponse& response);
    // A playlist or manifest of a stream that may be fetched.
    struct Fetched {
        live::StreamKey stream{};
        std::string path{};
    };
    base::Result<std::vector<Fetched>> fetched_for(const config::Vhost& vhost, const live::StreamKey& named,
                                                   const std::string& path) const;
    base::Result<bool> await_any(const std::vector<Fetched>& all, const config::Vhost& vhost,
                                 const net::HttpRequest& request, net::HttpResponse& response);
    base::Result<bool> await_playlist(const Fetched& fetched, const config::Vhost& vhost, runtime::Deadline limit,
                                      const net::HttpRequest& request, net::HttpResponse& response);
    // Of DASH (service_dash.cpp). viewer_id: empty: viewers have none.
    base::Result<void> manifest(const Playlist& asked, const std::string& viewer_id, bool is_private,
                                const net::HttpRequest& request, net::HttpResponse& response);
    // viewer_id: of a viewer that was admitted while it waited; empty: it is to be admitted.
    base::Result<void> playlist(const Playlist& asked, const config::Vhost& vhost, const net::HttpRequest& request,
                                net::HttpResponse& response, std::string viewer_id = {});
    // To one that may have it. viewer: that its bytes count for; viewer_id: empty: viewers have none.
    base::Result<void> send(const Playlist& asked, const net::FileViewers::Name& viewer, const std::string& viewer_id,
                            const config::Vhost& vhost, const net::HttpRequest& request, net::HttpResponse& response);
    base::Result<void> send_master(const Playlist& asked, const net::HttpRequest& request, net::HttpResponse& response,
                                   std::string_view viewer_id);
    // The stream, or its group, to which the viewer with that context was admitted; of an unknown one the group.
    const live::StreamKey& viewed(const live::StreamKey& stream, std::string_view context) const;
    // Players of a variant are sent to another one, as it is not published.
    bool is_replaced(const Output& output) const;
    void expect_players(Output& output);
    base::Result<void> check_without_context(const Playlist& asked, const config::Vhost& vhost,
                                             const net::HttpRequest& request, runtime::ByteStream* client);
    // How long a viewer of it may be idle.
    static int64_t idle_ms(const Output& output);
    static int64_t idle_ms(const Playlist& playlist);
    static std::string url_of(std::string_view vhost, std::string_view path) {
        return std::string(vhost).append("\n").append(path);
    }
    std::shared_ptr<Output> find_output(std::string_view vhost, std::string_view path) const;
    Playlist find_playlist(const config::Vhost& vhost, const std::string& path, bool has_context) const;

    config::SnapshotPtr snapshot_;
    net::SessionTable& sessions_;
    live::Registry& registry_;
    live::FollowedStreams followed_;
    const live::Events& events_;
    net::Resources resources_;
    net::FileViewers viewers_;
    net::AddressQuota clips_{"clips", "2 of an address", "4 in all"};
    net::Gate& gate_;
    net::FileAccess& files_;
    const Offers& offers_;
    runtime::LogLimit refusal_log_;
    runtime::LogLimit failure_log_;                                   // of all outputs
    std::map<std::string, std::shared_ptr<Output>> outputs_;          // by path of the playlist
    std::map<std::string, std::weak_ptr<Output>, std::less<>> urls_;  // by vhost and path of the playlist
    VariantGroups groups_;
    std::vector<std::weak_ptr<SegmentFiles>> leaving_;         // disposed of, with an operation in progress
    std::map<std::string, uint64_t> remembered_;               // by path of the playlist: the next sequence
                                                               // number
    std::vector<std::shared_ptr<Output>> given_over_outputs_;  // whose waiting requests are answered here
    runtime::Task answering_;
    std::vector<runtime::Task> recoveries_;
    runtime::LockedText stream_list_;  // stream_list_text.h
    std::set<live::StreamKey> left_;   // of earlier runs, not checked yet
    std::vector<std::pair<live::StreamKey, std::string>> to_disconnect_;
    runtime::Task housekeeper_;
    bool started_ = false;
    bool given_over_ = false;
    bool seeks_handover_ = false;
    bool has_taken_over_ = false;  // what an earlier run left
    bool draining_ = false;
};

}  // namespace service::hls
