// Checks that every pipeline makes of its arguments before any work.
#pragma once

#include <cstdint>
#include <vector>

#include "perfuse/pipelines/arguments.h"
#include "perfuse/pipelines/resolution_binning.h"
#include "perfuse/tensor/random.h"

namespace perfuse {

// Limits that keep absurd requests from allocating: one message names all that a size breaks.
struct SizeRules {
  std::int64_t multiple = 8;  // of both sides, in pixels
  std::int64_t most = 16384;  // of each side
};
void check_size(PixelSize size, const SizeRules& rules);

// Finite guidance, a sane number of images, steps and sequence length, UTF-8 prompts of at most 1 MB, and either
// prompts or embeddings. Error(usage) names the argument.
void check_common(const CallArguments& arguments);

// What was given and has no effect beside the rest, a line each. `guided`: classifier-free guidance is on.
[[nodiscard]] std::vector<std::string> arguments_without_effect(const CallArguments& arguments, bool guided);

// Prompts, or entries of prompt_embeds.
[[nodiscard]] std::int64_t prompt_count(const CallArguments& arguments);
// Negative prompts, one for each prompt. Error(usage) where a list has another length.
[[nodiscard]] std::vector<std::string> negative_prompts(const CallArguments& arguments, std::int64_t prompts);

// One generator, or one per image; `seeds` gets what was used (drawn from the system where none was given).
[[nodiscard]] std::vector<Generator> make_generators(const CallArguments& arguments, std::int64_t images,
                                                     std::vector<std::uint64_t>& seeds);

}  // namespace perfuse
