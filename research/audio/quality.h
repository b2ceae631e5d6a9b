#pragma once
// Compares audio before and after a codec. Pcm: mono or stereo floats at 48 kHz, interleaved.

#include <cstddef>
#include <vector>

namespace audio {

struct Pcm {
    int channels = 2;
    std::vector<float> samples;
    size_t frames() const { return samples.size() / static_cast<size_t>(channels); }
};

struct Quality {
    double snr = 0;  // dB, of all samples
    // Of each 21 ms and critical band (Bark) what was changed against what it is hidden behind, which is the band's own
    // power and that of its neighbours, spread, less 10 dB: above 0 dB it may be heard.
    double noise_to_mask = 0;  // dB, the mean
    double audible = 0;        // percent of bands and times where it is above 0
    double level = 0;  // dB, by how much a band's power differs, root of the mean square; noise may stand for noise
    size_t delay = 0;  // samples by which `coded` is later
};

Quality compare(const Pcm& source, const Pcm& coded);

}  // namespace audio
