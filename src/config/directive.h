#pragma once
// The table of directives: one Row per directive, one Block per block. From the rows come the checks, the environment's
// names, the defaults, conf/full.conf, doc/config.md, the listing and the reload's differences. A directive of a
// feature that is missing has a row without a binding: it is known and documented, and using it is a warning.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/features.h"
#include "config/snapshot.h"
#include "config/value.h"

namespace config {

enum class Apply : uint8_t { kLive, kRestart };
inline constexpr Apply kLive = Apply::kLive;        // a reload puts it in force
inline constexpr Apply kRestart = Apply::kRestart;  // the running server keeps the old value

// Where a row's value lives: in the snapshot, and for the scopes below vhost in one vhost of it.
struct Root {
    Snapshot* snapshot;
    Vhost* vhost;
};
struct ConstRoot {
    const Snapshot* snapshot;
    const Vhost* vhost;
};

// The type-erased member of a supported row.
struct Binding {
    std::function<base::Result<void>(Words, const Root&)> set;
    std::function<void(const Root&)> set_default;
    std::function<std::string(const ConstRoot&)> get;  // as the file would have it
    std::function<void(const Root& to, const ConstRoot& from)> copy;
};

struct Row {
    std::string scope;  // the block's path: "", "rtmp", "vhost/play"
    std::string name;
    std::string type;     // "on|off", "integer" ...; empty: not supported, any words
    std::string range;    // "0 to 60000 ms", or empty
    std::string initial;  // the default as text, empty when there is none
    std::string example;  // shown instead where there is no default
    Apply apply = Apply::kRestart;
    bool repeatable = false;  // may stand several times in its block
    std::string doc;          // one line
    Binding binding;
    const Feature* missing = nullptr;  // of a row without a binding: why it does nothing

    bool supported() const { return static_cast<bool>(binding.set); }
    bool in_vhost() const { return scope == "vhost" || scope.starts_with("vhost/"); }
    std::string path() const { return scope.empty() ? name : scope + "/" + name; }
};

struct Block {
    enum class Names : uint8_t { kNone, kOptional, kRequired };
    std::string path;  // "vhost", "vhost/play"
    Names names = Names::kNone;
    bool repeatable = false;
    bool free_form = false;            // holds any directives: options handed through to a tool
    const Feature* missing = nullptr;  // the whole block does nothing, and why
    std::string doc;
};

// Names that older files use: `from` is read as `to`.
struct Alias {
    std::string_view from;  // a path, "vhost/gop_cache"
    std::string_view to;
    bool old = true;  // worth a warning
};

// In the order in which full.conf and the documentation show them: the scopes one after another, parents first.
std::span<const Row> rows();
std::span<const Block> blocks();
std::span<const Alias> aliases();

const Row* find_row(std::string_view path);
const Block* find_block(std::string_view path);
const Alias* find_alias(std::string_view path);

// Every name, of directives and blocks, that may stand in the block of that path.
std::vector<std::string_view> names_in(std::string_view scope);

}  // namespace config
