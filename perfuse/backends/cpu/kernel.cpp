#include "perfuse/backends/cpu/kernel.h"

#include "perfuse/backends/cpu/isa.h"
#include "perfuse/core/error.h"

namespace perfuse::cpu {

std::shared_ptr<const runtime::ParameterFormat> Kernel::format(std::size_t /*operand*/) const {
  return nullptr;
}

ChosenKernel choose_kernel(const graph::Op& op, const NodeInfo& node) {
  limit_isa();
  return std::visit(
      [&](const auto& attributes) {
        std::vector<std::string> refusals;
        for (const auto& entry : kernels(attributes)) {
          Candidate candidate = entry.make(attributes, node);
          if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&candidate))
            return ChosenKernel{std::move(*kernel), entry.name, std::move(refusals)};
          refusals.push_back(fmt::format("{}: {}", entry.name, std::get<std::string>(candidate)));
        }
        std::string types;
        for (const auto& type : node.operands) types += (types.empty() ? "" : ", ") + graph::to_string(type);
        fail(ErrorKind::unsupported, "cpu: no kernel for {} of {}: {}", graph::to_string(op), types,
             fmt::join(refusals, "; "));
      },
      op);
}

}  // namespace perfuse::cpu
