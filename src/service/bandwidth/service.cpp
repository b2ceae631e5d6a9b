#include "service/bandwidth/service.h"

#include <algorithm>

#include "base/json.h"
#include "net/access/auth.h"
#include "runtime/loop/clock.h"
#include "runtime/loop/coroutine.h"
#include "runtime/loop/random.h"
#include "service/api_answer.h"
#include "service/bandwidth/config.h"

namespace service::bandwidth {

using base::Result;
using net::HttpRequest;
using net::HttpResponse;

namespace {

constexpr const char* kOff = "bandwidth checks are off: bandwidth_check { enabled on; }";
constexpr std::string_view kPath = "/api/v1/bandwidth", kBytesPath = "/api/v1/bandwidth/bytes";
// Proxies that compress look for repetitions less far back than the first.
constexpr size_t kRandomBytes = 256 * 1024, kBlockBytes = 16 * 1024;

// Counts a transfer while it lives.
class Transfer {
  public:
    explicit Transfer(CheckPtr check) : check_(std::move(check)) { ++check_->transfers; }
    ~Transfer() { --check_->transfers; }
    Transfer(const Transfer&) = delete;

  private:
    const CheckPtr check_;
};

// A page of another site must not make its visitors' browsers transfer anything. The browser's own word counts first:
// behind a proxy the server's name may be another one than the page's.
bool is_of_our_page(const HttpRequest& request) {
    const std::string_view site = request.message.headers.get("Sec-Fetch-Site");
    return site.empty() ? !net::is_of_another_site(request.message) : site == "same-origin";
}

net::ApiParameter check_parameter() {
    return {.name = "check", .doc = "the check's id, as the answer to its beginning has it", .required = true};
}

}  // namespace

Service::Service(const config::SnapshotPtr& snapshot, const Identity& identity) : identity_(identity) {
    reload(snapshot);
}

void Service::reload(const config::SnapshotPtr& next) {
    const auto& config = next->get<ServerConfig>();
    enabled_ = config.enabled;
    book_.set_options({.duration_us = int64_t{config.duration} * 1'000'000,
                       .bytes = uint64_t(config.max_size) * 1'000'000,
                       .in_all = static_cast<size_t>(config.in_all),
                       .of_address = static_cast<uint32_t>(config.of_address),
                       .per_second = config.per_minute / 60.0,
                       .burst = static_cast<uint32_t>(config.per_minute),
                       .bytes_per_second = int64_t{config.max_kbps} * 1000 / 8,
                       .exempt = next->address_limits.exempt});
}

// ---- The rows

net::ApiEndpoint Service::row(http::Method method, std::string pattern, std::string summary, std::string shape,
                              Handler handler) {
    net::ApiEndpoint row;
    row.methods = {method};
    row.pattern = std::move(pattern);
    row.summary = std::move(summary);
    row.shape = std::move(shape);
    row.access = net::ApiAccess::kOpen;
    row.own_words = true;
    row.handler = [this, handler](HttpRequest& request, HttpResponse& response) -> Result<void> {
        response.same_origin_only().header("Cache-Control", "no-store");
        if (!enabled_) return refuse(response, 404, kOff);
        return (this->*handler)(request, response);
    };
    row.failures = {{404, "checks are off, or there is no such check"}};
    return row;
}

net::ApiEndpoint Service::sending_row() {
    net::ApiEndpoint row = this->row(http::Method::kGet, std::string(kBytesPath),
                                     "bytes that cannot be compressed, until the check is over", "", &Service::send);
    row.content_type = "application/octet-stream";
    row.failures.push_back({429, "the check has too many transfers at once"});
    return row;
}

net::ApiEndpoint Service::receiving_row() {
    net::ApiEndpoint row =
        this->row(http::Method::kPost, std::string(kBytesPath), "takes bytes, and counts them as they come",
                  "now_us:int ends_us:int sent:int received:int", &Service::receive);
    row.body_type = "application/octet-stream";
    row.body_limit_bytes = kMaxBody;
    row.drain = [this](const http::Request& head, size_t bytes) -> Result<int64_t> {
        if (!enabled_) return base::fail(base::Code::kNotFound, kOff);
        return book_.receive(head.parameter("check"), bytes, runtime::now_us());
    };
    row.failures.push_back({413, "a body of more than 1 MB, or more than the check may transfer"});
    row.failures.push_back({429, "the check has too many transfers at once"});
    return row;
}

std::vector<net::ApiEndpoint> Service::rows() {
    const std::string path(kPath), state = "now_us:int ends_us:int sent:int received:int";
    std::vector<net::ApiEndpoint> rows;
    rows.push_back(row(http::Method::kPost, path, "begins a check of the connection between the caller and this server",
                       "check:str seconds:int bytes:int max_kbps:int checks:int", &Service::begin));
    rows.back().failures.push_back({403, "a page of another site asks"});
    rows.back().failures.push_back({429, "too many checks, of the address or in all"});
    rows.push_back(row(http::Method::kGet, path, "what a check has transferred so far", state, &Service::show));
    rows.push_back(row(http::Method::kDelete, path, "ends a check", state, &Service::end));
    rows.push_back(sending_row());
    rows.push_back(receiving_row());
    for (size_t i = 1; i < rows.size(); ++i) rows[i].parameters = {check_parameter()};
    return rows;
}

std::vector<net::HttpRoute> Service::routes() {
    std::vector<net::HttpRoute> routes;
    for (net::ApiEndpoint& row : rows()) {
        net::HttpRoute route;
        route.methods = row.methods;
        route.pattern = row.pattern;
        route.summary = row.summary;
        route.handler = std::move(row.handler);
        route.body_limit_bytes = row.body_limit_bytes;
        route.drain = std::move(row.drain);
        routes.push_back(std::move(route));
    }
    return routes;
}

// ---- The handlers

Result<void> Service::refuse(HttpResponse& response, int status, std::string_view text) const {
    if (status == 429) response.header("Retry-After", "15");
    return send_failure(response, identity_, status, text);
}

Result<void> Service::begin(HttpRequest& request, HttpResponse& response) {
    if (!is_of_our_page(request)) return refuse(response, 403, "not for pages of other sites");
    const int64_t now_us = runtime::now_us();
    auto check = book_.begin(runtime::secret_hex(16), request.peer_ip, now_us);
    if (!check) return refuse(response, 429, check.error().text());
    const CheckBook::Options& options = book_.options();
    return send_fields(response, identity_,
                       {{"check", (*check)->id},
                        {"seconds", options.duration_us / 1'000'000},
                        {"bytes", options.bytes},
                        {"max_kbps", options.bytes_per_second * 8 / 1000},
                        {"checks", book_.size(now_us)}});
}

CheckPtr Service::find(const HttpRequest& request) {
    CheckPtr check = book_.find(request.message.parameter("check"), runtime::now_us());
    return check && check->ip == request.peer_ip ? check : nullptr;
}

Result<void> Service::send_state(const Check& check, HttpResponse& response) const {
    return send_fields(response, identity_,
                       {{"now_us", runtime::now_us()},
                        {"ends_us", check.ends_us},
                        {"sent", check.bytes_done[static_cast<size_t>(Direction::kDown)]},
                        {"received", check.bytes_done[static_cast<size_t>(Direction::kUp)]}});
}

Result<void> Service::show(HttpRequest& request, HttpResponse& response) {
    const CheckPtr check = find(request);
    return check ? send_state(*check, response) : refuse(response, 404, kNoCheck);
}

Result<void> Service::end(HttpRequest& request, HttpResponse& response) {
    const CheckPtr check = find(request);
    if (!check) return refuse(response, 404, kNoCheck);
    book_.end(check, runtime::now_us());
    return send_state(*check, response);
}

// Not beyond the end of the check.
Result<void> Service::wait_until(int64_t ready_us, const Check& check) const {
    if (ready_us <= runtime::now_us()) return {};
    return runtime::sleep_until(runtime::Deadline::at_us(std::min(ready_us, check.ends_us)));
}

Result<void> Service::send(HttpRequest& request, HttpResponse& response) {
    const CheckPtr check = find(request);
    if (!check) return refuse(response, 404, kNoCheck);
    if (check->transfers >= Check::kMaxTransfers) return refuse(response, 429, "the check has 8 transfers");
    const Transfer transfer(check);
    response.header("X-Content-Type-Options", "nosniff");
    TRY(response.begin(200, "application/octet-stream", std::nullopt));
    while (!request.is_head() && enabled_ && check->may_transfer(Direction::kDown, runtime::now_us())) {
        const uint64_t left = check->bytes_left[static_cast<size_t>(Direction::kDown)];
        const auto bytes = block().first(static_cast<size_t>(std::min<uint64_t>(kBlockBytes, left)));
        // What was counted has its turn: transfers wait one behind the other.
        const int64_t ready_us = book_.ready_us(Direction::kDown);
        book_.count(*check, Direction::kDown, bytes.size(), runtime::now_us());
        TRY(wait_until(ready_us, *check));
        if (check->is_ended || response.peer_gone()) break;
        TRY(response.write(bytes));
    }
    return {};
}

// The body has been counted; the answer comes when the ceiling allows the next one.
Result<void> Service::receive(HttpRequest& request, HttpResponse& response) {
    const CheckPtr check = find(request);
    if (!check) return refuse(response, 404, kNoCheck);
    if (check->transfers >= Check::kMaxTransfers) return refuse(response, 429, "the check has 8 transfers");
    const Transfer transfer(check);
    TRY(wait_until(book_.ready_us(Direction::kUp), *check));
    return send_state(*check, response);
}

std::span<const uint8_t> Service::block() {
    if (random_.empty()) {
        random_.resize(kRandomBytes);
        runtime::fill_secret(random_);
    }
    return std::span<const uint8_t>(random_).subspan(runtime::random_u64() % (kRandomBytes - kBlockBytes), kBlockBytes);
}

void Service::write_metrics(prometheus::Text& text) {
    using prometheus::Type;
    const CheckBook::Counters& counters = book_.counters();
    text.single("srs_bandwidth_checks", Type::kGauge, "Bandwidth checks that are under way.",
                static_cast<double>(book_.size(runtime::now_us())));
    text.single("srs_bandwidth_checks_total", Type::kCounter, "Bandwidth checks that were begun.",
                static_cast<double>(counters.begun));
    text.family("srs_bandwidth_checks_refused_total", Type::kCounter,
                "Bandwidth checks that were refused for a limit: of the address, or of all.");
    text.sample({{"limit", "address"}}, static_cast<double>(counters.refused_address));
    text.sample({{"limit", "all"}}, static_cast<double>(counters.refused_all));
    text.family("srs_bandwidth_check_bytes_total", Type::kCounter, "Bytes of bandwidth checks.");
    text.sample({{"direction", "down"}}, static_cast<double>(counters.bytes[0]));
    text.sample({{"direction", "up"}}, static_cast<double>(counters.bytes[1]));
}

}  // namespace service::bandwidth
