#pragma once
// Players of low-latency HLS: the floor knows which part is the newest, lets requests for a playlist with a later one
// wait, and answers prepared bytes.

#include <cstdint>

// Every part_ms a part of so many kbit/s is there. PATH?_HLS_msn=M&_HLS_part=P is answered with the newest playlist,
// once it has that part; any other path without .m3u8 with a part's bytes. listener: a listening socket. Until SIGTERM.
int run_hls_floor(int listener, int64_t kbps, int64_t part_ms);
// The same over HTTP/2 with TLS. Two files, in PEM.
int run_hls_http2_floor(int listener, int64_t kbps, int64_t part_ms, const char* certificate, const char* key);
