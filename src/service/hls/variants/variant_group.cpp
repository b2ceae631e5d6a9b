#include "service/hls/variants/variant_group.h"

#include <algorithm>

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

void VariantGroup::for_each(const std::function<void(Output&)>& visit) const {
    for (const Member& member : members_)
        if (const auto output = member.output.lock()) visit(*output);
}

std::vector<std::shared_ptr<Output>> VariantGroup::listed(int64_t now_ms) const {
    std::vector<std::shared_ptr<Output>> all;
    for (const Member& member : members_)
        if (auto output = member.output.lock(); output && output->has_view()) all.push_back(std::move(output));
    const auto bandwidth = [](const auto& output) { return output->view()->bandwidth().highest; };
    if (by_bitrate_) std::ranges::stable_sort(all, std::ranges::greater(), bandwidth);
    const auto is_current = [](const auto& output) { return output->is_current(); };
    if (std::ranges::none_of(all, is_current)) return all;
    std::erase_if(all, [&](const auto& output) {
        const int64_t limit_ms = kListedTargets * 1'000 * output->view()->playlist().target_duration_s;
        return !output->is_current() && (output->publishing() || now_ms - output->unpublished_ms() >= limit_ms);
    });
    // Some players begin with the first one.
    std::ranges::stable_partition(all, is_current);
    return all;
}

bool VariantGroup::others_are_current(const Output& output) const {
    return std::ranges::any_of(members_, [&](const Member& member) {
        const auto other = member.output.lock();
        return other && other.get() != &output && other->is_current();
    });
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
        group = std::make_shared<VariantGroup>(key, *paths, fragment);
    }
    if (!group->add(output, membership)) return nullptr;
    for (const std::string& path : {paths->playlist(), paths->master()}) urls_[{key.vhost, path}] = group;
    members_[output->key()] = group;
    return group;
}

void VariantGroups::leave(const live::StreamKey& member) {
    const auto group = of(member);
    members_.erase(member);
    if (!group || !group->empty()) return;
    for (const std::string& path : {group->paths.playlist(), group->paths.master()})
        urls_.erase({group->key->vhost, path});
}

}  // namespace service::hls
