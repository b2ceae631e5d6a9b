#include "service/hls/variants/variant_group.h"

#include <algorithm>

#include "protocol/http/url.h"
#include "service/hls/output.h"

namespace service::hls {

bool VariantGroup::add(const std::shared_ptr<Output>& output, const config::StreamGroups::Membership& membership) {
    std::erase_if(members_, [&](const Member& member) {
        const auto other = member.output.lock();
        return !other || other == output;
    });
    if (members_.size() >= config::StreamGroups::kMaxMembers) return false;
    by_bitrate_ = membership.by_bitrate;
    const auto behind = std::ranges::upper_bound(members_, membership.rank, {}, &Member::rank);
    members_.insert(behind, {output, membership.rank});
    return true;
}

void VariantGroup::remove(const Output& output) {
    std::erase_if(members_, [&](const Member& member) {
        const auto other = member.output.lock();
        return !other || other.get() == &output;
    });
}

void VariantGroup::for_each(const std::function<void(Output&)>& visit) const {
    for (const Member& member : members_)
        if (const auto output = member.output.lock()) visit(*output);
}

std::vector<std::shared_ptr<Output>> VariantGroup::listed(int64_t now_ms, Format format) const {
    const auto is_there = [format](const Output& output) {
        return format == Format::kHls ? output.has_view() : output.dash() && output.dash()->has_manifest();
    };
    std::vector<std::shared_ptr<Output>> all;
    for (const Member& member : members_)
        if (auto output = member.output.lock(); output && is_there(*output)) all.push_back(std::move(output));
    const auto bandwidth = [](const auto& output) {
        const auto view = output->view();
        return view ? view->bandwidth().highest : 0;
    };
    if (by_bitrate_) std::ranges::stable_sort(all, std::ranges::greater(), bandwidth);
    const auto has_joined = [](const auto& output) { return output->has_joined(); };
    if (std::ranges::none_of(all, has_joined)) return all;
    std::erase_if(all, [&](const auto& output) {
        const int64_t limit_ms = kListedTargets * 1'000 * output->target_s();
        return !output->has_joined() && (output->publishing() || now_ms - output->unpublished_ms() >= limit_ms);
    });
    // Some players begin with the first one.
    std::ranges::stable_partition(all, has_joined);
    return all;
}

const mpd::Text& VariantGroup::manifest(int64_t now_ms) {
    const std::vector<std::shared_ptr<Output>> outputs = listed(now_ms, Format::kDash);
    std::vector<std::pair<const Output*, uint64_t>> made_of;
    for (const auto& output : outputs) made_of.emplace_back(output.get(), output->dash()->changes());
    if (made_of == made_of_) return manifest_;
    std::vector<mpd::Merger::Member> members;
    for (const auto& output : outputs)
        members.push_back({http::percent_encode(output->key().name), output->dash()->describe(manifest_path)});
    manifest_ = mpd::write(merger_.merge(members));
    made_of_ = std::move(made_of);
    return manifest_;
}

bool VariantGroup::others_are_current(const Output& output) const {
    return std::ranges::any_of(members_, [&](const Member& member) {
        const auto other = member.output.lock();
        return other && other.get() != &output && other->is_current();
    });
}

std::vector<std::string> VariantGroup::urls() const {
    std::vector<std::string> all{paths.playlist(), paths.master()};
    if (!manifest_path.empty()) all.push_back(manifest_path);
    return all;
}

bool VariantGroup::empty() const {
    return std::ranges::all_of(members_, [](const Member& member) { return member.output.expired(); });
}

std::shared_ptr<VariantGroup> VariantGroups::join(const std::shared_ptr<Output>& output,
                                                  const config::StreamGroups::Membership& membership, bool utc) {
    const live::StreamKey& key = membership.group;
    auto paths = SegmentPaths::make(output->hls(), key, utc);
    if (!paths) return nullptr;
    auto group = at(key.vhost, paths->master());
    if (!group) {
        const auto fragment = std::chrono::milliseconds(static_cast<int64_t>(output->hls().fragment * 1'000));
        OutputOptions options = output->options();
        options.key = key;
        const auto manifest = options.dash.enabled ? Dash::manifest_path_of(options).value_or("") : std::string();
        group = std::make_shared<VariantGroup>(key, *paths, manifest, fragment);
    }
    if (!group->add(output, membership)) return nullptr;
    for (const std::string& path : group->urls()) urls_[{key.vhost, path}] = group;
    members_[output->key()] = group;
    return group;
}

void VariantGroups::leave(const Output& member) {
    const auto group = of(member.key());
    if (!group) return;
    members_.erase(member.key());
    group->remove(member);
    if (!group->empty()) return;
    for (const std::string& path : group->urls()) urls_.erase({group->key->vhost, path});
}

}  // namespace service::hls
