// Runs a fuzz target without libFuzzer: every file of its corpus as it is, then mutations of them from a fixed seed, so
// that each run of the tests sees the same inputs. It does not look for coverage: `make fuzz TARGET=name` does.
//     driver [-runs=20000] [-seconds=20] [-seed=1] [-dict=file] [file or folder]...
// dict: words to splice in, in libFuzzer's form: "WORD" or name="WORD" in each line, with \\, \" and \xNN.

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/shrink.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kMaxSize = 64 * 1024;
constexpr unsigned kHangSeconds = 20;

std::string crash_file;
const Bytes* input_now = nullptr;

// Only calls that a signal handler may make.
void save_input() {
    if (!input_now) return;
    int file = ::open(crash_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) return;
    bool saved = ::write(file, input_now->data(), input_now->size()) == static_cast<ssize_t>(input_now->size());
    ::close(file);
    const char* text = saved ? "fuzz: the input that failed is in " : "fuzz: cannot save the input to ";
    if (::write(2, text, std::strlen(text)) < 0 || ::write(2, crash_file.data(), crash_file.size()) < 0) return;
    if (::write(2, "\n", 1) < 0) return;
    input_now = nullptr;
}

void on_signal(int number) {
    save_input();
    ::signal(number, SIG_DFL);
    ::raise(number);
}

void catch_crashes() {
    // A sanitizer has handlers of its own for faults, and calls back; abort and a hang come here in either case.
    std::vector<int> signals = {SIGABRT, SIGALRM};
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(save_input);
    } else {
        signals.insert(signals.end(), {SIGSEGV, SIGBUS, SIGFPE, SIGILL});
    }
    for (int number : signals) ::signal(number, on_signal);
}

class Mutator {
  public:
    Mutator(uint64_t seed, const std::vector<Bytes>& corpus, const std::vector<Bytes>& words)
        : random_(seed), corpus_(corpus), words_(words) {}

    Bytes next() {
        Bytes bytes = any_input();
        for (size_t n = 1 + below(4); n > 0; --n) mutate(bytes);
        if (bytes.size() > kMaxSize) bytes.resize(kMaxSize);
        return bytes;
    }

  private:
    size_t below(size_t n) { return n ? random_() % n : 0; }
    const Bytes& any_input() { return corpus_[below(corpus_.size())]; }

    void mutate(Bytes& bytes) {
        static constexpr uint8_t kEdges[] = {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff};
        size_t at = below(bytes.size());
        switch (bytes.empty() ? 5 : below(words_.empty() ? 9 : 12)) {
            case 0:
                bytes[at] ^= static_cast<uint8_t>(1u << below(8));
                break;
            case 1:
                bytes[at] = static_cast<uint8_t>(random_());
                break;
            case 2:
                bytes[at] = kEdges[below(std::size(kEdges))];
                break;
            case 3:
                bytes.resize(at);
                break;
            case 4:
                bytes.erase(bytes.begin() + at, bytes.begin() + std::min(bytes.size(), at + 1 + below(16)));
                break;
            case 5:
                bytes.insert(bytes.begin() + at, 1 + below(16), static_cast<uint8_t>(random_()));
                break;
            case 6:
                set_length_field(bytes, at);
                break;
            case 7:
                splice(bytes, at, any_input());
                break;
            case 8:
                splice(bytes, at, Bytes(bytes));
                break;
            default:
                put_word(bytes, at, words_[below(words_.size())]);
        }
    }

    // Lengths are what parsers get wrong.
    void set_length_field(Bytes& bytes, size_t at) {
        static constexpr uint32_t kLengths[] = {0, 1, 0x7fff, 0xffff, 0x10000, 0xffffff, 0x7fffffff, 0xffffffff};
        uint32_t value = kLengths[below(std::size(kLengths))];
        size_t width = std::min(bytes.size() - at, 2 + below(3));
        for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * (width - 1 - i)));
    }
    void splice(Bytes& bytes, size_t at, const Bytes& other) {
        size_t from = below(other.size());
        size_t count = std::min(other.size() - from, below(256) + 1);
        bytes.insert(bytes.begin() + at, other.begin() + from, other.begin() + from + count);
    }

    // Instead of as many bytes, or between them.
    void put_word(Bytes& bytes, size_t at, const Bytes& word) {
        const size_t instead = below(2) == 0 ? std::min(word.size(), bytes.size() - at) : 0;
        bytes.erase(bytes.begin() + at, bytes.begin() + at + instead);
        bytes.insert(bytes.begin() + at, word.begin(), word.end());
    }

    std::mt19937_64 random_;
    const std::vector<Bytes>& corpus_;
    const std::vector<Bytes>& words_;
};

Bytes read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
}

// In the order of their names, so that the same seed gives the same inputs everywhere.
std::vector<Bytes> read_corpus(const std::vector<std::string>& places) {
    std::vector<std::filesystem::path> files;
    for (const std::string& place : places) {
        if (!std::filesystem::is_directory(place))
            files.push_back(place);
        else
            for (const auto& entry : std::filesystem::directory_iterator(place))
                if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<Bytes> corpus;
    for (const auto& file : files) corpus.push_back(read_file(file));
    corpus.push_back({});
    return corpus;
}

Bytes read_word(std::string_view line) {
    Bytes word;
    const size_t begin = line.find('"'), end = line.rfind('"');
    if (line.starts_with('#') || begin == end) return word;
    line = line.substr(begin + 1, end - begin - 1);
    for (size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\\' && i + 3 < line.size() && line[i + 1] == 'x') {
            word.push_back(static_cast<uint8_t>(std::strtoul(std::string(line.substr(i + 2, 2)).c_str(), nullptr, 16)));
            i += 3;
            continue;
        }
        if (line[i] == '\\' && i + 1 < line.size()) ++i;
        word.push_back(static_cast<uint8_t>(line[i]));
    }
    return word;
}

std::vector<Bytes> read_words(const std::string& path) {
    std::vector<Bytes> words;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
        if (Bytes word = read_word(line); !word.empty()) words.push_back(std::move(word));
    return words;
}

void run(const Bytes& bytes) {
    // A copy of exactly this size: the sanitizer then sees a read just past its end.
    Bytes exact(bytes.begin(), bytes.end());
    base::shrink(exact);
    input_now = &bytes;
    ::alarm(kHangSeconds);
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
    ::alarm(0);
    input_now = nullptr;
}

uint64_t number_of(const std::string& argument) {
    return std::strtoull(argument.c_str() + argument.find('=') + 1, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
    uint64_t runs = 20000, seconds = 20, seed = 1;
    std::vector<std::string> places;
    std::vector<Bytes> words;
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; ++i) {
        std::string argument = argv[i];
        if (argument.starts_with("-runs="))
            runs = number_of(argument);
        else if (argument.starts_with("-seconds="))
            seconds = number_of(argument);
        else if (argument.starts_with("-seed="))
            seed = number_of(argument);
        else if (argument.starts_with("-dict="))
            words = read_words(argument.substr(argument.find('=') + 1));
        else if (argument.starts_with("-") || !std::filesystem::exists(argument)) {
            fmt::print(stderr, "fuzz: no such option, file or folder: {}\n", argument);
            return 2;
        } else
            places.push_back(argument);
    }
    crash_file = std::string(argv[0]) + ".crash";
    catch_crashes();

    auto begin = std::chrono::steady_clock::now();
    std::vector<Bytes> corpus = read_corpus(places);
    for (const Bytes& bytes : corpus) run(bytes);
    Mutator mutator(seed, corpus, words);
    uint64_t done = 0;
    while (done < runs && std::chrono::steady_clock::now() - begin < std::chrono::seconds(seconds)) {
        run(mutator.next());
        ++done;
    }
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fmt::print("fuzz: {}: {} of corpus, {} mutations, {:.1f} s\n", std::filesystem::path(argv[0]).filename().string(),
               corpus.size() - 1, done, took.count());
    return 0;
}
