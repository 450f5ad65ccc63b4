// A limit on the work that one prompt may cause.
#pragma once

#include <cstddef>

namespace perfuse {

// Error(usage): the prompt takes too long to clean.
[[noreturn]] void fail_slow_cleaning();

// Markup that never closes and text that was garbled many times over would otherwise cost the square of their
// length. The limit is about a second's worth of characters looked at.
class CleaningBudget {
 public:
  void spend(std::size_t characters) {
    if (characters > left_) fail_slow_cleaning();
    left_ -= characters;
  }

 private:
  std::size_t left_ = std::size_t{1} << 25;
};

}  // namespace perfuse
