#include "server/command_line.h"

#include <CLI/CLI.hpp>

#include "config/docs.h"
#include "server/version.h"

namespace server {
namespace {

using Action = CommandLine::Action;

struct Flags {
    bool test = false;
    bool environment = false;
    bool version = false;
    bool about = false;
    bool signature = false;
    bool full_conf = false;
    bool config_doc = false;
    bool missing_doc = false;
    bool doctor = false;
    bool why = false;
    bool dry = false;
};

void declare_why(CLI::App& app, CommandLine& line, Flags& flags) {
    CLI::App* why = app.add_subcommand(
        "why",
        "Says why a URL cannot be played or published, and the line of configuration that mends it: of RTMP,\n"
        "HTTP-FLV, HTTP-TS, HLS, DASH, WebRTC, RTSP, SRT, or a page with a player. Asks the running server at the\n"
        "API's address of the configuration (-c FILE), which plays two seconds; the exit code is 1 if something was\n"
        "found");
    why->fallthrough()->callback([&flags] { flags.why = true; });
    why->add_option("URL", line.why.url, "The URL, as the player or the encoder has it")->required();
    why->add_flag("--publish", line.why.publishes, "It is to be published, where the URL does not say so");
    why->add_flag("--dry", flags.dry, "Do not play it");
    why->add_option("--ip", line.why.ip, "The client's address, for rules by address")->type_name("ADDRESS");
    why->add_option("--page", line.why.page, "The web page that the player is in, for refer")->type_name("URL");
}

void declare(CLI::App& app, CommandLine& line, Flags& flags) {
    app.set_help_flag("-h,-?,--help", "Print this and exit");
    app.add_option("-c", line.config_file, "The configuration file")->type_name("FILE");
    app.add_flag("-e", flags.environment, "Take the configuration from SRS_ environment variables alone, and no file");
    app.add_flag("-t", flags.test, "Check the configuration, print all that is wrong with it, and exit");
    app.add_flag("-v,-V", flags.version, "Print the version and exit");
    app.add_flag("--version", flags.about, "Print the version, the commit and what was built in, and exit");
    app.add_flag("-g,-G", flags.signature, "Print the signature and exit");
    // For scripts that keep the shipped files consistent with the table of directives.
    app.add_flag("--print-full-conf", flags.full_conf)->group("");
    app.add_flag("--print-config-doc", flags.config_doc)->group("");
    app.add_flag("--print-missing-doc", flags.missing_doc)->group("");
    app.add_subcommand(
           "doctor",
           "Checks this machine: limits, ports, certificates, disks, clock, processors. Prints each result and\n"
           "the command that improves it; the exit code is 1 if the server could not do its work.\n"
           "With -c FILE for that configuration")
        ->fallthrough()
        ->callback([&flags] { flags.doctor = true; });
    declare_why(app, line, flags);
    app.footer(
        "Signals: HUP reloads the configuration, USR1 opens the log again, USR2 replaces the running program by the\n"
        "one that is at its path now, without closing connections; INT and TERM end the server at once, QUIT\n"
        "gracefully. conf/full.conf lists every directive. SRS_CONFIG_FILE names the file instead of -c,\n"
        "and SRS_ENV_ONLY=on has the effect of -e.\n"
        "For example: objs/srs -c conf/srs.conf");
}

CommandLine print(std::string text) { return {Action::kPrint, std::move(text), ""}; }
CommandLine fail(std::string text) { return {Action::kFail, std::move(text), ""}; }

CommandLine decide(CommandLine line, const Flags& flags, const CLI::Option& file,
                   const CommandLineEnvironment& environment) {
    if (flags.version) return print(std::string(kVersion) + "\n");
    if (flags.about) {
        line.action = Action::kAbout;
        return line;
    }
    if (flags.signature) return print(std::string(kSignature) + "\n");
    if (flags.full_conf) return print(config::full_conf());
    if (flags.config_doc) return print(config::config_markdown());
    if (flags.missing_doc) return print(config::missing_markdown());
    if (file.count() > 0 && line.config_file.empty()) return fail("srs: -c needs the name of a file\n");
    const std::string_view only = environment.environment_only ? environment.environment_only : "off";
    const bool from_environment = flags.environment || (only != "off" && !only.empty());
    if (from_environment)
        line.config_file.clear();
    else if (environment.config_file && *environment.config_file)
        line.config_file = environment.config_file;
    if (flags.doctor || flags.why) {
        line.action = flags.doctor ? Action::kDoctor : Action::kWhy;
        line.why.plays = !flags.dry;
        return line;
    }
    if (!from_environment && line.config_file.empty())
        return fail(
            "srs: no configuration. Give a file, for example `objs/srs -c conf/srs.conf`, or -e to take it from\n"
            "the environment, for example `SRS_LISTEN=1935 SRS_DAEMON=off objs/srs -e`. -h says more.\n");
    line.action = flags.test ? Action::kTest : Action::kRun;
    return line;
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv, const CommandLineEnvironment& environment) {
    // As in SRS; no option of the parser may be a word after one dash.
    if (argc > 1 && std::string_view(argv[1]) == "-version") return print(std::string(kVersion) + "\n");
    try {
        CommandLine line;
        Flags flags;
        CLI::App app("SRS: a live media server. RTMP, RTSP and WebRTC in; also HTTP-FLV, HTTP-TS and HLS out.",
                     "objs/srs");
        declare(app, line, flags);
        try {
            app.parse(argc, argv);
        } catch (const CLI::CallForHelp&) {
            return print(app.help());
        } catch (const CLI::ParseError& error) {
            return fail(std::string("srs: ") + error.what() + "\n" + "`objs/srs -h` lists the options.\n");
        }
        return decide(std::move(line), flags, *app.get_option("-c"), environment);
    } catch (const std::exception& error) {
        return fail(std::string("srs: the command line: ") + error.what() + "\n");
    }
}

}  // namespace server
