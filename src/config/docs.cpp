#include "config/docs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/directive.h"
#include "config/environment.h"

namespace config {
namespace {

std::string_view parent_of(std::string_view path) {
    size_t slash = path.rfind('/');
    return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
    size_t slash = path.rfind('/');
    return slash == path.npos ? path : path.substr(slash + 1);
}

// The text after the name: the default, or else the example. A supported row's default is already in the file's form.
std::string shown_value(const Row& row) {
    if (!row.initial.empty()) return row.supported() ? row.initial : quote_if_needed(row.initial);
    return row.example;
}

std::string facts(const Row& row) {
    if (row.missing) return fmt::format("no effect: {} {}", row.missing->name, row.missing->state);
    std::string text = row.type;
    bool choice = row.range.find('|') != std::string::npos;
    if (!row.range.empty()) text = choice ? row.range : fmt::format("{}, {}", text, row.range);
    return fmt::format("{}; {}", text, row.apply == Apply::kLive ? "reload" : "restart");
}

class FullConf {
  public:
    std::string text() {
        out_ =
            "# Every directive of this server, with its default. Generated from the tables of directives by:\n"
            "#   objs/srs --print-full-conf > conf/full.conf\n"
            "# The comment above a directive has its meaning, type, range, and whether a change needs a reload "
            "(SIGHUP) or a\n"
            "# restart. A directive after a # has no default, or has no effect.\n\n";
        rows_of("", "", false);
        for (const Block& block : blocks()) {
            if (parent_of(block.path).empty()) add(block, "", false);
        }
        return out_;
    }

  private:
    void add(const Block& block, const std::string& indent, bool commented) {
        bool off = commented || block.missing;
        const char* mark = off ? "# " : "";
        std::string name = block.path == "vhost"                 ? " __defaultVhost__"
                           : block.repeatable && !indent.empty() ? " NAME"
                                                                 : "";
        out_ += fmt::format("\n{}# {}\n{}{}{}{} {{\n", indent, block.doc, indent, mark, name_of(block.path), name);
        rows_of(block.path, indent + "    ", off);
        for (const Block& child : blocks()) {
            if (parent_of(child.path) == block.path) add(child, indent + "    ", off);
        }
        out_ += fmt::format("{}{}}}\n", indent, mark);
    }

    void rows_of(std::string_view scope, const std::string& indent, bool commented) {
        for (const Row& row : rows()) {
            if (row.scope != scope) continue;
            bool must = row.path() == "rtmp/listen";  // the file needs it to be complete
            bool off = commented || !row.supported() || (row.initial.empty() && !must);
            out_ += fmt::format("{}# {} ({})\n", indent, row.doc, facts(row));
            out_ += fmt::format("{}{}{} {};\n", indent, off ? "# " : "", row.name, shown_value(row));
        }
    }

    std::string out_;
};

std::string effect(const Feature& missing) { return fmt::format("No effect: {} {}.", missing.name, missing.state); }

std::string cell(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '|') out += '\\';
        out += c;
    }
    return out;
}

void table_of(std::string_view scope, std::string& out) {
    bool begun = false;
    for (const Row& row : rows()) {
        if (row.scope != scope) continue;
        if (!begun)
            out +=
                "| directive | default | type and range | change | environment | what it does "
                "|\n|---|---|---|---|---|---|\n";
        begun = true;
        std::string names;
        for (const std::string& name : environment_names(row)) names += (names.empty() ? "`" : ", `") + name + "`";
        std::string type = row.range.find('|') != std::string::npos ? row.range
                           : row.range.empty()                      ? row.type
                                                                    : row.type + ", " + row.range;
        out += fmt::format("| `{}` | {} | {} | {} | {} | {}{} |\n", row.name,
                           row.initial.empty() ? "" : "`" + cell(row.initial) + "`", cell(type),
                           !row.supported()            ? ""
                           : row.apply == Apply::kLive ? "reload"
                                                       : "restart",
                           names, row.missing ? cell(effect(*row.missing)) + " " : "", cell(row.doc));
    }
}

}  // namespace

std::string full_conf() { return FullConf().text(); }

std::string config_markdown() {
    std::string out =
        "# Configuration\n\n"
        "Generated from the tables of directives, by `objs/srs --print-config-doc > doc/config.md`.\n\n"
        "A file holds directives, `name value;`, and blocks of directives, `name { }`. Words are separated by white "
        "space, `#`\n"
        "starts a comment, and a word that contains a space, `;`, `{` or `}` is put in single or double quotes "
        "(`\\\"`, `\\'`,\n"
        "`\\\\`, `\\n`, `\\r`, `\\t` inside). `include FILE...;` stands for the content of these files, which are "
        "searched in the\n"
        "working directory and beside the file that includes them. `objs/srs -t -c FILE` checks a file and prints "
        "every error;\n"
        "it also looks for the certificates, directories and programs that the file names.\n\n"
        "An environment variable overrides the file; a variable of a vhost directive sets it in every vhost. `objs/srs "
        "-e`\n"
        "reads no file and begins with an empty `__defaultVhost__`. The column *change* says how a changed value "
        "becomes\n"
        "effective: by a reload (SIGHUP) or a restart. A directive that has no effect is accepted. If a file sets it "
        "or\n"
        "switches it on, there is a warning, one for each missing feature. If a directive is given twice, the last "
        "value is\n"
        "used, with a warning. A value of a switch that is neither `on` nor `off` is replaced by the default, with a "
        "warning;\n"
        "for a switch that restricts access it is an error.\n\n"
        "Old names of directives are accepted with a warning:";
    bool first = true;
    for (const Alias& alias : aliases()) {
        if (!alias.old) continue;
        out += fmt::format("{} `{}` for `{}`", first ? "" : ",", alias.from, alias.to);
        first = false;
    }
    out +=
        ". So are the old forms `forward HOST...;`, `refer`, `refer_play` and `refer_publish` of a vhost, "
        "`mr { }`, `nack { }` and `twcc { }`, and `aac` and `bframe` of rtc.\n\n## Outside of blocks\n\n";
    table_of("", out);
    for (const Block& block : blocks()) {
        bool named = block.names != Block::Names::kNone;
        out += fmt::format("\n## {}{}\n\n{}{}\n\n", block.path, named ? " NAME" : "", block.doc,
                           block.missing ? " " + effect(*block.missing) : "");
        if (block.free_form) out += "Any directives: they are passed to the tool.\n";
        table_of(block.path, out);
    }
    return out;
}

std::string missing_markdown() {
    std::vector<const Feature*> features;
    auto add_feature = [&](const Feature* feature) {
        if (feature && std::ranges::find(features, feature) == features.end()) features.push_back(feature);
    };
    for (const Block& block : blocks()) add_feature(block.missing);
    for (const Row& row : rows()) add_feature(row.missing);
    std::string out = "| what | it | directives |\n|---|---|---|\n";
    for (const Feature* feature : features) {
        std::string names;
        auto add = [&](std::string_view path) { names += fmt::format("{}`{}`", names.empty() ? "" : ", ", path); };
        // A missing block is listed instead of its directives.
        auto is_inside = [&](std::string_view path) {
            return std::ranges::any_of(blocks(), [&](const Block& block) {
                return block.missing == feature && path.starts_with(block.path + "/");
            });
        };
        for (const Block& block : blocks())
            if (block.missing == feature && !is_inside(block.path)) add(block.path + " { }");
        for (const Row& row : rows())
            if (row.missing == feature && !is_inside(row.path())) add(row.path());
        out += fmt::format("| {} | {} | {} |\n", cell(feature->name), cell(feature->state), names);
    }
    out += "\n| an older file's | is read as |\n|---|---|\n";
    for (const Alias& alias : aliases())
        if (alias.old) out += fmt::format("| `{}` | `{}` |\n", alias.from, alias.to);
    return out;
}

}  // namespace config
