#include "service/hls/serving/reloads.h"

#include <array>
#include <utility>

#include "service/hls/serving/serve.h"

namespace service::hls {

namespace {

// The answers with one version of a playlist: those that are not of one viewer are made once.
class Answers {
  public:
    explicit Answers(std::shared_ptr<const View> view) : view_(std::move(view)) {}
    net::AnswerPtr get(const PlaylistForm& form) {
        if (view_->is_personal(form)) return reload_answer(*view_, form);
        net::AnswerPtr& answer = shared_[(form.is_private ? 4u : 0u) + (form.delta ? 2u : 0u) + (form.gzip ? 1u : 0u)];
        if (!answer) answer = reload_answer(*view_, form);
        return answer;
    }

  private:
    const std::shared_ptr<const View> view_;
    std::array<net::AnswerPtr, 8> shared_;
};

}  // namespace

struct Reloads::Waiting final : net::AwaitingRequest {
    explicit Waiting(PlaylistForm asked) : form(std::move(asked)) {}
    const PlaylistForm form;
};

std::unique_ptr<net::Deferred> Reloads::await(const m3u8::PartPosition& part, PlaylistForm form) {
    auto reload = std::make_unique<Waiting>(std::move(form));
    waiting_[part].add(*reload);
    return reload;
}

void Reloads::changed(const std::shared_ptr<const View>& view) {
    const m3u8::PlaylistEnd end = view->end();
    const auto answers = std::make_shared<Answers>(view);
    // A playlist that has a part has all before it.
    while (!waiting_.empty() && m3u8::decide(waiting_.begin()->first, end) == m3u8::Reload::kAnswer) {
        waker_.answer(waiting_.begin()->second,
                      [answers](net::Deferred& request) { return answers->get(static_cast<Waiting&>(request).form); });
        waiting_.erase(waiting_.begin());
    }
}

void Reloads::end() {
    for (auto& [part, requests] : waiting_) waker_.answer(requests, net::error_answer(404, "the stream has ended"));
    waiting_.clear();
}

base::Result<void> Reloads::serve(const View& view, PlaylistForm form, const net::HttpRequest& request,
                                  net::HttpResponse& response) {
    auto asked = m3u8::parse_directives(request.message.parameters);
    if (!asked) return net::send_answer(*net::error_answer(400, asked.error().text()), response);
    form.delta = asked->skip;
    if (!asked->awaited || !view.can_block()) return serve_playlist(view, std::move(form), request, response);
    if (!view.has_parts()) asked->awaited->part = 0;
    form.gzip = net::wants_gzip(request);
    switch (m3u8::decide(*asked->awaited, view.end())) {
        case m3u8::Reload::kAnswer:
            return net::send_answer(*reload_answer(view, form), response);
        case m3u8::Reload::kRefuse:
            return net::send_answer(*net::error_answer(400, "the part is too far ahead"), response);
        case m3u8::Reload::kWait:
            break;
    }
    return net::defer_or_refuse(await(*asked->awaited, std::move(form)), wait_ms(view.playlist().target_duration_s),
                                response);
}

}  // namespace service::hls
