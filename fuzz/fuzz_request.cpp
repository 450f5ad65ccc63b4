// Any text given to the request parser is a list of requests or refused with Error(usage or unsupported); a request
// that was read gives the same JSON when it is written, read and written again, and survives being laid over another.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apps/cli/outputs.h"
#include "apps/cli/request_file.h"
#include "perfuse/core/error.h"

namespace {

using namespace perfuse::cli;

void require(bool condition) {
  if (!condition) std::abort();
}

void use(const Request& request, const Request& before) {
  const auto json = to_json(request);
  require(to_json(read_request(json, "again")).dump() == json.dump());
  require(to_json(overlay(request, request)).dump() == json.dump());
  (void)to_json(overlay(before, request));
  if (request.output) (void)plan_outputs({{*request.output, {"a", "b"}}});
  check_request(request, "input");
  // What tensors are read from is a matter of files, not of this parser.
  if (!request.latents && !request.prompt_embeds && !request.prompt_attention_mask &&
      !request.negative_prompt_embeds && !request.negative_prompt_attention_mask)
    (void)count_images(to_arguments(request, "input"), "input");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    Request before;
    for (const auto& [origin, request] :
         parse_requests({reinterpret_cast<const char*>(data), size}, "input")) {
      use(request, before);
      before = request;
    }
  } catch (const perfuse::Error& error) {
    const auto kind = error.kind();
    require(kind == perfuse::ErrorKind::usage || kind == perfuse::ErrorKind::unsupported);
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
