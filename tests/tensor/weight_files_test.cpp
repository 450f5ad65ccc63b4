#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "perfuse/core/log.h"
#include "perfuse/tensor/safetensors.h"
#include "tests/support/scratch.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::message_of;
using test::ScratchFolder;

class Weights : public ::testing::Test {
 protected:
  void SetUp() override {
    log::set_sink([this](log::Level, std::string_view message) { logged_ += message; });
  }
  void TearDown() override { log::set_sink({}); }
  // A file whose tensors are single f32 of that value.
  void file(std::string_view name, const std::vector<std::string>& tensors, float value = 1) const {
    std::vector<std::pair<std::string, Tensor>> entries;
    for (const auto& tensor : tensors) entries.emplace_back(tensor, Tensor::from<float>({1}, {value}));
    write_safetensors(folder_ / name, entries);
  }
  void index(std::string_view text, std::string_view name = "model.safetensors.index.json") const {
    folder_.write(name, text);
  }
  std::string refusal(ErrorKind kind = ErrorKind::model, const std::string& variant = "") const {
    return message_of(kind, [&] { (void)WeightFiles::open(folder_.path(), variant); });
  }
  float value(const WeightFiles& weights, std::string_view name) const {
    return weights.tensor(name).data<float>()[0];
  }
  ScratchFolder folder_;
  std::string logged_;
};

TEST_F(Weights, ReadsShards) {
  const auto weights =
      WeightFiles::open(fs::path(PERFUSE_TEST_DATA) / "models/tiny-pixart-sigma/text_encoder");
  const auto names = weights.names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(weights.total_bytes(), 275'232u);  // the index's total_size
  std::uint64_t bytes = 0;
  for (const auto& name : names) {
    const Tensor tensor = weights.tensor(name);
    EXPECT_TRUE(all_finite(tensor));
    EXPECT_EQ(weights.find(name)->shape, tensor.shape());
    EXPECT_EQ(weights.find(name)->dtype, tensor.dtype());
    bytes += tensor.nbytes();
  }
  EXPECT_EQ(bytes, weights.total_bytes());
  EXPECT_EQ(weights.find("shared.weight")->shape, (Shape{1120, 40}));
  EXPECT_FALSE(weights.find("absent"));
  const auto message = message_of(ErrorKind::model, [&] { (void)weights.tensor("shared.weigth"); });
  EXPECT_TRUE(
      contains(message, "text_encoder: unknown tensor \"shared.weigth\"; did you mean shared.weight?"));
  const float before = weights.tensor("shared.weight").data<float>()[7];
  weights.release_pages();
  EXPECT_EQ(weights.tensor("shared.weight").data<float>()[7], before);
}

TEST_F(Weights, ReadsOneFile) {
  const auto weights = WeightFiles::open(fs::path(PERFUSE_TEST_DATA) / "models/tiny-pixart-alpha/vae");
  EXPECT_EQ(weights.find("decoder.conv_in.weight")->dtype, DType::f32);
  EXPECT_EQ(weights.folder().filename(), "vae");
  EXPECT_EQ(logged_, "");
}

TEST_F(Weights, VariantsHaveTheirOwnNames) {
  file("diffusion_pytorch_model.safetensors", {"a"}, 1);
  file("diffusion_pytorch_model.fp16.safetensors", {"a"}, 2);
  EXPECT_EQ(value(WeightFiles::open(folder_.path()), "a"), 1);
  EXPECT_EQ(value(WeightFiles::open(folder_.path(), "fp16"), "a"), 2);
  EXPECT_TRUE(
      contains(refusal(ErrorKind::model, "bf16"),
               "has diffusion_pytorch_model.fp16.safetensors, diffusion_pytorch_model.safetensors, expected "
               "diffusion_pytorch_model.bf16.safetensors, model.bf16.safetensors or an index "
               "(.safetensors.index.bf16.json)"));
  EXPECT_EQ(logged_, "");
}

TEST_F(Weights, ShardedVariant) {
  file("model.fp16-00001-of-00001.safetensors", {"a"}, 2);
  index(R"({"weight_map": {"a": "model.fp16-00001-of-00001.safetensors"}})",
        "model.safetensors.index.fp16.json");
  EXPECT_EQ(value(WeightFiles::open(folder_.path(), "fp16"), "a"), 2);
  EXPECT_TRUE(contains(refusal(), "name the variant, if it is one"));
}

TEST_F(Weights, AVariantIsNoPath) {
  for (const std::string variant : {"../x", "a/b", ".", "fp16.json", "fp 16", "\xff"})
    EXPECT_TRUE(contains(refusal(ErrorKind::usage, variant), "expected letters, digits, _ and -"));
}

TEST_F(Weights, ATransformersFolderWithBothTakesTheFile) {
  file("model.safetensors", {"a"}, 1);
  file("model-1.safetensors", {"a"}, 2);
  index(R"({"weight_map": {"a": "model-1.safetensors"}})");
  EXPECT_EQ(value(WeightFiles::open(folder_.path()), "a"), 1);
  EXPECT_TRUE(
      contains(logged_, "has both model.safetensors and model.safetensors.index.json; reading the first"));
}

TEST_F(Weights, ADiffusersFolderWithBothTakesTheIndex) {
  file("diffusion_pytorch_model.safetensors", {"a"}, 1);
  file("s.safetensors", {"a"}, 2);
  index(R"({"weight_map": {"a": "s.safetensors"}})", "diffusion_pytorch_model.safetensors.index.json");
  EXPECT_EQ(value(WeightFiles::open(folder_.path()), "a"), 2);
  EXPECT_TRUE(contains(logged_, "reading the first"));
}

TEST_F(Weights, MissingShardsAreAllNamed) {
  file("s1.safetensors", {"a"});
  index(
      R"({"weight_map": {"a": "s1.safetensors", "b": "s2.safetensors", "c": "s3.safetensors", "d": "s2.safetensors"}})");
  EXPECT_TRUE(
      contains(refusal(),
               "model.safetensors.index.json: names 2 shards that are not in the folder: s2.safetensors, "
               "s3.safetensors; fetch the rest of the model"));
}

TEST_F(Weights, TensorsMustBeInTheirShard) {
  file("s1.safetensors", {"a", "extra"});
  file("s2.safetensors", {"b"});
  index(R"({"weight_map": {"a": "s2.safetensors", "b": "s2.safetensors", "z": "s1.safetensors"}})");
  EXPECT_TRUE(contains(
      refusal(),
      "names 2 tensors that are not in the shard it gives: \"a\" (s2.safetensors), \"z\" (s1.safetensors); "
      "index and shards are of different models or versions"));
  index(R"({"weight_map": {"a": "s1.safetensors", "b": "s2.safetensors"}})");
  EXPECT_EQ(WeightFiles::open(folder_.path()).names(), (std::vector<std::string>{"a", "b", "extra"}));
}

TEST_F(Weights, AnIndexStaysInItsFolder) {
  for (const std::string_view shard : {"../s.safetensors", "/etc/s.safetensors", "sub/s.safetensors", "", ".",
                                       "..", ".s.safetensors", "s.bin", "s\\u0000.safetensors"}) {
    index(fmt::format(R"({{"weight_map": {{"a": "{}"}}}})", shard));
    EXPECT_TRUE(contains(refusal(),
                         "weight_map.\"a\": expected the name of a .safetensors file in this folder, found "))
        << shard;
  }
}

TEST_F(Weights, WrongIndexes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "not JSON: it ends too early"},
      {"[]", "expected a JSON object, found []"},
      {"{}", "weight_map: missing; expected an object"},
      {R"({"weight_map": []})", "weight_map: expected an object, found []"},
      {R"({"weight_map": {}})", "weight_map: names no tensor"},
      {R"({"weight_map": {"a": 1}})", "weight_map.\"a\": expected a shard's file name, found 1"},
      {R"({"weight_map": {"a": "s.safetensors", "a": "s.safetensors"}})", "the key \"a\" is there twice"},
  };
  for (const auto& [text, why] : cases) {
    index(text);
    EXPECT_TRUE(contains(refusal(), why)) << text;
    EXPECT_TRUE(contains(refusal(), "model.safetensors.index.json: ")) << text;
  }
}

TEST_F(Weights, FoldersWithoutWeights) {
  EXPECT_TRUE(contains(
      refusal(),
      "has no weights; expected diffusion_pytorch_model.safetensors, model.safetensors or an index"));
  folder_.write("diffusion_pytorch_model.bin", "PK");
  EXPECT_TRUE(contains(
      refusal(), "has only diffusion_pytorch_model.bin, PyTorch checkpoints, which perfuse doesn't read"));
  EXPECT_TRUE(contains(message_of(ErrorKind::model, [&] { (void)WeightFiles::open(folder_ / "no"); }),
                       "no: does not exist, expected a folder"));
  EXPECT_TRUE(contains(message_of(ErrorKind::model, [&] { (void)WeightFiles::open(folder_.write("f", "")); }),
                       "f: is not a folder"));
}

TEST_F(Weights, ABrokenOrForeignEntryIsNotTakenForAbsent) {
  ASSERT_EQ(::mkfifo((folder_ / "model.safetensors").c_str(), 0600), 0);
  EXPECT_TRUE(contains(refusal(ErrorKind::io), "model.safetensors: is a FIFO, expected a regular file"));
  fs::remove(folder_ / "model.safetensors");
  fs::create_symlink("model.safetensors", folder_ / "model.safetensors");
  EXPECT_TRUE(contains(refusal(ErrorKind::io), "its symbolic links form a loop"));
  fs::remove(folder_ / "model.safetensors");
  fs::create_symlink("../blobs/gone", folder_ / "model.safetensors");
  EXPECT_TRUE(contains(refusal(ErrorKind::io),
                       "a link to ../blobs/gone, which does not exist; download the model again"));
  fs::remove(folder_ / "model.safetensors");
  ASSERT_EQ(::mkfifo((folder_ / "s.safetensors").c_str(), 0600), 0);
  index(R"({"weight_map": {"a": "s.safetensors"}})");
  EXPECT_TRUE(contains(refusal(ErrorKind::io), "s.safetensors: is a FIFO"));
}

TEST_F(Weights, LinksIntoACacheAreFollowed) {
  fs::create_directories(folder_ / "blobs");
  fs::create_directories(folder_ / "snapshot");
  file("blobs/0123", {"a"}, 5);
  fs::create_symlink("../blobs/0123", folder_ / "snapshot/model.safetensors");
  EXPECT_EQ(value(WeightFiles::open(folder_ / "snapshot"), "a"), 5);
}

TEST_F(Weights, TypesThatAreNotReadAreNamedWhenAskedFor) {
  const std::string header = R"({"q":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})";
  folder_.write("model.safetensors",
                std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "xy");
  const auto weights = WeightFiles::open(folder_.path());
  EXPECT_EQ(weights.total_bytes(), 2u);
  EXPECT_TRUE(contains(message_of(ErrorKind::unsupported, [&] { (void)weights.find("q"); }), "is F8_E4M3"));
}

}  // namespace
}  // namespace perfuse
