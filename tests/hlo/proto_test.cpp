// Our .proto files against XLA's own descriptors, which every plugin carries.
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "perfuse/core/file.h"

namespace perfuse::hlo {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;

struct Field {
  int number;
  FieldDescriptorProto::Type type;
  FieldDescriptorProto::Label label;
  friend bool operator==(const Field&, const Field&) = default;
};

// "HloInstructionProto.opcode" → its field; "PrimitiveType.F32" → the value.
struct Names {
  std::map<std::string, Field> fields;
  std::map<std::string, int> values;

  void add(const google::protobuf::EnumDescriptorProto& type, const std::string& prefix) {
    for (const auto& value : type.value()) values[prefix + type.name() + "." + value.name()] = value.number();
  }
  void add(const DescriptorProto& message, const std::string& prefix) {
    const std::string name = prefix + message.name() + ".";
    for (const auto& field : message.field())
      fields[name + field.name()] = {field.number(), field.type(), field.label()};
    for (const auto& nested : message.nested_type()) add(nested, name);
    for (const auto& nested : message.enum_type()) add(nested, name);
  }
  void add(const FileDescriptorProto& file) {
    for (const auto& message : file.message_type()) add(message, "");
    for (const auto& type : file.enum_type()) add(type, "");
  }
};

std::string bytes_of(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

Names ours() {
  Names names;
  for (const char* file : {"hlo", "compile_options"}) {
    google::protobuf::FileDescriptorSet set;
    EXPECT_TRUE(set.ParseFromString(
        bytes_of(std::string(PERFUSE_GENERATED) + "/perfuse/hlo/" + file + ".pb.descriptor")));
    for (const auto& f : set.file()) names.add(f);
  }
  return names;
}

// A serialised FileDescriptorProto begins with its name; its end is where parsing fields of that message stops.
void add_embedded(const std::string& library, const std::string& name, Names& names) {
  const std::string head = std::string("\n") + static_cast<char>(name.size()) + name + "\x12";
  const auto begin = library.find(head);
  ASSERT_NE(begin, std::string::npos) << name;
  // Fields of FileDescriptorProto are length-delimited or varints with numbers up to 14.
  std::size_t end = begin;
  const auto varint = [&](std::size_t& at) {
    std::uint64_t value = 0;
    for (int shift = 0; at < library.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(library[at++]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80u) == 0) break;
    }
    return value;
  };
  for (std::size_t at = begin; at < library.size();) {
    const auto tag = varint(at);
    const auto number = tag >> 3;
    if (number == 0 || number > 14 || (tag & 7) != 2) break;
    const auto length = varint(at);
    if (length > library.size() - at) break;
    end = at += length;
  }
  FileDescriptorProto file;
  ASSERT_TRUE(file.ParseFromArray(library.data() + begin, static_cast<int>(end - begin))) << name;
  names.add(file);
}

TEST(Proto, HasXlasFieldNumbersTypesAndValues) {
  const std::string library = bytes_of(PERFUSE_TEST_PJRT_PLUGIN);
  ASSERT_FALSE(library.empty()) << PERFUSE_TEST_PJRT_PLUGIN << ": tools/setup test fetches it";
  Names theirs;
  for (const char* name : {"xla/service/hlo.proto", "xla/xla_data.proto",
                           "xla/pjrt/proto/compile_options.proto", "xla/xla.proto"})
    add_embedded(library, name, theirs);

  const Names own = ours();
  EXPECT_GT(own.fields.size(), 80u);
  EXPECT_GT(own.values.size(), 12u);
  for (const auto& [name, field] : own.fields) {
    const auto found = theirs.fields.find(name);
    ASSERT_NE(found, theirs.fields.end()) << name << " is not XLA's";
    EXPECT_EQ(field.number, found->second.number) << name;
    EXPECT_EQ(field.type, found->second.type) << name;
    EXPECT_EQ(field.label, found->second.label) << name;
  }
  for (const auto& [name, value] : own.values) {
    const auto found = theirs.values.find(name);
    ASSERT_NE(found, theirs.values.end()) << name << " is not XLA's";
    EXPECT_EQ(value, found->second) << name;
  }
}

}  // namespace
}  // namespace perfuse::hlo
