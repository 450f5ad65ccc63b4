// The cleaning that PixArt's captions went through in training, and so prompts too (clean_caption).
#pragma once

#include <string>
#include <string_view>

namespace perfuse {

// Lower case, and without what captions of web pictures drag along: links, tags, entities, file names, article
// numbers, repeated or odd punctuation, Chinese characters. Applied twice, as diffusers does, so that what the first
// round uncovers goes too. The text is that of PixArtAlphaPipeline._text_preprocessing; docs/captions.md says where it
// can differ.
// Error(usage) for text that is not UTF-8 or that takes too long (hostile repetitions).
[[nodiscard]] std::string clean_caption(std::string_view text);

}  // namespace perfuse
