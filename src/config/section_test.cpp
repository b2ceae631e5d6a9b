#include "config/section.h"

#include <gtest/gtest.h>

#include "config/diff.h"
#include "config/listeners.h"
#include "config/row_builder.h"
#include "config/test_util.h"

namespace config {
namespace {

struct Server {
    bool enabled = false;
    ListenAddresses listen{{"", 7}};
};
struct OfVhost {
    bool enabled = false;
    int size = 3;
    std::string name = "x";
};

// Blocks inside one another, of which there may be several: transcode has rows without effect, too.
struct Part {
    std::string name{};
    int rate = 1;
    std::vector<std::string> options{};
};
struct Whole {
    std::string name{};
    std::string tool{};
    Commands commands{};
    std::vector<Part> parts{};
    std::string text{};
};
struct Wholes {
    Whole draft{};
    Part part{};
    std::vector<Whole> all{};
};

void add_named_rows(std::vector<Row>& rows) {
    const Scope whole{"vhost/transcode",
                      [](const auto& root) -> decltype(auto) { return (root.vhost->template get<Wholes>().draft); }};
    rows.push_back(row(whole, "ffmpeg", &Whole::tool, none(), kLive, "A text."));
    rows.push_back(list_row(whole, "enabled", &Whole::commands, kLive, "Commands.", "a b"));
    const Scope part{"vhost/transcode/engine",
                     [](const auto& root) -> decltype(auto) { return (root.vhost->template get<Wholes>().part); }};
    rows.push_back(row(part, "vbitrate", &Part::rate, count(1, 9), kLive, "A number."));
}

void keep_part(Vhost& vhost, const std::string& name, const Location&) {
    auto& wholes = vhost.get<Wholes>();
    wholes.draft.parts.push_back(wholes.part);
    wholes.draft.parts.back().name = name;
    wholes.part.options.clear();
}
void keep_whole(Vhost& vhost, const std::string& name, const Location&) {
    auto& wholes = vhost.get<Wholes>();
    wholes.draft.name = name;
    wholes.draft.text = draft_text("vhost/transcode", vhost, [](std::string_view value) { return std::string(value); });
    wholes.all.push_back(wholes.draft);
    wholes.draft.parts.clear();
}
void keep_never(Vhost&, const std::string&, const Location&) { ADD_FAILURE() << "the first section's counts"; }
std::string text_of_wholes(const Vhost& vhost) {
    std::string text;
    for (const Whole& whole : vhost.get<Wholes>().all) text += whole.name + " ";
    return text;
}
void add_option(Vhost& vhost, const std::string& name, Words words) {
    auto& options = vhost.get<Wholes>().part.options;
    options.push_back(name);
    options.insert(options.end(), words.begin(), words.end());
}

void add_rows(std::vector<Row>& rows) {
    add_named_rows(rows);
    const Scope server{"novel_server",
                       [](const auto& root) -> decltype(auto) { return (root.snapshot->template get<Server>()); }};
    rows.push_back(row(server, "enabled", &Server::enabled, none(), kRestart, "A server."));
    rows.push_back(row(server, "listen", &Server::listen, none(), kRestart, "Its addresses."));
    // SRT has rows without effect: these take their place.
    const Scope scope{"vhost/srt",
                      [](const auto& root) -> decltype(auto) { return (root.vhost->template get<OfVhost>()); }};
    rows.push_back(guarding(row(scope, "enabled", &OfVhost::enabled, none(), kLive, "On.")));
    rows.push_back(row(scope, "size", &OfVhost::size, count(1, 9), kLive, "A number."));
    rows.push_back(row(scope, "name", &OfVhost::name, none(), kLive, "A text."));
}

void check(Checks& checks) {
    if (checks.snapshot().get<Server>().enabled) checks.warning("novel_server/enabled", "it is on");
}

void check_vhost(Checks& checks, Vhost& vhost) {
    auto& of = vhost.get<OfVhost>();
    if (!checks.was_set(vhost, "vhost/srt/size")) of.size = 5;
    if (of.name == "bad") checks.error(vhost, "vhost/srt/name", "the name is bad");
}

const ListenAddresses* listen(const Snapshot& snapshot) {
    const auto& server = snapshot.get<Server>();
    return server.enabled ? &server.listen : nullptr;
}

const bool kAdded = [] {
    add_section({.service = "novel",
                 .add_rows = add_rows,
                 .blocks = {{"novel_server", Block::Names::kNone, false, false, nullptr, "A server of the test."}},
                 .listeners = {{"novel", "novel_server/listen", "novel", "novel", Transport::kTcp, listen}},
                 .named_blocks = {{.path = "vhost/transcode/engine", .keep = keep_part},
                                  {.path = "vhost/transcode", .keep = keep_whole, .text = text_of_wholes}},
                 .free_blocks = {{"vhost/transcode/engine/vparams", add_option}},
                 .check = check,
                 .check_vhost = check_vhost});
    add_section({.service = "another",
                 .add_rows = add_named_rows,
                 .named_blocks = {{.path = "vhost/transcode", .keep = keep_never, .text = text_of_wholes}}});
    return true;
}();

TEST(Section, ValuesOfEachTypeArePlain) {
    Sections sections;
    EXPECT_EQ(std::as_const(sections).get<OfVhost>().size, 3) << "the defaults";
    sections.get<OfVhost>().size = 8;
    const Sections copy = sections;
    sections.get<OfVhost>().size = 9;
    EXPECT_EQ(copy.get<OfVhost>().size, 8);
    EXPECT_EQ(copy.get<Server>().listen[0].port, 7);
}

TEST(Section, ItsDirectivesAreRead) {
    ASSERT_TRUE(kAdded);
    Loaded loaded =
        load_text("listen 1; novel_server { enabled on; listen 9; }\nvhost a { srt { enabled on; name y; } }",
                  {"SRS_VHOST_SRT_SIZE=4"});
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_EQ(described(loaded.problems), "t.conf:1: warning: it is on\n");
    EXPECT_EQ(loaded.snapshot->get<Server>().listen[0].port, 9);
    EXPECT_EQ(loaded.snapshot->vhosts[0].get<OfVhost>().size, 4);
    EXPECT_EQ(loaded.snapshot->vhosts[0].get<OfVhost>().name, "y");
    loaded = load_text("listen 1; vhost a { srt { enabled on; } }");
    EXPECT_EQ(loaded.snapshot->vhosts[0].get<OfVhost>().size, 5) << "a default that its check sets";
}

TEST(Section, ItsChecksSayWhere) {
    Loaded loaded = load_text("listen 1;\nvhost a {\n srt { name bad; } }");
    EXPECT_EQ(described(loaded.problems), "t.conf:3: error: the name is bad\n");
    loaded = load_text("listen 1; vhost a { srt { enabled yes; } }");
    EXPECT_EQ(described(loaded.problems), "t.conf:1: error: enabled: 'yes' is neither on nor off\n");
    loaded = load_text("listen 1; vhost a { }\nnovel_server { enabled on; listen 1; }");
    EXPECT_EQ(described(loaded.problems),
              "t.conf:2: error: novel_server/listen 1 is already used by rtmp/listen at t.conf:1\n"
              "t.conf:2: warning: it is on\n");
}

TEST(Section, AReloadComparesIt) {
    SnapshotPtr before = load_text("listen 1; vhost a { }").snapshot;
    SnapshotPtr after = load_text("listen 1; novel_server { listen 8; } vhost a { srt { name z; } }").snapshot;
    Reload reload = plan_reload(*before, *after);
    ASSERT_EQ(reload.changes.size(), 2u);
    EXPECT_EQ(reload.changes[0].describe(), "novel_server/listen: 7 -> 8");
    EXPECT_EQ(reload.snapshot->get<Server>().listen[0].port, 7) << "it needs a restart";
    EXPECT_EQ(reload.snapshot->vhosts[0].get<OfVhost>().name, "z");
}

TEST(Section, BlocksInsideOneAnotherAreKeptApart) {
    const Loaded loaded = load_text(
        "listen 1; vhost a { transcode one { ffmpeg f; enabled x 'y z'; enabled w; engine p { vbitrate 3; vparams { b "
        "1; "
        "'c:d' '2 3' 4; e; } } engine q { } } transcode { engine { vparams { f; } } } }");
    ASSERT_TRUE(loaded.snapshot) << described(loaded.problems);
    EXPECT_EQ(described(loaded.problems), "");
    const auto& all = loaded.snapshot->vhosts[0].get<Wholes>().all;
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].name, "one");
    EXPECT_EQ(all[0].commands, (Commands{{"x", "y z"}, {"w"}}));
    EXPECT_EQ(all[0].text, "ffmpeg f, enabled x \"y z\" ; w");
    ASSERT_EQ(all[0].parts.size(), 2u);
    EXPECT_EQ(all[0].parts[0].rate, 3);
    EXPECT_EQ(all[0].parts[0].options, (std::vector<std::string>{"b", "1", "c:d", "2 3", "4", "e"}));
    EXPECT_EQ(all[0].parts[1].name, "q");
    EXPECT_EQ(all[0].parts[1].rate, 1) << "the default again";
    EXPECT_TRUE(all[0].parts[1].options.empty());
    EXPECT_TRUE(all[1].commands.empty()) << "the default again";
    EXPECT_EQ(all[1].parts[0].options, (std::vector<std::string>{"f"}));
    EXPECT_EQ(described(load_text("listen 1; vhost a { transcode { engine {\n vparams { b { } } } } }").problems),
              "t.conf:2: error: 'b' of vhost/transcode/engine/vparams is an option, not a block\n");
    EXPECT_EQ(described(load_text("listen 1; vhost a { transcode { engine { vfilter { b; } } } }").problems), "");
}

TEST(Section, ABlockThatSectionsShareIsComparedOnce) {
    const SnapshotPtr before = load_text("listen 1; vhost a { }").snapshot;
    const SnapshotPtr after = load_text("listen 1; vhost a { transcode one { } transcode { } }").snapshot;
    const Reload reload = plan_reload(*before, *after);
    ASSERT_EQ(reload.changes.size(), 1u);
    EXPECT_EQ(reload.changes[0].describe(), "vhost a vhost/transcode/enabled: nothing -> one  ");
}

// No service is built in here.
TEST(Section, DirectivesOfServicesThatAreNotBuiltIn) {
    auto said = [](const std::string& text, std::vector<std::string> environment = {}) {
        return described(load_text("listen 1; " + text, std::move(environment)).problems);
    };
    EXPECT_EQ(said("vhost a { hls { enabled on; hls_fragment 2; } }"),
              "t.conf:1: warning: HLS is not built in: no effect of vhost/hls/enabled, vhost/hls/hls_fragment\n");
    EXPECT_EQ(said("vhost a { cluster { mode remote; origin o; } }"),
              "t.conf:1: warning: cluster is not built in: no effect of vhost/cluster/mode, vhost/cluster/origin\n");
    EXPECT_EQ(said("vhost a { hls { enabled off; hls_fragment 2; } }"), "");
    EXPECT_EQ(said("vhost a { http_hooks { on_play http://h/; } }"), "") << "off by default";
    EXPECT_EQ(said("vhost a { }", {"SRS_VHOST_HTTP_HOOKS_ON_PLAY=http://h/"}), "");
    EXPECT_EQ(said("rtc_server { enabled on; tcp { enabled on; } } vhost a { }"),
              "t.conf:1: warning: WebRTC is not built in: no effect of rtc_server/enabled, rtc_server/tcp\n");
    EXPECT_EQ(said("vhost a { forward 10.0.0.1; }"),
              "t.conf:1: warning: 'vhost/forward ...;' is the old form of vhost/forward { enabled on; destination ...; "
              "}\n"
              "t.conf:1: warning: forwarding is not built in: no effect of vhost/forward/enabled, "
              "vhost/forward/destination\n");
    EXPECT_EQ(said("vhost a { }", {"SRS_EXPORTER_ENABLED=on", "SRS_HEARTBEAT_ENABLED=off"}),
              "SRS_EXPORTER_ENABLED: warning: the exporter is not built in: no effect of SRS_EXPORTER_ENABLED\n");
    EXPECT_EQ(said("vhost a { http_hooks { enabled on; } }"),
              "t.conf:1: error: the hook service is not built in: no effect of vhost/http_hooks/enabled, and "
              "everybody would be let in without it\n");
}

}  // namespace
}  // namespace config
