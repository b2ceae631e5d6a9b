"""Attacks by HTTP, as bytes: paths that lead out of a folder, requests that two readers would read differently, what is too
large and what never ends."""

# Paths of files that are not to be read.
TRAVERSALS = {
    "plain": "/../secret.txt",
    "plain, deep": "/static/../../../../../../../../etc/passwd",
    "in the middle": "/static/../../secret.txt",
    "at the end": "/static/..",
    "encoded dots": "/%2e%2e/secret.txt",
    "half encoded": "/.%2e/secret.txt",
    "encoded slash": "/..%2fsecret.txt",
    "encoded all": "/%2e%2e%2fsecret.txt",
    "double encoded": "/%252e%252e%252fsecret.txt",
    "double encoded slash": "/..%252fsecret.txt",
    "backslash": "/..\\secret.txt",
    "encoded backslash": "/..%5csecret.txt",
    "double encoded backslash": "/..%255csecret.txt",
    "overlong UTF-8": "/%c0%ae%c0%ae/secret.txt",
    "overlong slash": "/..%c0%afsecret.txt",
    "UTF-16 escape": "/%u002e%u002e/secret.txt",
    "NUL": "/secret.txt%00.html",
    "NUL after a traversal": "/../secret.txt%00",
    "a semicolon": "/..;/secret.txt",
    "four dots": "/....//secret.txt",
    "two slashes": "//../secret.txt",
    "absolute form": "http://127.0.0.1/../secret.txt",
    "a file of the system by two slashes": "//etc/passwd",
    "another scheme": "file:///etc/passwd",
    "a symbolic link": "/link.txt",
    "a symbolic link below a mount": "/static/link.txt",
    "the mount's own name": "/static../secret.txt",
    "of a stream": "/live/../../secret.txt.flv",
    "of a stream, encoded": "/live/..%2f..%2fsecret.txt",
    "of a playlist": "/live/%2e%2e/%2e%2e/secret.txt.m3u8",
    "in the vhost": "/inside.txt?vhost=../../",
}

HEAD = b"POST /x HTTP/1.1\r\nHost: x\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"

# The request behind each of them must not be seen (RFC 9112, 11.2).
SMUGGLING = {
    "CL.TE": HEAD + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE.CL": HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n27\r\n" + SMUGGLED + b"\r\n0\r\n\r\n",
    "TE.TE, the second obscured": HEAD
    + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: cow\r\n\r\n0\r\n\r\n"
    + SMUGGLED,
    "TE.TE twice": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE chunked, identity": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE identity": HEAD + b"Transfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc" + SMUGGLED,
    "TE xchunked": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE with a vertical tab": HEAD + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE in quotes": HEAD + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n' + SMUGGLED,
    "TE in HTTP/1.0": b"POST /x HTTP/1.0\r\nHost: x\r\n" + CHUNKED + b"0\r\n\r\n" + SMUGGLED,
    "space before TE's colon": HEAD
    + b"Transfer-Encoding : chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"
    + SMUGGLED,
    "space before CL's colon": HEAD + b"Content-Length : 5\r\n\r\nabcde" + SMUGGLED,
    "a folded TE": HEAD + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "a folded CL": HEAD + b"Content-Length:\r\n\t5\r\n\r\nabcde" + SMUGGLED,
    "a folded field": HEAD + b"X: a\r\n b\r\n\r\n" + SMUGGLED,
    "two different CL": HEAD + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabc" + SMUGGLED,
    "two equal CL": HEAD + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc" + SMUGGLED,
    "a list of CL": HEAD + b"Content-Length: 3, 3\r\n\r\nabc" + SMUGGLED,
    "CL with a plus": HEAD + b"Content-Length: +3\r\n\r\nabc" + SMUGGLED,
    "a negative CL": HEAD + b"Content-Length: -1\r\n\r\n" + SMUGGLED,
    "a hexadecimal CL": HEAD + b"Content-Length: 0x3\r\n\r\nabc" + SMUGGLED,
    "an empty CL": HEAD + b"Content-Length: \r\n\r\n" + SMUGGLED,
    "CL with words": HEAD + b"Content-Length: 3 abc\r\n\r\nabc" + SMUGGLED,
    "CL of 2^64 + 3": HEAD + b"Content-Length: 18446744073709551619\r\n\r\nabc" + SMUGGLED,
    "CL of 2^63": HEAD + b"Content-Length: 9223372036854775808\r\n\r\nabc" + SMUGGLED,
    "lines that end in LF": b"POST /x HTTP/1.1\nHost: x\nContent-Length: 3\n\nabc" + SMUGGLED,
    "one line that ends in LF": HEAD + b"X: y\nContent-Length: 3\r\n\r\nabc" + SMUGGLED,
    "a CR alone": HEAD + b"X: y\rContent-Length: 3\r\n\r\nabc" + SMUGGLED,
    "NUL in a field": HEAD + b"X: a\0b\r\n\r\n" + SMUGGLED,
    "a line without a colon": HEAD + b"Content-Length 3\r\n\r\nabc" + SMUGGLED,
    "space in a name": HEAD + b"Content Length: 3\r\n\r\nabc" + SMUGGLED,
    "a first line with two spaces more": b"GET  /x  HTTP/1.1 \r\nHost: x\r\n\r\n" + SMUGGLED,
    "no Host": b"GET /x HTTP/1.1\r\n\r\n" + SMUGGLED,
    "two Hosts": b"GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + SMUGGLED,
    "a Host with a path": b"GET /x HTTP/1.1\r\nHost: a/b\r\n\r\n" + SMUGGLED,
    "chunk size with a minus": HEAD + CHUNKED + b"-1\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "chunk size with a plus": HEAD + CHUNKED + b"+3\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "chunk size with 0x": HEAD + CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "chunk size of 2^64 + 3": HEAD + CHUNKED + b"10000000000000003\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "chunk size of 2^64 - 1": HEAD + CHUNKED + b"ffffffffffffffff\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "no chunk size": HEAD + CHUNKED + b"\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "chunk size ended by LF": HEAD + CHUNKED + b"3\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "LF in a chunk extension": HEAD + CHUNKED + b"3;x\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "CR in a chunk extension": HEAD + CHUNKED + b"3;x\ry\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "an endless chunk extension": HEAD + CHUNKED + b"3;" + b"x" * 100_000 + b"\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "a chunk longer than its size": HEAD + CHUNKED + b"2\r\nabc\r\n0\r\n\r\n" + SMUGGLED,
    "no CRLF behind a chunk": HEAD + CHUNKED + b"3\r\nabc0\r\n\r\n" + SMUGGLED,
    "LF behind a chunk": HEAD + CHUNKED + b"3\r\nabc\n0\r\n\r\n" + SMUGGLED,
    "a trailer line ended by LF": HEAD + CHUNKED + b"0\r\nX: y\n\r\n" + SMUGGLED,
    "an endless trailer": HEAD + CHUNKED + b"0\r\n" + b"X: y\r\n" * 20_000 + b"\r\n" + SMUGGLED,
    "another version": b"GET /x HTTP/2.0\r\nHost: x\r\n\r\n" + SMUGGLED,
    "no version": b"GET /x\r\n" + SMUGGLED,
}

# The bytes, and the statuses of which the answer may be.
OVERSIZED = {
    "a URL of 20 kB": (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", {414, 431}),
    "a URL without an end": (b"GET /" + b"a" * 1_000_000, {414, 431}),
    "a method without an end": (b"A" * 1_000_000, {400, 431, 501}),
    "a field of 20 kB": (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", {431}),
    "a field without an end": (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 1_000_000, {431}),
    "a name without an end": (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a" * 1_000_000, {400, 431}),
    "1,000 fields": (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 1000 + b"\r\n", {431}),
    "a body of 1 GB, announced": (HEAD + b"Content-Length: 1000000000\r\n\r\n", {413}),
    "a chunk of 1 TB": (HEAD + CHUNKED + b"10000000000\r\n" + b"a" * 200_000, {413}),
    "chunks without an end": (HEAD + CHUNKED + b"400\r\n" + (b"a" * 0x400 + b"\r\n400\r\n") * 200, {413}),
    "chunks of one byte": (HEAD + CHUNKED + b"1\r\na\r\n" * 100_000, {413}),
}

# The bytes, behind which nothing comes, and the statuses of the answer.
SLOW = {
    "silence": (b"", set()),
    "half a line": (b"GET / HT", {408}),
    "a head without its end": (b"GET / HTTP/1.1\r\nHost: x\r\nX: y\r\n", {408}),
    "a body that does not come": (HEAD + b"Content-Length: 10\r\n\r\n", {408}),
    "half a body": (HEAD + b"Content-Length: 10\r\n\r\nabcde", {408}),
    "half a chunk": (HEAD + CHUNKED + b"5\r\nab", {408}),
    "chunks without the last": (HEAD + CHUNKED + b"1\r\na\r\n", {408}),
    "nothing after 100 Continue": (HEAD + b"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n", {100, 408}),
}
