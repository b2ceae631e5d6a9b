#pragma once
// Fills a Snapshot from nodes and environment entries by means of the rows. Internal to load.cpp.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/directive.h"
#include "config/environment.h"
#include "config/section.h"
#include "config/snapshot.h"
#include "config/syntax/parser.h"

namespace config {

class SnapshotBuilder {
  public:
    explicit SnapshotBuilder(Problems& problems);

    void add_nodes(std::span<const Node> nodes);
    void add_default_vhost();
    // Other defaults if only the environment is used: no daemon, and the log on the console.
    void stay_in_foreground();
    void add_environment(std::span<const EnvironmentEntry> entries);
    // Fills in defaults that depend on other values and checks constraints between several directives.
    void finish();
    Snapshot take() { return std::move(snapshot_); }
    bool has_vhost() const { return !snapshot_.vhosts.empty(); }

  private:
    // The block that is being read. `instance` distinguishes blocks of one path: "vhost:a.com/play".
    struct Context {
        std::string path;
        std::string instance;
        int vhost = -1;      // index into the snapshot's
        bool quiet = false;  // in a block that has no effect and is switched off
    };

    void add_node(const Node& node, const Context& context);
    void add_block(const Node& node, const Context& context, const Block& block);
    void add_value(const Node& node, const Context& context, const Row& row);
    void unknown(const Node& node, const Context& context, std::string_view path);
    // Returns the position of an earlier definition of the same directive, if any.
    std::optional<Location> record_seen(const std::string& key, const Location& location);
    void add_value_without_effect(const Node& node, const Context& context, const Row& row);
    void miss(const Feature& feature, const Location& location, std::string name);
    bool set_stray_switch(const Row& row, Words words, const Location& location, const Root& to);
    // "; is a ; missing before 'listen' on a later line?" where a later line of the node begins with a name of that
    // scope.
    static std::string missing_end(const Node& node, std::string_view scope);
    bool check_block_words(const Node& node, const Block& block);
    int add_vhost(std::string name);
    void add_free(const Node& node, const FreeBlock& block, int vhost);
    void reset_draft(const NamedBlock& block, int vhost);
    void set_from_environment(const EnvironmentEntry& entry, int vhost);
    Root root(int vhost);
    Location origin(const char* path) const;
    void check_vhost(Vhost& vhost);
    void settle_listeners();
    void check_listeners();
    void check_api();
    void check_api_auth(const HttpApiAuth& auth);
    void check_process();
    void report_not_built_in(const Node& node, const Block& block);
    void report_missing_features();

    // The directives of a missing feature that a configuration uses.
    struct Missing {
        const Feature* feature;
        Location location;               // of the first directive
        std::vector<std::string> names;  // of all of them, each once
    };

    Problems& problems_;
    Snapshot snapshot_;
    Checks checks_;
    std::map<std::string, Location> seen_;
    std::vector<Missing> missing_;
    int unnamed_ = 0;  // repeatable blocks without a name
};

}  // namespace config
