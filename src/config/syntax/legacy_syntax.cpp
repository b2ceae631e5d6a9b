#include "config/syntax/legacy_syntax.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace config {
namespace {

Node value(std::string name, std::vector<std::string> words, const Node& from) {
    return {std::move(name), std::move(words), false, {}, from.location, from.last_line};
}

// Rewrites the nodes of one vhost.
class VhostForms {
  public:
    VhostForms(std::vector<Node>& nodes, Problems& problems) : problems_(problems), out_(nodes) {}

    void rewrite() {
        std::vector<Node> nodes = std::exchange(out_, {});
        for (Node& node : nodes) {
            if (rewrite_one(node)) continue;
            if (node.is_block && node.name == "rtc") rewrite_rtc(node);
            out_.push_back(std::move(node));
        }
    }

  private:
    // Today's block if it precedes the older form, otherwise a new one. If it follows the older form, both apply.
    Node& block(std::string_view name, const Node& from) {
        auto found = std::ranges::find_if(out_, [&](const Node& node) { return node.is_block && node.name == name; });
        if (found != out_.end()) return *found;
        return out_.emplace_back(Node{std::string(name), {}, true, {}, from.location, from.last_line});
    }

    // A block that is created for an older form is enabled by it.
    Node& enabled_block(std::string_view name, const Node& from) {
        const size_t before = out_.size();
        Node& made = block(name, from);
        if (out_.size() > before) made.children.push_back(value("enabled", {"on"}, from));
        return made;
    }

    bool rewrite_one(Node& node) {
        if (node.is_block && (node.name == "mr" || node.name == "nack" || node.name == "twcc"))
            return rewrite_block(node);
        if (node.is_block) return false;
        if (node.words.empty()) return false;
        if (node.name == "forward") return move_words(node, "forward", "destination");
        if (node.name == "refer") return move_words(node, "refer", "all");
        if (node.name == "refer_play") return move_words(node, "refer", "play");
        if (node.name == "refer_publish") return move_words(node, "refer", "publish");
        return false;
    }

    bool move_words(Node& node, std::string_view into, std::string_view name) {
        problems_.warning(node.location,
                          fmt::format("'vhost/{} ...;' is the old form of vhost/{} {{ enabled on; {} ...; }}",
                                      node.name, into, name));
        std::vector<std::string> words = std::move(node.words);
        enabled_block(into, node).children.push_back(value(std::string(name), std::move(words), node));
        return true;
    }

    bool rewrite_block(Node& node) {
        struct Move {
            std::string_view from, child, into, name;
        };
        static constexpr Move kMoves[] = {
            {"mr", "enabled", "publish", "mr"}, {"mr", "latency", "publish", "mr_latency"},
            {"nack", "enabled", "rtc", "nack"}, {"nack", "no_copy", "rtc", "nack_no_copy"},
            {"twcc", "enabled", "rtc", "twcc"},
        };
        for (Node& child : node.children) {
            auto move = std::ranges::find_if(
                kMoves, [&](const Move& move) { return move.from == node.name && move.child == child.name; });
            if (move == std::end(kMoves)) {
                problems_.error(child.location, fmt::format("unknown directive 'vhost/{}/{}'", node.name, child.name));
                continue;
            }
            problems_.warning(child.location, fmt::format("'vhost/{}/{}' is the old name of vhost/{}/{}", node.name,
                                                          child.name, move->into, move->name));
            child.name = move->name;
            block(move->into, node).children.push_back(std::move(child));
        }
        return true;
    }

    void rewrite_rtc(Node& rtc) {
        for (Node& child : rtc.children) {
            if (child.is_block || child.words.size() != 1) continue;
            if (child.name == "aac") rewrite_choice(child, "transcode", "rtmp_to_rtc");
            if (child.name == "bframe") rewrite_choice(child, "keep", "keep_bframe");
        }
    }

    void rewrite_choice(Node& node, std::string_view on, std::string_view name) {
        const bool is_on = node.words[0] == on;
        problems_.warning(node.location, fmt::format("'vhost/rtc/{} {}' is the old form of vhost/rtc/{} {}", node.name,
                                                     node.words[0], name, is_on ? "on" : "off"));
        node.name = name;
        node.words = {is_on ? "on" : "off"};
    }

    Problems& problems_;
    std::vector<Node>& out_;
};

}  // namespace

void rewrite_legacy_syntax(std::vector<Node>& nodes, Problems& problems) {
    for (Node& node : nodes) {
        if (node.is_block && node.name == "vhost") VhostForms(node.children, problems).rewrite();
    }
}

}  // namespace config
