#include "perfuse/tokenizers/cleaning_budget.h"

#include "perfuse/core/error.h"

namespace perfuse {

void fail_slow_cleaning() {
  fail(ErrorKind::usage, "prompt: cleaning it takes too long; shorten it, or turn clean_caption off");
}

}  // namespace perfuse
