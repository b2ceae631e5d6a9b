#pragma once
// The table of directives: one Row per directive, one Block per block. The rows are the source of the checks, the
// environment variables' names, the defaults, conf/full.conf, doc/config.md, the listing and the reload's differences.
// A directive of a missing feature has a row without a binding: it is recognised and documented, and using it is a
// warning.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/redaction.h"
#include "base/result.h"
#include "config/features.h"
#include "config/snapshot.h"
#include "config/value.h"

namespace config {

enum class Apply : uint8_t { kLive, kRestart };
inline constexpr Apply kLive = Apply::kLive;        // a reload applies it
inline constexpr Apply kRestart = Apply::kRestart;  // the running server keeps the old value

// Where a row's value is stored: in the snapshot, and for the scopes below vhost in one of its vhosts.
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
    std::function<std::string(const ConstRoot&)> get;  // in the configuration file's form
    std::function<void(const Root& to, const ConstRoot& from)> copy;
};

struct Row {
    std::string scope;  // the block's path: "", "rtmp", "vhost/play"
    std::string name;
    std::string type;     // "on|off", "integer" ...; empty: not supported, any words are accepted
    std::string range;    // "0 to 60000 ms", or empty
    std::string initial;  // the default as text, empty when there is none
    std::string example;  // shown instead of a default, if there is none
    Apply apply = Apply::kRestart;
    bool repeatable = false;  // may occur several times in its block
    bool guards = false;      // a switch that denies access
    bool secret = false;      // its value is one, whatever its name is
    std::string doc;          // one line
    Binding binding;
    const Feature* missing = nullptr;  // for a row without a binding: why it has no effect

    bool supported() const { return static_cast<bool>(binding.set); }
    bool in_vhost() const { return scope == "vhost" || scope.starts_with("vhost/"); }
    // Its value appears neither in the log nor in the API.
    bool is_secret() const { return secret || (type != "on|off" && base::names_secret(name)); }
    std::string path() const { return scope.empty() ? name : scope + "/" + name; }
};

struct Block {
    enum class Names : uint8_t { kNone, kOptional, kRequired };
    std::string path;  // "vhost", "vhost/play"
    Names names = Names::kNone;
    bool repeatable = false;
    bool free_form = false;            // accepts any directives: options passed through to a tool
    const Feature* missing = nullptr;  // the whole block has no effect, and why
    std::string doc;
};

// Names used in older files: `from` is read as `to`.
struct Alias {
    std::string_view from;  // a path, "vhost/gop_cache"
    std::string_view to;
    bool old = true;  // worth a warning
};

// In the order of full.conf and the documentation: the scopes one after another, parents first.
std::span<const Row> rows();
std::span<const Block> blocks();
std::span<const Alias> aliases();

const Row* find_row(std::string_view path);
const Block* find_block(std::string_view path);
const Alias* find_alias(std::string_view path);

// Whether the row is in a block, other than a vhost, of which there may be several: it has a value for each of them.
bool in_named_block(const Row& row);

// Every name, of directives and blocks, that is allowed in the block of that path.
std::vector<std::string_view> names_in(std::string_view scope);

}  // namespace config
