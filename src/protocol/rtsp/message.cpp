#include "protocol/rtsp/message.h"

#include <fmt/core.h>

#include <array>

#include "protocol/rtsp/text.h"

namespace rtsp {

namespace {

constexpr std::array<std::string_view, 13> kMethods = {
    "OPTIONS",  "DESCRIBE",      "ANNOUNCE",      "SETUP", "PLAY", "PAUSE", "RECORD",
    "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER", "GET",   "POST", "",
};

void append_safely(std::string& out, std::string_view text) {
    for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
}

}  // namespace

std::string_view method_name(Method method) { return kMethods[static_cast<size_t>(method)]; }

Method method_of(std::string_view name) {
    for (size_t i = 0; i + 1 < kMethods.size(); ++i)
        if (kMethods[i] == name) return static_cast<Method>(i);
    return Method::kOther;
}

std::string_view reason_phrase(int status) {
    switch (status) {
        case 100:
            return "Continue";
        case 200:
            return "OK";
        case 301:
            return "Moved Permanently";
        case 302:
            return "Moved Temporarily";
        case 400:
            return "Bad Request";
        case 401:
            return "Unauthorized";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 406:
            return "Not Acceptable";
        case 408:
            return "Request Timeout";
        case 413:
            return "Request Entity Too Large";
        case 414:
            return "Request-URI Too Large";
        case 415:
            return "Unsupported Media Type";
        case 431:
            return "Request Header Fields Too Large";
        case 451:
            return "Parameter Not Understood";
        case 453:
            return "Not Enough Bandwidth";
        case 454:
            return "Session Not Found";
        case 455:
            return "Method Not Valid in This State";
        case 457:
            return "Invalid Range";
        case 459:
            return "Aggregate Operation Not Allowed";
        case 461:
            return "Unsupported Transport";
        case 500:
            return "Internal Server Error";
        case 501:
            return "Not Implemented";
        case 503:
            return "Service Unavailable";
        case 505:
            return "RTSP Version Not Supported";
        case 508:
            return "Loop Detected";
        case 551:
            return "Option Not Supported";
        default:
            return "Error";
    }
}

std::optional<uint32_t> Message::cseq() const { return number<uint32_t>(headers.get("CSeq")); }

std::string write(const Message& message) {
    const std::string_view version = message.is_http ? "HTTP/1.0" : "RTSP/1.0";
    std::string out;
    if (message.is_request) {
        out += method_name(message.method);
        out += ' ';
        append_safely(out, message.url);
        out += ' ';
        out += version;
    } else {
        out = fmt::format("{} {} {}", version, message.status, reason_phrase(message.status));
    }
    out += "\r\n";
    for (const auto& [name, value] : message.headers) {
        append_safely(out, name);
        out += ": ";
        append_safely(out, value);
        out += "\r\n";
    }
    if (!message.body.empty()) out += fmt::format("Content-Length: {}\r\n", message.body.size());
    out += "\r\n";
    return out + message.body;
}

}  // namespace rtsp
