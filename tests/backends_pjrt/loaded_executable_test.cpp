#include "perfuse/backends/pjrt/loaded_executable.h"

#include <thread>

#include "tests/backends_pjrt/fixture.h"

namespace perfuse::pjrt {
namespace {

using test::bytes_of;
using test::compile;
using test::compile_addition;
using test::compile_options;
using test::contains;
using test::cpu_client;
using test::download;
using test::f32;
using test::Message;
using test::message_of;
using test::TinyHlo;
using test::upload;
using Values = LoadedExecutable::Values;

std::vector<Values> run(const LoadedExecutable& program, const Values& arguments,
                        std::span<const std::int64_t> keep = {}) {
  const std::vector<Values> lists{arguments};
  return program.execute(lists, keep);
}

TEST(LoadedExecutable, Runs) {
  const auto client = cpu_client();
  const auto program = compile_addition(*client, 3);
  EXPECT_EQ(program->devices(), std::vector<std::size_t>{0});
  const auto results = run(*program, {upload(*client, {1, 2, 3}), upload(*client, {10, 20, 30})});
  ASSERT_EQ(results.size(), 1U);
  ASSERT_EQ(results[0].size(), 1U);
  EXPECT_EQ(results[0][0]->type(), f32({3}));
  EXPECT_EQ(download(*results[0][0]), (std::vector<float>{11, 22, 33}));
  client->synchronize();
}

TEST(LoadedExecutable, SeveralOutputsAndNone) {
  const auto client = cpu_client();
  TinyHlo hlo;
  const auto a = hlo.parameter(f32({2})), b = hlo.parameter(f32({2}));
  const auto program = compile(*client, hlo, {hlo.binary("multiply", a, b), hlo.unary("negate", a)});
  const auto results = run(*program, {upload(*client, {1, 2}), upload(*client, {3, 4})});
  EXPECT_EQ(download(*results[0][0]), (std::vector<float>{3, 8}));
  EXPECT_EQ(download(*results[0][1]), (std::vector<float>{-1, -2}));

  TinyHlo nothing;
  (void)nothing.parameter(f32({2}));
  const auto empty = compile(*client, nothing, {});
  EXPECT_TRUE(run(*empty, {upload(*client, {1, 2})})[0].empty());
}

TEST(LoadedExecutable, TwoReplicasOnTwoDevices) {
  const auto client = cpu_client(4);
  TinyHlo hlo;
  const auto sum = hlo.all_reduce(hlo.parameter(f32({2})));
  const auto program = compile(*client, hlo, {sum}, 2);
  ASSERT_EQ(program->devices(), (std::vector<std::size_t>{0, 1}));
  const std::vector<Values> arguments{{upload(*client, {1, 2}, 0)}, {upload(*client, {10, 20}, 1)}};
  const auto results = program->execute(arguments);
  ASSERT_EQ(results.size(), 2U);
  for (std::size_t d = 0; d < 2; ++d) {
    EXPECT_EQ(results[d][0]->device(), d);
    EXPECT_EQ(download(*results[d][0]), (std::vector<float>{11, 22}));
  }
}

TEST(LoadedExecutable, DonatesAnAliasedArgument) {
  const auto client = cpu_client();
  TinyHlo hlo;
  const auto a = hlo.parameter(f32({4})), b = hlo.parameter(f32({4}));
  hlo.alias(0, 0);
  const auto program = compile(*client, hlo, {hlo.binary("add", a, b)});

  const auto kept = upload(*client, {1, 2, 3, 4}), other = upload(*client, {1, 1, 1, 1});
  const std::vector<std::int64_t> keep{0};
  EXPECT_EQ(download(*run(*program, {kept, other}, keep)[0][0]), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_FALSE(kept->deleted());
  EXPECT_EQ(download(*kept), (std::vector<float>{1, 2, 3, 4}));

  EXPECT_EQ(download(*run(*program, {kept, other})[0][0]), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_TRUE(kept->deleted());
  EXPECT_FALSE(other->deleted());
  const auto message = message_of(ErrorKind::device, [&] { (void)run(*program, {kept, other}); });
  EXPECT_TRUE(contains(message, "running a program: ")) << message;
}

TEST(LoadedExecutable, SerializedAndLoadedAgain) {
  const auto client = cpu_client();
  const auto program = compile_addition(*client, 2);
  const std::string bytes = program->serialize();
  ASSERT_FALSE(bytes.empty());
  for (const auto& where : {client, cpu_client()}) {
    const auto again = where->deserialize(bytes_of(bytes), program->signature());
    const auto results = run(*again, {upload(*where, {1, 2}), upload(*where, {3, 4})});
    EXPECT_EQ(download(*results[0][0]), (std::vector<float>{4, 6}));
  }
}

TEST(LoadedExecutable, AnotherProgramsBytesAreRefused) {
  const auto client = cpu_client();
  const std::string bytes = compile_addition(*client, 2)->serialize();
  ProgramSignature wrong{{f32({3}), f32({3})}, {f32({3})}};
  EXPECT_TRUE(
      contains(message_of(ErrorKind::compiler, [&] { (void)client->deserialize(bytes_of(bytes), wrong); }),
               "output 0 of a compiled program is f32[2], expected f32[3]"));
  wrong.outputs.push_back(f32({2}));
  EXPECT_TRUE(
      contains(message_of(ErrorKind::compiler, [&] { (void)client->deserialize(bytes_of(bytes), wrong); }),
               "1 outputs, expected 2"));
  EXPECT_TRUE(contains(
      message_of(ErrorKind::compiler,
                 [&] {
                   (void)client->deserialize(bytes_of(std::string("hello")), {{f32({2})}, {f32({2})}});
                 }),
      "loading a compiled program: "));
  EXPECT_TRUE(contains(message_of(ErrorKind::usage, [&] { (void)client->deserialize({}, wrong); }), "empty"));
}

TEST(LoadedExecutable, TellsItsMemory) {
  const auto client = cpu_client();
  const auto memory = compile_addition(*client, 256)->memory();
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->arguments, 2048U);
  EXPECT_GE(memory->outputs, 1024U);
}

TEST(LoadedExecutable, ArgumentsAreChecked) {
  const auto client = cpu_client(2), other = cpu_client();
  const auto program = compile_addition(*client, 2);
  const auto good = upload(*client, {1, 2});
  const std::vector<std::int32_t> integers{1, 2};
  const auto wrong = [&](const std::vector<Values>& arguments) {
    return message_of(ErrorKind::usage, [&] { (void)program->execute(arguments); });
  };
  const auto i32 = client->upload({std::as_bytes(std::span(integers)), {DType::i32, {2}}}, 0);
  EXPECT_TRUE(contains(wrong({{good, i32}}), "argument 1 of a program is i32[2], expected f32[2]"));
  EXPECT_TRUE(contains(wrong({{good, upload(*client, {1, 2, 3})}}), "f32[3], expected f32[2]"));
  EXPECT_TRUE(contains(wrong({{good}}), "2 parameters got 1"));
  EXPECT_TRUE(contains(wrong({{good, nullptr}}), "argument 1 of a program is missing"));
  EXPECT_TRUE(contains(wrong({{good, good}, {good, good}}), "1 devices got arguments for 2"));
  EXPECT_TRUE(contains(wrong({{good, upload(*client, {1, 2}, 1)}}), "on device 1, expected 0"));
  EXPECT_TRUE(contains(wrong({{good, upload(*other, {1, 2})}}), "another client"));
}

TEST(LoadedExecutable, WhatMakesPluginsAbortIsNeverSent) {
  const auto client = cpu_client();
  TinyHlo hlo;
  const auto a = hlo.parameter(f32({2}));
  const std::string program = hlo.module({hlo.unary("negate", a)});
  const ProgramSignature signature{{f32({2})}, {f32({2})}};
  Message empty_build, one_replica, negative, no_message;
  empty_build.message(3, Message());
  one_replica.message(3, Message().number(4, 1));
  negative.message(3, Message().number(4, -1).number(5, 1));
  no_message.number(3, 1);
  for (const std::string& options :
       {std::string(), empty_build.bytes(), one_replica.bytes(), negative.bytes(), no_message.bytes(),
        compile_options().substr(0, 3), std::string("\xff")})
    EXPECT_TRUE(
        contains(message_of(ErrorKind::usage,
                            [&] { (void)client->compile(bytes_of(program), bytes_of(options), signature); }),
                 "compile options: "));
  EXPECT_TRUE(contains(message_of(ErrorKind::usage,
                                  [&] { (void)client->compile({}, bytes_of(compile_options()), signature); }),
                       "empty"));
}

TEST(LoadedExecutable, CompileErrorsHaveThePluginsText) {
  const auto client = cpu_client();
  TinyHlo hlo;
  const auto a = hlo.parameter(f32({2}));
  const std::string program = hlo.module({hlo.unary("no-such-opcode", a)});
  const auto message = message_of(ErrorKind::compiler, [&] {
    (void)client->compile(bytes_of(program), bytes_of(compile_options()), {{f32({2})}, {f32({2})}});
  });
  EXPECT_TRUE(contains(message, "plugin "));
  EXPECT_TRUE(contains(message, "compiling a program: INVALID_ARGUMENT: "));
  EXPECT_TRUE(contains(message, "no-such-opcode"));
  (void)message_of(ErrorKind::compiler, [&] {
    (void)client->compile(bytes_of(std::string("no module")), bytes_of(compile_options()), {});
  });
  (void)message_of(ErrorKind::compiler, [&] {
    (void)client->compile(bytes_of(program), bytes_of(compile_options(2)), {{f32({2})}, {f32({2})}});
  });
}

TEST(LoadedExecutable, RunsInManyThreadsAtOnce) {
  const auto client = cpu_client();
  TinyHlo hlo;
  const auto a = hlo.parameter(f32({64, 64})), b = hlo.parameter(f32({64, 64}));
  const auto program = compile(*client, hlo, {hlo.dot(a, b)});
  std::vector<float> one(64 * 64, 0.0F);
  for (std::size_t i = 0; i < 64; ++i) one[i * 65] = 1.0F;
  const auto identity = client->upload({bytes_of(one), f32({64, 64})}, 0);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const std::vector<float> values(64 * 64, static_cast<float>(t));
      auto value = client->upload({bytes_of(values), f32({64, 64})}, 0);
      for (int i = 0; i < 20; ++i) value = run(*program, {value, identity})[0][0];
      if (download(*value) == values) ++right;
    });
  for (auto& thread : threads) thread.join();
  client->synchronize();
  EXPECT_EQ(right, 8);
}

TEST(LoadedExecutable, BuffersOutliveClientAndExecutable) {
  DeviceBufferPtr result;
  {
    const auto client = cpu_client();
    const auto program = compile_addition(*client, 1);
    const auto argument = upload(*client, {2});
    result = run(*program, {argument, argument})[0][0];
  }
  EXPECT_EQ(download(*result), std::vector<float>{4});
}

// A run under way and handles in static objects: the process must still end well (a crash at exit fails it).
bool left_on_purpose = false;

TEST(LoadedExecutable, LeftToTheEndOfTheProcess) {
  left_on_purpose = true;
  static std::vector<Values> left;
  static std::shared_ptr<const LoadedExecutable> program;
  const auto client = cpu_client();
  TinyHlo hlo;
  const auto a = hlo.parameter(f32({512, 512}));
  program = compile(*client, hlo, {hlo.dot(hlo.dot(a, a), a)});
  const auto values = std::make_shared<std::vector<float>>(512 * 512 + 64, 0.0F);
  const auto value =
      client->upload({bytes_of(*values).first(std::size_t{4} << 18), f32({512, 512}), values}, 0);
  left.push_back({value});
  left.push_back(run(*program, {value})[0]);
}

}  // namespace
}  // namespace perfuse::pjrt

// LeakSanitizer asks at the end of the process: what a test leaves to it on purpose is no leak.
extern "C" int __lsan_is_turned_off();  // NOLINT(bugprone-reserved-identifier): its name
extern "C" int __lsan_is_turned_off() { return perfuse::pjrt::left_on_purpose ? 1 : 0; }
