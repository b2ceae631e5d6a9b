#pragma once
// What the floors of WebRTC send: packets of RTP that are encrypted (AES-128-GCM by OpenSSL, a context kept per peer)
// into one arena, and sent by sendmmsg, those of one size in a row to one player as one message that the kernel cuts
// (UDP_SEGMENT).

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <vector>

struct evp_cipher_ctx_st;  // EVP_CIPHER_CTX
using CipherContext = evp_cipher_ctx_st*;

inline constexpr size_t kSrtpHeader = 12, kSrtpTag = 16;

// A key made of the number. Decrypts if `opens`. Never freed: a floor ends with its process.
CipherContext make_srtp_cipher(uint8_t number, bool opens);
// A UDP socket on 127.0.0.1:port with large buffers. Ends the process if there is none.
int open_floor_socket(uint16_t port);

// Decrypts in place; the header is the first kSrtpHeader bytes. Whether the tag was right is not looked at: with
// another key than the sender's it costs the same.
void open_srtp(CipherContext cipher, uint8_t* packet, size_t size);

class SrtpBatch {
  public:
    explicit SrtpBatch(int socket);

    // Begins the packets of one player; `bytes`: the most that they take, with headers and tags.
    void begin(const sockaddr_in& to, CipherContext cipher, size_t bytes);
    // One of them: kSrtpHeader bytes of header, and the payload.
    void add(const uint8_t* header, const uint8_t* payload, size_t size);
    void flush();

    struct Counts {
        uint64_t packets = 0, bytes = 0, calls = 0, refused = 0;
    };
    const Counts& counts() const { return counts_; }

  private:
    struct Control {
        alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(uint16_t))];
    };
    static constexpr size_t kMaxMessages = 512;  // a call
    static constexpr size_t kMaxSegments = 64;   // a message: the kernel's limit
    static constexpr size_t kArenaBytes = 1 << 20;

    void end_message();

    const int socket_;
    sockaddr_in to_{};
    CipherContext cipher_ = nullptr;
    std::vector<uint8_t> arena_;
    // The message that grows: packets of segment_ bytes, of which the last one may be shorter.
    size_t message_begin_ = 0, segment_ = 0, last_ = 0, segments_ = 0;
    size_t used_ = 0, messages_ = 0;
    std::vector<mmsghdr> headers_;
    std::vector<iovec> parts_;
    std::vector<Control> controls_;
    std::vector<sockaddr_in> addresses_;
    Counts counts_;
};
