#include "server/server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/log.h"
#include "config/listeners.h"
#include "runtime/diagnose/machine.h"
#include "runtime/diagnose/watchdog.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/handover_points.h"
#include "runtime/loop/signals.h"
#include "runtime/socket/shared_sockets.h"
#include "runtime/socket/tcp.h"
#include "runtime/threads/descriptors.h"
#include "server/builds/diagnostics.h"
#include "server/command_line.h"
#include "server/doctor/evaluate.h"
#include "server/doctor/read.h"
#include "server/lifecycle.h"
#include "server/log_setup.h"
#include "server/modules.h"
#include "server/process/daemon.h"
#include "server/process/heap.h"
#include "server/process/open_files.h"
#include "server/process/pid_file.h"
#include "server/process/privileges.h"
#include "server/process/resources.h"
#include "server/process/service_manager.h"
#include "server/process/signal_loop.h"
#include "server/process/socket_activation.h"
#include "server/reload/auto_reload.h"
#include "server/reload/config_source.h"
#include "server/reload/reload.h"
#include "server/server_id.h"
#include "server/services.h"
#include "server/upgrade/program_call.h"
#include "server/upgrade/successor.h"
#include "server/upgrade/upgrade.h"
#include "server/version.h"
#include "server/why/command.h"

namespace server {
namespace {

void print(std::FILE* file, const std::string& text) {
    std::fputs(text.c_str(), file);
    std::fflush(file);
}

std::string listening_on(const config::Snapshot& s) {
    std::string text;
    config::for_each_address(s, [&](const config::Listener& listener, const config::ListenAddress& address) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", listener.name, address.text());
    });
    return text;
}

bool wants_daemon(const config::Global& global) {
    return global.daemon && !(global.disable_daemon_for_docker && (global.in_docker || in_container()));
}

void log_first_lines(const ConfigSource& source, const config::Loaded& loaded, uint64_t open_files) {
    const config::Snapshot& snapshot = *loaded.snapshot;
    base::log::trace("{}, pid {}, server id {}, in {}, configuration of {}", kSignature, getpid(),
                     snapshot.global.server_id, runtime::working_directory(), source.name());
    for (const config::Problem& problem : loaded.problems.all()) base::log::warn("{}", problem.describe());
    base::log::trace("listening: {}; {} vhosts, at most {} connections, {} open files", listening_on(snapshot),
                     snapshot.vhosts.size(), snapshot.global.max_connections, open_files);
    std::string warning = open_file_warning(open_files, snapshot.global.max_connections);
    if (!warning.empty()) base::log::warn("{}", warning);
    if (wants_daemon(snapshot.global) && snapshot.global.srs_log_tank == config::LogTank::kConsole)
        base::log::warn("daemon is on and srs_log_tank is console: log lines are discarded from now on");
}

struct LoopEnd {
    ~LoopEnd() { runtime::shutdown(); }
};

// Before the modules that the link works with are destroyed.
struct LinkEnd {
    ProcessLink& link;
    ~LinkEnd() { link.close(); }
};

// Gives up root once everything listens. No client has been accepted before.
base::Result<void> become_user(const Privileges& privileges, const config::Snapshot& snapshot) {
    if (snapshot.global.user.empty()) return {};
    TRY(privileges.drop(), fmt::format("user ({})", snapshot.where("user")));
    if (privileges.change()) base::log::trace("the server is {} from here on", privileges.text());
    return {};
}

// The sentence that service managers show, also after a reload.
std::string status_of(const config::Snapshot& snapshot, const net::ReloadReport& last) {
    const std::string listening = fmt::format("Listening: {}", listening_on(snapshot));
    if (last.number == 0) return listening;
    return last.ok ? fmt::format("{}; reloads: {}", listening, last.number)
                   : fmt::format("{}; the last reload changed nothing: {}", listening, last.error);
}

void report_reloads(ServiceManager& manager, Reloader& reloader, AutoReload& auto_reload,
                    const net::Operations& operations) {
    reloader.on_reloading([&manager] { manager.reloading(); });
    reloader.on_reloaded([&] {
        auto_reload.adapt();
        manager.ready(status_of(*reloader.snapshot(), operations.last_reload));
    });
}

// For modules that need longer than a session may take to its end: files are completed, hooks reported.
constexpr int64_t kStopMs = 30'000;
// How long clients wait for what goes over from another process.
constexpr int64_t kTakeOverMs = 1'000;

// How this process was started.
struct Started {
    const ProgramCall& call;
    const FileMarks& read;  // files of the configuration
    Successor* successor;   // null: no other process is replaced
    std::vector<std::string> warnings{};
};

// As the successor of another process: it serves from here on.
base::Result<std::unique_ptr<runtime::ProcessChannel>> replace_other(Successor& successor, Lifecycle& lifecycle,
                                                                     PidFile& pid_file) {
    auto channel = TRY(successor.await_commit());
    TRY(pid_file.write());
    lifecycle.give_over(false);
    base::log::trace("upgrade: this process serves from now on, {}",
                     channel ? "beside the one that it replaces until that has no clients"
                             : "because the one that it was to replace has died");
    return channel;
}

// From the loop's start to its end. Reports the result of the start to `daemon`.
base::Result<void> serve(const ConfigSource& source, const config::Loaded& loaded, const Started& started,
                         Daemon& daemon, const Privileges& privileges, PidFile& pid_file) {
    const config::SnapshotPtr& snapshot = loaded.snapshot;
    keep_heap_dense();
    uint64_t open_files = raise_open_file_limit();
    const ServiceManager::Environment managed = ServiceManager::take_environment();
    TRY(connections_within(open_files, snapshot->global.max_connections));
    runtime::set_descriptor_budget(runtime::DescriptorBudget::of_limit(open_files));
    make_room_for_open_files(open_files, snapshot->global.max_connections);
    {
        const LeakCheckPause pause;
        TRY(runtime::init());
    }
    const LoopEnd loop_end;
    // Before the log starts its thread: no thread may receive these signals.
    auto signals = TRY(runtime::watch_signals(SignalLoop::kWatched));
    TRY(open_log(*snapshot));
    runtime::set_context_id(runtime::new_context_id());
    log_first_lines(source, loaded, open_files);
    for (const std::string& warning : started.warnings) base::log::warn("{}", warning);
    ServiceManager manager;
    if (auto opened = manager.start(managed); !opened) base::log::warn("{}", opened.error().describe());

    TRY(start_diagnostics());
    auto operations = std::make_shared<net::Operations>();
    ProcessLink link;
    Lifecycle lifecycle;
    const LinkEnd link_end{link};
    add_modules(lifecycle, snapshot, operations, link);
    if (started.successor) {
        runtime::hold_clients(true);
        lifecycle.give_over(true);
    }
    TRY(lifecycle.start());
    for (const std::string& address : runtime::drop_inherited_sockets())
        base::log::warn("the socket {} was opened for this server, but no directive listens there", address);
    TRY(become_user(privileges, *snapshot));
    Reloader reloader(source, lifecycle, *operations, snapshot, started.read);
    const auto snapshot_now = [&reloader] { return reloader.snapshot(); };
    AutoReload auto_reload(reloader, snapshot->global.in_docker || in_container());
    report_reloads(manager, reloader, auto_reload, *operations);
    operations->reload = [&reloader](std::string_view cause) { return reloader.reload(cause); };
    operations->check_reload = [&reloader] { return reloader.check(); };
    if (started.successor) {
        auto channel = TRY(replace_other(*started.successor, lifecycle, pid_file));
        if (channel) link.open(std::move(channel), snapshot_now, true);
        runtime::await_handover(runtime::Deadline::in_ms(kTakeOverMs));
        runtime::hold_clients(false);
    }
    // In an iteration of its own: the start is no stall of the loop.
    static_cast<void>(runtime::sleep_ms(1));
    TRY(runtime::watch_stalls(snapshot->global.stall_warn));
    base::log::trace("the server runs");
    base::log::flush();
    daemon.report("");
    manager.ready(status_of(*snapshot, {}));
    auto_reload.adapt();

    {
        Upgrade upgrade(
            {started.call, managed, lifecycle, link, pid_file, manager, auto_reload, snapshot_now, *operations});
        SignalLoop loop(*signals, lifecycle, *operations,
                        {.snapshot = snapshot_now,
                         .reload = [&reloader] { static_cast<void>(reloader.reload("SIGHUP")); },
                         .reopen_log = [&reloader] { return reloader.reopen_log(); },
                         .ending =
                             [&manager](int64_t within_ms) {
                                 manager.stopping(within_ms > 0 ? "Waiting for the clients to leave" : "Ending",
                                                  within_ms + kStopMs);
                             },
                         .upgrade = [&upgrade] { upgrade.begin(); },
                         .is_replaced = [&upgrade] { return upgrade.is_over(); }});
        loop.run();
    }
    link.announce_end();
    link.close();
    reloader.close();
    auto_reload.stop();
    lifecycle.stop();
    stop_diagnostics();
    // Only available in a debug build, which paints stacks.
    for (const runtime::CoroutineInfo& mark : runtime::stack_high_water_marks())
        base::log::trace("coroutine {}: {} of {} bytes of stack used", mark.name, mark.stack_used_bytes,
                         mark.stack_bytes);
    return {};
}

// All errors, one per line.
base::Result<void> errors_of(const config::Problems& problems) {
    std::string text;
    for (const config::Problem& problem : problems.all())
        if (problem.severity == config::Severity::kError) text += (text.empty() ? "" : "\n") + problem.describe();
    if (text.empty()) return {};
    return base::fail(base::Code::kConfig, std::move(text));
}

// Everything before the start of the loop; errors can be reported on the terminal here.
base::Result<void> start(ConfigSource& source, config::Loaded& loaded, Started& started, Daemon& daemon) {
    const config::Global global = loaded.snapshot->global;
    const std::string user_location = fmt::format("user ({})", loaded.snapshot->where("user"));
    const Privileges privileges = TRY(Privileges::find(global.user), user_location);
    TRY(privileges.lower(), user_location);
    if (chdir(global.work_dir.c_str()) != 0)
        return base::fail_errno(fmt::format("work_dir {} ({})", global.work_dir, loaded.snapshot->where("work_dir")),
                                errno);
    Successor* successor = started.successor;
    if (successor) started.warnings = TRY(successor->introduce());
    PidFile pid_file = TRY(PidFile::adopt(global.pid, successor ? successor->take_pid_file() : -1),
                           fmt::format("pid ({})", loaded.snapshot->where("pid")));
    check_resources(*loaded.snapshot, CheckedAt::kStart, loaded.problems);
    TRY(errors_of(loaded.problems));
    auto named = std::make_shared<config::Snapshot>(*loaded.snapshot);
    named->global.server_id = decide_server_id(global.server_id, global.pid);
    source.set_server_id(named->global.server_id);
    loaded.snapshot = std::move(named);
    if (!successor && wants_daemon(global)) daemon = TRY(Daemon::start());
    if (!successor) TRY(pid_file.write());
    TRY(serve(source, loaded, started, daemon, privileges, pid_file));
    return {};
}

int run_server(ConfigSource source, const ProgramCall& call) {
    const int channel = take_channel_of_environment();
    std::unique_ptr<Successor> successor = channel >= 0 ? std::make_unique<Successor>(channel) : nullptr;
    FileMarks read;
    Started started{call, read, successor.get(), take_activated_sockets()};
    config::Loaded loaded = source.load(&read);
    if (!loaded.snapshot) {
        if (successor) successor->fail(describe(loaded, source.name()));
        print(stderr, describe(loaded, source.name()));
        return 1;
    }
    Daemon daemon;
    auto ended = start(source, loaded, started, daemon);
    if (!ended) {
        base::log::error("the server cannot run: {}", ended.error().describe());
        if (successor) successor->fail(ended.error().text());
        daemon.report(fmt::format("srs: {}\n", ended.error().text()));
    } else {
        base::log::trace("the server has ended");
    }
    base::log::close();
    return ended ? 0 : 1;
}

// Briefly binds the addresses that the server would. An address in use may be in use by the running server.
void check_addresses(const config::Snapshot& snapshot, config::Problems& problems) {
    config::for_each_address(snapshot, [&](const config::Listener& listener, const config::ListenAddress& address) {
        auto bound = runtime::try_to_bind({address.host, address.port, address.ipv6_only, address.reuse_port},
                                          listener.transport == config::Transport::kTcp ? SOCK_STREAM : SOCK_DGRAM);
        if (bound || bound.error().system_errno() == EADDRINUSE) return;
        problems.error(snapshot.location_of("", listener.path),
                       fmt::format("{}: {}", listener.path, bound.error().text()));
    });
}

// What the start does before it reads, writes and runs anything: becomes the user, in the working directory.
void check_start(const config::Snapshot& snapshot, config::Problems& problems) {
    check_addresses(snapshot, problems);
    const config::Global& global = snapshot.global;
    const auto privileges = Privileges::find(global.user);
    const auto lowered = privileges ? privileges->lower() : base::Result<void>();
    if (!privileges || !lowered) {
        const base::Error& error = privileges ? lowered.error() : privileges.error();
        return problems.error(snapshot.location_of("", "user"), fmt::format("user: {}", error.text()));
    }
    if (chdir(global.work_dir.c_str()) != 0)
        return problems.error(snapshot.location_of("", "work_dir"),
                              fmt::format("work_dir {}: {}", global.work_dir, std::strerror(errno)));
    check_resources(snapshot, CheckedAt::kStart, problems);
}

int run_test(const ConfigSource& source) {
    config::Loaded loaded = source.load();
    if (loaded.snapshot) check_start(*loaded.snapshot, loaded.problems);
    print(stderr, describe(loaded, source.name()));
    return loaded.problems.errors() == 0 ? 0 : 1;
}

// For a command beside the server: of a configuration, or of the environment alone, which without SRS_ variables means
// the defaults. In the working directory. Null: it has been printed why.
config::SnapshotPtr load_for_command(const ConfigSource& source) {
    config::Loaded loaded = source.load();
    config::SnapshotPtr snapshot = loaded.snapshot;
    if (!snapshot && source.is_environment()) snapshot = config::default_snapshot();
    if (!snapshot) {
        print(stderr, describe(loaded, source.name()));
        return nullptr;
    }
    const std::string& directory = snapshot->global.work_dir;
    if (chdir(directory.c_str()) == 0) return snapshot;
    print(stderr, fmt::format("srs: work_dir {}: {}\n", directory, std::strerror(errno)));
    return nullptr;
}

int run_doctor(const ConfigSource& source) {
    const config::SnapshotPtr snapshot = load_for_command(source);
    if (!snapshot) return 1;
    const auto findings = doctor::evaluate(doctor::read_facts(*snapshot));
    print(stdout, doctor::report(findings));
    return doctor::has_bad(findings) ? 1 : 0;
}

int run_why(const ConfigSource& source, const why::Question& question) {
    const config::SnapshotPtr snapshot = load_for_command(source);
    return snapshot ? why::run(*snapshot, question) : 1;
}

}  // namespace

int run(int argc, const char* const* argv, const BuildFacts& facts) {
    add_sections();
    const ProgramCall call = ProgramCall::of(argc, argv);
    CommandLine line = parse_command_line(
        argc, argv, {.config_file = std::getenv("SRS_CONFIG_FILE"), .environment_only = std::getenv("SRS_ENV_ONLY")});
    switch (line.action) {
        case CommandLine::Action::kPrint:
            print(stdout, line.text);
            return 0;
        case CommandLine::Action::kAbout:
            print(stdout, about(facts));
            return 0;
        case CommandLine::Action::kFail:
            print(stderr, line.text);
            return 1;
        case CommandLine::Action::kTest:
            return run_test(ConfigSource(line.config_file));
        case CommandLine::Action::kDoctor:
            return run_doctor(ConfigSource(line.config_file));
        case CommandLine::Action::kWhy:
            return run_why(ConfigSource(line.config_file), line.why);
        case CommandLine::Action::kRun:
            execute_with_large_pages(argv);
            return run_server(ConfigSource(line.config_file), call);
    }
    return 1;
}

}  // namespace server
