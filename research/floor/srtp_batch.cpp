#define OPENSSL_SUPPRESS_DEPRECATED  // a cipher of one's own

#include "floor/srtp_batch.h"

#include <netinet/udp.h>
#include <openssl/evp.h>
#include <sys/uio.h>

#include <cstring>

#include "floor/die.h"

namespace {

constexpr size_t kNonce = 12;

// OpenSSL's faster way, as long as it has it (src/protocol/srtp/cipher.cpp).
const EVP_CIPHER* aes_gcm() {
#if OPENSSL_VERSION_MAJOR < 4 && !defined(OPENSSL_NO_DEPRECATED_3_0)
    static const EVP_CIPHER* const own = EVP_CIPHER_meth_dup(EVP_aes_128_gcm());
    if (own) return own;
#endif
    return EVP_aes_128_gcm();
}

// Of RFC 7714, 8.1, without the salt: SSRC and sequence number.
void write_nonce(uint8_t (&nonce)[kNonce], const uint8_t* header) {
    std::memset(nonce, 0, sizeof nonce);
    std::memcpy(nonce + 2, header + 8, 4);
    std::memcpy(nonce + 10, header + 2, 2);
}

}  // namespace

CipherContext make_srtp_cipher(uint8_t number, bool opens) {
    CipherContext cipher = EVP_CIPHER_CTX_new();
    uint8_t key[16];
    std::memset(key, number, sizeof key);
    if (!cipher || !EVP_CipherInit_ex(cipher, aes_gcm(), nullptr, key, nullptr, opens ? 0 : 1)) die("AES-GCM");
    return cipher;
}

int open_floor_socket(uint16_t port) {
    int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    const int size = 8 << 20;
    for (auto [force, plain] : {std::pair{SO_SNDBUFFORCE, SO_SNDBUF}, std::pair{SO_RCVBUFFORCE, SO_RCVBUF}})
        if (::setsockopt(fd, SOL_SOCKET, force, &size, sizeof size) < 0)
            ::setsockopt(fd, SOL_SOCKET, plain, &size, sizeof size);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) die("bind");
    return fd;
}

void open_srtp(CipherContext cipher, uint8_t* packet, size_t size) {
    const size_t bytes = size - kSrtpHeader - kSrtpTag;
    uint8_t nonce[kNonce];
    write_nonce(nonce, packet);
    int written = 0;
    EVP_DecryptInit_ex(cipher, nullptr, nullptr, nullptr, nonce);
    EVP_DecryptUpdate(cipher, nullptr, &written, packet, kSrtpHeader);
    EVP_DecryptUpdate(cipher, packet + kSrtpHeader, &written, packet + kSrtpHeader, static_cast<int>(bytes));
    EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, kSrtpTag, packet + kSrtpHeader + bytes);
    EVP_DecryptFinal_ex(cipher, packet + kSrtpHeader + bytes, &written);
}

SrtpBatch::SrtpBatch(int socket)
    : socket_(socket),
      arena_(kArenaBytes),
      headers_(kMaxMessages),
      parts_(kMaxMessages),
      controls_(kMaxMessages),
      addresses_(kMaxMessages) {}

void SrtpBatch::begin(const sockaddr_in& to, CipherContext cipher, size_t bytes) {
    end_message();
    if (used_ + bytes > arena_.size()) flush();
    to_ = to;
    cipher_ = cipher;
}

void SrtpBatch::add(const uint8_t* header, const uint8_t* payload, size_t size) {
    const size_t whole = kSrtpHeader + size + kSrtpTag;
    if (segments_ > 0 &&
        (whole > segment_ || last_ < segment_ || segments_ == kMaxSegments || used_ + whole - message_begin_ > 65'000))
        end_message();
    if (segments_ == 0) {
        if (messages_ == kMaxMessages) flush();
        message_begin_ = used_;
        segment_ = whole;
    }
    uint8_t nonce[kNonce];
    write_nonce(nonce, header);
    uint8_t* out = &arena_[used_];
    std::memcpy(out, header, kSrtpHeader);
    int written = 0;
    EVP_EncryptInit_ex(cipher_, nullptr, nullptr, nullptr, nonce);
    EVP_EncryptUpdate(cipher_, nullptr, &written, out, kSrtpHeader);
    EVP_EncryptUpdate(cipher_, out + kSrtpHeader, &written, payload, static_cast<int>(size));
    EVP_EncryptFinal_ex(cipher_, out + kSrtpHeader + size, &written);
    EVP_CIPHER_CTX_ctrl(cipher_, EVP_CTRL_AEAD_GET_TAG, kSrtpTag, out + kSrtpHeader + size);
    used_ += whole;
    last_ = whole;
    ++segments_;
    ++counts_.packets;
}

void SrtpBatch::end_message() {
    if (segments_ == 0) return;
    iovec& part = parts_[messages_];
    part = {&arena_[message_begin_], used_ - message_begin_};
    addresses_[messages_] = to_;
    msghdr& header = headers_[messages_].msg_hdr;
    header = {};
    header.msg_name = &addresses_[messages_];
    header.msg_namelen = sizeof addresses_[messages_];
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (segments_ > 1) {
        header.msg_control = controls_[messages_].bytes;
        header.msg_controllen = sizeof controls_[messages_].bytes;
        cmsghdr* control = CMSG_FIRSTHDR(&header);
        control->cmsg_level = IPPROTO_UDP;
        control->cmsg_type = UDP_SEGMENT;
        control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        const auto size = static_cast<uint16_t>(segment_);
        std::memcpy(CMSG_DATA(control), &size, sizeof size);
    }
    ++messages_;
    segments_ = 0;
}

void SrtpBatch::flush() {
    end_message();
    for (size_t first = 0; first < messages_;) {
        const int sent = ::sendmmsg(socket_, &headers_[first], static_cast<unsigned>(messages_ - first), 0);
        ++counts_.calls;
        if (sent <= 0) {
            ++counts_.refused;
            ++first;
            continue;
        }
        for (int i = 0; i < sent; ++i) counts_.bytes += headers_[first + static_cast<size_t>(i)].msg_len;
        first += static_cast<size_t>(sent);
    }
    messages_ = 0;
    used_ = 0;
}
