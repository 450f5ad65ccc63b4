// Include before any header of Highway. Leaves three targets on x86: AVX2, AVX-512, and Highway's emulation
// for what is older, which is right and slow. The others would each cost another compilation.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
