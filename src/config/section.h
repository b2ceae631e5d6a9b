#pragma once
// Section: what a service adds to the configuration: its directives, its listeners and its checks. The values are
// structs of the service (section_values.h), which its rows name (row_builder.h).
//
// The blocks of a service that is not built in are known by the tables of config/ (features.h, directive.cpp): one that
// is switched on is a warning, or an error where ignoring it would let clients in.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/directive.h"
#include "config/listeners.h"
#include "config/snapshot.h"

namespace config {

// For checks of several directives: the values, and where problems are recorded. A default that depends on other values
// is set by a check, too.
class Checks {
  public:
    // Both must outlive it.
    Checks(Snapshot& snapshot, Problems& problems) : snapshot_(snapshot), problems_(problems) {}

    Snapshot& snapshot() { return snapshot_; }
    bool was_set(const Vhost& vhost, std::string_view path) const;
    // Records a problem at the line where a directive was set; without a vhost for directives outside of vhosts.
    void error(std::string_view path, std::string text) { problems_.error(location_of("", path), std::move(text)); }
    void warning(std::string_view path, std::string text) { problems_.warning(location_of("", path), std::move(text)); }
    void error(const Vhost& vhost, std::string_view path, std::string text) {
        problems_.error(location_of(vhost.name, path), std::move(text));
    }
    void warning(const Vhost& vhost, std::string_view path, std::string text) {
        problems_.warning(location_of(vhost.name, path), std::move(text));
    }
    // The same where the location is known.
    void error(const Location& location, std::string text) { problems_.error(location, std::move(text)); }
    void warning(const Location& location, std::string text) { problems_.warning(location, std::move(text)); }
    Location location_of(std::string_view vhost, std::string_view path) const;
    // A warning if the pattern has a variable that is not replaced. names: those that are, besides the time's.
    void check_variables(const Vhost& vhost, std::string_view path, std::string_view pattern,
                         std::span<const std::string_view> names);

  private:
    Snapshot& snapshot_;
    Problems& problems_;
};

// A block that may be given several times, each time with another name: ingest NAME { } of a vhost, stream_caster { }.
// Its rows, and those of blocks inside it, are bound to one struct, the draft, which has its defaults when a block
// begins. A block inside it may be one, too. Several sections may have the same block: it is that of the first.
struct NamedBlock {
    std::string_view path;  // "vhost/ingest"
    // At the end of a block: adds the draft to the vhost's list. name: may be empty. location: of the block.
    void (*keep)(Vhost& vhost, const std::string& name, const Location& location) = nullptr;
    // The whole list as one line, for the differences of a reload and for the log: without passwords. Null: the block
    // is inside another one, whose text has it.
    std::string (*text)(const Vhost& vhost) = nullptr;
    // The same of a block outside of vhosts.
    void (*keep_of_server)(Snapshot& snapshot, const std::string& name, const Location& location) = nullptr;
    std::string (*text_of_server)(const Snapshot& snapshot) = nullptr;
};

// A block whose directives are free (Block::free_form): options that are passed on.
struct FreeBlock {
    std::string_view path;  // "vhost/transcode/engine/vparams"
    void (*add)(Vhost& vhost, const std::string& name, Words words);
};

// The directives in a named block's draft that have other values than by default: "vbitrate 800, vcodec libx264". For
// NamedBlock::keep. Does not have those of free blocks and of named blocks inside it. shown: makes of a value what may
// be logged.
std::string draft_text(std::string_view path, const ConstRoot& root, std::string (*shown)(std::string_view value));
inline std::string draft_text(std::string_view path, const Vhost& vhost, std::string (*shown)(std::string_view value)) {
    return draft_text(path, ConstRoot{nullptr, &vhost}, shown);
}

struct Section {
    std::string_view service;
    void (*add_rows)(std::vector<Row>& rows) = nullptr;
    // Blocks that directive.cpp does not have. They are shown after those that it has.
    std::vector<Block> blocks{};
    std::vector<Listener> listeners{};
    std::vector<NamedBlock> named_blocks{};
    std::vector<FreeBlock> free_blocks{};
    // Called when all values are set: the first once, the second for each vhost.
    void (*check)(Checks& checks) = nullptr;
    void (*check_vhost)(Checks& checks, Vhost& vhost) = nullptr;
};

// Must be called before anything else of config/ is used, once for each service. The rows are in the order of the
// calls; of several with the same path, in a block that services share, the first counts.
void add_section(Section section);
std::span<const Section> sections();
// Null: there is none of that path.
const NamedBlock* find_named_block(std::string_view path);
const FreeBlock* find_free_block(std::string_view path);

}  // namespace config
