#include "perfuse/image/terminal.h"

#include <poll.h>
#include <pty.h>
#include <termios.h>

#include <array>
#include <cstring>
#include <map>
#include <thread>

#include "perfuse/image/palette.h"
#include "perfuse/image/scale.h"
#include "perfuse/image/sixel.h"
#include "test_pictures.h"

namespace perfuse {
namespace {

using Variables = std::map<std::string, std::string>;

EnvironmentLookup lookup(const Variables& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

std::string found(const Variables& variables) {
  const EnvironmentFinding finding = graphics_from_environment(lookup(variables));
  return std::string(to_string(finding.graphics)) + (finding.ask_for_sixel ? ", ask" : "");
}

TEST(TerminalDetection, FromTheEnvironment) {
  EXPECT_EQ(found({}), "none");
  EXPECT_EQ(found({{"TERM", "dumb"}, {"KITTY_WINDOW_ID", "1"}}), "none");
  EXPECT_EQ(found({{"TERM", "xterm-256color"}}), "half_blocks, ask");
  EXPECT_EQ(found({{"TERM", "xterm-kitty"}}), "kitty");
  EXPECT_EQ(found({{"TERM", "xterm-256color"}, {"KITTY_WINDOW_ID", "3"}}), "kitty");
  EXPECT_EQ(found({{"TERM", "xterm-256color"}, {"TERM_PROGRAM", "ghostty"}}), "kitty");
  EXPECT_EQ(found({{"TERM", "xterm-256color"}, {"TERM_PROGRAM", "iTerm.app"}}), "iterm2");
  EXPECT_EQ(found({{"TERM", "xterm-256color"}, {"LC_TERMINAL", "iTerm2"}}), "iterm2");
  EXPECT_EQ(found({{"TERM", "xterm-256color"}, {"TERM_PROGRAM", "WezTerm"}}), "iterm2");
  EXPECT_EQ(found({{"TERM", "foot"}}), "half_blocks, ask");
}

TEST(TerminalDetection, VariablesThatAnotherTerminalLeftBehind) {
  EXPECT_EQ(found({{"TERM", "xterm-256color"}, {"KITTY_WINDOW_ID", "3"}, {"VTE_VERSION", "7200"}}),
            "half_blocks, ask");
  EXPECT_EQ(found({{"TERM", "xterm-256color"}, {"KITTY_WINDOW_ID", "3"}, {"TERM_PROGRAM", "vscode"}}),
            "half_blocks, ask");
  EXPECT_EQ(found({{"TERM", "tmux-256color"}, {"TMUX", "/tmp/tmux"}, {"KITTY_WINDOW_ID", "3"}}),
            "half_blocks, ask");
  EXPECT_EQ(found({{"TERM", "xterm-kitty"}, {"TMUX", "/tmp/tmux"}}), "half_blocks, ask");
  EXPECT_EQ(found({{"TERM", "screen.xterm-256color"}, {"LC_TERMINAL", "iTerm2"}}), "half_blocks, ask");
  EXPECT_EQ(found({{"TERM", "xterm-kitty"}, {"STY", "1234.pts"}}), "half_blocks, ask");
}

TEST(TerminalDetection, LocaleAndNoColor) {
  const auto with = [](const std::string& name, const std::string& value) {
    return found({{"TERM", "xterm"}, {name, value}});
  };
  EXPECT_EQ(with("NO_COLOR", "1"), "none, ask");
  EXPECT_EQ(with("NO_COLOR", ""), "half_blocks, ask");
  EXPECT_EQ(with("LANG", "de_DE.ISO-8859-1"), "none, ask");
  EXPECT_EQ(with("LC_ALL", "C.utf8"), "half_blocks, ask");
  EXPECT_EQ(with("LANG", "C"), "half_blocks, ask");
  EXPECT_EQ(found({{"TERM", "xterm"}, {"LC_ALL", "en_US.UTF-8"}, {"LANG", "ru_RU.KOI8-R"}}),
            "half_blocks, ask");
}

TEST(TerminalDetection, AttributesListSixel) {
  EXPECT_TRUE(attributes_list_sixel("\x1b[?62;4;22c"));
  EXPECT_TRUE(attributes_list_sixel("\x1b[?4c"));
  EXPECT_TRUE(attributes_list_sixel("\x1b[?65;1;4c"));
  for (const char* other :
       {"", "\x1b[?62;22c", "\x1b[?64;14;44c", "\x1b[?62;4", "62;4c", "\x1b[?c", "\x1b[?;;c"})
    EXPECT_FALSE(attributes_list_sixel(other)) << ::testing::PrintToString(other);
}

TEST(TerminalDetection, NotATerminal) {
  const TemporaryFolder folder;
  std::FILE* file = std::fopen((folder / "out").c_str(), "w");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(detect_terminal_graphics(fileno(file)), TerminalGraphics::none);
  EXPECT_EQ(ask_device_attributes(fileno(file), fileno(file), std::chrono::milliseconds(50)), "");
  std::fclose(file);
  EXPECT_EQ(detect_terminal_graphics(-1), TerminalGraphics::none);
}

// A pseudo terminal whose other end answers a question for attributes with `answer`.
class FakeTerminal {
 public:
  FakeTerminal() {
    if (openpty(&master_, &slave_, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("openpty");
  }
  ~FakeTerminal() {
    close(slave_);
    close(master_);
  }
  FakeTerminal(const FakeTerminal&) = delete;
  FakeTerminal& operator=(const FakeTerminal&) = delete;

  void type(const std::string& text) const {
    EXPECT_EQ(write(master_, text.data(), text.size()), std::ssize(text));
  }
  [[nodiscard]] std::string ask(const std::string& answer, std::chrono::milliseconds timeout) const {
    std::thread terminal([&] {
      std::string question(3, '\0');
      std::size_t size = 0;
      while (size < question.size()) {
        const ssize_t count = read(master_, question.data() + size, question.size() - size);
        if (count <= 0) return;
        size += static_cast<std::size_t>(count);
      }
      EXPECT_EQ(question, "\x1b[c");
      if (!answer.empty()) type(answer);
    });
    const std::string got = ask_device_attributes(slave_, slave_, timeout);
    terminal.join();
    return got;
  }
  [[nodiscard]] int slave() const { return slave_; }
  [[nodiscard]] termios modes() const {
    termios modes{};
    EXPECT_EQ(tcgetattr(slave_, &modes), 0);
    return modes;
  }

 private:
  int master_ = -1, slave_ = -1;
};

TEST(TerminalDetection, AskingRestoresTheModes) {
  const FakeTerminal terminal;
  const termios before = terminal.modes();
  EXPECT_NE(before.c_lflag & ECHO, 0u);
  EXPECT_EQ(terminal.ask("\x1b[?62;4;6c", std::chrono::seconds(10)), "\x1b[?62;4;6c");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(terminal.ask("", std::chrono::milliseconds(100)), "");
  EXPECT_EQ(terminal.ask("\x1b[?62;4", std::chrono::milliseconds(100)), "") << "no end";
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  const termios after = terminal.modes();
  EXPECT_EQ(before.c_lflag, after.c_lflag);
  EXPECT_EQ(before.c_iflag, after.c_iflag);
  EXPECT_EQ(std::memcmp(before.c_cc, after.c_cc, sizeof before.c_cc), 0);
}

TEST(TerminalDetection, TypedInputIsNotEaten) {
  const FakeTerminal terminal;
  const auto ask = [&] {
    return ask_device_attributes(terminal.slave(), terminal.slave(), std::chrono::milliseconds(100));
  };
  const auto read_line = [&] {
    std::string line;
    while (!line.ends_with('\n')) {
      pollfd ready{terminal.slave(), POLLIN, 0};
      if (poll(&ready, 1, 10000) != 1) return "lost after " + line;
      std::array<char, 80> piece;
      const ssize_t size = read(terminal.slave(), piece.data(), piece.size());
      if (size <= 0) return "broken after " + line;
      line.append(piece.data(), static_cast<std::size_t>(size));
    }
    return line;
  };
  terminal.type("ls\n");
  pollfd ready{terminal.slave(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 10000), 1);
  EXPECT_EQ(ask(), "");
  EXPECT_EQ(read_line(), "ls\n");

  terminal.type("ec");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a begun line can't be polled for
  EXPECT_EQ(ask(), "");
  terminal.type("ho\n");
  EXPECT_EQ(read_line(), "echo\n");
}

std::string decode_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = digits.find(c);
    if (digit == std::string::npos) throw std::runtime_error("not a base64 digit");
    bits = (bits << 6) | static_cast<unsigned>(digit);
    if ((count += 6) >= 8) bytes += static_cast<char>((bits >> (count -= 8)) & 255u);
  }
  return bytes;
}

std::string png_bytes(const Image& image) {
  const TemporaryFolder folder;
  image.save(folder / "a.png");
  return bytes_of(folder / "a.png");
}

Image noise(int width, int height) {
  unsigned state = 1;
  return make_image(width, height, [&](int, int) {
    std::vector<int> pixel(3);
    for (int& value : pixel) value = static_cast<int>((state = state * 1664525u + 1013904223u) >> 24);
    return pixel;
  });
}

TEST(TerminalEncoding, Kitty) {
  const std::string small = encode_for_terminal(gradient(2, 2), TerminalGraphics::kitty, 80, 24);
  ASSERT_TRUE(small.starts_with("\x1b_Ga=T,f=100,q=2,m=0;")) << small.substr(1, 30);
  ASSERT_TRUE(small.ends_with("\x1b\\\n"));

  const Image large = noise(70, 60);
  std::string rest = encode_for_terminal(large, TerminalGraphics::kitty, 80, 24), payload;
  bool more = true;
  for (int i = 0; more; ++i) {
    const std::size_t end = rest.find("\x1b\\"), data = rest.find(';');
    ASSERT_NE(end, std::string::npos);
    const std::string control = rest.substr(0, data), chunk = rest.substr(data + 1, end - data - 1);
    more = control.ends_with("m=1");
    EXPECT_EQ(control, std::string(i == 0 ? "\x1b_Ga=T,f=100,q=2," : "\x1b_G") + (more ? "m=1" : "m=0"));
    EXPECT_TRUE(more ? chunk.size() == 4096 : chunk.size() <= 4096);
    payload += chunk;
    rest.erase(0, end + 2);
  }
  EXPECT_EQ(rest, "\n");
  EXPECT_GT(payload.size(), 3u * 4096u);
  EXPECT_EQ(decode_base64(payload), png_bytes(large));

  EXPECT_TRUE(encode_for_terminal(gradient(900, 100), TerminalGraphics::kitty, 80, 24)
                  .starts_with("\x1b_Ga=T,f=100,q=2,c=80,m="));
  EXPECT_TRUE(encode_for_terminal(gradient(512, 512), TerminalGraphics::kitty, 80, 24)
                  .starts_with("\x1b_Ga=T,f=100,q=2,r=24,m="));
}

TEST(TerminalEncoding, Iterm2) {
  for (const Image& image : {gradient(1, 1), gradient(2, 1), gradient(3, 1), noise(33, 20)}) {
    const std::string out = encode_for_terminal(image, TerminalGraphics::iterm2, 80, 24),
                      png = png_bytes(image);
    const std::string start =
        "\x1b]1337;File=inline=1;size=" + std::to_string(png.size()) + ";preserveAspectRatio=1:";
    ASSERT_TRUE(out.starts_with(start));
    ASSERT_TRUE(out.ends_with("\a\n"));
    EXPECT_EQ(decode_base64(out.substr(start.size(), out.size() - start.size() - 2)), png);
  }
  expect_part(encode_for_terminal(gradient(512, 512), TerminalGraphics::iterm2, 80, 24),
              ";width=auto;height=24;");
  expect_part(encode_for_terminal(gradient(999, 5), TerminalGraphics::iterm2, 80, 24),
              ";width=80;height=auto;");
}

TEST(TerminalEncoding, SixelOfAKnownPicture) {
  // Left half red, right half blue; two bands of six and one row.
  const Image image = make_image(10, 7, [](int x, int) {
    return x < 5 ? std::vector<int>{255, 0, 0} : std::vector<int>{0, 0, 255};
  });
  const std::string out = encode_sixel(image);
  const std::string red_first =
      "\x1bP0;1;0q\"1;1;10;7#0;2;100;0;0#1;2;0;0;100#0!5~$#1!5?!5~-#0!5@$#1!5?!5@-\x1b\\";
  const std::string blue_first =
      "\x1bP0;1;0q\"1;1;10;7#0;2;0;0;100#1;2;100;0;0#0!5?!5~$#1!5~-#0!5?!5@$#1!5@-\x1b\\";
  EXPECT_TRUE(out == red_first || out == blue_first) << out.substr(1);
  EXPECT_EQ(encode_for_terminal(image, TerminalGraphics::sixel, 80, 24), out + "\n");
  expect_part(encode_for_terminal(gradient(1000, 500), TerminalGraphics::sixel, 10, 10), "\"1;1;80;40#");
}

// The picture that a sixel string draws, by the rules of the format alone.
Image draw_sixel(const std::string& text, int width, int height) {
  std::vector<std::uint8_t> rgb(std::size_t{3} * static_cast<std::size_t>(width * height));
  std::map<int, std::vector<int>> palette;
  std::size_t i = text.find('#');
  const auto number = [&] {
    int value = 0;
    for (; text[i] >= '0' && text[i] <= '9'; ++i) value = 10 * value + (text[i] - '0');
    return value;
  };
  int x = 0, top = 0, color = 0;
  while (text[i] != '\x1b') {
    const char c = text[i++];
    int run = 1;
    char sixel = c;
    if (c == '#') {
      color = number();
      if (text[i] == ';') {
        std::vector<int> values;
        while (text[i] == ';') {
          ++i;
          values.push_back(number());
        }
        EXPECT_EQ(values[0], 2);
        palette[color] = {values[1], values[2], values[3]};
      }
      continue;
    }
    if (c == '$' || c == '-') {
      x = 0;
      top += c == '-' ? 6 : 0;
      continue;
    }
    if (c == '!') {
      run = number();
      sixel = text[i++];
    }
    for (; run > 0; --run, ++x)
      for (int y = 0; y < 6; ++y)
        if (((sixel - '?') >> y & 1) != 0)
          for (std::size_t k = 0; k < 3; ++k)
            rgb.at(3 * static_cast<std::size_t>((top + y) * width + x) + k) =
                static_cast<std::uint8_t>(palette.at(color)[k] * 255 / 100);
  }
  EXPECT_LE(palette.size(), 256u);
  return Image(width, height, std::move(rgb));
}

TEST(TerminalEncoding, SixelIsRecognisable) {
  for (const Image& image : {gradient(100, 67), noise(61, 50)}) {
    const Image drawn = draw_sixel(encode_sixel(image), image.width(), image.height());
    double sum = 0;
    for (std::size_t i = 0; i < image.rgb().size(); ++i) sum += std::abs(image.rgb()[i] - drawn.rgb()[i]);
    // 256 colours evenly spread over the whole cube would leave about 10
    EXPECT_LT(sum / static_cast<double>(image.rgb().size()), 12);
  }
}

TEST(TerminalEncoding, PaletteKeepsFewColoursExactly) {
  const Image image = make_image(40, 40, [](int x, int y) {
    return std::vector<int>{x / 4 * 16, y / 4 * 16, 40};
  });
  const Palette palette = quantize(image);
  EXPECT_EQ(palette.colors.size(), 100u);
  for (std::size_t i = 0; i < palette.indices.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c)
      ASSERT_EQ(palette.colors[palette.indices[i]][c], image.rgb()[3 * i + c]) << "pixel " << i;
  EXPECT_EQ(quantize(noise(64, 64)).colors.size(), 256u);
}

TEST(TerminalEncoding, HalfBlocks) {
  const Image image = make_image(2, 3, [](int x, int y) { return std::vector<int>{100 * x, 100 * y, 7}; });
  EXPECT_EQ(encode_half_blocks(image, ColorDepth::truecolor, 80, 24),
            "\x1b[38;2;0;0;7;48;2;0;100;7m▀\x1b[38;2;100;0;7;48;2;100;100;7m▀\x1b[0m\n"
            "\x1b[38;2;0;200;7;49m▀\x1b[38;2;100;200;7;49m▀\x1b[0m\n");
  const Image plain = make_image(3, 2, [](int, int y) {
    return y == 0 ? std::vector{255, 0, 0} : std::vector{9, 9, 9};
  });
  EXPECT_EQ(encode_half_blocks(plain, ColorDepth::indexed, 80, 24), "\x1b[38;5;196;48;5;232m▀▀▀\x1b[0m\n");
  // 2 columns × 1 row hold 2×2 pixels
  EXPECT_EQ(
      encode_half_blocks(make_image(8, 8, [](int x, int) { return std::vector<int>(3, x < 4 ? 0 : 255); }),
                         ColorDepth::indexed, 2, 1),
      "\x1b[38;5;16;48;5;16m▀\x1b[38;5;231;48;5;231m▀\x1b[0m\n");
}

TEST(TerminalEncoding, ColorDepth) {
  EXPECT_EQ(color_depth(lookup({{"COLORTERM", "truecolor"}})), ColorDepth::truecolor);
  EXPECT_EQ(color_depth(lookup({{"COLORTERM", "24bit"}})), ColorDepth::truecolor);
  EXPECT_EQ(color_depth(lookup({{"COLORTERM", "yes"}})), ColorDepth::indexed);
  EXPECT_EQ(color_depth(lookup({})), ColorDepth::indexed);
}

TEST(TerminalEncoding, NothingToShow) {
  EXPECT_EQ(encode_for_terminal(gradient(4, 4), TerminalGraphics::none, 80, 24), "");
  for (const auto graphics : {TerminalGraphics::kitty, TerminalGraphics::iterm2, TerminalGraphics::sixel,
                              TerminalGraphics::half_blocks}) {
    EXPECT_EQ(encode_for_terminal(Image(), graphics, 80, 24), "");
    EXPECT_EQ(encode_for_terminal(gradient(300, 300), graphics, 0, -1),
              encode_for_terminal(gradient(300, 300), graphics, 80, 24));
    EXPECT_NE(encode_for_terminal(gradient(5, 3), graphics, 2147483647, 2147483647), "");
  }
}

TEST(FitWithin, AveragesAreas) {
  const Image image = make_image(4, 2, [](int x, int y) {
    return std::vector<int>{10 * x + 100 * y, x, 200};
  });
  const Image half = fit_within(image, 2, 5);
  EXPECT_EQ(half.width(), 2);
  EXPECT_EQ(half.height(), 1);
  EXPECT_EQ(std::vector<std::uint8_t>(half.rgb().begin(), half.rgb().end()),
            (std::vector<std::uint8_t>{55, 1, 200, 75, 3, 200}));  // green 0.5 and 2.5 round away from 0
  // 3 -> 2: the middle one counts for a half on both sides, (0 + 45)/1.5 and (45 + 240)/1.5
  const Image third =
      fit_within(make_image(3, 1, [](int x, int) { return std::vector<int>(3, 30 * x * x + 60 * x); }), 2, 1);
  EXPECT_EQ(int{third.rgb()[0]}, 30);
  EXPECT_EQ(int{third.rgb()[3]}, 190);
  EXPECT_EQ(fit_within(image, 4, 2).width(), 4);
  EXPECT_EQ(fit_within(gradient(1000, 1), 10, 10).height(), 1);
  EXPECT_EQ(fit_within(gradient(1, 1000), 10, 10).width(), 1);
}

}  // namespace
}  // namespace perfuse
