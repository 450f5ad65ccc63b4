#include "perfuse/tokenizers/html_strings.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace perfuse {
namespace {

using Text = std::u32string_view;

constexpr Text kVoid[] = {U"area",    U"base",    U"basefont", U"bgsound", U"br",       U"col",
                          U"command", U"embed",   U"frame",    U"hr",      U"image",    U"img",
                          U"input",   U"isindex", U"keygen",   U"link",    U"menuitem", U"meta",
                          U"nextid",  U"param",   U"source",   U"spacer",  U"track",    U"wbr"};
constexpr Text kHidden[] = {U"rp", U"rt", U"script", U"style", U"template"};
constexpr Text kPreformatted[] = {U"pre", U"textarea"};

template <class Table> bool contains(const Table& table, Text tag) {
  return std::find(std::begin(table), std::end(table), tag) != std::end(table);
}

}  // namespace

void HtmlStrings::push(const std::u32string& tag) {
  end_string(false);
  open_.push_back(tag);
  ++open_count_[tag];
  if (contains(kHidden, tag)) ++hidden_;
  if (contains(kPreformatted, tag)) ++preformatted_;
}

void HtmlStrings::pop_to(const std::u32string& tag) {
  end_string(false);
  const auto count = open_count_.find(tag);
  if (count == open_count_.end() || count->second == 0) return;
  for (bool found = false; !found; open_.pop_back()) {
    const std::u32string& last = open_.back();
    --open_count_[last];
    if (contains(kHidden, last)) --hidden_;
    if (contains(kPreformatted, last)) --preformatted_;
    found = last == tag;
  }
}

void HtmlStrings::open(const std::u32string& tag) {
  push(tag);
  if (!contains(kVoid, tag)) return;
  pop_to(tag);
  ++void_count_[tag];
}

void HtmlStrings::close(const std::u32string& tag) {
  const auto count = void_count_.find(tag);
  if (count != void_count_.end() && count->second > 0)
    --count->second;
  else
    pop_to(tag);
}

void HtmlStrings::open_and_close(const std::u32string& tag) {
  push(tag);
  pop_to(tag);
}

void HtmlStrings::data(Text text) {
  string_ += text;
  has_string_ = true;
}

void HtmlStrings::cdata(Text text) {
  end_string(false);
  data(text);
  end_string(true);
}

void HtmlStrings::end_string(bool cdata) {
  if (!std::exchange(has_string_, false)) return;
  // An empty string counts as white space too: an empty CDATA section becomes a space.
  if (preformatted_ == 0 && string_.find_first_not_of(U" \n\t\f\r") == std::u32string::npos)
    string_ = string_.find(U'\n') != std::u32string::npos ? U"\n" : U" ";
  if (hidden_ == 0 || cdata) text_ += string_;
  string_.clear();
}

std::u32string HtmlStrings::take() {
  end_string(false);
  return std::move(text_);
}

}  // namespace perfuse
