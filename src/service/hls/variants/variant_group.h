#pragma once
// VariantGroup: the streams of this server that are variants of one multivariant playlist (hls_variants). A stream
// comes to it when it is published, and stays for as long as there is HLS of it. VariantGroups: all of them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/stream_groups.h"
#include "convert/segments/variant_clock.h"
#include "protocol/mpd/merge.h"
#include "service/hls/playlists/segment_paths.h"

namespace service::hls {

class Output;

class VariantGroup {
  public:
    // A variant that is not published stays in the multivariant playlist for so many target durations.
    static constexpr int64_t kListedTargets = 3;

    // manifest_path: of its DASH, below dash_path; empty: it has none.
    VariantGroup(live::StreamKey key, SegmentPaths paths, std::string manifest_path, media::Time fragment)
        : key(std::make_shared<const live::StreamKey>(std::move(key))),
          paths(std::move(paths)),
          manifest_path(std::move(manifest_path)),
          clock(std::make_shared<convert::VariantClock>(fragment)) {}

    const std::shared_ptr<const live::StreamKey> key;
    const SegmentPaths paths;
    const std::string manifest_path;
    const std::shared_ptr<convert::VariantClock> clock;

    // False: it has as many as it may have.
    bool add(const std::shared_ptr<Output>& output, const config::StreamGroups::Membership& membership);
    void remove(const Output& output);
    void for_each(const std::function<void(Output&)>& visit) const;
    enum class Format : uint8_t { kHls, kDash };
    // Those that the playlist or manifest has, in its order: all that are published, and those that were until lately;
    // if none is, all that there are.
    std::vector<std::shared_ptr<Output>> listed(int64_t now_ms, Format format) const;
    // Of all that are listed. Until the next call.
    const mpd::Text& manifest(int64_t now_ms);
    // Players of another variant can go on with one of the others.
    bool others_are_current(const Output& output) const;
    bool empty() const;
    // Of its playlists and its manifest.
    std::vector<std::string> urls() const;

  private:
    struct Member {
        std::weak_ptr<Output> output;
        size_t rank;
    };
    std::vector<Member> members_;  // in the order of their ranks
    bool by_bitrate_ = false;
    mpd::Merger merger_;
    mpd::Text manifest_;
    std::vector<std::pair<const Output*, uint64_t>> made_of_;  // with the number of its changes
};

class VariantGroups {
  public:
    // The output's group, in which it is from now on. Null: the group is full, or its name is none of a playlist.
    std::shared_ptr<VariantGroup> join(const std::shared_ptr<Output>& output,
                                       const config::StreamGroups::Membership& membership, bool utc);
    // It is in no group any more.
    void leave(const Output& member);
    // Null: the stream is in none.
    std::shared_ptr<VariantGroup> of(const live::StreamKey& member) const { return find(members_, member); }
    // The one whose multivariant playlist has that path. Null: there is none.
    std::shared_ptr<VariantGroup> at(std::string_view vhost, std::string_view path) const {
        return find(urls_, std::pair(std::string(vhost), std::string(path)));
    }

  private:
    template <class Map>
    static std::shared_ptr<VariantGroup> find(const Map& map, const typename Map::key_type& key) {
        auto found = map.find(key);
        return found == map.end() ? nullptr : found->second;
    }
    std::map<live::StreamKey, std::shared_ptr<VariantGroup>> members_;
    std::map<std::pair<std::string, std::string>, std::shared_ptr<VariantGroup>> urls_;  // by vhost and path
};

}  // namespace service::hls
