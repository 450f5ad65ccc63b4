#include "perfuse/runtime/device.h"

#include <gtest/gtest.h>

#include "perfuse/core/error.h"
#include "perfuse/runtime/backend.h"
#include "perfuse/runtime/traits.h"

namespace perfuse {
namespace {

TEST(DeviceTest, ReadsKindsAndIndices) {
  EXPECT_EQ(Device("cpu"), Device(DeviceKind::cpu, 0));
  EXPECT_EQ(Device("neuron:3"), Device(DeviceKind::neuron, 3));
  EXPECT_EQ(to_string(Device("cuda")), "cuda:0");
  EXPECT_EQ(to_string(Device("cpu")), "cpu");
}

TEST(DeviceTest, RefusesAnythingElseInOneLine) {
  for (const auto* text : {"", "gpu", "cpu:1", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda:99999999999",
                           "neuron:3:4", "CPU"}) {
    try {
      static_cast<void>(Device(text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << text;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(Traits, EveryKindAnswersBothQuestionsOnItsOwn) {
  for (const auto& row : runtime::all_traits()) {
    const auto package = row.package_installed();
    const auto device = row.device_present();
    EXPECT_FALSE(package.detail.empty()) << row.name;
    EXPECT_FALSE(device.detail.empty()) << row.name;
    EXPECT_GE(row.device_count(), 0) << row.name;
  }
  EXPECT_TRUE(runtime::traits(DeviceKind::cpu).device_present().yes);
}

TEST(Traits, SixtyFourBitTypesNeverReachADevice) {
  for (const auto& row : runtime::all_traits()) {
    EXPECT_EQ(runtime::device_dtype(row.kind, DType::i64), DType::i32);
    EXPECT_EQ(runtime::device_dtype(row.kind, DType::f64), DType::f32);
    EXPECT_EQ(runtime::device_dtype(row.kind, DType::bf16), DType::bf16);
  }
}

TEST(BackendRegistry, NamesWhatIsNotInTheBuild) {
  EXPECT_TRUE(runtime::backend_registered("cpu"));
  try {
    static_cast<void>(runtime::backend_for(Device("neuron:0")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("neuron"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("cpu"), std::string::npos);
  }
}

}  // namespace
}  // namespace perfuse
