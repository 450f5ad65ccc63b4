// How an installed package and a present device are found, for each kind. Used by the traits alone.
#pragma once

#include "perfuse/runtime/traits.h"

namespace perfuse::runtime::presence {

Presence cpu_package();
Presence cpu_device();
int cpu_count();
Presence cuda_package();
Presence cuda_device();
int cuda_count();
Presence rocm_package();
Presence rocm_device();
int rocm_count();
Presence xpu_package();
Presence xpu_device();
int xpu_count();
Presence tpu_package();
Presence tpu_device();
int tpu_count();
Presence mps_package();
Presence mps_device();
int mps_count();
Presence mlu_package();
Presence mlu_device();
int mlu_count();
Presence neuron_package();
Presence neuron_device();
int neuron_count();

}  // namespace perfuse::runtime::presence
