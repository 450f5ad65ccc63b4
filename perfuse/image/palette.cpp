#include "perfuse/image/palette.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace perfuse {
namespace {

constexpr std::size_t kMostColors = 256;
constexpr std::size_t kBins = std::size_t{1} << 15;  // 5 bits a channel

using Color = std::array<double, 3>;

struct Bin {
  std::size_t index = 0;
  double count = 0;
  Color mean{};
};

struct Group {
  std::size_t begin, end;  // in the list of bins
  Color mean;
  std::size_t widest;  // the channel with the largest squared error
  double error;
};

std::size_t bin_of(const std::uint8_t* rgb) {
  return static_cast<std::size_t>((rgb[0] >> 3) << 10 | (rgb[1] >> 3) << 5 | rgb[2] >> 3);
}

std::vector<Bin> count_bins(std::span<const std::uint8_t> rgb) {
  std::vector<Bin> all(kBins);
  for (std::size_t i = 0; i < rgb.size(); i += 3) {
    Bin& bin = all[bin_of(&rgb[i])];
    bin.count += 1;
    for (std::size_t c = 0; c < 3; ++c) bin.mean[c] += rgb[i + c];
  }
  std::vector<Bin> used;
  for (std::size_t i = 0; i < kBins; ++i) {
    if (all[i].count == 0) continue;
    all[i].index = i;
    for (double& sum : all[i].mean) sum /= all[i].count;
    used.push_back(all[i]);
  }
  return used;
}

Group group_of(const std::vector<Bin>& bins, std::size_t begin, std::size_t end) {
  Group group{begin, end, {}, 0, 0};
  double count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    count += bins[i].count;
    for (std::size_t c = 0; c < 3; ++c) group.mean[c] += bins[i].count * bins[i].mean[c];
  }
  for (double& sum : group.mean) sum /= count;
  if (end - begin == 1) return group;  // nothing to divide
  Color error{};
  for (std::size_t i = begin; i < end; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      error[c] += bins[i].count * std::pow(bins[i].mean[c] - group.mean[c], 2);
  group.widest = static_cast<std::size_t>(std::max_element(error.begin(), error.end()) - error.begin());
  group.error = error[0] + error[1] + error[2];
  return group;
}

}  // namespace

Palette quantize(const Image& image) {
  std::vector<Bin> bins = count_bins(image.rgb());
  std::vector<Group> groups = {group_of(bins, 0, bins.size())};
  while (groups.size() < kMostColors) {
    const auto worst = std::max_element(groups.begin(), groups.end(),
                                        [](const Group& a, const Group& b) { return a.error < b.error; });
    if (worst->error <= 0) break;
    const Group group = *worst;
    const auto first = bins.begin() + static_cast<std::ptrdiff_t>(group.begin);
    const auto last = bins.begin() + static_cast<std::ptrdiff_t>(group.end);
    const auto middle = std::stable_partition(
        first, last, [&](const Bin& bin) { return bin.mean[group.widest] <= group.mean[group.widest]; });
    if (middle == first || middle == last) {  // the mean was rounded out of the group's range
      worst->error = 0;
      continue;
    }
    const auto cut = static_cast<std::size_t>(middle - bins.begin());
    *worst = group_of(bins, group.begin, cut);
    groups.push_back(group_of(bins, cut, group.end));
  }

  Palette palette;
  std::vector<std::uint8_t> color_of_bin(kBins);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = groups[g].begin; i < groups[g].end; ++i)
      color_of_bin[bins[i].index] = static_cast<std::uint8_t>(g);
    auto& color = palette.colors.emplace_back();
    for (std::size_t c = 0; c < 3; ++c) color[c] = static_cast<std::uint8_t>(std::lround(groups[g].mean[c]));
  }
  palette.indices.resize(image.rgb().size() / 3);
  for (std::size_t i = 0; i < palette.indices.size(); ++i)
    palette.indices[i] = color_of_bin[bin_of(&image.rgb()[3 * i])];
  return palette;
}

}  // namespace perfuse
