#include "audio/quality.h"

extern "C" {
#include <libavutil/tx.h>
}

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>

#include "base/result.h"

namespace audio {
namespace {

constexpr size_t kWindow = 2048;
constexpr size_t kStep = 1024;
constexpr size_t kBands = 24;
constexpr size_t kMaxDelay = 8000;
constexpr double kRate = 48'000;
constexpr double kQuiet = 1e-9;  // power of a band, -90 dB: less is not heard
constexpr double kOffset = 0.1;  // of the mask, 10 dB below

using Powers = std::array<double, kBands>;

double power_db(double ratio) { return 10 * std::log10(ratio); }

// Zwicker's bands, by Traunmueller's formula.
size_t band_of(size_t bin) {
    double hertz = static_cast<double>(bin) * kRate / kWindow;
    double bark = 26.81 * hertz / (1960 + hertz) - 0.53;
    return static_cast<size_t>(std::clamp(bark, 0.0, kBands - 1.0));
}

class Spectrum {
  public:
    Spectrum() {
        CHECK(av_tx_init(&context_, &transform_, AV_TX_FLOAT_FFT, 0, kWindow, nullptr, 0) >= 0);
        for (size_t i = 0; i < kWindow; ++i)
            window_[i] =
                static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / kWindow));
    }
    ~Spectrum() { av_tx_uninit(&context_); }
    Spectrum(const Spectrum&) = delete;

    template <class Sample>
    Powers of(Sample sample) {
        for (size_t i = 0; i < kWindow; ++i) in_[i] = {sample(i) * window_[i], 0};
        transform_(context_, out_.data(), in_.data(), sizeof(in_[0]));
        Powers powers{};
        for (size_t bin = 1; bin < kWindow / 2; ++bin)
            powers[band_of(bin)] += std::norm(out_[bin]) / (static_cast<double>(kWindow) * kWindow);
        return powers;
    }

  private:
    AVTXContext* context_ = nullptr;
    av_tx_fn transform_ = nullptr;
    std::array<float, kWindow> window_{};
    std::array<std::complex<float>, kWindow> in_{}, out_{};
};

// Upwards a band hides more than downwards.
Powers mask_of(const Powers& signal) {
    Powers mask = signal;
    for (size_t b = 1; b < kBands; ++b) mask[b] = std::max(mask[b], mask[b - 1] * 0.1);
    for (size_t b = kBands - 1; b-- > 0;) mask[b] = std::max(mask[b], mask[b + 1] * 0.003);
    for (double& power : mask) power = power * kOffset + kQuiet;
    return mask;
}

double product(const Pcm& a, const Pcm& b, size_t delay, size_t from, size_t to) {
    double sum = 0;
    for (size_t i = from; i < to; ++i)
        sum +=
            a.samples[i * static_cast<size_t>(a.channels)] * b.samples[(i + delay) * static_cast<size_t>(b.channels)];
    return sum;
}

size_t find_delay(const Pcm& source, const Pcm& coded) {
    size_t end = std::min(source.frames(), coded.frames());
    if (end < 4 * kMaxDelay) return 0;
    size_t from = end / 3, to = std::min(from + 48'000, end - kMaxDelay);
    size_t best = 0;
    double most = 0;
    for (size_t delay = 0; delay < kMaxDelay; ++delay) {
        double sum = product(source, coded, delay, from, to);
        if (sum > most) most = sum, best = delay;
    }
    return best;
}

}  // namespace

Quality compare(const Pcm& source, const Pcm& coded) {
    CHECK(source.channels == coded.channels);
    Quality found;
    found.delay = find_delay(source, coded);
    auto channels = static_cast<size_t>(source.channels);
    size_t frames = std::min(source.frames(), coded.frames() - found.delay);
    const float* a = source.samples.data();
    const float* b = coded.samples.data() + found.delay * channels;
    double signal = 1e-12, noise = 1e-12;
    for (size_t i = 0; i < frames * channels; ++i) {
        signal += static_cast<double>(a[i]) * a[i];
        noise += static_cast<double>(a[i] - b[i]) * (a[i] - b[i]);
    }
    found.snr = power_db(signal / noise);
    Spectrum spectrum;
    size_t count = 0, audible = 0, levels = 0;
    for (size_t at = 0; at + kWindow <= frames; at += kStep) {
        for (size_t c = 0; c < channels; ++c) {
            auto place = [&](size_t i) { return (at + i) * channels + c; };
            Powers in = spectrum.of([&](size_t i) { return a[place(i)]; });
            Powers out = spectrum.of([&](size_t i) { return b[place(i)]; });
            Powers changed = spectrum.of([&](size_t i) { return a[place(i)] - b[place(i)]; });
            Powers mask = mask_of(in);
            for (size_t band = 0; band < kBands; ++band) {
                double ratio = power_db((changed[band] + 1e-14) / mask[band]);
                found.noise_to_mask += std::max(ratio, -30.0);
                audible += ratio > 0;
                ++count;
                if (in[band] < kQuiet) continue;
                double level = power_db((out[band] + kQuiet) / (in[band] + kQuiet));
                found.level += level * level;
                ++levels;
            }
        }
    }
    if (count == 0) return found;
    found.noise_to_mask /= static_cast<double>(count);
    found.audible = 100.0 * static_cast<double>(audible) / static_cast<double>(count);
    if (levels) found.level = std::sqrt(found.level / static_cast<double>(levels));
    return found;
}

}  // namespace audio
