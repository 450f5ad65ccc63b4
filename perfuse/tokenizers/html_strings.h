// The strings of an HTML document that count as its text, the way Beautiful Soup collects them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace perfuse {

// Takes what a parser finds, in order. What is inside script, style, template, rt and rp is no text; white space
// between two tags shrinks to one character, except inside pre and textarea.
class HtmlStrings {
 public:
  void open(const std::u32string& tag);
  void close(const std::u32string& tag);
  void open_and_close(const std::u32string& tag);
  void data(std::u32string_view text);
  void cdata(std::u32string_view text);
  // Comments and declarations: they only end the string before them.
  void ignored() { end_string(false); }

  // Everything so far; the last call.
  [[nodiscard]] std::u32string take();

 private:
  void push(const std::u32string& tag);
  void pop_to(const std::u32string& tag);
  void end_string(bool cdata);

  std::vector<std::u32string> open_;
  std::unordered_map<std::u32string, std::size_t> open_count_;
  std::unordered_map<std::u32string, std::size_t> void_count_;  // <br> whose </br> may still come
  std::size_t hidden_ = 0, preformatted_ = 0;                   // how many such elements are open
  std::u32string string_, text_;
  bool has_string_ = false;
};

}  // namespace perfuse
