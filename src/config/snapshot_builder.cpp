#include "config/snapshot_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/nearest.h"

namespace config {
namespace {

std::string join(std::string_view scope, std::string_view name) {
    return scope.empty() ? std::string(name) : fmt::format("{}/{}", scope, name);
}

std::string_view last_part(std::string_view path) {
    size_t slash = path.rfind('/');
    return slash == path.npos ? path : path.substr(slash + 1);
}

// For a block without effect: whether it contains `enabled on`, or would be on by default.
bool is_switched_on(const Node& node, const Row& enabled) {
    for (const Node& child : node.children) {
        if (child.name == "enabled" && child.words.size() == 1 && (child.words[0] == "on" || child.words[0] == "off"))
            return child.words[0] == "on";
    }
    return enabled.initial == "on";
}

constexpr size_t kShortestToken = 16;

std::string kind_of(const Row& row) { return row.type.empty() ? "a value" : row.type; }

}  // namespace

SnapshotBuilder::SnapshotBuilder(Problems& problems) : problems_(problems), checks_(snapshot_, problems) {
    for (const Row& row : rows()) {
        if (row.supported() && !row.in_vhost()) row.binding.set_default(root(-1));
    }
}

Root SnapshotBuilder::root(int vhost) {
    return {&snapshot_, vhost < 0 ? nullptr : &snapshot_.vhosts[static_cast<size_t>(vhost)]};
}

int SnapshotBuilder::add_vhost(std::string name) {
    snapshot_.vhosts.emplace_back().name = std::move(name);
    int index = static_cast<int>(snapshot_.vhosts.size()) - 1;
    for (const Row& row : rows()) {
        if (row.supported() && row.in_vhost()) row.binding.set_default(root(index));
    }
    return index;
}

void SnapshotBuilder::add_default_vhost() { add_vhost(std::string(kDefaultVhost)); }

void SnapshotBuilder::stay_in_foreground() {
    snapshot_.global.daemon = false;
    snapshot_.global.srs_log_tank = LogTank::kConsole;
}

void SnapshotBuilder::add_nodes(std::span<const Node> nodes) {
    for (const Node& node : nodes) add_node(node, {});
}

void SnapshotBuilder::add_node(const Node& node, const Context& context) {
    std::string path = join(context.path, node.name);
    Context inner = context;
    if (const Alias* alias = find_alias(path)) {
        if (alias->old) problems_.warning(node.location, fmt::format("'{}' is the old name of {}", path, alias->to));
        path = alias->to;
        std::string_view scope = std::string_view(path).substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'));
        if (scope.size() > context.path.size())
            inner.instance = join(context.instance, scope.substr(context.path.empty() ? 0 : context.path.size() + 1));
        inner.path = scope;
    }
    const Row* row = find_row(path);
    const Block* block = find_block(path);
    // `transcode` of a vhost is a block, `vhost` of a cluster a value: a name is never both in one scope.
    if (node.is_block && block) return add_block(node, inner, *block);
    if (!node.is_block && row) return add_value(node, inner, *row);
    if (row)
        return problems_.error(node.location, fmt::format("'{}' takes {}, not a block{}", node.name, kind_of(*row),
                                                          node.words.size() > 1 ? "; is a ; missing after it?" : ""));
    if (block)
        return problems_.error(node.location, fmt::format("'{0}' is a block: {0} {{ ... }}{1}", node.name,
                                                          missing_end(node, context.path)));
    unknown(node, context, path);
}

void SnapshotBuilder::unknown(const Node& node, const Context& context, std::string_view path) {
    if (problems_.errors() >= Problems::kMax) return problems_.error(node.location, "");  // counted, not shown
    for (const Row& row : rows()) {
        if (row.name != node.name || node.is_block) continue;
        problems_.error(node.location, fmt::format("'{}' does not belong {}; it belongs into {}", node.name,
                                                   context.path.empty() ? "here" : "into " + context.path,
                                                   row.scope.empty() ? "no block" : row.scope));
        return;
    }
    for (const Block& block : blocks()) {
        if (!node.is_block || last_part(block.path) != node.name) continue;
        const std::string around = block.path.substr(0, block.path.rfind('/'));
        problems_.error(node.location, fmt::format("'{}' does not belong {}; it belongs into {}", node.name,
                                                   context.path.empty() ? "here" : "into " + context.path,
                                                   block.path == node.name ? "no block"
                                                   : around == "vhost"     ? "a vhost"
                                                                           : around));
        return;
    }
    if (node.name.starts_with("//") || node.name.starts_with("/*"))
        return problems_.error(node.location, fmt::format("'{}' begins no comment: write #", node.name));
    auto names = names_in(context.path);
    problems_.error(node.location, fmt::format("unknown {} '{}'{}", node.is_block ? "block" : "directive", path,
                                               hint(nearest(node.name, names))));
}

std::optional<Location> SnapshotBuilder::record_seen(const std::string& key, const Location& location) {
    auto [entry, is_new] = seen_.emplace(key, location);
    if (is_new) return std::nullopt;
    return std::exchange(entry->second, location);
}

std::string SnapshotBuilder::missing_end(const Node& node, std::string_view scope) {
    for (const size_t at : node.line_starts) {
        if (at >= node.words.size()) break;
        const std::string path = join(scope, node.words[at]);
        if (find_row(path) || find_block(path))
            return fmt::format("; is a ; missing before '{}' on a later line?", node.words[at]);
    }
    return {};
}

bool SnapshotBuilder::check_block_words(const Node& node, const Block& block) {
    bool good = true;
    if (block.names == Block::Names::kNone && !node.words.empty()) {
        problems_.error(node.location, fmt::format("the block '{}' takes no name ('{}'); is a ; missing before it?",
                                                   node.name, node.words[0]));
        good = false;
    } else if (block.names == Block::Names::kRequired && node.words.empty()) {
        problems_.error(node.location, fmt::format("the block '{0}' needs a name: {0} NAME {{ ... }}", node.name));
        good = false;
    } else if (node.words.size() > 1) {
        problems_.error(node.location,
                        fmt::format("the block '{}' takes one name, {} were given", node.name, node.words.size()));
        good = false;
    }
    return good;
}

void SnapshotBuilder::add_block(const Node& node, const Context& context, const Block& block) {
    bool good = check_block_words(node, block);
    std::string name = node.words.empty() ? "" : node.words[0];
    Context inside = context;
    inside.path = block.path;
    inside.instance = join(context.instance, last_part(block.path));
    if (!name.empty()) inside.instance += ":" + name;
    if (block.repeatable && name.empty()) {
        inside.instance += fmt::format("@{}", ++unnamed_);
    } else if (good) {
        const std::optional<Location> before = record_seen(inside.instance, node.location);
        // If two blocks have the same name, the intended one is unknown. Two without a name are merged.
        if (before && !name.empty())
            problems_.error(node.location, fmt::format("{} '{}' is already given at {}: two of one name are ambiguous",
                                                       node.name, name, before->text()));
        else if (before)
            problems_.warning(node.location, fmt::format("'{}' is already given at {}: what both give counts as here",
                                                         node.name, before->text()));
        good = !before || name.empty();
    }
    if (block.path == "vhost") inside.vhost = add_vhost(name);
    const Row* enabled = find_row(join(block.path, "enabled"));
    if (enabled && !enabled->supported() && !is_switched_on(node, *enabled)) inside.quiet = true;
    if (const FreeBlock* free = find_free_block(block.path)) {
        for (const Node& child : node.children) add_free(child, *free, inside.vhost);
        return;
    }
    if (block.free_form) {
        if (block.missing->state == features::kNotBuiltIn)
            report_not_built_in(node, block);
        else if (!inside.quiet)
            miss(*block.missing, node.location, block.path);
        return;
    }
    const NamedBlock* named = find_named_block(block.path);
    for (const Node& child : node.children) add_node(child, inside);
    if (named) {
        if (inside.vhost >= 0)
            named->keep(snapshot_.vhosts[static_cast<size_t>(inside.vhost)], name, node.location);
        else
            named->keep_of_server(snapshot_, name, node.location);
        reset_draft(*named, inside.vhost);
    }
    if (block.path == "vhost" && !good) snapshot_.vhosts.pop_back();
}

void SnapshotBuilder::add_free(const Node& node, const FreeBlock& block, int vhost) {
    if (node.is_block)
        return problems_.error(node.location,
                               fmt::format("'{}' of {} is an option, not a block", node.name, block.path));
    block.add(snapshot_.vhosts[static_cast<size_t>(vhost)], node.name, node.words);
}

void SnapshotBuilder::reset_draft(const NamedBlock& block, int vhost) {
    for (const Row& row : rows()) {
        const bool inside = row.scope == block.path || row.scope.starts_with(std::string(block.path) + "/");
        if (inside && row.supported()) row.binding.set_default(root(vhost));
    }
}

// The rows of the block are not known, so all that is in it is taken for directives of the service. All of these blocks
// are off by default.
void SnapshotBuilder::report_not_built_in(const Node& node, const Block& block) {
    // The switch of cluster is its mode.
    const bool is_on = std::ranges::any_of(node.children, [](const Node& child) {
        return (child.name == "enabled" && child.words == std::vector<std::string>{"on"}) ||
               (child.name == "mode" && child.words == std::vector<std::string>{"remote"});
    });
    if (!is_on) return;
    for (const Node& child : node.children) miss(*block.missing, child.location, join(block.path, child.name));
}

void SnapshotBuilder::add_value(const Node& node, const Context& context, const Row& row) {
    if (!row.repeatable) {
        if (auto before = record_seen(join(context.instance, row.name), node.location))
            problems_.warning(node.location,
                              fmt::format("'{}' is already given at {}: this one counts", node.name, before->text()));
    }
    if (!row.supported()) return add_value_without_effect(node, context, row);
    const Root to = root(context.vhost);
    if (!set_stray_switch(row, node.words, node.location, to)) {
        auto set = row.binding.set(node.words, to);
        if (!set) {
            std::string text = set.error().text();
            if (const std::string end = missing_end(node, context.path); !end.empty())
                text += end;
            else if (node.last_line != node.location.line)
                text += fmt::format(" (it goes on to line {}: is a ; missing?)", node.last_line);
            return problems_.error(node.location, fmt::format("{}: {}", row.name, text));
        }
    }
    if (const std::string end = missing_end(node, context.path); !end.empty())
        problems_.warning(node.location, fmt::format("{} has words of several lines{}", row.name, end));
    snapshot_.origins[{to.vhost ? to.vhost->name : "", row.path()}] = node.location;
}

// For a single word that is neither on nor off: sets the default, and reports it. False: not such a case.
bool SnapshotBuilder::set_stray_switch(const Row& row, Words words, const Location& location, const Root& to) {
    if (row.type != ValueType<bool>::kName || words.size() != 1 || words[0].empty()) return false;
    if (words[0] == "on" || words[0] == "off") return false;
    if (row.guards) return false;
    row.binding.set_default(to);
    problems_.warning(location, fmt::format("{}: '{}' is neither on nor off: the default counts, {}", row.name,
                                            words[0], row.initial));
    return true;
}

void SnapshotBuilder::add_value_without_effect(const Node& node, const Context& context, const Row& row) {
    if (node.words.empty()) return problems_.error(node.location, fmt::format("{}: a value is missing", row.name));
    if (context.quiet || (node.words.size() == 1 && node.words[0] == row.initial)) return;
    if (row.name == "enabled" && node.words[0] != "on") return;
    miss(*row.missing, node.location, row.path());
}

void SnapshotBuilder::miss(const Feature& feature, const Location& location, std::string name) {
    auto known = std::ranges::find(missing_, &feature, &Missing::feature);
    if (known == missing_.end()) known = missing_.insert(known, {&feature, location, {}});
    if (std::ranges::find(known->names, name) == known->names.end()) known->names.push_back(std::move(name));
}

void SnapshotBuilder::report_missing_features() {
    constexpr size_t kNamed = 4;
    for (const Missing& missing : missing_) {
        std::string names;
        for (size_t i = 0; i < std::min(missing.names.size(), kNamed); ++i)
            names += (i == 0 ? "" : ", ") + missing.names[i];
        if (missing.names.size() > kNamed) names += fmt::format(" and {} more", missing.names.size() - kNamed);
        std::string text = fmt::format("{} {}: no effect of {}", missing.feature->name, missing.feature->state, names);
        if (missing.feature->guards)
            problems_.error(missing.location, text + ", and everybody would be let in without it");
        else
            problems_.warning(missing.location, std::move(text));
    }
}

void SnapshotBuilder::add_environment(std::span<const EnvironmentEntry> entries) {
    for (const EnvironmentEntry& entry : entries) {
        Location location{entry.name, 0};
        if (entry.missing) {
            // All services that may be left out of a build are off by default.
            const bool is_used = entry.missing->state == features::kNotBuiltIn
                                     ? entry.name.ends_with("_ENABLED") && entry.value == "on"
                                     : entry.value != "off";
            if (is_used) miss(*entry.missing, location, entry.name);
            continue;
        }
        if (entry.row == nullptr) {
            auto names = known_environment_names();
            problems_.warning(location,
                              "this environment variable sets no directive" + hint(nearest(entry.name, names)));
            continue;
        }
        const Row& row = *entry.row;
        if (!row.supported()) {
            if (entry.value != row.initial) miss(*row.missing, location, row.path());
            continue;
        }
        if (!row.in_vhost()) {
            set_from_environment(entry, -1);
            continue;
        }
        for (size_t i = 0; i < snapshot_.vhosts.size(); ++i) {
            size_t errors = problems_.errors();
            set_from_environment(entry, static_cast<int>(i));
            if (problems_.errors() != errors) break;  // one error is enough
        }
    }
}

void SnapshotBuilder::set_from_environment(const EnvironmentEntry& entry, int vhost) {
    const Row& row = *entry.row;
    bool is_list = row.type == ValueType<ListenAddresses>::kName ||
                   row.type == ValueType<std::vector<std::string>>::kName ||
                   row.type == ValueType<AccessRules>::kName || row.type == ValueType<IpNetworks>::kName ||
                   row.type == ValueType<Commands>::kName;
    if (row.repeatable) row.binding.set_default(root(vhost));  // replaces the file's values instead of adding to them
    std::vector<std::string> words = is_list ? split_words(entry.value) : std::vector<std::string>{entry.value};
    Location location{entry.name, 0};
    if (!set_stray_switch(row, words, location, root(vhost))) {
        auto set = row.binding.set(words, root(vhost));
        if (!set) return problems_.error(location, set.error().text());
    }
    Location& origin = snapshot_.origins[{vhost < 0 ? "" : root(vhost).vhost->name, row.path()}];
    if (origin.line == 0 && !origin.file.empty() && origin.file != entry.name)
        problems_.warning(location, fmt::format("sets the same directive as {}, and wins", origin.file));
    origin = location;
}

Location SnapshotBuilder::origin(const char* path) const { return checks_.location_of("", path); }

void SnapshotBuilder::check_vhost(Vhost& vhost) {
    if (!checks_.was_set(vhost, "vhost/chunk_size")) vhost.chunk_size = snapshot_.rtmp.chunk_size;
    if (vhost.min_latency && !checks_.was_set(vhost, "vhost/play/mw_latency")) vhost.play.mw_latency = 0;
    const VhostSecurity& security = vhost.security;
    if (security.enabled && security.allow.empty() && security.deny.empty())
        checks_.warning(vhost, "vhost/security/enabled",
                        fmt::format("security of vhost {} has no rule: everybody is refused", vhost.name));
    if (vhost.signed_urls.enabled && vhost.signed_urls.secret.empty())
        checks_.error(vhost, "vhost/signed_urls/enabled", "signed_urls is enabled without a secret");
    if (vhost.publish.takeover && vhost.publish.standby != StandbyMode::kOff)
        checks_.error(
            vhost, "vhost/publish/standby",
            "takeover and standby exclude each other: a second publisher replaces the first one, or it waits");
    for (const Section& section : sections())
        if (section.check_vhost) section.check_vhost(checks_, vhost);
}

// As in SRS 8: type basic has a name and a password, type bearer a token. Without type there may be both.
void SnapshotBuilder::check_api_auth(const HttpApiAuth& auth) {
    if (!auth.token.empty() && auth.token.size() < kShortestToken)
        problems_.warning(origin("http_api/auth/token"),
                          fmt::format("the token has {} characters; at least {} keep it from being guessed",
                                      auth.token.size(), kShortestToken));
    if (!auth.enabled) return;
    const bool has_tokens = !auth.token.empty() || !auth.tokens.empty() || !auth.read_tokens.empty();
    if (auth.type == "bearer") {
        if (!has_tokens)
            problems_.error(origin("http_api/auth/type"),
                            "http_api's auth of type bearer needs a token: `token ...;` or SRS_HTTP_API_AUTH_TOKEN");
        return;
    }
    if (auth.rtc_bearer_enabled)
        problems_.error(origin("http_api/auth/rtc_bearer_enabled"), "rtc_bearer_enabled needs `type bearer;`");
    const bool needs_name = auth.type == "basic" || !has_tokens;
    if (auth.username.empty() != auth.password.empty() || (auth.username.empty() && needs_name))
        problems_.error(origin("http_api/auth/enabled"),
                        "http_api's auth is enabled without a username and a password");
}

void SnapshotBuilder::check_api() {
    const HttpApi& api = snapshot_.http_api;
    if (api.https.enabled && !api.enabled)
        problems_.warning(origin("http_api/https/enabled"), "https does nothing while http_api is not enabled");
    if (!api.enabled) return;
    const HttpApiAuth& auth = api.auth;
    check_api_auth(auth);
    for (const auto& [path, tokens] :
         {std::pair("http_api/auth/tokens", &auth.tokens), std::pair("http_api/auth/read_tokens", &auth.read_tokens)})
        for (const std::string& token : *tokens)
            if (token.size() < kShortestToken)
                problems_.error(origin(path),
                                fmt::format("a token of {} has {} characters; at least {} keep it from being guessed",
                                            path, token.size(), kShortestToken));
    if (!auth.enabled && !snapshot_.global.trusted_proxies.empty())
        problems_.warning(origin("http_api/enabled"),
                          "calls of the API that change something are refused when they come through a proxy; "
                          "http_api's auth { enabled on; ... } allows them, see doc/coming-from-srs.md");
    if (!api.debug || api.auth.enabled) return;
    auto check = [&](const ListenAddresses& addresses, const char* path) {
        for (const ListenAddress& address : addresses) {
            if (address.is_loopback()) continue;
            problems_.error(
                origin("http_api/debug"),
                fmt::format("debug shows the inside of the server, and {} {} can be reached by others: "
                            "give http_api an auth {{ enabled on; username ...; password ...; }}, or let it "
                            "listen on 127.0.0.1:{}",
                            path, address.text(), address.port));
        }
    };
    check(api.listen, "http_api/listen");
    if (api.https.enabled) check(api.https.listen, "http_api/https/listen");
}

void SnapshotBuilder::check_process() {
    if (snapshot_.global.asprocess && snapshot_.global.daemon)
        problems_.error(origin("asprocess"), "asprocess wants `daemon off;`: a daemon has no parent to follow");
}

void SnapshotBuilder::finish() {
    check_process();
    settle_listeners();
    check_listeners();
    check_api();
    for (const Section& section : sections())
        if (section.check) section.check(checks_);
    if (snapshot_.vhosts.empty())
        problems_.warning({"configuration", 0},
                          "no vhost: every publish and play will be refused; "
                          "`vhost __defaultVhost__ { }` serves every host");
    for (Vhost& vhost : snapshot_.vhosts) check_vhost(vhost);
    report_missing_features();
}

}  // namespace config
