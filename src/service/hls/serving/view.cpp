#include "service/hls/serving/view.h"

#include <utility>

namespace service::hls {

namespace {

int64_t duration_us(const std::vector<m3u8::Part>& parts) {
    int64_t sum = 0;
    for (const m3u8::Part& part : parts) sum += part.duration_us;
    return sum;
}

View::Text make_text(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace

const m3u8::WrittenPlaylist& ListedSegments::written(const m3u8::LeftOut& left_out) const {
    std::optional<Written>& kept = written_[left_out.segments > 0];
    if (!kept || kept->left_out != left_out) kept = Written{left_out, m3u8::write(playlist_, left_out)};
    return kept->text;
}

m3u8::PlaylistEnd View::end() const {
    const m3u8::MediaPlaylist& list = playlist();
    m3u8::PlaylistEnd end{.next = {list.media_sequence + list.segments.size(), tail_.open.parts.size()}};
    if (!list.segments.empty()) end.parts_before = list.segments.back().parts.size();
    end.max_segment_parts = m3u8::max_parts(list.target_duration_s * 1'000'000, list.part_target_us);
    end.ended = list.ended;
    return end;
}

const m3u8::WrittenPlaylist& View::written(bool delta) const {
    m3u8::LeftOut left_out;
    if (delta) left_out.segments = m3u8::skippable(playlist());
    if (has_parts()) left_out.without_parts = m3u8::without_parts(playlist(), duration_us(tail_.open.parts));
    return segments_->written(left_out);
}

View::Shared& View::shared(bool delta) const { return shared_[delta && m3u8::skippable(playlist()) > 0]; }

const View::Text& View::plain(bool delta) const {
    Text& plain = shared(delta).plain;
    if (!plain) {
        const m3u8::WrittenPlaylist& segments = written(delta);
        plain = make_text(segments.text + m3u8::write_tail(segments, tail_).text);
    }
    return plain;
}

const View::Text& View::gzipped(bool delta) const {
    Text& gzipped = shared(delta).gzipped;
    if (!gzipped)
        if (std::string text = http::gzip(*plain(delta)); !text.empty()) gzipped = make_text(std::move(text));
    return gzipped;
}

bool View::is_personal(const PlaylistForm& form) const {
    return !form.query.empty() && (form.all_uris || !tail_.reports.empty());
}

View::Body View::body(const PlaylistForm& form) const {
    if (is_personal(form)) {
        if (!form.all_uris) return with_reports_of_viewer(form);
        std::string text = with_all_uris_of_viewer(form);
        std::string small = form.gzip ? http::gzip(text) : std::string();
        const bool is_gzipped = !small.empty();
        return {make_text(is_gzipped ? std::move(small) : std::move(text)), is_gzipped, true};
    }
    if (form.gzip)
        if (const Text& text = gzipped(form.delta)) return {text, true, false};
    return {plain(form.delta), false, false};
}

// Each viewer has an own text, so that what is the same for all is compressed once.
View::Body View::with_reports_of_viewer(const PlaylistForm& form) const {
    Shared& all = shared(form.delta);
    const m3u8::WrittenPlaylist& segments = written(form.delta);
    m3u8::PlaylistTail parts = tail_;
    parts.reports.clear();
    if (all.before_reports.empty()) all.before_reports = segments.text + m3u8::write_tail(segments, parts).text;
    const std::string reports = m3u8::with_query(m3u8::write_tail(segments, {.reports = tail_.reports}), form.query);
    if (form.gzip && !all.gzipped_before_reports)
        all.gzipped_before_reports = http::GzipPrefix::make(all.before_reports);
    if (form.gzip && all.gzipped_before_reports)
        return {make_text(all.gzipped_before_reports->with(reports)), true, true};
    return {make_text(all.before_reports + reports), false, true};
}

std::string View::with_all_uris_of_viewer(const PlaylistForm& form) const {
    const m3u8::WrittenPlaylist& segments = written(form.delta);
    std::string text = m3u8::with_query(segments, form.query);
    if (has_parts()) text += m3u8::with_query(m3u8::write_tail(segments, tail_), form.query);
    return text;
}

}  // namespace service::hls
