#pragma once
// Answers to requests for playlists.

#include <string>
#include <string_view>

#include "net/http/answers.h"
#include "service/hls/playlists/master.h"
#include "service/hls/serving/view.h"

namespace service::hls {

// Serves a media playlist, or a text that is made for one viewer, gzipped if the client accepts it. They are not
// cacheable, but for a playlist that can block and is that of all viewers.
base::Result<void> serve_playlist(const View& view, PlaylistForm form, const net::HttpRequest& request,
                                  net::HttpResponse& response);
base::Result<void> serve_playlist(std::string_view text, const net::HttpRequest& request, net::HttpResponse& response);

// The answer to a request for a playlist that has a certain part or segment, once it has it: such a URL has one
// meaning.
net::AnswerPtr reload_answer(const View& view, const PlaylistForm& form);

// The text of the multivariant playlist at `path` for a request of it, or of another one in its directory. context: the
// viewer's id, which its URIs carry; empty: none. relative: the URIs are relative to the playlist.
std::string multivariant_text(m3u8::MultivariantPlaylist playlist, std::string_view path,
                              const net::HttpRequest& request, std::string_view context, bool relative);

}  // namespace service::hls
