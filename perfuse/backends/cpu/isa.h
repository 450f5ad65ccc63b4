// The instruction set that kernels may use: the processor's, or less where the environment variable
// PERFUSE_MAX_ISA says so (tests run the AVX2 kernels on a newer machine with it; it also gives the same
// bytes on machines that differ).
#pragma once

namespace perfuse::cpu {

// Applies PERFUSE_MAX_ISA (avx2, avx512, avx512_bf16) to oneDNN and to our own kernels, once per process and before
// the first kernel is made. Error(usage) for another value.
void limit_isa();

// Products of bf16 pairs summed in f32, as an instruction.
[[nodiscard]] bool has_bf16_dot();

}  // namespace perfuse::cpu
