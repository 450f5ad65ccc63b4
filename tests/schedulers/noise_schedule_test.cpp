// Values from numpy 2.4, torch and scipy.
#include "perfuse/schedulers/noise_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "perfuse/schedulers/numerics.h"

namespace perfuse {
namespace {

TEST(Numerics, LinspaceEndsExactly) {
  EXPECT_EQ(numerics::linspace(0, 1, 3), (std::vector<double>{0, 0.5, 1}));
  EXPECT_EQ(numerics::linspace(2, 9, 1), (std::vector<double>{2}));
  EXPECT_TRUE(numerics::linspace(2, 9, 0).empty());
  EXPECT_EQ(numerics::linspace(0, 0.1, 4).back(), 0.1);
  EXPECT_EQ(numerics::linspace_f32(0.1, 0.7, 5).back(), 0.7F);
}

TEST(Numerics, InterpHoldsTheEnds) {
  const std::vector<float> table = {1, 3, 7};
  EXPECT_EQ(numerics::interp(-1, table), 1);
  EXPECT_EQ(numerics::interp(0.5, table), 2);
  EXPECT_EQ(numerics::interp(2, table), 7);
  EXPECT_EQ(numerics::interp(9, table), 7);
}

TEST(Numerics, LogIsNearTheTrueLogarithm) {
  for (double exponent = -30; exponent < 30; exponent += 0.37) {
    const auto x = static_cast<float>(std::exp(exponent));
    const double wanted = std::log(static_cast<double>(x));
    EXPECT_NEAR(static_cast<double>(numerics::log_f32(x)), wanted, 3e-7 * std::max(std::abs(wanted), 0.1));
  }
}

TEST(NoiseSchedule, SigmaToTimestepInvertsTheTable) {
  const std::vector<float> sigmas = {0.5F, 1, 2, 4};
  const auto logs = log_sigmas(sigmas);
  EXPECT_NEAR(sigma_to_timestep(2.0, logs), 2, 1e-6);
  EXPECT_NEAR(sigma_to_timestep(std::sqrt(2.0), logs), 1.5, 1e-6);
  EXPECT_EQ(sigma_to_timestep(100.0, logs), 3);
  EXPECT_EQ(sigma_to_timestep(0.0, logs), 0);
  EXPECT_EQ(sigma_to_timestep(1.0F, logs), 1);
  EXPECT_EQ(sigma_to_timestep(1.0, std::vector<float>{0.3F}), 0);
}

TEST(NoiseSchedule, SpacingsRunFromTheLargestToTheSmallest) {
  for (const auto& sigmas :
       {karras_sigmas(0.03, 14, 5), exponential_sigmas(0.03, 14, 5), beta_sigmas(0.03, 14, 5)}) {
    EXPECT_NEAR(sigmas.front(), 14, 1e-12);
    EXPECT_NEAR(sigmas.back(), 0.03, 1e-12);
    EXPECT_TRUE(std::ranges::is_sorted(sigmas, std::greater{}));
  }
  // the distribution is symmetric: its median is the middle
  EXPECT_NEAR(beta_sigmas(0, 2, 3)[1], 1, 1e-12);
  EXPECT_EQ(karras_sigmas(0.03, 14, 1).size(), 1U);
}

TEST(NoiseSchedule, Sigmoid) {
  const Json json = {
      {"num_train_timesteps", 3}, {"beta_start", 0.1}, {"beta_end", 0.3}, {"beta_schedule", "sigmoid"}};
  const NoiseSchedule noise = read_noise_schedule(ConfigReader(json, "test"), ZeroSnr::unsupported, true);
  EXPECT_NEAR(noise.betas[1], 0.2, 1e-7);
  EXPECT_NEAR(noise.betas[0], 0.1 + 0.2 / (1 + std::exp(6.0)), 1e-7);
  EXPECT_NEAR(noise.alphas_cumprod[1], (1 - noise.betas[0]) * 0.8F, 1e-6);
}

TEST(NoiseSchedule, TrainedBetasAndZeroSnr) {
  const Json json = {{"num_train_timesteps", 3},
                     {"beta_start", 0.1},
                     {"beta_end", 0.3},
                     {"beta_schedule", "linear"},
                     {"trained_betas", {0.1, 0.2, 0.4}},
                     {"rescale_betas_zero_snr", true}};
  const ConfigReader config(json, "test");
  const auto plain = read_noise_schedule(config, ZeroSnr::unsupported);
  EXPECT_NEAR(plain.alphas_cumprod[2], 0.9 * 0.8 * 0.6, 1e-6);
  const auto tiny = read_noise_schedule(config, ZeroSnr::tiny);
  EXPECT_NEAR(tiny.alphas_cumprod[0], 0.9, 1e-6);
  EXPECT_EQ(tiny.alphas_cumprod[2], 0x1p-24F);
  EXPECT_EQ(read_noise_schedule(config, ZeroSnr::exact).alphas_cumprod[2], 0);
  EXPECT_EQ(training_sigmas(tiny.alphas_cumprod)[2], 4096);
}

}  // namespace
}  // namespace perfuse
