#pragma once
// ClientInfo: what a client sent in connect and later requests, hooks and the API need. There may be 10,000 clients,
// most with the same values: a small cache lets them share these. The parameters of a stream's name are per client.

#include <memory>
#include <string>
#include <string_view>

#include "base/stream_key.h"

namespace service::rtmp {

// The fields of connect.
struct ConnectFields {
    std::string app{};
    std::string tc_url{};
    std::string page_url{};
    std::string swf_url{};
    std::string forward_path{};
    bool multitrack = false;
    // What these name: the vhost as configured, and the app. Empty: a vhost that is not there. The guards were asked
    // about this key at connect, and about no other.
    std::string key_vhost{}, key_app{};
    bool operator==(const ConnectFields&) const = default;
};

class ClientInfo {
  public:
    ClientInfo() = default;
    explicit ClientInfo(ConnectFields fields);

    const std::string& app() const { return fields().app; }
    const std::string& tc_url() const { return fields().tc_url; }
    const std::string& page_url() const { return fields().page_url; }
    const std::string& swf_url() const { return fields().swf_url; }
    const std::string& forward_path() const { return fields().forward_path; }
    // Whether connect named the stream's vhost and app.
    bool connected_to(const base::StreamKey& key) const {
        return fields().key_vhost == key.vhost && fields().key_app == key.app;
    }
    // Whether it gets all tracks: its player says in connect that it knows them, or the URL of the stream asks for them
    // ("tracks=all").
    bool wants_all_tracks() const;
    // "?k=v" of the last published or played stream.
    const std::string& params() const { return params_; }
    void set_params(std::string_view params) { params_ = params; }

  private:
    const ConnectFields& fields() const;

    std::shared_ptr<const ConnectFields> fields_;  // null: no connect yet
    std::string params_;
};

}  // namespace service::rtmp
