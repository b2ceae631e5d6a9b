#include "service/api/lists/log_filter.h"

#include <cctype>

namespace service::api {

namespace {

bool is_of_name(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) || byte >= 0x80 || c == '_' || c == '-' || c == '.';
}

// A file of the stream is named "cam.m3u8"; a longer path is another stream.
bool ends_name(char c) { return c == '.' || (!is_of_name(c) && c != '/'); }

// Lines have names of streams, not ids.
std::string name_of_stream(const net::SessionTable& sessions, std::string_view stream) {
    std::string name(stream);
    sessions.accounts().for_each([&](const net::StreamAccount& account) {
        if (account.id() == stream) name = account.key().text();
    });
    return name;
}

}  // namespace

bool has_name(std::string_view text, std::string_view name) {
    for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const size_t end = at + name.size();
        if ((at == 0 || !is_of_name(text[at - 1])) && (end == text.size() || ends_name(text[end]))) return true;
    }
    return false;
}

LogFilter::LogFilter(const net::SessionTable& sessions, std::string_view stream, std::string_view client)
    : sessions_(sessions) {
    if (!stream.empty()) {
        stream_ = Subject{.query = {.stream = std::string(stream)}, .name = name_of_stream(sessions, stream)};
        find_ended(*stream_);
    }
    if (!client.empty()) {
        client_ = Subject{.query = {.client = std::string(client), .finds_tokens = false}, .name = std::string(client)};
        client_->ids[client_->name] = true;
        find_ended(*client_);
    }
}

void LogFilter::find_ended(Subject& subject) const {
    const net::ClosedSessions& closed = sessions_.closed();
    for (size_t i = 0; i < closed.size(); ++i) {
        const net::ClosedSession& session = closed.newest(i);
        if (!subject.query.matches(session)) continue;
        subject.ids[session.id] = true;
        // The stream has ended, and was asked for by its id.
        if (!subject.query.stream.empty() && subject.query.stream == session.stream_id)
            subject.name = session.key.text();
    }
}

bool LogFilter::admits(const base::log::Ring::Line& line) {
    return (!stream_ || is_about(*stream_, line)) && (!client_ || is_about(*client_, line));
}

bool LogFilter::is_about(Subject& subject, const base::log::Ring::Line& line) const {
    auto known = subject.ids.find(line.id);
    if (known == subject.ids.end()) known = subject.ids.emplace(line.id, has_session(subject, line.id)).first;
    return known->second || has_name(line.text, subject.name);
}

bool LogFilter::has_session(const Subject& subject, std::string_view id) const {
    const net::Session* session = id.empty() ? nullptr : sessions_.find(id);
    if (!session) return false;
    net::ClosedSession known{.id = session->id(), .ip = session->ip(), .stream = session->stream_text()};
    if (const net::StreamAccount* account = session->stream_account()) known.stream_id = account->id();
    return subject.query.matches(known);
}

}  // namespace service::api
