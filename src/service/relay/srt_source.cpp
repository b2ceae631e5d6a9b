#include "service/relay/srt_source.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "runtime/loop/clock.h"
#include "runtime/loop/sync.h"
#include "service/relay/srt_input.h"
#include "service/relay/ts_publisher.h"

namespace service::relay {

using base::CloseReason;
using base::Code;
using base::fail;
using base::Result;
using runtime::Deadline;

namespace {

constexpr int64_t kTickMs = 500;

class SrtSource final : public Source, private SrtChannelOwner, private ::srt::DataSink, private TsPublisherOwner {
  public:
    explicit SrtSource(SrtSourceOptions options) : options_(std::move(options)) {}

    Result<void> run(Fetch& fetch, Deadline limit) override;
    Result<std::unique_ptr<Source>> redirected() override { return nullptr; }
    const std::string& shown() const override { return options_.target.shown; }

  private:
    Result<void> serve(Deadline limit);
    Result<void> tick(Deadline limit);
    bool acquire();
    void leave();

    // SrtChannelOwner
    const std::string& channel_id() const override { return fetch_->id(); }
    void on_channel_end(std::string_view why, CloseReason reason) override;
    void on_channel_second(int64_t) override {}
    // DataSink
    void on_message(const Message& message) override;
    // TsPublisherOwner
    void on_revoked(std::string_view why, CloseReason reason) override;
    bool peer_alive() const override { return !options_.gives_way && !input_->ended(); }
    bool is_relay() const override { return options_.gives_way; }
    live::PublisherFacts publisher_facts() const override;

    const SrtSourceOptions options_;
    Fetch* fetch_ = nullptr;
    std::string end_text_;  // of the channel
    CloseReason end_reason_ = CloseReason::kUnknown;
    runtime::Event wake_{"the end of a pull by SRT"};
    std::optional<TsPublisher> publisher_;
    SrtCall call_;
    std::optional<SrtInput> input_;  // from the accepted handshake on
};

Result<void> SrtSource::run(Fetch& fetch, Deadline limit) {
    fetch_ = &fetch;
    publisher_.emplace(static_cast<TsPublisherOwner&>(*this), "SRT pull", fetch.snapshot(), fetch.vhost(),
                       runtime::now_us());
    const auto make = [this](const SrtCall::Connected& with) -> SrtChannel& {
        return input_.emplace(static_cast<SrtChannelOwner&>(*this), with.peer, with.agreement, with.keys,
                              static_cast<::srt::DataSink&>(*this), SrtCall::kIdleMs);
    };
    auto served = call_.connect(options_.target, make, limit);
    if (!served && call_.refusal()) fetch.refused();
    fetch.srt_quality = [this] { return input_->quality(); };
    if (served) served = serve(limit);
    leave();
    return served;
}

Result<void> SrtSource::serve(Deadline limit) {
    fetch_->opened();
    while (!fetch_->is_ending()) {
        if (input_->ended()) {
            base::Error error(Code::kClosed, end_text_);
            return std::unexpected(std::move(error).because(end_reason_));
        }
        auto waited = wake_.wait_next(Deadline::in_ms(kTickMs));
        if (!waited && waited.error().code() != Code::kTimeout) return waited;
        if (!input_->ended() && !fetch_->is_ending()) TRY(tick(limit));
    }
    return fail(Code::kClosed, fetch_->end_text());
}

Result<void> SrtSource::tick(Deadline limit) {
    fetch_->traffic = input_->traffic();
    if (!fetch_->is_streaming() && limit.passed()) return fail(Code::kTimeout, "no audio or video in time");
    publisher_->on_tick();
    if (const auto passed = publisher_->passed_limit(runtime::now_us(), nullptr))
        fetch_->close(passed->text, passed->reason);
    fetch_->check();
    return {};
}

void SrtSource::on_channel_end(std::string_view why, CloseReason reason) {
    end_text_ = why;
    end_reason_ = reason;
    wake_.pulse();
}

void SrtSource::on_message(const Message& message) {
    if (!publisher_ || fetch_->is_ending()) return;
    fetch_->traffic = input_->traffic();
    if (!fetch_->is_streaming() && !acquire()) return;
    if (message.skipped > 0) publisher_->on_gap();
    publisher_->feed(message.bytes, runtime::event_us());
}

// A server without the stream sends nothing, and does not publish.
bool SrtSource::acquire() {
    if (auto acquired = publisher_->acquire(fetch_->stream()); !acquired) {
        const base::Error& error = acquired.error();
        if (options_.gives_way && error.code() == Code::kBusy) {
            fetch_->give_up(error.text(), error.close_reason());
        } else {
            fetch_->close(error.text(), error.close_reason());
        }
        wake_.pulse();
        return false;
    }
    fetch_->streaming(call_.peer_ip(), shown(), input_->describe());
    return true;
}

void SrtSource::on_revoked(std::string_view why, CloseReason reason) {
    if (options_.gives_way && reason == CloseReason::kPublisherReplaced) {
        fetch_->give_up(why, reason);
    } else {
        fetch_->close(why, reason);
    }
    wake_.pulse();
}

// What has come is published to its end.
void SrtSource::leave() {
    call_.detach();
    if (input_) input_->close();
    if (fetch_->is_streaming()) publisher_->finish(runtime::now_us());
    publisher_.reset();
}

live::PublisherFacts SrtSource::publisher_facts() const {
    return {.session_id = fetch_->id(), .ip = call_.peer_ip(), .tc_url = shown()};
}

}  // namespace

std::unique_ptr<Source> make_srt_source(SrtSourceOptions options) {
    return std::make_unique<SrtSource>(std::move(options));
}

}  // namespace service::relay
