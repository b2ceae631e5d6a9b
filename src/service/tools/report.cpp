#include "service/tools/report.h"

#include "base/json.h"
#include "service/api_answer.h"

namespace service::tools {

using base::OrderedJson;
using prometheus::Text;
using prometheus::Type;

namespace {

constexpr Kind kKinds[] = {Kind::kExec, Kind::kIngest, Kind::kTranscode};

OrderedJson json_of(const Tool& tool) {
    const Job& job = tool.job();
    return {{"kind", kind_name(job.kind)},
            {"name", job.name},
            {"engines", job.engines},
            {"vhost", job.stream.vhost},
            {"app", job.stream.app},
            {"stream", job.stream.name},
            {"program", job.arguments.front()},
            {"state", state_name(tool.state())},
            {"running", tool.pid() > 0},
            {"process", tool.pid()},
            {"running_ms", tool.running_ms()},
            {"restarts", tool.restarts()},
            {"cpu_ms", tool.cpu_us() / 1000},
            {"log", job.log_file},
            {"problem", tool.problem()}};
}

base::Result<void> answer(const Service& service, const Identity& identity, net::HttpResponse& response) {
    OrderedJson list = OrderedJson::array();
    for (const auto& tool : service.tools()) list.push_back(json_of(*tool));
    return send_fields(response, identity,
                       {{"limit", service.limit()}, {"refused", service.refused()}, {"tools", std::move(list)}});
}

// Writes the sum of tools with the same labels: a sample must not occur twice.
template <class Value>
void each_tool(const Service& service, Text& text, std::string_view name, Type type, std::string_view help,
               Value value) {
    text.family(name, type, help);
    std::map<std::vector<std::string>, double> samples;
    for (const auto& tool : service.tools()) {
        const Job& job = tool->job();
        std::string engines;
        for (const std::string& engine : job.engines) engines += (engines.empty() ? "" : "+") + engine;
        samples[{std::string(kind_name(job.kind)), job.name, engines, job.stream.vhost, job.stream.app,
                 job.stream.name}] += value(*tool);
    }
    for (const auto& [labels, sum] : samples)
        text.sample({{"kind", labels[0]},
                     {"name", labels[1]},
                     {"engines", labels[2]},
                     {"vhost", labels[3]},
                     {"app", labels[4]},
                     {"stream", labels[5]}},
                    sum);
}

}  // namespace

net::ApiEndpoint api_row(const Service& service, const Identity& identity) {
    net::ApiEndpoint row;
    row.pattern = "/api/v1/tools";
    row.summary = "external tools: exec, ingest and transcode";
    row.handler = [&service, &identity](net::HttpRequest&, net::HttpResponse& response) {
        return answer(service, identity, response);
    };
    row.of_both = {.lists = {{.name = "tools"}}, .count = Page::kMaxCount, .sums = {"refused"}};
    row.shape =
        "limit:int refused:int tools[kind:str name:str engines[:str] vhost:str app:str stream:str program:str "
        "state:str running:bool process:int running_ms:int restarts:int cpu_ms:int log:str problem:str]";
    return row;
}

void write_metrics(const Service& service, Text& text) {
    text.family("srs_tools", Type::kGauge, "External tools whose process runs.");
    for (const Kind kind : kKinds) {
        double running = 0;
        for (const auto& tool : service.tools()) running += tool->job().kind == kind && tool->pid() > 0 ? 1 : 0;
        text.sample({{"kind", kind_name(kind)}}, running);
    }
    text.single("srs_tools_refused_total", Type::kCounter, "Tools that waited because max_tools was reached.",
                static_cast<double>(service.refused()));
    each_tool(service, text, "srs_tool_running", Type::kGauge, "Whether the tool's process runs.",
              [](const Tool& tool) { return tool.pid() > 0 ? 1.0 : 0.0; });
    each_tool(service, text, "srs_tool_restarts_total", Type::kCounter, "Starts of the tool after the first.",
              [](const Tool& tool) { return static_cast<double>(tool.restarts()); });
    each_tool(service, text, "srs_tool_cpu_seconds_total", Type::kCounter, "Processor time of the tool's processes.",
              [](const Tool& tool) { return static_cast<double>(tool.cpu_us()) / 1e6; });
}

}  // namespace service::tools
