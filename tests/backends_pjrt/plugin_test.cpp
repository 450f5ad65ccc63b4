#include "perfuse/backends/pjrt/plugin.h"

#include <algorithm>

#include "perfuse/core/sha256.h"
#include "tests/backends_pjrt/fixture.h"

namespace perfuse::pjrt {
namespace {

using test::contains;
using test::cpu_plugin;
using test::message_of;

TEST(Plugin, LoadsOnce) {
  const auto plugin = Plugin::load(cpu_plugin());
  EXPECT_EQ(plugin, Plugin::load(cpu_plugin()));
  EXPECT_TRUE(Plugin::loaded(cpu_plugin()));
  EXPECT_GT(plugin->minor_version(), 50);
  EXPECT_TRUE(plugin->path().is_absolute());

  const perfuse::test::ScratchFolder folder;
  std::filesystem::create_symlink(std::filesystem::absolute(cpu_plugin()), folder / "link.so");
  EXPECT_EQ(plugin, Plugin::load(folder / "link.so"));
}

TEST(Plugin, HasFunctionsWhereItsTableReaches) {
  const auto plugin = Plugin::load(cpu_plugin());
  EXPECT_TRUE(plugin->has(abi::Slot::client_compile));
  EXPECT_TRUE(plugin->has(abi::Slot::transfer_manager_retrieve_buffer));
  EXPECT_FALSE(plugin->has(static_cast<abi::Slot>(5000)));
}

TEST(Plugin, TellsAttributes) {
  const auto attributes = Plugin::load(cpu_plugin())->attributes();
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [](const auto& a) { return a.name == "stablehlo_current_version"; });
  ASSERT_NE(found, attributes.end());
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(found->value).size(), 3U);
}

TEST(Plugin, TellsItsFilesHash) {
  const auto plugin = Plugin::load(cpu_plugin());
  EXPECT_EQ(plugin->sha256(), sha256_hex_of_file(cpu_plugin()));
}

TEST(Plugin, AFileThatIsNone) {
  const perfuse::test::ScratchFolder folder;
  EXPECT_TRUE(contains(message_of(ErrorKind::io, [&] { (void)Plugin::load(folder / "absent.so"); }),
                       "absent.so: No such file"));
  EXPECT_TRUE(contains(message_of(ErrorKind::io, [&] { (void)Plugin::load(folder.path()); }), "not a file"));
  const auto text = folder.write("text.so", "hello");
  EXPECT_TRUE(contains(message_of(ErrorKind::unsupported, [&] { (void)Plugin::load(text); }),
                       "text.so: can't be loaded: "));
  EXPECT_FALSE(Plugin::loaded(text));
}

}  // namespace
}  // namespace perfuse::pjrt
