// Names, configurations that one class saved and another reads, overrides.
#include <gtest/gtest.h>

#include <cmath>

#include "perfuse/core/error.h"
#include "perfuse/core/log.h"
#include "perfuse/schedulers/scheduler.h"

namespace perfuse {
namespace {

// What diffusers' stable-diffusion-xl-base-1.0 has.
Json sdxl_config() {
  return {{"_class_name", "EulerDiscreteScheduler"},
          {"_diffusers_version", "0.19.0.dev0"},
          {"beta_end", 0.012},
          {"beta_schedule", "scaled_linear"},
          {"beta_start", 0.00085},
          {"clip_sample", false},
          {"interpolation_type", "linear"},
          {"num_train_timesteps", 1000},
          {"prediction_type", "epsilon"},
          {"sample_max_value", 1.0},
          {"set_alpha_to_one", false},
          {"skip_prk_steps", true},
          {"steps_offset", 1},
          {"timestep_spacing", "leading"},
          {"trained_betas", nullptr},
          {"use_karras_sigmas", false}};
}

ConfigReader reader(Json config) { return ConfigReader(std::move(config), "scheduler_config.json"); }

// Messages at warning level while it lives.
class Warnings {
 public:
  Warnings() {
    log::set_sink([this](log::Level level, std::string_view message) {
      if (level == log::Level::warning) messages.emplace_back(message);
    });
  }
  ~Warnings() { log::set_sink({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  std::vector<std::string> messages;
};

std::string message_of(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(MakeScheduler, ClassOfTheFileAndOfTheCaller) {
  const Warnings warnings;
  const auto own = make_scheduler(reader(sdxl_config()));
  EXPECT_EQ(own->class_name(), "EulerDiscreteScheduler");
  EXPECT_EQ(own->config()["steps_offset"], 1);
  EXPECT_EQ(own->config()["final_sigmas_type"], "zero");  // a default, filled in
  EXPECT_EQ(own->config()["skip_prk_steps"], true);       // carried for other classes

  const auto other = make_scheduler(reader(sdxl_config()), "DPMSolverMultistepScheduler");
  EXPECT_EQ(other->class_name(), "DPMSolverMultistepScheduler");
  EXPECT_EQ(other->config()["_class_name"], "DPMSolverMultistepScheduler");
  EXPECT_EQ(other->config()["beta_schedule"], "scaled_linear");
  EXPECT_EQ(other->config()["interpolation_type"], "linear");
  EXPECT_EQ(other->config()["solver_order"], 2);

  // and back again, with nothing lost
  const auto back = make_scheduler(reader(other->config()), "EulerDiscreteScheduler");
  own->set_timesteps({.num_inference_steps = 7});
  back->set_timesteps({.num_inference_steps = 7});
  EXPECT_EQ(own->sigmas(), back->sigmas());
  EXPECT_TRUE(warnings.messages.empty()) << warnings.messages.front();
}

TEST(MakeScheduler, ShortNames) {
  for (const char* name : {"EulerDiscrete", "euler_discrete", "EulerDiscreteScheduler"})
    EXPECT_EQ(make_scheduler(reader(sdxl_config()), name)->class_name(), "EulerDiscreteScheduler");
  EXPECT_EQ(make_scheduler(reader(sdxl_config()), "dpmsolver_multistep")->class_name(),
            "DPMSolverMultistepScheduler");
  const auto names = scheduler_names();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const std::string& name : names)
    EXPECT_EQ(make_scheduler(reader(Json::object()), name)->class_name(), name);
}

TEST(MakeScheduler, NamesThatPeopleUse) {
  struct Case {
    const char *name, *class_name, *field;
    Json value;
  };
  const std::vector<Case> cases{
      {"euler", "EulerDiscreteScheduler", "use_karras_sigmas", false},
      {"K_Euler", "EulerDiscreteScheduler", "use_karras_sigmas", false},
      {"eulerdiscretescheduler", "EulerDiscreteScheduler", "use_karras_sigmas", false},
      {"euler-karras", "EulerDiscreteScheduler", "use_karras_sigmas", true},
      {"DPM++ 2M", "DPMSolverMultistepScheduler", "use_karras_sigmas", false},
      {"dpmpp_2m", "DPMSolverMultistepScheduler", "algorithm_type", "dpmsolver++"},
      {"dpm++2m-karras", "DPMSolverMultistepScheduler", "use_karras_sigmas", true},
      {"dpm++2m-beta", "DPMSolverMultistepScheduler", "use_beta_sigmas", true},
      {"DPM++ 2M SDE", "DPMSolverMultistepScheduler", "algorithm_type", "sde-dpmsolver++"},
      {"dpm++2m-sde-exponential", "DPMSolverMultistepScheduler", "use_exponential_sigmas", true}};
  for (const auto& c : cases) {
    const auto made = make_scheduler(reader(sdxl_config()), c.name);
    EXPECT_EQ(made->class_name(), c.class_name) << c.name;
    EXPECT_EQ(made->config()[c.field], c.value) << c.name;
  }
  // Fields that the caller gives win over those that the name implies.
  EXPECT_EQ(make_scheduler(reader(sdxl_config()), "dpm++2m-sde", {{"algorithm_type", "dpmsolver++"}})
                ->config()["algorithm_type"],
            "dpmsolver++");
}

// DPMSolverMultistep has no sigma_min and sigma_max of its own, and obeys what another class left in the file.
TEST(MakeScheduler, TheEndsOfTheSigmasThatAnotherClassLeft) {
  const auto expect_near = [](const auto& actual, const std::vector<double>& expected, double relative) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(static_cast<double>(actual[i]), expected[i], relative * expected[i]) << i;
  };
  Json config{{"_class_name", "EulerDiscreteScheduler"}, {"sigma_min", 0.1}, {"sigma_max", 10}};
  config["use_karras_sigmas"] = true;
  const auto karras = make_scheduler(reader(config), "DPMSolverMultistepScheduler");
  karras->set_timesteps({.num_inference_steps = 4});
  expect_near(karras->sigmas(), {10, 2.93412, 0.662886, 0.1, 0}, 1e-5);
  EXPECT_EQ(karras->timesteps(), (std::vector<double>{674, 470, 186, 26}));
  config.erase("use_karras_sigmas");
  config["use_exponential_sigmas"] = true;
  const auto exponential = make_scheduler(reader(config), "DPMSolverMultistepScheduler");
  exponential->set_timesteps({.num_inference_steps = 5});
  expect_near(exponential->sigmas(), {10, 3.16228, 1, 0.316228, 0.1, 0}, 1e-5);
  EXPECT_EQ(exponential->timesteps(), (std::vector<double>{673, 484, 258, 92, 26}));
  config["sigma_min"] = 20;
  (void)message_of(ErrorKind::model,
                   [&] { (void)make_scheduler(reader(config), "DPMSolverMultistepScheduler"); });
}

TEST(MakeScheduler, UnknownClassListsTheKnown) {
  const std::string usage =
      message_of(ErrorKind::usage, [] { (void)make_scheduler(reader(sdxl_config()), "EulerDiscret"); });
  EXPECT_EQ(usage, "unknown scheduler \"EulerDiscret\"; did you mean EulerDiscreteScheduler?");
  const std::string far =
      message_of(ErrorKind::usage, [] { (void)make_scheduler(reader(sdxl_config()), "nonesuch-thing"); });
  EXPECT_NE(far.find("known: DPMSolverMultistepScheduler, EulerDiscreteScheduler"), std::string::npos) << far;
  const std::string lacking =
      message_of(ErrorKind::usage, [] { (void)make_scheduler(reader(sdxl_config()), "euler-a"); });
  EXPECT_NE(lacking.find("perfuse has no EulerAncestralDiscreteScheduler (euler-a)"), std::string::npos)
      << lacking;
  EXPECT_NE(lacking.find("EulerDiscreteScheduler (euler)"), std::string::npos) << lacking;
  Json config = sdxl_config();
  config["_class_name"] = "VeryNewScheduler";
  const std::string file = message_of(ErrorKind::unsupported, [&] { (void)make_scheduler(reader(config)); });
  EXPECT_NE(file.find("scheduler_config.json: _class_name"), std::string::npos) << file;
  EXPECT_NE(file.find("EulerDiscreteScheduler"), std::string::npos) << file;
  config["_class_name"] = 5;
  (void)message_of(ErrorKind::model, [&] { (void)make_scheduler(reader(config)); });
  config.erase("_class_name");
  (void)message_of(ErrorKind::model, [&] { (void)make_scheduler(reader(config)); });
}

TEST(MakeScheduler, Overrides) {
  const auto made =
      make_scheduler(reader(sdxl_config()), "", {{"timestep_spacing", "trailing"}, {"steps_offset", 0}});
  made->set_timesteps({.num_inference_steps = 4});
  EXPECT_EQ(made->timesteps(), (std::vector<double>{999, 749, 499, 249}));
  EXPECT_EQ(made->config()["timestep_spacing"], "trailing");
  // null is the class's default
  EXPECT_EQ(make_scheduler(reader(sdxl_config()), "", {{"timestep_spacing", nullptr}})
                ->config()["timestep_spacing"],
            "linspace");

  const std::string unknown = message_of(ErrorKind::usage, [] {
    (void)make_scheduler(reader(sdxl_config()), "", {{"timestep_spacin", "trailing"}});
  });
  EXPECT_NE(unknown.find("timestep_spacing"), std::string::npos) << unknown;
  // a field of another class is no field of this one
  (void)message_of(ErrorKind::usage, [] {
    (void)make_scheduler(reader(sdxl_config()), "", {{"solver_order", 2}});
  });
  const std::string value = message_of(ErrorKind::usage, [] {
    (void)make_scheduler(reader(sdxl_config()), "", {{"timestep_spacing", "even"}});
  });
  EXPECT_NE(value.find("timestep_spacing"), std::string::npos) << value;
  (void)message_of(ErrorKind::usage, [] { (void)make_scheduler(reader(sdxl_config()), "", Json::array()); });
  // where the file is wrong by itself, the file is to blame
  Json broken = sdxl_config();
  broken["beta_start"] = "small";
  (void)message_of(ErrorKind::model, [&] {
    (void)make_scheduler(reader(broken), "", {{"timestep_spacing", "trailing"}});
  });
}

TEST(MakeScheduler, OverrideCanMendTheFile) {
  const Json config = {{"_class_name", "DPMSolverMultistepScheduler"}, {"algorithm_type", "dpmsolver"}};
  (void)message_of(ErrorKind::model, [&] { (void)make_scheduler(reader(config)); });
  EXPECT_NO_THROW((void)make_scheduler(reader(config), "", {{"final_sigmas_type", "sigma_min"}}));
}

TEST(MakeScheduler, UnknownFieldIsSaidOnce) {
  Json config = sdxl_config();
  config["beta_strat"] = 0.1;
  const Warnings warnings;
  const auto made = make_scheduler(reader(config));
  ASSERT_EQ(warnings.messages.size(), 1U);
  EXPECT_NE(warnings.messages[0].find("beta_strat"), std::string::npos);
  EXPECT_EQ(made->config()["beta_strat"], 0.1);
}

TEST(MakeScheduler, FieldsLeftAtTheirDefaultAreNotCarriedOver) {
  Json config = sdxl_config();
  config["_use_default_values"] = {"timestep_spacing"};
  EXPECT_EQ(make_scheduler(reader(config))->config()["timestep_spacing"], "linspace");
}

TEST(MakeScheduler, NamesOfOtherSolvers) {
  const Json config = {{"_class_name", "UniPCMultistepScheduler"}, {"solver_type", "bh2"}};
  const auto made = make_scheduler(reader(config), "DPMSolverMultistepScheduler", Json::object());
  EXPECT_EQ(made->config()["solver_type"], "midpoint");
}

TEST(SchedulerSteps, BeginIndexStartsAtFirstOrder) {
  const auto made = make_scheduler(reader(Json::object()), "DPMSolverMultistepScheduler");
  made->set_timesteps({.num_inference_steps = 20});
  made->set_begin_index(7);
  const auto terms = [&](int index) {
    return std::get<Combination>(made->step(index).actions.back()).terms.size();
  };
  EXPECT_EQ(terms(7), 2U);  // sample and the one output there is
  EXPECT_EQ(terms(8), 3U);
  made->set_timesteps({.num_inference_steps = 20});
  EXPECT_EQ(made->begin_index(), 0);
}

// In floating point 1000 / (1000 / 61) is more than 61; there are 61 steps all the same, none before timestep 0.
TEST(SchedulerSteps, TrailingMakesAsManyStepsAsAsked) {
  for (const char* name : {"EulerDiscreteScheduler", "DPMSolverMultistepScheduler"}) {
    const auto made = make_scheduler(reader(Json::object()), name, {{"timestep_spacing", "trailing"}});
    for (int steps = 1; steps <= 1000; ++steps) {
      made->set_timesteps({.num_inference_steps = steps});
      ASSERT_EQ(std::ssize(made->timesteps()), steps);
      ASSERT_GE(made->timesteps().back(), 0) << steps;
      ASSERT_EQ(made->timesteps().front(), 999);
    }
  }
}

// Every number of steps gives finite coefficients.
TEST(SchedulerSteps, CoefficientsAreFinite) {
  for (const char* name : {"EulerDiscreteScheduler", "DPMSolverMultistepScheduler"}) {
    const auto made = make_scheduler(reader(Json::object()), name);
    for (const int steps : {1, 2, 3, 14, 15, 100, 999}) {
      made->set_timesteps({.num_inference_steps = steps});
      for (int i = 0; i < steps; ++i)
        for (const Action& action : made->step(i).actions)
          for (const Term& term : std::get<Combination>(action).terms)
            ASSERT_TRUE(std::isfinite(term.coefficient)) << name << " " << steps << " " << i;
    }
  }
}

}  // namespace
}  // namespace perfuse
