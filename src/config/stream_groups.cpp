#include "config/stream_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace config {

namespace {

using base::Code;
using base::fail;

constexpr std::string_view kStream = "[stream]";

// "a/b/x": "a/b" and "x".
std::pair<std::string, std::string> split(const std::string& word) {
    const size_t slash = word.rfind('/');
    if (slash == word.npos) return {"", word};
    return {word.substr(0, slash), word.substr(slash + 1)};
}

// Up to a '_' that all names have there, or the whole common part; a name that is the common part of all counts as one
// with a '_' behind it.
std::string common_part(const std::vector<std::string>& names) {
    std::string common = names.front();
    for (const std::string& name : names)
        common.resize(static_cast<size_t>(std::ranges::mismatch(common, name).in1 - common.begin()));
    const bool is_whole = std::ranges::all_of(
        names, [&](const std::string& name) { return name.size() == common.size() || name[common.size()] == '_'; });
    if (const size_t end = common.rfind('_'); !is_whole && end != common.npos) common.resize(end);
    while (common.ends_with('_')) common.pop_back();
    return common;
}

// What stands before the ending, which may have a '*'. Empty: the name does not have it.
std::string_view before_ending(std::string_view name, std::string_view ending) {
    const size_t star = ending.find('*');
    const std::string_view last = star == ending.npos ? ending : ending.substr(star + 1);
    if (!name.ends_with(last)) return {};
    name.remove_suffix(last.size());
    if (star == ending.npos) return name;
    const std::string_view first = ending.substr(0, star);
    if (name.size() <= first.size()) return {};
    const size_t at = name.rfind(first, name.size() - first.size() - 1);
    if (at == name.npos || name.find('_', at + first.size()) != name.npos) return {};
    return name.substr(0, at);
}

}  // namespace

base::Result<StreamGroups::Line> StreamGroups::read(const std::vector<std::string>& words) {
    Line line;
    const bool is_pattern = words.front().find(kStream) != std::string::npos;
    for (size_t i = 0; i < words.size(); ++i) {
        auto [app, name] = split(words[i]);
        if (i > 0 && app != line.app) return fail(Code::kProtocol, "its names are not of one application");
        line.app = app;
        if (!is_pattern && (app.empty() || name.empty() || name.find_first_of("[]*") != name.npos))
            return fail(Code::kProtocol, fmt::format("'{}' is no stream: app/name", words[i]));
        if (is_pattern && !name.starts_with(kStream))
            return fail(Code::kProtocol, fmt::format("'{}' does not begin with [stream], or app/[stream]", words[i]));
        if (is_pattern) name.erase(0, kStream.size());
        if (name.find_first_of("[]") != name.npos || std::ranges::count(name, '*') > 1 || name == "*")
            return fail(Code::kProtocol,
                        fmt::format("'{}': only '*' may follow [stream], once, behind a text", words[i]));
        if (std::ranges::count(line.names, name) > 0)
            return fail(Code::kProtocol, fmt::format("'{}' is there twice", words[i]));
        line.names.push_back(std::move(name));
    }
    if (line.names.size() > kMaxMembers)
        return fail(Code::kProtocol, fmt::format("a group has at most {} streams", kMaxMembers));
    if (is_pattern) return line;
    line.group = common_part(line.names);
    if (line.names.size() < 2 || line.group.empty())
        return fail(Code::kProtocol,
                    "its names, two at least, have no beginning in common, by which the group is called");
    return line;
}

base::Result<StreamGroups> StreamGroups::make(const Commands& lines) {
    if (lines.size() > kMaxLines) return fail(Code::kProtocol, fmt::format("there are more than {} groups", kMaxLines));
    StreamGroups out;
    std::set<std::pair<std::string, std::string>> groups, names;
    for (const auto& words : lines) {
        if (words.empty()) continue;
        const auto error = [&](std::string_view why) {
            return fail(Code::kProtocol, fmt::format("'{}': {}", fmt::join(words, " "), why));
        };
        auto line = read(words);
        if (!line) return error(line.error().text());
        const std::string before = line->group.empty() ? std::string(kStream) : std::string();
        if (!line->group.empty() && !groups.emplace(line->app, line->group).second)
            return error(fmt::format("there is a group {}/{} already", line->app, line->group));
        for (const std::string& name : line->names)
            if (!names.emplace(line->app, before + name).second)
                return error(fmt::format("'{}' is in two groups", before + name));
        out.lines_.push_back(*std::move(line));
    }
    return out;
}

std::optional<StreamGroups::Membership> StreamGroups::find(const base::StreamKey& stream) const {
    std::optional<Membership> found;
    size_t length = 0;  // of the pattern that was found
    for (const Line& line : lines_) {
        if (!line.app.empty() && line.app != stream.app) continue;
        for (size_t rank = 0; rank < line.names.size(); ++rank) {
            const std::string& name = line.names[rank];
            if (!line.group.empty()) {
                if (name == stream.name) return Membership{{stream.vhost, stream.app, line.group}, rank, false};
                continue;
            }
            const std::string_view group = before_ending(stream.name, name);
            if (group.empty() || (found && name.size() <= length)) continue;
            length = name.size();
            const bool by_bitrate =
                std::ranges::any_of(line.names, [](const std::string& other) { return other.find('*') != other.npos; });
            found = Membership{{stream.vhost, stream.app, std::string(group)}, rank, by_bitrate};
        }
    }
    return found;
}

std::vector<base::StreamKey> StreamGroups::members(const base::StreamKey& group) const {
    std::vector<base::StreamKey> out;
    for (const Line& line : lines_) {
        if ((!line.app.empty() && line.app != group.app) || (!line.group.empty() && line.group != group.name)) continue;
        for (const std::string& name : line.names) {
            if (name.find('*') != name.npos) continue;
            base::StreamKey member{group.vhost, group.app, line.group.empty() ? group.name + name : name};
            // A longer pattern may have it.
            if (const auto found = find(member); found && found->group == group) out.push_back(std::move(member));
        }
    }
    return out;
}

std::vector<std::string> StreamGroups::groups_with_own_stream() const {
    std::vector<std::string> out;
    for (const Line& line : lines_)
        if (std::ranges::count(line.names, line.group) > 0)
            out.push_back(fmt::format("{}{}{}", line.app, line.app.empty() ? "" : "/",
                                      line.group.empty() ? kStream : line.group));
    return out;
}

}  // namespace config
