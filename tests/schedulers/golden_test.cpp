// Every recorded run of diffusers: schedule, scaled inputs, samples, noise and x0.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "perfuse/schedulers/euler_discrete.h"
#include "perfuse/schedulers/scheduler.h"
#include "perfuse/tensor/random.h"
#include "perfuse/tensor/safetensors.h"

namespace perfuse {
namespace {

constexpr double kTolerance = 1e-5;  // of the largest absolute value

std::filesystem::path folder() { return std::filesystem::path(PERFUSE_TEST_DATA) / "golden" / "schedulers"; }

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

std::vector<double> values_of(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::f64);
  const auto data = wide.data<double>();
  return {data.begin(), data.end()};
}

// Entry `index` of the outermost axis, that axis removed.
Tensor entry(const Tensor& tensor, int index) {
  Shape shape = tensor.shape();
  shape.erase(shape.begin());
  return tensor.slice(0, index, index + 1).reshape(shape);
}

void expect_close(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const auto got = values_of(actual);
  const auto wanted = values_of(expected);
  double most = 0;
  for (const double value : wanted)
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << "[" << i << "]";
    } else if (std::isinf(wanted[i])) {
      EXPECT_EQ(got[i], wanted[i]) << what << "[" << i << "]";
    } else {
      const double difference = std::abs(got[i] - wanted[i]);
      EXPECT_FALSE(std::isnan(difference)) << what << "[" << i << "]";
      worst = std::max(worst, difference);
    }
  }
  EXPECT_LE(worst, kTolerance * most) << what;
}

TimestepRequest request_of(const Json& arguments) {
  TimestepRequest request;
  for (const auto& [key, value] : arguments.items()) {
    if (key == "num_inference_steps") request.num_inference_steps = value.get<int>();
    if (key == "timesteps") request.timesteps = value.get<std::vector<double>>();
    if (key == "sigmas") request.sigmas = value.get<std::vector<double>>();
    if (key == "mu") request.mu = value.get<double>();
  }
  return request;
}

void set_step_arguments(Scheduler& scheduler, const Json& arguments) {
  if (arguments.empty()) return;
  auto* euler = dynamic_cast<EulerDiscreteScheduler*>(&scheduler);
  ASSERT_NE(euler, nullptr);
  EulerDiscreteScheduler::Churn churn;
  churn.s_churn = arguments.value("s_churn", churn.s_churn);
  churn.s_tmin = arguments.value("s_tmin", churn.s_tmin);
  churn.s_noise = arguments.value("s_noise", churn.s_noise);
  euler->set_churn(churn);
}

class SchedulerGolden : public ::testing::TestWithParam<std::string> {
 protected:
  SchedulerGolden()
      : golden_(read_json(folder() / (GetParam() + ".json"))),
        tensors_(SafetensorsFile::open(folder() / (GetParam() + ".safetensors"))) {}

  std::unique_ptr<Scheduler> scheduler() const {
    Json config = golden_["config_passed"];
    config["_class_name"] = golden_["scheduler"];
    auto made = make_scheduler(ConfigReader(config, GetParam()));
    set_step_arguments(*made, golden_["step_kwargs"]);
    return made;
  }
  Tensor tensor(const std::string& run, const std::string& name) const { return tensors_.tensor(run + name); }
  bool has(const std::string& run, const std::string& name) const { return tensors_.contains(run + name); }

  Json golden_;
  SafetensorsFile tensors_;
};

TEST_P(SchedulerGolden, Schedule) {
  const auto scheduler = this->scheduler();
  for (std::size_t i = 0; i < golden_["runs"].size(); ++i) {
    const std::string run = fmt::format("run{}.", i);
    scheduler->set_timesteps(request_of(golden_["runs"][i]["set_timesteps"]));
    const Tensor timesteps = tensor(run, "timesteps");
    EXPECT_EQ(scheduler->integer_timesteps(), timesteps.dtype() == DType::i64);
    const auto wanted = values_of(timesteps);
    ASSERT_EQ(scheduler->timesteps().size(), wanted.size()) << run;
    for (std::size_t t = 0; t < wanted.size(); ++t) {
      // A fractional timestep is interpolated between logarithms of sigmas that torch rounds in the last place
      // in its own way: over 1000 timesteps that is up to 1e-4 of one.
      const bool whole = wanted[t] == std::floor(wanted[t]);
      EXPECT_NEAR(scheduler->timesteps()[t], wanted[t], whole ? 0 : 2e-4) << run << t;
    }
    const std::vector<float> sigmas = scheduler->sigmas();
    expect_close(Tensor::from<float>({std::ssize(sigmas)}, sigmas), tensor(run, "sigmas"), run + "sigmas");
    const double sigma = values_of(tensor(run, "init_noise_sigma"))[0];
    EXPECT_NEAR(scheduler->init_noise_sigma(), sigma, 1e-6 * sigma);
  }
}

TEST_P(SchedulerGolden, Steps) {
  const auto scheduler = this->scheduler();
  for (std::size_t r = 0; r < golden_["runs"].size(); ++r) {
    const Json& description = golden_["runs"][r];
    const std::string run = fmt::format("run{}.", r);
    scheduler->set_timesteps(request_of(description["set_timesteps"]));
    const int calls = description["num_calls"].get<int>();
    ASSERT_EQ(std::ssize(scheduler->timesteps()), calls);

    Generator generator(golden_["generator_seed"].get<std::uint64_t>());
    const auto noise_at = description["noise_at_step"].get<std::vector<int>>();
    std::map<int, Tensor> slots;  // by kind and index
    const auto at = [&](Slot slot) -> Tensor& {
      return slots[static_cast<int>(slot.kind) * 100 + slot.index];
    };
    const auto sample = Slot{Slot::Kind::sample, 0};
    at(sample) = tensor(run, "sample");
    int draws = 0;
    for (int i = 0; i < calls; ++i) {
      const std::string what = fmt::format("{} {}step {}", GetParam(), run, i);
      if (has(run, "scaled")) {
        Tensor scaled = at(sample);
        for (float& value : scaled.mutable_data<float>())
          value = static_cast<float>(static_cast<double>(value) * scheduler->model_input_scale(i));
        expect_close(scaled, entry(tensor(run, "scaled"), i), what + " scaled");
      } else {
        EXPECT_EQ(scheduler->model_input_scale(i), 1.0);
      }
      at({Slot::Kind::model_output, 0}) = entry(tensor(run, "model_outputs"), i);
      const Step step = scheduler->step(i);
      EXPECT_EQ(step.noise_draws, std::ranges::count(noise_at, i)) << what;
      for (int d = 0; d < step.noise_draws; ++d) {
        Tensor noise = generator.randn(at(sample).shape());
        expect_close(noise, entry(tensor(run, "noise"), draws++), what + " noise");
        at({Slot::Kind::noise, d}) = noise;
      }
      apply_on_host(step, at);
      expect_close(at(sample), entry(tensor(run, "prev_sample"), i), what);
      const std::string original = fmt::format("pred_original_sample.{}", i);
      if (has(run, original)) {
        ASSERT_TRUE(step.pred_original_sample.has_value());
        expect_close(at(*step.pred_original_sample), tensor(run, original), what + " x0");
      }
      for (const auto& [key, slot] : slots) {
        if (key / 100 == static_cast<int>(Slot::Kind::history)) {
          EXPECT_LT(key % 100, scheduler->history_slots());
        }
      }
    }
  }
}

// step(i) is a function of the index: asked in any order, it answers the same.
TEST_P(SchedulerGolden, StepsAreIndependentOfEachOther) {
  const auto scheduler = this->scheduler();
  scheduler->set_timesteps(request_of(golden_["runs"][0]["set_timesteps"]));
  const int calls = static_cast<int>(scheduler->timesteps().size());
  const auto terms = [&](int i) {
    std::vector<double> coefficients;
    for (const Action& action : scheduler->step(i).actions)
      if (const auto* combination = std::get_if<Combination>(&action))
        for (const Term& term : combination->terms) coefficients.push_back(term.coefficient);
    return coefficients;
  };
  std::vector<std::vector<double>> forwards;
  for (int i = 0; i < calls; ++i) forwards.push_back(terms(i));
  for (int i = calls - 1; i >= 0; --i) EXPECT_EQ(terms(i), forwards[i]);
}

TEST(SchedulerGoldens, AreAllThere) { EXPECT_EQ(golden_names().size(), 53U); }

INSTANTIATE_TEST_SUITE_P(Recorded, SchedulerGolden, ::testing::ValuesIn(golden_names()),
                         [](const auto& name) {
                           std::string result = name.param;
                           std::ranges::replace_if(
                               result, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
                               '_');
                           return result;
                         });

}  // namespace
}  // namespace perfuse
